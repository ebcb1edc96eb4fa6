"""Tilted k-means: where to put facilities so that everyone is reached evenly.

>>> import tkm_core as tkm
>>> model = tkm.TiltedKMeans(2, t=0.5, random_state=0).fit([[0, 0], [0, 1], [5, 5], [5, 6]])
>>> round(tkm.evaluate([[0, 0], [0, 1], [5, 5], [5, 6]], model.cluster_centers_).largest_distance, 6)
0.5

Each name is imported when it is first used. So the command line starts at once, and the solver works without the
packages that only files, maps and streets need (the extras "geo" and "streets").
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tkm_core.extras import OF_ROOM, needs_extra
from tkm_core.version import VERSION

if TYPE_CHECKING:
    from tkm_core.clustering.checks import TiltWarning
    from tkm_core.clustering.estimator import TiltedKMeans
    from tkm_core.clustering.path import TiltedPath, tilted_path
    from tkm_core.evaluation import Evaluation, evaluate, evaluate_distances, neighbourhood_radius, scorer
    from tkm_core.methods import METHODS, MethodTooLargeError, Solution, run_method
    from tkm_core.partitions import ParquetRows, PartitionError
    from tkm_core.planning.by_straight_lines import ByStraightLines, by_straight_lines
    from tkm_core.planning.catchments import Reached, catchments
    from tkm_core.planning.fewest import Fewest, fewest_facilities
    from tkm_core.planning.making import make_plan
    from tkm_core.planning.plan import Plan
    from tkm_core.planning.rules import Rules
    from tkm_core.planning.side_by_side import Comparison, compare_methods
    from tkm_core.planning.travel import AlongStreets, ByTable, StraightLines
    from tkm_core.residents import (
        Residents,
        ResidentsError,
        Sites,
        Zones,
        load_residents,
        load_sites,
        load_zones,
    )
    from tkm_core.residents.samples import SAMPLES, load_sample
    from tkm_core.sites import (
        Capacity,
        CapacityPath,
        FewestSites,
        Proof,
        SitePath,
        TravelTable,
        UnreachableError,
        ZonePath,
        capacity_path,
        distance_scale,
        fewest_sites,
        prove,
        read_travel,
        share_out,
        site_path,
        zone_path,
    )
    from tkm_core.streets import Streets, StreetsError, load_streets, sample_streets

__version__ = VERSION
_ROOMS = {
    "tkm_core.evaluation.evaluation": ("Evaluation", "evaluate", "evaluate_distances"),
    "tkm_core.methods": ("METHODS", "MethodTooLargeError", "Solution", "run_method"),
    "tkm_core.evaluation.neighbourhood": ("neighbourhood_radius",),
    "tkm_core.evaluation.scoring": ("scorer",),
    "tkm_core.clustering.checks": ("TiltWarning",),
    "tkm_core.clustering.path": ("TiltedPath", "tilted_path"),
    "tkm_core.planning.fewest": ("Fewest", "fewest_facilities"),
    "tkm_core.partitions": ("ParquetRows", "PartitionError"),
    "tkm_core.planning.making": ("make_plan",),
    "tkm_core.planning.plan": ("Plan",),
    "tkm_core.planning.rules": ("Rules",),
    "tkm_core.planning.travel": ("AlongStreets", "ByTable", "StraightLines"),
    "tkm_core.planning.side_by_side": ("Comparison", "compare_methods"),
    "tkm_core.planning.by_straight_lines": ("ByStraightLines", "by_straight_lines"),
    "tkm_core.planning.catchments": ("Reached", "catchments"),
    "tkm_core.residents": (
        "Residents",
        "ResidentsError",
        "Sites",
        "Zones",
        "load_residents",
        "load_sites",
        "load_zones",
    ),
    "tkm_core.residents.samples": ("SAMPLES", "load_sample"),
    "tkm_core.streets": ("Streets", "StreetsError", "load_streets", "sample_streets"),
    "tkm_core.clustering.estimator": ("TiltedKMeans",),
    "tkm_core.sites": (
        "Capacity",
        "CapacityPath",
        "FewestSites",
        "Proof",
        "SitePath",
        "TravelTable",
        "UnreachableError",
        "ZonePath",
        "capacity_path",
        "distance_scale",
        "fewest_sites",
        "prove",
        "read_travel",
        "share_out",
        "site_path",
        "zone_path",
    ),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}
# Subpackages that are used as a whole: tkm.export.facilities, tkm.figures.tradeoff.
_WHOLE = ("export", "figures")

__all__ = [
    "METHODS",
    "SAMPLES",
    "AlongStreets",
    "ByStraightLines",
    "ByTable",
    "Capacity",
    "CapacityPath",
    "Comparison",
    "Evaluation",
    "Fewest",
    "FewestSites",
    "MethodTooLargeError",
    "ParquetRows",
    "PartitionError",
    "Plan",
    "Proof",
    "Reached",
    "Residents",
    "ResidentsError",
    "Rules",
    "SitePath",
    "Sites",
    "Solution",
    "StraightLines",
    "Streets",
    "StreetsError",
    "TiltWarning",
    "TiltedKMeans",
    "TiltedPath",
    "TravelTable",
    "UnreachableError",
    "ZonePath",
    "Zones",
    "__version__",
    "by_straight_lines",
    "capacity_path",
    "catchments",
    "compare_methods",
    "distance_scale",
    "evaluate",
    "evaluate_distances",
    "fewest_facilities",
    "fewest_sites",
    "load_residents",
    "load_sample",
    "load_sites",
    "load_streets",
    "load_zones",
    "make_plan",
    "neighbourhood_radius",
    "prove",
    "read_travel",
    "run_method",
    "sample_streets",
    "scorer",
    "share_out",
    "site_path",
    "tilted_path",
    "zone_path",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _ROOM_OF and name not in _WHOLE:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    path = _ROOM_OF.get(name, f"tkm_core.{name}")
    try:
        room = import_module(path)
    except ModuleNotFoundError as missing:
        raise needs_extra(name, missing, OF_ROOM.get(path.split(".")[1], "")) from missing
    value = room if name in _WHOLE else getattr(room, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, imported or not."""
    return sorted({*globals(), *__all__})
