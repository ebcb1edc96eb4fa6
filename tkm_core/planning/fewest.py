"""The fewest facilities such that nobody is farther than a given distance, with a proof that fewer are too few."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from tkm_core.arrays import Floats, Ints
from tkm_core.planning.on_sites import Spots, spots_for, table_for
from tkm_core.planning.placing import Task
from tkm_core.planning.rules import FREE, Rules
from tkm_core.planning.serving import unreachable
from tkm_core.planning.trade_off import gather
from tkm_core.progress import Progress, never_falling, part
from tkm_core.residents import Residents, scaled_sites
from tkm_core.sites import FewestSites, UnreachableError, fewest_sites, lattice, site_path
from tkm_core.wording import counted

CELLS = 3_000  # the most places of residents on a free map; more are merged into cells
# Points of the lattice over a free map: the first, and a finer one if that leaves a gap.
POINTS = (2_500, 10_000)
FINE = 8.0  # the mesh is at most the reach divided by this
MORE = 8  # extra facilities that are tried if room is limited


@dataclass(frozen=True, eq=False)
class Fewest:
    """The fewest facilities such that nobody is farther than a given distance.

    Attributes
    ----------
    reach : float
        The farthest that anybody may have to go, in metres or minutes.
    number : int or None
        Number of new facilities that are enough; None if no number was found.
    bound : int
        Number of new facilities that are proven to be needed.
    lonlat : ndarray of shape (number, 2)
        Where they could stand.
    among : str
        Which places were compared: "these sites"; "" if facilities may stand anywhere.
    best : float
        If no number is enough: how far somebody still has to go with a facility at every place that was compared. 0 if
        that is not known.
    """

    reach: float
    number: int | None
    bound: int
    lonlat: Floats
    among: str = ""
    best: float = 0.0

    @property
    def possible(self) -> bool:
        """Whether any number can be enough, as far as is known."""
        return self.best <= self.reach

    @property
    def proved(self) -> bool:
        """Whether fewer are proven to be too few."""
        return self.number == self.bound


def fewest_facilities(
    residents: Residents,
    reach: float,
    *,
    rules: Rules = FREE,
    fixed_lonlat: npt.ArrayLike | None = None,
    seconds: float = 20.0,
    progress: Progress | None = None,
) -> Fewest:
    """The fewest new facilities such that nobody is farther than ``reach`` from one.

    On given sites the answer is exact. On a free map it is found on a lattice. A plan on the lattice shows how many are
    enough. Moving any plan to the nearest lattice points adds at most half a diagonal of the mesh to a trip; so with
    that much more reach, the lattice also shows how many are too few.

    Parameters
    ----------
    residents : Residents
    reach : float
        In metres, or in minutes where the rules measure times.
    rules : Rules
        Rules of the plan.
    fixed_lonlat : array-like of shape (f, 2), optional
        Existing facilities that stay, in degrees: they serve as well and are not counted.
    seconds : float
        About how long to search for a proof.
    progress : callable, optional
        As in `make_plan`.

    Returns
    -------
    Fewest

    Raises
    ------
    UnreachableError
        If somebody has no route to any place where a facility may stand. If there is one and it is too long, the result
        says so: `possible` is False and `best` is the distance that can be kept.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> found = fewest_facilities(load_sample("sacramento"), 60_000)
    >>> found.number, found.proved
    (1, True)
    """
    if not reach > 0:
        msg = f"The distance within which everyone should be is {reach!r}; it must be above 0."
        raise ValueError(msg)
    report = never_falling(progress)
    fixed = scaled_sites(residents, np.empty((0, 2)) if fixed_lonlat is None else np.asarray(fixed_lonlat))
    task = Task(residents, 1, rules, fixed, residents.weights, None, None, 0, report)
    find = _on_map if rules.sites is None and rules.straight else _on_spots
    found = find(task, reach, seconds)
    report(1.0, "Done")
    return found


def _on_spots(task: Task, reach: float, seconds: float) -> Fewest:
    """The exact answer on candidate sites, or on the junctions that are compared."""
    home, fixed = task.residents, task.lonlat(task.fixed)
    spots = spots_for(task, fixed)
    table = table_for(task, home, spots, fixed, 0.0, 0.4)
    columns = np.arange(len(spots), table.shape[1])
    nearest = np.where(home.weights > 0, table.min(axis=1), 0.0)
    if np.isinf(nearest).any():
        raise unreachable(home, np.flatnonzero(np.isinf(nearest)), _where(spots))
    if nearest.max() > reach:
        return Fewest(reach, None, 0, np.empty((0, 2)), spots.among, float(nearest.max()))
    found = fewest_sites(
        table, reach, sample_weight=home.weights, fixed_sites=columns, seconds=seconds,
        progress=part(task.report, 0.4, 0.9),
    )  # fmt: skip
    return _with_room(task, Fewest(reach, found.number, found.bound, spots.lonlat[found.sites], spots.among),
                      table, spots, columns)  # fmt: skip


def _where(spots: Spots) -> str:
    """Which places the answer is about."""
    return f"any of the {counted(len(spots), 'place')}" if len(spots) > 1 else "the only place"


def _on_map(task: Task, reach: float, seconds: float) -> Fewest:
    """The answer on a free map: how many are enough on a lattice, and too few with half a diagonal more reach."""
    home, rules = task.residents, task.rules
    live = home.weights > 0
    cells = gather(home.xy[live], home.weights[live], CELLS)
    stand = home.to_xy(task.fixed)
    around = reach if rules.zoned else 0.0  # the nearest allowed place may lie outside the city
    low, high = cells.xy.min(axis=0) - around, cells.xy.max(axis=0) + around
    sides = np.maximum(high - low, reach / FINE)
    enough: tuple[int, Floats] | None = None
    bound = 0
    for turn, most in enumerate(POINTS):
        mesh = max(reach / FINE / 2**turn, float(np.sqrt(sides.prod() / most)))
        points = lattice(low, low + mesh * np.maximum(np.ceil(sides / mesh), 1), mesh)
        told = part(task.report, 0.5 * turn, 0.5 * turn + 0.45)
        places = np.concatenate([points, cells.xy])
        places = places[rules.allows(home.to_lonlat(places))] if rules.zoned else places
        if len(places):
            better = _cover(cells.xy, reach - cells.reach, places, stand, seconds / 4, part(told, 0.0, 0.5))
            if better is not None and (enough is None or better.number < enough[0]):
                enough = better.number, home.to_lonlat(places[better.sites])
        # moving a facility to the lattice makes a trip at most half a diagonal longer
        farther = reach + cells.reach + mesh / math.sqrt(2)
        least = _cover(cells.xy, farther, points, stand, seconds / 4, part(told, 0.5, 1.0))
        bound = max(bound, 0 if least is None else least.bound)
        if enough is not None and enough[0] <= bound:
            break
    if rules.limited:
        bound = max(bound, _needed_for_room(task))
        enough = None if enough is None else _enough_room(task, enough[1])
    number, lonlat = (None, np.empty((0, 2))) if enough is None else enough
    return Fewest(reach, number, bound if number is None else min(bound, number), lonlat)


def _cover(
    homes: Floats, reach: Floats, places: Floats, stand: Floats, seconds: float, report: Progress
) -> FewestSites | None:
    """The fewest places such that everyone has one within their own reach; None if no number is enough."""
    apart = cdist(homes, np.concatenate([places, stand])) - reach[:, None]
    table = np.where(apart <= 0, 0.0, np.inf)
    fixed = np.arange(len(places), table.shape[1])
    try:
        return fewest_sites(table, 0.0, fixed_sites=fixed, seconds=seconds, progress=report)
    except UnreachableError:
        return None


def _enough_room(task: Task, lonlat: Floats) -> tuple[int, Floats] | None:
    """Facilities at each place, as many as the people nearest to it need; None if one would serve too few."""
    home, most = task.residents, task.rules.most
    places = np.concatenate([home.lonlat_to_xy(lonlat), home.to_xy(task.fixed)])
    load = np.bincount(cKDTree(places).query(home.xy)[1], home.weights, len(places))
    copies = (
        np.maximum(np.ceil(load / most - 1e-9).astype(np.int64), 1) if math.isfinite(most) else load * 0 + 1
    )
    if (load < task.rules.least * copies).any():
        return None
    copies[len(lonlat) :] -= 1  # one each exists already
    which = np.repeat(np.arange(len(places)), copies.astype(np.int64))
    return len(which), home.to_lonlat(places[which])


def _needed_for_room(task: Task) -> int:
    """How many new facilities are needed for room alone, if everyone could reach all of them."""
    most = task.rules.most
    if not 0 < most < math.inf:
        return 0
    return max(0, math.ceil(float(task.residents.weights.sum()) / most - len(task.fixed) - 1e-9))


def _with_room(task: Task, found: Fewest, table: Floats, spots: Spots, columns: Ints) -> Fewest:
    """The same with limited room: facilities are added until there is room for everyone."""
    room = task.rules.room(table.shape[1], np.append(spots.own, np.full(len(columns), np.inf)))
    if room is None or found.number is None:
        return found
    for k in range(max(found.number, 1), min(found.number + MORE, len(spots)) + 1):
        task.report(0.9, f"Is there room with {counted(k, 'facility', 'facilities')}?")
        try:
            path = site_path(
                table, k, t=[np.inf], sample_weight=task.residents.weights, fixed_sites=columns, capacity=room,
                random_state=0,
            )  # fmt: skip
        except ValueError:
            continue
        if math.sqrt(float(path.city_cost[0])) <= found.reach * (1 + 1e-9):
            return Fewest(found.reach, k, found.bound, spots.lonlat[path.sites[0][:k]], found.among)
    return Fewest(found.reach, None, found.bound, np.empty((0, 2)), found.among)
