"""Place facilities under rules on a map: in zones or with limited room."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering import VISIBLE, TiltedPath
from tkm_core.planning.baseline import kmeans_sites
from tkm_core.planning.dial import dial_stops, distinct, settings_of
from tkm_core.planning.grounds import Grounds
from tkm_core.planning.rules import Rules
from tkm_core.planning.serving import Known, Serving
from tkm_core.planning.trade_off import gather
from tkm_core.progress import Progress, part
from tkm_core.residents import Residents
from tkm_core.sites import capacity_path, distance_scale, zone_path
from tkm_core.units import format_length
from tkm_core.wording import dial_near

# The most residents while facilities are placed around zones; more are merged into cells.
MOST_PLACED = 3_000
MOST_LIMITED = 10_000  # the same if room is limited


@dataclass(frozen=True, eq=False)
class Task:
    """What to place, for whom, and under which rules.

    Attributes
    ----------
    residents : Residents
    k : int
    rules : Rules
    fixed : ndarray of shape (f, 2)
        Existing and pinned facilities that stay open, in scaled coordinates.
    people : ndarray of shape (n,)
        How much each row counts in placing.
    t : array-like or None
        Settings asked for; by default they are chosen where the plan changes.
    with_t : float or None
        A setting to add to those.
    random_state : int
    report : callable
    prove : float
        Seconds to spend on better bounds, if there are any.
    """

    residents: Residents
    k: int
    rules: Rules
    fixed: Floats
    people: Floats
    t: npt.ArrayLike | None
    with_t: float | None
    random_state: int
    report: Progress
    prove: float = 0.0

    def __post_init__(self) -> None:
        self.rules.travel.check(self.residents)

    def settings(self, stops: Callable[[], Floats]) -> tuple[Floats, Bools]:
        """The settings of the dial, and which of them were asked for."""
        return settings_of(self.t, self.with_t, stops)

    @property
    def free(self) -> bool:
        """Whether the settings were left to be chosen."""
        return self.t is None

    def scaled(self, lonlat: Floats) -> Floats:
        """Degrees to the residents' scaled coordinates."""
        return (self.residents.lonlat_to_xy(lonlat) - self.residents.origin) / self.residents.scale

    def lonlat(self, scaled: Floats) -> Floats:
        """Scaled coordinates to degrees."""
        return self.residents.to_lonlat(self.residents.to_xy(scaled))


@dataclass(frozen=True, eq=False)
class Placed:
    """Facilities at every setting, the lowest-average plan, and what both are based on."""

    path: TiltedPath
    grounds: Grounds
    baseline: Floats

    def at(self, keep: Bools | Ints) -> "Placed":
        """The same at selected settings."""
        which = np.arange(len(self.path.t))[keep]
        path = TiltedPath(**{one.name: getattr(self.path, one.name)[which] for one in fields(self.path)})
        return Placed(path, self.grounds.at(which), self.baseline)


def measured_path(
    task: Task, settings: Floats, centers: Floats, grounds: Grounds, arrangement: Ints, report: Progress
) -> TiltedPath:
    """The path of facilities in scaled coordinates, with costs by the rules."""
    serving = Serving(task.residents, task.rules, grounds.scale, grounds.known)
    costs = np.empty((len(settings), 3))
    for i, t in enumerate(settings):
        report(i / len(settings), f"Measuring the plan at t = {dial_near(t)}")
        places = None if grounds.places is None else grounds.places[i]
        found = serving.evaluate(task.residents.to_xy(centers[i]), float(t), places=places)
        costs[i] = found.tilted_sse, found.sse, found.city_cost
    costs /= grounds.scale**2
    tilted_sse, sse, cost = costs.T
    return TiltedPath(settings, centers, tilted_sse, sse, cost, np.zeros(len(settings)), arrangement)


def place_nothing(task: Task) -> Placed:
    """A plan without new facilities: a single setting with the existing ones."""
    home, rules = task.residents, task.rules
    lonlat = task.lonlat(task.fixed)
    table, own = None, np.full(len(lonlat), np.inf)
    scale = home.scale
    if not rules.straight:
        table = rules.travel.table(home, lonlat)
        scale = distance_scale(table, task.people)
    known = Known(lonlat, table, np.full(len(lonlat), -1), own)
    grounds = Grounds(scale, known, np.arange(len(lonlat))[None], made="what stays open")
    path = measured_path(task, np.zeros(1), task.fixed[None], grounds, np.zeros(1, np.int64), task.report)
    return Placed(path, grounds, task.fixed)


def place_on_map(task: Task) -> Placed:
    """Place facilities in zones or with limited room, by straight-line distance."""
    home, report = task.residents, task.report
    report(0.0, "Finding the lowest-average sites")
    usual = kmeans_sites(home, task.k, task.fixed, task.random_state, task.people)
    report(0.05, "Looking where the plan changes")
    wanted, asked = task.settings(lambda: dial_stops(home, task.k, usual, task.people))
    settings = np.unique(np.append(wanted, 0.0))  # 0, because the lowest average is found by the same rules
    points, weights = _crowd(task, MOST_LIMITED if task.rules.limited else MOST_PLACED)
    remarks = []
    room = task.rules.room(task.k + len(task.fixed))
    if room is not None:
        found = capacity_path(
            points, task.k, room, t=settings, sample_weight=weights,
            fixed_centers=task.fixed if len(task.fixed) else None, scale=1.0, random_state=task.random_state,
            progress=part(report, 0.1, 0.8),
        )  # fmt: skip
        centers, made = found.centers, "the best found at t = 0 with the same limits"
    else:
        zones = [_on_map(task, one) for one in (task.rules.only_in, task.rules.not_in)]
        held = zone_path(
            points, task.k, only_in=zones[0], not_in=zones[1], t=settings, sample_weight=weights,
            fixed_centers=task.fixed if len(task.fixed) else None, scale=1.0, random_state=task.random_state,
            progress=part(report, 0.1, 0.9),
        )  # fmt: skip
        centers, made = held.centers, "the best found at t = 0 in the same zones"
        mesh = format_length(held.mesh * home.scale, "km")
        remarks.append(f"Facilities stand on allowed points of a grid with a spacing of {mesh}.")
    if len(points) < len(home):
        remarks.append(
            f"They were placed for {len(points):,} cells that stand for the residents, and measured for all."
        )
    grounds = Grounds(home.scale, made=made, remarks=tuple(remarks))
    path = measured_path(
        task, settings, centers, grounds, np.zeros(len(settings), np.int64), part(report, 0.9, 1.0)
    )
    moves = np.linalg.norm(np.diff(centers, axis=0), axis=2).max(axis=1)
    jumps = moves > VISIBLE * np.sqrt(path.sse[1:])
    path = replace(path, arrangement=np.append(0, np.cumsum(jumps)).astype(np.int64))
    placed = Placed(path, grounds, centers[0]).at(np.isin(settings, wanted))
    if not task.free:
        return placed
    return placed.at(distinct(placed.path.centers, placed.path.sse, asked))


def _crowd(task: Task, most: int) -> tuple[Floats, Floats]:
    """The residents, or the cells that stand for them."""
    if len(task.residents) <= most:
        return task.residents.scaled, task.people
    cells = gather(task.residents.scaled, task.people, most)
    return cells.xy, cells.weights


def _on_map(task: Task, zones: object) -> shapely.Geometry | None:
    """Zones in the residents' scaled coordinates."""
    shape = getattr(zones, "shape", None)
    if shape is None:
        return None
    return shapely.make_valid(shapely.transform(shapely.segmentize(shape, 0.05), task.scaled))
