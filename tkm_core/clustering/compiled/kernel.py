"""Compile functions with numba, and keep their machine code from one process to the next.

A function that Python calls is a ``kernel``; what only kernels call is ``inner``. numba would link (and optimise) the
code of every inner function once more into each caller, so large parts are called by their address instead: see
``by_address``.

The time that compiling takes grows with the statements of a function: a loop takes several times as long as a call of
an ``inner`` function that holds the loop. So loops over columns stand in ``rows``.

The machine code of a kernel lies in a file whose name holds a hash of all sources here and of its own, of the versions
of numba and Python, and of the processor. So nothing stale is ever read, and nothing has to be deleted by hand. Where
there is no such file yet, or it cannot be read, most kernels are half compiled already: see ``intermediate``.

Loading machine code means running it. So it is never read from or written to a place shared with others, such as the
temporary folder, and only its owner can change it; everyone can read it, and use what somebody else has installed.
"""

import contextlib
import hashlib
import os
import pickle
import secrets
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core import cgutils
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import TypingError
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic, register_jitable

from tkm_core.clustering.compiled import intermediate

# compiler.py uses numba's internals: versions it was not tried with compile in numba's own way, which takes longer
TRIED = ("0.68",)
QUICK = numba.__version__.rpartition(".")[0] in TRIED
if QUICK:
    from tkm_core.clustering.compiled.compiler import InnerCompiler, KernelCompiler, QuickFlags, quickly

HERE = Path(__file__).parent
NOTICE = "EvenReach: compiling the solver; this happens once and takes some seconds."

# without a C wrapper, which nobody calls and which takes time to compile
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# without a wrapper for Python either
INNER = OPTIONS | {"no_cpython_wrapper": True} | ({"pipeline_class": InnerCompiler} if QUICK else {})


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A function that numba compiles when it is first called, by our quicker compiler where that was tried."""
    compiled = njit(**options)(function)
    if QUICK:
        compiled._compiler._customize_flags = QuickFlags
    return compiled


def inner(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function that only kernels call, where they call it."""
    return _compiled(function, INNER | options)


# for kernels and, as it is, for Python
anywhere = register_jitable(**INNER)
# the order of a sum is left to the compiler, which then adds several terms at once
any_order = partial(inner, fastmath={"reassoc"})


@cache
def fingerprint(source: str, *versions: str) -> str:
    """A hash of all sources that the code of a source file depends on, and of versions."""
    found = hashlib.sha256(" ".join(versions).encode())
    for file in sorted({*HERE.glob("*.py"), Path(source)}):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _user_folder() -> Path:
    """The folder in which this user's programs keep their caches."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def folders() -> Iterator[Path]:
    """Folders that may hold machine code, best first.

    If numba was told where to keep its own code, that folder alone; otherwise the one beside the sources, then the
    user's cache.
    """
    asked = os.environ.get("NUMBA_CACHE_DIR")
    if asked:
        yield Path(asked) / "evenreach"
        return
    yield HERE / "__pycache__"
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield _user_folder() / "evenreach"


def _sealed(name: str, code: bytes) -> bytes:
    """Machine code behind a digest of it and of the file's name: damaged code would not fail but crash the process."""
    return hashlib.sha256(name.encode() + code).digest() + code


def _unsealed(name: str, content: bytes) -> bytes:
    """The machine code in a file, if it is what was written under this name."""
    code = content[hashlib.sha256().digest_size :]
    if content != _sealed(name, code):
        msg = f"{name} is damaged"
        raise ValueError(msg)
    return code


@cache
def _say_once() -> None:
    print(NOTICE, file=sys.stderr, flush=True)


class KernelCache(_Cache):
    """One file for each kernel and kind of processor, in the first of ``folders`` that has it or can be written to.

    Where there is none, it is made from the intermediate code that came with the package, or from the source.
    """

    def __init__(self, function: Callable[..., Any], *, heavy: bool) -> None:
        self.source = function.__code__.co_filename
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self.heavy = heavy

    @property
    def cache_path(self) -> str:
        """The folder to be tried first."""
        return str(next(folders()))

    def _file(self, sig: object, codegen: Any) -> str:
        """The file's name: a kernel, its types, the processor and the fingerprint."""
        kind = hashlib.sha256(repr((str(sig), codegen.magic_tuple())).encode()).hexdigest()[:16]
        return f"{self.name}.{fingerprint(self.source, numba.__version__, sys.version)}.{kind}.machine"

    def _entry(self, sig: object) -> str:
        """The name of its intermediate code."""
        return intermediate.entry(self.name, fingerprint(self.source), sig)

    def load_overload(self, sig: object, target_context: Any) -> CompileResult | None:
        """The machine code, or None; says on stderr, once, that compiling is about to take a while."""
        if intermediate.collected is not None:
            return None
        target_context.refresh()
        codegen = target_context.codegen()
        name = self._file(sig, codegen)
        for folder in folders():
            # what cannot be read is compiled again, and written over where that is possible
            with contextlib.suppress(Exception):
                found = pickle.loads(_unsealed(name, (folder / name).read_bytes()))  # noqa: S301  see above
                return CompileResult._rebuild(target_context, *found)
        if self.heavy:
            _say_once()
        half = intermediate.read(self._entry(sig)) if QUICK else None
        if half is not None:
            with contextlib.suppress(Exception):  # then it is compiled from its source
                (label, code), *others = pickle.loads(half)  # noqa: S301  part of the package
                whole = (intermediate.machine_code(codegen, label, code), *others)
                result = CompileResult._rebuild(target_context, *whole)
                self._keep(name, dumps(whole))
                return result
        return None

    def save_overload(self, sig: object, data: Any) -> None:
        """Keep the machine code where that is possible; otherwise it lives as long as the process."""
        machine, *others, annotation, reload, environments = data._reduce()
        if intermediate.collected is None:
            whole = (machine, *others, annotation, reload, environments)
            self._keep(self._file(sig, data.codegen), dumps(whole))
        else:  # without the annotation, which is for reading and names folders of this machine
            half = (data.library.name, data.library.before)
            intermediate.collected[self._entry(sig)] = dumps((half, *others, "", reload, environments))

    def _keep(self, name: str, code: bytes) -> None:
        """Write a file into the first folder that takes it; others may read it, but not change it."""
        for folder in folders():
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                unfinished = folder / f"{name}.{secrets.token_hex(8)}"
                try:
                    unfinished.touch(mode=0o644, exist_ok=False)
                    unfinished.write_bytes(_sealed(name, code))
                    unfinished.replace(folder / name)
                finally:
                    unfinished.unlink(missing_ok=True)
                return

    def enable(self) -> None:
        """Part of numba's interface; it is always on."""

    def disable(self) -> None:
        """Part of numba's interface; it is always on."""

    def flush(self) -> None:
        """Part of numba's interface; other fingerprints have other names."""


def kernel(function: Callable[..., Any] | None = None, *, signature: Any = None, heavy: bool = False) -> Any:
    """Compile a function when it is first called, or take its machine code from an earlier process.

    With a ``signature`` it is compiled for these types alone, and numbers of other types are converted; then it can
    also be compiled ahead, by its ``compile_now()``.
    ``heavy`` ones take a second or more to compile.
    """
    if function is None:
        return partial(kernel, signature=signature, heavy=heavy)
    compiled = _compiled(function, OPTIONS | ({"pipeline_class": KernelCompiler} if QUICK else {}))
    compiled._cache = KernelCache(function, heavy=heavy)
    if QUICK:
        compiled._compiler.compile = quickly()(compiled._compiler.compile)
    if signature is not None:
        types, _ = normalize_signature(signature)

        def compile_now() -> None:
            with global_compiler_lock:
                if not compiled.overloads:  # another thread may have compiled it meanwhile
                    compiled.compile(types)
                    compiled.disable_compile()
                    del compiled._compile_for_args

        def first_call(*_: object) -> Any:
            compile_now()
            return compiled  # what numba then calls with the same arguments

        compiled._compile_for_args = first_call
        compiled.compile_now = compile_now
    return compiled


def by_address(signature: Any) -> Any:
    """A function for kernels that calls another, of this signature, by its address: ``call(address, arguments)``.

    The caller then holds no copy of the other's code, and the other may be chosen, or left uncompiled, at run time.
    """

    @intrinsic
    def call(typingctx: Any, address: Any, arguments: Any) -> Any:  # noqa: ARG001  numba's form
        if tuple(arguments) != signature.args:
            msg = f"called with {tuple(arguments)}, but it takes {signature.args}"
            raise TypingError(msg)

        def generate(context: Any, builder: Any, _: object, values: Any) -> Any:
            kind = context.call_conv.get_function_type(signature.return_type, signature.args)
            status, result = context.call_conv.call_function(
                builder,
                builder.inttoptr(values[0], kind.as_pointer()),
                signature.return_type,
                signature.args,
                cgutils.unpack_tuple(builder, values[1]),
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return signature.return_type(address, arguments), generate

    return call


_addresses: dict[
    int, int
] = {}  # by the kernel's identity: hashing its types takes longer than a short descent


def address_of(compiled: Any, signature: Any) -> int:
    """The address of a kernel for these types, compiled if need be; a kernel is asked for with one signature only."""
    found = _addresses.get(id(compiled))
    if found is None:
        found = _addresses[id(compiled)] = _address(compiled, signature)
    return found


def _address(compiled: Any, signature: Any) -> int:
    """Compile a kernel for these types and return its address."""
    compiled.compile(signature.args)
    result = compiled.overloads[signature.args]
    if result.signature.return_type != signature.return_type:
        msg = f"{compiled} returns {result.signature.return_type}, not {signature.return_type}"
        raise TypeError(msg)
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))
