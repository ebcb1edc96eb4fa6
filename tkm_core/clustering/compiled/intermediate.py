"""Kernels in LLVM's intermediate code, shipped with the package: half compiled, for any processor of a system.

Two thirds of the time that compiling takes are numba's own Python, which turns a source into intermediate code. That
is done once, by ``make intermediate``, and the result lies in ``intermediate.xz``; a fresh environment only has to turn
it into machine code. From there on the steps are the same as from the source.

The name of an entry holds a hash of the sources, of the types, of numba's version and of the system. So nothing stale
is ever read: what is not there is compiled from its source.
"""

import hashlib
import lzma
import pickle
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import codegen as numba_codegen

llvm: Any = numba_codegen.ll  # type: ignore[attr-defined]  # the one that numba compiles with
FILE = Path(__file__).with_suffix(".xz")
# with which it was tried: it holds the code that takes the arguments of a call from Python
PYTHONS = ((3, 11), (3, 12), (3, 13))
# if not None, every kernel is compiled from its source, and its intermediate code is put here
collected: dict[str, bytes] | None = None


def entry(name: str, fingerprint: str, sig: object) -> str:
    """The name of a kernel's entry: which kernel, its sources, and everything else that the code depends on."""
    kind = hashlib.sha256(repr((str(sig), numba.__version__, llvm.get_process_triple())).encode())
    return f"{name}.{fingerprint}.{kind.hexdigest()[:16]}"


@cache
def entries() -> dict[str, bytes]:
    """Everything that came with the package, by its name."""
    found: dict[str, bytes] = pickle.loads(lzma.decompress(FILE.read_bytes()))  # noqa: S301  part of the package
    return found


def read(name: str) -> bytes | None:
    """One entry, or None; none for a Python with which they were not tried."""
    return entries().get(name) if sys.version_info[:2] in PYTHONS and FILE.exists() else None


def write(found: dict[str, bytes]) -> None:
    """Make the file; kernels of the same kind next to each other, and all in one piece, which makes it small."""
    FILE.write_bytes(lzma.compress(pickle.dumps(dict(sorted(found.items()))), preset=9 | lzma.PRESET_EXTREME))


def optimise(codegen: Any, module: Any) -> None:
    """Optimise a module for the processor: the last and full step of numba.

    The quick one that numba makes before it, so that references are counted less often, would be a tenth of the work
    and gain nothing: in our loops no references are counted.
    """
    passes, builder = codegen._module_pass_manager()
    passes.run(module, builder)


def machine_code(codegen: Any, name: str, code: str) -> tuple[str, str, tuple[bytes, bytes]]:
    """Machine code from intermediate code, in the form in which numba keeps it."""
    module = llvm.parse_assembly(code)
    optimise(codegen, module)
    machine = codegen._tm.emit_object(module)
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external:
            function.linkage = "linkonce_odr"  # as numba does: others may link it too
    return name, "object", (machine, module.as_bitcode())
