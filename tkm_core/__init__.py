"""Tilted k-means: where to put facilities so that everyone is reached evenly.

>>> import tkm_core as tkm
>>> model = tkm.TiltedKMeans(2, t=0.5, random_state=0).fit([[0, 0], [0, 1], [5, 5], [5, 6]])
>>> round(tkm.evaluate([[0, 0], [0, 1], [5, 5], [5, 6]], model.cluster_centers_).largest_distance, 6)
0.5

Each name is imported when it is first used, so that the command line answers at once, and so that the solver works
without what only files and maps need (the extra "geo").
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tkm_core.clustering.estimator import TiltedKMeans
    from tkm_core.clustering.path import TiltedPath, tilted_path
    from tkm_core.evaluation import Evaluation, evaluate, neighbourhood_radius
    from tkm_core.methods import METHODS, MethodTooLargeError, Solution, run_method
    from tkm_core.planning.plan import Plan, make_plan
    from tkm_core.residents import Residents, ResidentsError, load_residents
    from tkm_core.residents.samples import SAMPLES, load_sample

_ROOMS = {
    "tkm_core.evaluation.evaluation": ("Evaluation", "evaluate"),
    "tkm_core.methods": ("METHODS", "MethodTooLargeError", "Solution", "run_method"),
    "tkm_core.evaluation.neighbourhood": ("neighbourhood_radius",),
    "tkm_core.clustering.path": ("TiltedPath", "tilted_path"),
    "tkm_core.planning.plan": ("Plan", "make_plan"),
    "tkm_core.residents": ("Residents", "ResidentsError", "load_residents"),
    "tkm_core.residents.samples": ("SAMPLES", "load_sample"),
    "tkm_core.clustering.estimator": ("TiltedKMeans",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "METHODS",
    "SAMPLES",
    "Evaluation",
    "MethodTooLargeError",
    "Plan",
    "Residents",
    "ResidentsError",
    "Solution",
    "TiltedKMeans",
    "TiltedPath",
    "evaluate",
    "load_residents",
    "load_sample",
    "make_plan",
    "neighbourhood_radius",
    "run_method",
    "tilted_path",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    try:
        room = import_module(_ROOM_OF[name])
    except ModuleNotFoundError as missing:
        msg = f"{name} needs {missing.name}, which is not installed: pip install 'evenreach[geo]' brings it."
        raise ModuleNotFoundError(msg, name=missing.name) from missing
    value = getattr(room, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
