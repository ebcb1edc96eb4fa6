"""What a reader sends back, taken as data only: a file that took over its reader must not take over the server.

Unpickling calls whatever a message names. Of a reader's message only the names below are looked up, which are all that
residents, streets, tables, plan files and their problems consist of.
"""

import builtins
import pickle
from io import BytesIO
from multiprocessing.connection import Connection
from typing import Any

LARGEST = 2_000_000_000  # bytes: twenty million residents with names
NAMES = {
    "builtins": {"bytearray", "slice"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "pandas": {"DataFrame", "Index", "RangeIndex", "StringDtype"},
    "pandas._libs.internals": {"_unpickle_block"},
    "pandas.arrays": {"ArrowStringArray"},
    "pandas.core.frame": {"DataFrame"},  # where pandas 2 says that it is; likewise below
    "pandas.core.indexes.base": {"Index", "_new_Index"},
    "pandas.core.indexes.range": {"RangeIndex"},
    "pandas.core.internals.managers": {"BlockManager"},
    "pyarrow.lib": {"_restore_array", "py_buffer", "type_for_alias"},
    "tkm_core.export.planfile_reading": {"PlanFile", "PlanFileError", "Shown"},
    "tkm_core.planning.reference": {"Reference"},
    "tkm_core.clustering.path": {"TiltedPath"},
    "tkm_core.residents.model": {"Residents", "ResidentsError"},
    "tkm_core.residents.report": {"Column", "Dropped", "Report"},
    "tkm_core.sites.travel": {"TravelTable"},
    "tkm_core.streets.areas": {"Areas"},
    "tkm_core.streets.model": {"Streets"},
    "tkm_core.streets.network": {"Network"},
    "tkm_core.streets.report": {"StreetsReport"},
    "tkm_core.streets.rules": {"StreetsError"},
}


def receive(connection: Connection) -> Any:
    """The next message of a reader.

    Raises
    ------
    pickle.UnpicklingError
        If it names anything but data.
    OSError
        If it is larger than any answer, or the reader is gone.
    """
    return _Data(BytesIO(connection.recv_bytes(LARGEST))).load()


class _Data(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if not (name in NAMES.get(module, ()) or _problem(module, name) or _reference_system(module, name)):
            msg = f"A reader sent {module}.{name}, which is no part of an answer."
            raise pickle.UnpicklingError(msg)
        return super().find_class(module, name)


def _problem(module: str, name: str) -> bool:
    """One of Python's own exceptions."""
    found = getattr(builtins, name, None) if module == "builtins" else None
    return isinstance(found, type) and issubclass(found, Exception)


def _reference_system(module: str, name: str) -> bool:
    return module == "pyproj.crs.crs" and name.isidentifier() and name.endswith("CRS")
