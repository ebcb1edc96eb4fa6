"""A dozen tiny cities and every rule, as cases: the plan, and how far it is by the plain definition."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from pyproj import Transformer

import tkm_core as tkm
from tests.streets import cities as street_cities
from tests.streets import slowly as street_ways
from tkm_core.planning import BY_STRAIGHT_LINES, AlongStreets, Plan, Reference, make_plan
from tkm_core.residents import Residents, Sites, Zones
from tkm_core.sites import Capacity

MIDDLE = np.array([1.44, 43.60])
DIAL = (0.0, 0.3, 3.0, math.inf)
Far = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Case:
    """One city under some rules.

    `far` measures from residents to places, both in degrees; `capacity` is the most and the fewest people of each
    facility, `own` the capacity of single sites, `existing` everything that stands today.
    """

    name: str
    residents: Residents
    k: int
    options: dict[str, Any]
    far: Far
    unit: str = "m"
    capacity: tuple[float, float] = (math.inf, 0.0)
    own: tuple[float, ...] = ()
    existing: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    closed: tuple[int, ...] = ()
    pinned: int = 0
    against: Reference | None = None

    @property
    def limited(self) -> bool:
        return self.capacity != (math.inf, 0.0) or bool(self.own)

    @property
    def today(self) -> np.ndarray:
        """What stands today, whether it stays or not; pins are plans."""
        return self.existing[: len(self.existing) - self.pinned]

    @property
    def stays(self) -> np.ndarray:
        return np.delete(self.existing, list(self.closed), axis=0)

    def make(self) -> Plan:
        return _made(self)


@cache
def _made(case: Case) -> Plan:
    plan = make_plan(
        case.residents, case.k, t=DIAL if case.k else None, fixed_lonlat=case.existing, closed=case.closed,
        pinned=case.pinned, **case.options,
    )  # fmt: skip
    return plan if case.against is None else plan.against(case.against)


def straight(residents: Residents) -> Far:
    """Metres on the map that the report names."""
    flat = Transformer.from_crs(4326, residents.crs, always_xy=True)

    def far(homes: np.ndarray, places: np.ndarray) -> np.ndarray:
        a, b = (np.column_stack(flat.transform(*lonlat.T)) for lonlat in (homes, places))
        return np.array([[math.dist(one, other) for other in b] for one in a])

    return far


def town(n: int = 14, seed: int = 0, **options: Any) -> Residents:
    rng = np.random.default_rng(seed)
    lonlat = MIDDLE + rng.normal(0, [0.03, 0.02], (n, 2))
    people = options.pop("weights", rng.integers(1, 60, n).astype(float))
    return Residents.from_lonlat(lonlat, people, keep_suspect=True, **options)


def places(m: int, seed: int) -> np.ndarray:
    return MIDDLE + np.random.default_rng(seed).normal(0, [0.03, 0.02], (m, 2))


def sites(m: int = 7, seed: int = 1, capacity: np.ndarray | None = None) -> Sites:
    return Sites(places(m, seed), tuple(f"Site {number}" for number in range(m)), capacity)


def beside(*steps: tuple[float, float]) -> np.ndarray:
    """Places so many degrees from the middle."""
    return MIDDLE + np.array(steps)


def quarters(people: np.ndarray, start: np.ndarray = MIDDLE, side: float = 0.012) -> Residents:
    """Squares of a chessboard, each with its people and the point that stands for it."""
    steps = side * np.array([(x, y) for x in range(4) for y in range(4)])
    shapes = [shapely.box(*corner, *(corner + side)) for corner in start + steps]
    lonlat = np.array([[shape.centroid.x, shape.centroid.y] for shape in shapes])
    areas = pa.array([shapely.to_wkb(shape) for shape in shapes], pa.binary())
    names = [f"Quarter {number}" for number in range(len(shapes))]
    return Residents.from_lonlat(lonlat, people, areas=areas, ids=names, places=names, keep_suspect=True)


NODES, WAYS = street_cities.grid(6, 7)


@cache
def grid_streets() -> Any:
    return tkm.load_streets(street_cities.as_xml(NODES, WAYS), mode="walk", name="grid.osm")


@cache
def _way(start: tuple[float, float], end: tuple[float, float], by_length: bool) -> float:
    ways = [(refs, street_ways.PACE, street_ways.PACE) for refs, _ in WAYS]
    return street_ways.travel(NODES, ways, start, end, by_length=by_length)


def along_streets(by_length: bool) -> Far:
    def far(homes: np.ndarray, spots: np.ndarray) -> np.ndarray:
        ends = [tuple(spot) for spot in np.round(spots, 9).tolist()]
        return np.array([[_way(tuple(home), end, by_length) for end in ends] for home in homes.tolist()])

    return far


def street_town(n: int = 9, seed: int = 3) -> Residents:
    rng = np.random.default_rng(seed)
    lonlat = rng.uniform(0, [6 * street_cities.STEP, 5 * street_cities.STEP], (n, 2)).round(7)
    return Residents.from_lonlat(lonlat, rng.integers(1, 40, n), keep_suspect=True)


def by_table(values: np.ndarray, columns: np.ndarray) -> Far:
    """The planner's table: each place has the column of the same position."""

    def far(homes: np.ndarray, spots: np.ndarray) -> np.ndarray:
        which = [int(np.abs(columns - spot).sum(axis=1).argmin()) for spot in spots]
        return values[:, which]

    return far


def _table(n: int, m: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(2, 40, (n, m)).round(2)


def cases() -> list[Case]:
    """Every rule, alone and with others."""
    home, other, heavy = town(), town(12, 5), town(13, 8, weights=np.r_[np.zeros(2), np.full(11, 12.5)])
    today = places(3, 2)
    whole = float(home.weights.sum())
    zone = Zones((shapely.box(1.42, 43.58, 1.46, 43.62),), ("Centre",))
    grouped = town(14, 6, groups=["north"] * 9 + ["south"] * 5)
    ties = Residents.from_lonlat(
        MIDDLE + np.array([[x, y] for x in (0, 0.01, 0.02) for y in (0, 0.01, 0.02)] + [[0, 0]]), np.arange(10.0)
    )  # fmt: skip
    near = Residents.from_lonlat(
        MIDDLE + np.random.default_rng(4).normal(0, 0.002, (12, 2)), keep_suspect=True
    )
    blocks = quarters(np.random.default_rng(7).integers(20, 90, 16).astype(float))
    walkers = street_town()
    lots = quarters(np.arange(1.0, 17.0), np.array([0.0005, 0.0005]), 0.001)
    corner = np.array([[0.0, 0.0], [0.004, 0.003]])
    spots = np.array([[0.001, 0.001], [0.003, 0.001], [0.005, 0.004], [0.002, 0.004]])
    seven = sites()
    minutes = _table(14, 7 + 3, 3)
    table = tkm.TravelTable(minutes, "min", 0, np.empty(0, int), ())
    by_minutes = by_table(minutes, np.concatenate([seven.lonlat, today]))
    room = np.array([whole * part for part in (0.4, 0.3, 0.5, 0.35, 0.6, 0.3, 0.45)]).round()
    saved = Reference("saved", "Option B", places(3, 9))
    crowded = Reference("saved", "Crowded", places(3, 9), most=(round(whole * 0.4),) * 3, least=(0.0,) * 3)

    def on_map(name: str, who: Residents, k: int, options: dict[str, Any], **more: Any) -> Case:
        return Case(name, who, k, options, straight(who), **more)

    def limited(name: str, most: float, least: float = 0.0, k: int = 2, **more: Any) -> Case:
        options = {"capacity": Capacity(most, least), **more.pop("options", {})}
        return on_map(name, more.pop("who", home), k, options, capacity=(most, least), **more)

    return [
        on_map("anywhere", home, 3, {}),
        on_map("one facility", other, 1, {}),
        on_map("fractions and nobody", heavy, 2, {}, existing=today),
        on_map("ties", ties, 2, {}, existing=beside((0.0, 0.0))),
        on_map("a hamlet", near, 2, {}, existing=beside((0.001, 0.001))),
        on_map("existing", home, 2, {}, existing=today),
        on_map("closed", home, 1, {}, existing=today, closed=(0, 2)),
        on_map("pins", home, 1, {}, existing=places(4, 2), pinned=1),
        on_map("only closing", home, 0, {}, existing=today, closed=(0,)),
        on_map("closing what is hardly used", home, 0, {}, existing=today, closed=(1,)),
        on_map("today itself", home, 0, {}, existing=today),
        on_map("on sites", home, 3, {"sites": seven}),
        on_map("on sites beside existing", home, 2, {"sites": seven}, existing=today),
        on_map("on sites and one closed", home, 2, {"sites": seven}, existing=today, closed=(1,)),
        on_map("sites in a zone", home, 1, {"sites": sites(9, 4), "only_in": zone}, existing=today),
        on_map("only in a zone", home, 2, {"only_in": zone}),
        on_map("not in a zone", home, 2, {"not_in": zone}, existing=today, closed=(0,)),
        limited("room on the map", round(whole * 0.4), k=3),
        limited("room and a zone", round(whole * 0.5), k=3, options={"not_in": zone}),
        limited("room on sites", round(whole * 0.45), k=3, options={"sites": seven}),
        limited("room beside existing", round(whole * 0.3), options={"sites": seven}, existing=today),
        limited("room and one closed", round(whole * 0.4), options={"sites": seven}, existing=today, closed=(0,)),
        limited("at least and at most", round(whole * 0.6), round(whole * 0.25), 3, options={"sites": seven}),
        limited("room today", round(whole * 0.45), k=0, existing=today),
        limited("room in fractions", 50.5, k=1, options={"sites": seven}, existing=today, who=heavy),
        limited("room for areas", round(blocks.weights.sum() * 0.3), options={"sites": seven},
                existing=beside((0.01, 0.01), (0.03, 0.04)), who=blocks),
        on_map("sites with their own room", home, 3, {"sites": sites(capacity=room)}, own=tuple(room.tolist())),
        on_map("equal groups", grouped, 2, {"equal_groups": True}, existing=today),
        on_map("equal groups on sites", grouped, 2, {"equal_groups": True, "sites": seven}, existing=today),
        on_map("areas", blocks, 2, {}, existing=beside((0.01, 0.01), (0.03, 0.04)), closed=(1,)),
        on_map("areas today", blocks, 0, {}, existing=beside((0.01, 0.01))),
        Case("areas along streets", lots, 1, {"streets": grid_streets(), "sites": Sites(spots)}, along_streets(False),
             "min", existing=corner),
        on_map("areas on sites", blocks, 2, {"sites": seven}, existing=beside((0.01, 0.01))),
        on_map("against a saved plan", home, 3, {}, against=saved),
        limited("against a saved plan with room", round(whole * 0.45), k=3, options={"sites": seven}, against=saved),
        on_map("against a saved plan with limits", home, 3, {}, against=crowded),
        limited("against a saved plan with other limits", round(whole * 0.5), k=3, options={"sites": seven},
                against=crowded),
        limited("against a saved plan that is too small", round(whole * 0.3), k=4, options={"sites": seven},
                against=Reference("saved", "Small", places(2, 9), most=(40.0, 60.0), least=(0.0, 0.0))),
        Case("along streets", walkers, 2, {"streets": grid_streets()}, along_streets(False), "min"),
        Case("along streets beside existing", walkers, 1, {"streets": grid_streets(), "sites": Sites(spots)},
             along_streets(False), "min", existing=corner, closed=(1,)),
        Case("metres along streets with room", walkers, 2,
             {"rules": tkm.Rules(AlongStreets(grid_streets(), "metres"), Sites(spots),
                                 capacity=Capacity(round(walkers.weights.sum() * 0.4)))},
             along_streets(True), "m", (round(walkers.weights.sum() * 0.4), 0.0), existing=corner),
        Case("against straight lines", walkers, 2, {"streets": grid_streets(), "sites": Sites(spots)},
             along_streets(False), "min", against=BY_STRAIGHT_LINES),
        Case("by table", home, 2, {"sites": seven, "travel": table}, by_minutes, "min", existing=today),
        Case("by table with room", home, 2, {"sites": seven, "travel": table, "capacity": round(whole * 0.3)},
             by_minutes, "min", (round(whole * 0.3), 0.0), existing=today, closed=(2,)),
    ]  # fmt: skip


CASES = cases()
SETTINGS = [(case, i) for case in CASES for i in range(len(DIAL) if case.k else 1)]
NAMES = [f"{case.name} at {i}" for case, i in SETTINGS]
