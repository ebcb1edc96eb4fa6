"""A damaged cache of compiled code is thrown away: numba would otherwise fail on it at every call."""

import contextlib
import pickle
import sys
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher


def mend_cache() -> int:
    """Remove what cannot be read of the compiled code of this library; it is compiled again when needed.

    Returns
    -------
    int
        How many functions lost their compiled code.

    Examples
    --------
    >>> mend_cache()
    0
    """
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("tkm_core")]
    compiled: list[Any] = [
        value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)
    ]
    folders = {Path(function._cache.cache_path) for function in compiled if function._cache.cache_path}
    damaged = [index for folder in folders for index in folder.glob("*.nbi") if not _sound(index)]
    for index in damaged:
        with contextlib.suppress(OSError):  # a read-only file system keeps it; then every job says so
            index.unlink()
    return len(damaged)


def _sound(index: Path) -> bool:
    """Whether an index and the code it names can be read, as numba reads them."""
    try:
        with index.open("rb") as file:
            pickle.load(file)  # noqa: S301  our own cache; numba is about to do the same
            _, overloads = pickle.loads(file.read())  # noqa: S301
        for name in overloads.values():
            pickle.loads((index.parent / name).read_bytes())  # noqa: S301
    except Exception:  # noqa: BLE001  whatever a damaged pickle does
        return False
    return True
