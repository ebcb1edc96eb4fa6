"""Assignments for the live map, for plans in which not everyone goes to the nearest facility by straight line.

With streets, travel tables or capacities, a browser cannot compute who is served by which facility. So this is sent,
once for each distinct arrangement, however many settings of the dial share it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Floats
from tkm_core.figures.live_place import live_roads
from tkm_core.figures.maps import MapGround
from tkm_core.planning import Plan

MOST_CANDIDATES = 3_000  # the most candidate sites that are drawn
FINEST = 65_535  # steps from 0 to the largest distance


def rules_of(plan: Plan) -> Any:
    """The rules of a plan, if there are any."""
    return None if plan.rules.plain else plan.rules


def served_by_nearest(plan: Plan) -> bool:
    """Whether everyone is served by the nearest facility in a straight line, which the browser can compute itself.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> served_by_nearest(make_plan(load_sample("generated", n=200), 1, t=[0]))
    True
    """
    return plan.serving.plain and plan.reference.room is None


def jumps(plan: Plan) -> list[bool]:
    """Settings at which facilities jump, to another arrangement or from site to site."""
    arrangement, rules = plan.path.arrangement, rules_of(plan)
    if rules is None or (rules.straight and rules.sites is None):
        return [i > 0 and bool(arrangement[i] != arrangement[i - 1]) for i in range(len(plan))]
    places = [plan.centers_xy(i) for i in range(len(plan))]
    return [i > 0 and not np.allclose(places[i], places[i - 1], atol=0.01) for i in range(len(plan))]


def rule_parts(plan: Plan) -> dict[str, Any]:
    """What the map shows of the rules: candidate sites, zones, and service areas not based on straight lines."""
    rules, home = rules_of(plan), plan.residents
    parts: dict[str, Any] = {"candidates": None, "zones": [], "arrangement": None, "grounds": None}
    if rules is not None and rules.sites is not None and len(rules.sites.lonlat) <= MOST_CANDIDATES:
        names = rules.sites.names or ("",) * len(rules.sites.lonlat)
        xy = home.lonlat_to_xy(rules.sites.lonlat) - home.origin
        parts["candidates"] = [
            {"lonlat": place, "xy": metres, "name": " ".join(name.split())[:80]}
            for place, metres, name in zip(
                np.round(rules.sites.lonlat, 6).tolist(), np.round(xy, 2).tolist(), names, strict=True
            )
        ]
    for kind in ("only_in", "not_in"):
        zones = getattr(rules, kind, None)
        names = () if zones is None else zones.names or ("",) * len(zones.shapes)
        parts["zones"] += [
            {"kind": kind, "name": " ".join(name.split())[:80], "rings": _rings(shape)}
            for shape, name in zip(() if zones is None else zones.shapes, names, strict=True)
        ]
    if not served_by_nearest(plan):
        found = arrangements(plan)
        parts |= {"arrangement": found.of, "grounds": live_grounds(plan, found)}
    return parts


def titles_on_sites(plan: Plan) -> list[list[str]] | None:
    """Titles of the facilities at every setting, if they are named after their sites; otherwise None."""
    rules = rules_of(plan)
    if rules is None or rules.sites is None:
        return None
    return [[plan.title(j, i) for j in range(len(plan.kinds))] for i in range(len(plan))]


def rule_signs(plan: Plan) -> list[tuple[str, str]]:
    """The signs on the map for the rules of a plan, and their meanings."""
    rules = rules_of(plan)
    if rules is None:
        return []
    signs = [("spot", "site where a facility may stand")] if rules.sites is not None else []
    signs += [("only", "facilities only in here")] if rules.only_in is not None else []
    return signs + ([("never", "no facilities in here")] if rules.not_in is not None else [])


def farthest_ways(plan: Plan, farthest: Sequence[Sequence[Any]]) -> list[Any] | None:
    """The farthest resident's route along the streets at every setting; None if there are no streets.

    Parameters
    ----------
    plan : Plan
    farthest : sequence
        For every setting, the resident's position, their facility and a label.
    """
    travel = plan.rules.travel
    if travel.drawn_streets is None:
        return None
    known: dict[tuple[Any, ...], list[Any]] = {}
    ways: list[list[Any] | None] = []
    for i, (home, by, _) in enumerate(farthest):
        if home is None:
            ways.append(None)
            continue
        site = plan.centers_lonlat(i)[by].tolist()
        key = (*home, *site)
        if key not in known:
            way = travel.route([home], [site])
            known[key] = np.round([home, site] if way is None else way, 5).tolist()
        ways.append(known[key])
    return ways


def street_ground(plan: Plan, ground: MapGround) -> bytes | None:
    """The streets of a plan as the background of its map; None if it has none."""
    streets = plan.rules.travel.drawn_streets
    if streets is None:
        return None
    pixel = ground.view.metres_wide / 690
    return live_roads(streets.lines(simplify=pixel / 3), areas=streets.areas, credit=streets.attribution)


@dataclass(frozen=True)
class Arrangements:
    """The distinct arrangements of a plan: the one at each setting, and the first setting of each."""

    of: list[int]
    first: list[int]


def arrangements(plan: Plan) -> Arrangements:
    """Find the distinct arrangements: settings with the same facilities and assignment share one.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> found = arrangements(make_plan(load_sample("generated", n=200), 1, t=[0, 1e-9, 5]))
    >>> len(found.of), len(found.first) <= 3
    (3, True)
    """
    known: dict[bytes, int] = {}
    of, first = [], []
    for i in range(len(plan)):
        labels = plan.evaluation(i).labels
        key = np.round(plan.centers_xy(i), 2).tobytes() + np.asarray(labels, np.int32).tobytes()
        if key not in known:
            known[key] = len(known)
            first.append(i)
        of.append(known[key])
    return Arrangements(of, first)


def live_service(plan: Plan, ground: MapGround) -> bytes | None:
    """Each resident's facility and distance in every arrangement and in the reference; None if not needed.

    Parameters
    ----------
    plan : Plan
    ground : MapGround
        From `live_ground`: residents, or cells of many.

    Returns
    -------
    bytes or None
        The number of arrangements, the number of residents, and whether labels take 16 bits, each as 32 bits; the size
        of a step as a 32-bit float; the distances as 16-bit steps, with the reference last; and the labels.
    """
    if served_by_nearest(plan):
        return None
    found = arrangements(plan)
    measured = [plan.evaluation(i) for i in found.first]
    facilities = len(plan.kinds)
    distances = [_shown(ground, plan, one.distance) for one in (*measured, plan.reference_evaluation())]
    labels = [_shown_labels(ground, plan, one.labels, facilities) for one in measured]
    step = max(max(float(far.max()) for far in distances), 1e-9) / FINEST
    wide = facilities > 256
    return b"".join(
        [
            np.array([len(found.first), len(distances[0]), wide], "<u4").tobytes(),
            np.array([step], "<f4").tobytes(),
            *(np.rint(far / step).astype("<u2").tobytes() for far in distances),
            *(who.astype("<u2" if wide else "u1").tobytes() for who in labels),
        ]
    )


def live_grounds(plan: Plan, found: Arrangements) -> list[list[list[list[list[float]]]]]:
    """The rings of every facility's service area in every arrangement, in degrees to ten metres."""
    return [[_rings(area) for area in plan.service_areas(i)] for i in found.first]


def _rings(area: shapely.Geometry) -> list[list[list[float]]]:
    """The rings of all polygons, rounded to ten metres."""
    parts = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon" and not part.is_empty]
    return [np.round(ring.coords, 4).tolist() for part in parts for ring in (part.exterior, *part.interiors)]


def _shown(ground: MapGround, plan: Plan, distance: Floats) -> Floats:
    """The distance of each item drawn: of a resident, or the mean of a cell."""
    cells = ground.cells
    if cells is None:
        return distance
    filled = cells.weight > 0
    return np.asarray(cells.total(distance, plan.residents.weights)[filled] / cells.weight[filled])


def _shown_labels(
    ground: MapGround, plan: Plan, labels: npt.NDArray[Any], facilities: int
) -> npt.NDArray[Any]:
    """The facility of each item drawn: of a resident, or of most people in a cell."""
    cells = ground.cells
    if cells is None:
        return labels
    counts = np.bincount(
        cells.index * facilities + labels, plan.residents.weights, minlength=cells.count * facilities
    )
    return np.asarray(counts.reshape(cells.count, facilities).argmax(axis=1)[cells.weight > 0])
