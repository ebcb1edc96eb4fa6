"""Choose the environment variables that workers and readers inherit: a list of what they need, so never a password."""

from collections.abc import Mapping
from dataclasses import fields

from pages.serving.config import PREFIX, Config

NAMES = {
    "GDAL_DATA",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PATH",
    "PROJ_DATA",
    "PROJ_LIB",
    "TZ",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
}
# of Python, compiled code, threads, memory, Dask (addresses, limits and paths of certificates), and measuring coverage
BEGINNINGS = (
    "LC_",
    "PYTHON",
    "NUMBA_",
    "OMP_",
    "OPENBLAS_",
    "MKL_",
    "MALLOC_",
    "ARROW_",
    "DASK_",
    "COVERAGE_",
)
SETTINGS = {PREFIX + setting.name.upper() for setting in fields(Config) if not setting.metadata["secret"]}


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of the server's environment that its workers and readers get.

    Parameters
    ----------
    environment : mapping
        As ``os.environ``.

    Examples
    --------
    >>> inherited({"PATH": "/bin", "EVENREACH_WORKERS": "2", "EVENREACH_DATABASE": "postgresql://a:b@c/d", "KEY": "x"})
    {'PATH': '/bin', 'EVENREACH_WORKERS': '2'}
    """
    return {
        name: value
        for name, value in environment.items()
        if name in NAMES or name in SETTINGS or name.startswith(BEGINNINGS)
    }
