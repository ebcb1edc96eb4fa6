"""numba's compiler without the steps that our functions do not need: compiling takes half as long.

numba is made for any Python function. Ours are loops over numbers, so four things can go:

- passes over the code that look for closures, comprehensions, array expressions, ``with`` and the like;
- separate machine code for functions that only compiled functions call: it is optimised and written in their callers;
- looking through dozens of implementations of ``+`` each time that two numbers are added: what was found is kept;
- garbage collection: compiling makes little garbage.

For other code numba stays as it is: the first two are options of a function, and the other two last for one
compilation, under numba's lock.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any, ClassVar

from numba.core import typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.types.functions import BaseFunction

from tkm_core.clustering.compiled import intermediate

PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.GenericRewrites,
    typed_passes.NopythonTypeInference,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class QuickFlags(Flags):
    """numba's options for one function, with a comparison that takes a tenth of the time.

    numba compares them for every statement and every way to read it, asking for each option by name.
    """

    __slots__ = ()
    _defaults: ClassVar = {name: option.default for name, option in Flags.options.items()}
    _hash = hash(Flags())  # numba's own: of the names, which are always the same

    def __hash__(self) -> int:
        """The same hash as numba's."""
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Whether every option is the same."""
        if not isinstance(other, Flags):
            return NotImplemented
        mine, theirs = self._values, other._values
        return bool(mine == theirs or self._defaults | mine == self._defaults | theirs)


class KernelLibrary(JITCodeLibrary):
    """Code of a kernel; where intermediate code is collected, it keeps what it was before it was optimised."""

    before = ""

    def _optimize_final_module(self) -> None:
        """Optimise it for the processor."""
        if intermediate.collected is not None:
            self.before = str(self._final_module)
        intermediate.optimise(self._codegen, self._final_module)


class QuickCompiler(CompilerBase):
    """The passes that loops over numbers need."""

    def define_pipelines(self) -> list[PassManager]:
        """One list of passes, without a second try in object mode."""
        passes = PassManager("loops over numbers")
        for each in PASSES:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]


class _NoEnvironment:
    """Takes the place of the code generator where numba would write to a function in memory that is not there."""

    def set_env(self, *_: object) -> None:
        """Do nothing: no Python object is used inside."""


class LinkedLibrary(JITCodeLibrary):
    """Code that is linked into that of its callers as it is, to be optimised there, and is never run from here."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Link the code in without optimising it."""
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Link in the libraries it uses."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002  numba's form
        """Return no address: the code is never run from here."""
        return 0

    @property
    def codegen(self) -> _NoEnvironment:
        """Stand in for the code generator."""
        return _NoEnvironment()


class KernelCompiler(QuickCompiler):
    """For functions that Python calls."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        if library is None:
            library = KernelLibrary(targetctx.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *others)


class InnerCompiler(QuickCompiler):
    """For functions that only compiled functions call."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *others: Any) -> None:
        super().__init__(
            typingctx, targetctx, library or LinkedLibrary(targetctx.codegen(), "inner"), *others
        )


_resolve = BaseFunction.get_call_type
_resolved: dict[tuple[int, Any], tuple[BaseFunction, Any]] = {}


def _resolve_once(self: BaseFunction, context: Any, args: Any, kws: Any) -> Any:
    """Find the implementation of one of numba's functions for these types, or return what was found before."""
    if kws:
        return _resolve(self, context, args, kws)
    key = id(self), args
    if key not in _resolved:
        # keep the function itself, so that no other gets its id
        _resolved[key] = self, _resolve(self, context, args, kws)
    return _resolved[key][1]


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """Compile without garbage collection, and look for each implementation only once. Needs numba's lock."""
    collects = gc.isenabled()
    gc.disable()
    before = BaseFunction.get_call_type
    functions: Any = BaseFunction  # untyped, because a method is replaced
    functions.get_call_type = _resolve_once
    try:
        yield
    finally:
        functions.get_call_type = before
        if collects:
            gc.enable()
