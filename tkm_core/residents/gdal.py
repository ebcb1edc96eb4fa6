"""Restrict GDAL and PROJ to the file at hand: only the drivers of its format, and no network."""

import ctypes
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import pyogrio
import pyogrio._ogr
from pyogrio.core import _register_drivers  # the only way to GDAL's list of drivers
from pyproj.network import set_network_enabled  # type: ignore[attr-defined]

SETTINGS = {
    "GDAL_HTTP_PROXY": "none://none",  # does not exist: a connection that is tried all the same fails at once
    "GDAL_HTTPS_PROXY": "none://none",
    "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": ".none",
    "SHAPE_RESTORE_SHX": "YES",
    "OGR_GEOJSON_MAX_OBJ_SIZE": "200",  # MB
}
ANSWER = 256  # bytes, more than GDAL's record of an HTTP answer takes
_one_at_a_time = RLock()  # GDAL's settings and drivers belong to the whole process
_library = ctypes.CDLL(pyogrio._ogr.__file__)  # gives access to the GDAL it is built with

os.environ["PROJ_NETWORK"] = "OFF"  # the PROJ within GDAL
set_network_enabled(False)  # and ours: grids are never fetched


@ctypes.CFUNCTYPE(ctypes.c_void_p, *[ctypes.c_void_p] * 7)
def _refuse(*_: Any) -> int:
    """Answer a request as failed: an empty record, which GDAL frees, with a status other than zero."""
    allocate = _library.VSICalloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    answer: int = allocate(1, ANSWER)
    ctypes.c_int.from_address(answer).value = 1
    return answer


def _answer_requests(answer: Any) -> None:
    """Let a function answer every request that GDAL is about to make; None restores the network."""
    # GDAL has no setting that turns requests off, and NO_PROXY may override the proxy.
    # Absent if GDAL is linked in another way: then only the settings above apply.
    if hasattr(_library, "CPLHTTPSetFetchCallback"):
        _library.CPLHTTPSetFetchCallback(answer, None)


@contextmanager
def closed_gdal(drivers: Collection[str] = ()) -> Iterator[None]:
    """Let GDAL open files with these drivers only and nothing else; restore the previous state afterwards."""
    with _one_at_a_time:
        others = ",".join(driver for driver in pyogrio.list_drivers() if driver not in drivers)
        settings = {**SETTINGS, "GDAL_SKIP": others}
        before = {name: pyogrio.get_gdal_config_option(name) for name in settings}
        pyogrio.set_gdal_config_options(settings)
        _register_drivers()
        _answer_requests(_refuse)
        try:
            yield
        finally:
            _answer_requests(None)
            pyogrio.set_gdal_config_options(before)
            _register_drivers()
