"""The fewest facilities so that nobody is farther than a given distance, with the proof that fewer do not do."""

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

CELLS = 3_000  # places of residents on a free map that are looked at; cells stand for more
POINTS = (
    2_500,
    10_000,
)  # of the lattices over a free map: the first, and a finer one if it leaves something open
FINE = 8.0  # meshes within the reach
MORE = 8  # facilities beyond what distance alone asks for that are tried where room is limited


@dataclass(frozen=True, eq=False)
class Fewest:
    """The answer to "how many facilities, so that nobody is farther than this?".

    Attributes
    ----------
    reach : float
        The farthest that anybody may have to go, in metres or minutes.
    number : int or None
        New facilities that are enough; None if no number was found.
    bound : int
        So many are proven to be needed.
    lonlat : ndarray of shape (number, 2)
        Where they may stand.
    among : str
        Which places were compared: "these sites"; "" if facilities may stand anywhere.
    """

    reach: float
    number: int | None
    bound: int
    lonlat: Floats
    among: str = ""

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
    """The fewest new facilities so that nobody is farther than ``reach`` from one.

    Over given sites the answer is exact. On a free map it is found on a lattice: a plan there is a plan, and
    whatever stands anywhere could move to the next point of the lattice, so that nobody goes more than half a
    diagonal of its mesh farther. Both together say how many are enough, and how many are too few.

    Parameters
    ----------
    residents : Residents
    reach : float
        In metres, or in minutes where the rules measure times.
    rules : Rules
        What a plan has to follow.
    fixed_lonlat : array-like of shape (f, 2), optional
        Existing facilities that stay, in degrees: they serve as well and are not counted.
    seconds : float
        How long to look for a proof, about.
    progress : callable, optional
        As in `make_plan`.

    Returns
    -------
    Fewest

    Raises
    ------
    UnreachableError
        If somebody lives farther than that from every place where a facility may stand.

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
    """Over candidate sites, or the junctions of streets that are compared: exactly."""
    home, fixed = task.residents, task.lonlat(task.fixed)
    spots = spots_for(task, fixed)
    table = table_for(task, home, spots, fixed, 0.0, 0.4)
    columns = np.arange(len(spots), table.shape[1])
    try:
        found = fewest_sites(
            table, reach, sample_weight=home.weights, fixed_sites=columns, seconds=seconds,
            progress=part(task.report, 0.4, 0.9),
        )  # fmt: skip
    except UnreachableError as error:
        raise unreachable(
            home, error.rows, f"{_where(spots)} within {reach:,.6g} {task.rules.unit}"
        ) from None
    return _with_room(task, Fewest(reach, found.number, found.bound, spots.lonlat[found.sites], spots.among),
                      table, spots, columns)  # fmt: skip


def _where(spots: Spots) -> str:
    return f"the {counted(len(spots), 'place')}" if len(spots) > 1 else "the only place"


def _on_map(task: Task, reach: float, seconds: float) -> Fewest:
    """On a free map: enough on a lattice, and too few on a lattice with half its diagonal more."""
    home, rules = task.residents, task.rules
    live = home.weights > 0
    cells = gather(home.xy[live], home.weights[live], CELLS)
    stand = home.to_xy(task.fixed)
    around = reach if rules.zoned else 0.0  # the nearest allowed place may lie beside the city
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
        # a facility that stands anywhere moves to a point of the lattice, and those there go half a diagonal farther
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
    """The fewest of some places so that everyone is within a reach of their own; None if no number is enough."""
    apart = cdist(homes, np.concatenate([places, stand])) - reach[:, None]
    table = np.where(apart <= 0, 0.0, np.inf)
    fixed = np.arange(len(places), table.shape[1])
    try:
        return fewest_sites(table, 0.0, fixed_sites=fixed, seconds=seconds, progress=report)
    except UnreachableError:
        return None


def _enough_room(task: Task, lonlat: Floats) -> tuple[int, Floats] | None:
    """As many facilities at each place as those need who live nearest; None if some would serve too few."""
    home, most = task.residents, task.rules.most
    places = np.concatenate([home.lonlat_to_xy(lonlat), home.to_xy(task.fixed)])
    load = np.bincount(cKDTree(places).query(home.xy)[1], home.weights, len(places))
    copies = (
        np.maximum(np.ceil(load / most - 1e-9).astype(np.int64), 1) if math.isfinite(most) else load * 0 + 1
    )
    if (load < task.rules.least * copies).any():
        return None
    copies[len(lonlat) :] -= 1  # these stand already
    which = np.repeat(np.arange(len(places)), copies.astype(np.int64))
    return len(which), home.to_lonlat(places[which])


def _needed_for_room(task: Task) -> int:
    """How many new facilities have room for everyone, if all could be reached."""
    most = task.rules.most
    if not 0 < most < math.inf:
        return 0
    return max(0, math.ceil(float(task.residents.weights.sum()) / most - len(task.fixed) - 1e-9))


def _with_room(task: Task, found: Fewest, table: Floats, spots: Spots, columns: Ints) -> Fewest:
    """The same where facilities have limited room: as many more as it takes, the fewest that were found."""
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
