"""Place facilities on candidate sites, junctions or a lattice, from a table of distances."""

from dataclasses import dataclass, replace

import numpy as np
import shapely
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.planning import on_streets
from tkm_core.planning.baseline import kmeans_sites
from tkm_core.planning.dial import site_stops
from tkm_core.planning.grounds import Grounds
from tkm_core.planning.placing import Placed, Task, measured_path
from tkm_core.planning.serving import Known, Serving, unreachable
from tkm_core.planning.trade_off import gather
from tkm_core.planning.travel import SAME_PLACE
from tkm_core.progress import part
from tkm_core.residents import Residents
from tkm_core.sites import UnreachableError, distance_scale, lattice, site_path
from tkm_core.wording import counted

ENTRIES = 20_000_000  # the most entries of a table of residents and candidates; more residents are merged into cells
LATTICE = 800  # about how many allowed points, if there are both zones and limited room
SAME = 0.002  # relative: settings whose average and longest trips differ by less count as one


@dataclass(frozen=True, eq=False)
class Spots:
    """Places where facilities may stand.

    Attributes
    ----------
    lonlat : ndarray of shape (m, 2)
    number : int ndarray of shape (m,)
        Which candidate site each is; -1 if none was given.
    own : ndarray of shape (m,)
        The capacity of each.
    among : str
        What to call these places in a sentence about a proof.
    remarks : tuple of str
    junction : int ndarray of shape (m,) or None
        Their junctions in the street network.
    """

    lonlat: Floats
    number: Ints
    own: Floats
    among: str
    remarks: tuple[str, ...] = ()
    junction: Ints | None = None

    def __len__(self) -> int:
        return len(self.lonlat)

    def without(self, drop: Ints) -> "Spots":
        """All places except some."""
        kept = np.setdiff1d(np.arange(len(self)), drop)
        junction = None if self.junction is None else self.junction[kept]
        return replace(
            self, lonlat=self.lonlat[kept], number=self.number[kept], own=self.own[kept], junction=junction
        )


def place_on_sites(task: Task) -> Placed:
    """The best sites at every setting of the dial, with what is proven about them."""
    home, rules, report, k = task.residents, task.rules, task.report, task.k
    fixed = task.lonlat(task.fixed)
    spots = spots_for(task, fixed)
    if len(spots) < k:
        msg = (
            f"{counted(k, 'facility', 'facilities')} cannot be opened: there "
            f"{'is' if len(spots) == 1 else 'are'} only {counted(len(spots), 'site')} to choose from. "
            "Open fewer, or allow more sites."
        )
        raise ValueError(msg)
    crowd, people, shortened = _crowd(task, len(spots) + len(fixed))
    table = table_for(task, crowd, spots, fixed, 0.05, 0.3)
    columns = np.arange(len(spots), table.shape[1])
    live = people > 0
    lost = np.flatnonzero(live & np.isinf(table.min(axis=1)))
    if len(lost):
        raise unreachable(
            crowd, lost, f"any of the {counted(len(spots), 'site')}" if len(spots) > 1 else "the only site"
        )
    scale = home.scale if rules.straight else distance_scale(table[:, : len(spots)], people)
    usual = _moved(task, spots)
    nearest = table[:, np.append(usual, columns)].min(axis=1)
    unit = float(np.average(np.minimum(nearest, scale * 10)[live] ** 2, weights=people[live])) / scale**2
    wanted, asked = task.settings(lambda: site_stops(unit))
    settings = np.unique(np.append(wanted, 0.0))
    room = rules.room(table.shape[1], np.append(spots.own, np.full(len(fixed), np.inf)))
    try:
        found = site_path(
            table, k, t=settings / scale**2, sample_weight=people, fixed_sites=columns, capacity=room,
            random_state=task.random_state, progress=part(report, 0.3, 0.8),
        )  # fmt: skip
    except UnreachableError as error:
        if shortened:
            raise
        best = "the best site" if k == 1 else f"any of the best {k:,} sites"
        raise unreachable(crowd, error.rows, best) from error
    if task.prove > 0:
        found = found.improve(task.prove, progress=part(report, 0.7, 0.8))
    sites = found.sites if rules.limited else _shorter(found.sites, table, people, settings)
    chosen = _Chosen(spots.lonlat, spots.number, spots.own, sites, found.city_cost / scale**2)
    bound = found.bound / scale**2
    if spots.junction is not None and not rules.limited:
        better = on_streets.refined(
            task,
            crowd,
            people,
            spots.junction,
            table,
            found.sites,
            settings / scale**2,
            part(report, 0.8, 0.95),
        )
        chosen = _Chosen(better.lonlat, np.full(len(better.lonlat), -1), np.full(len(better.lonlat), np.inf),
                         better.sites, better.cost / scale**2)  # fmt: skip
        bound = np.minimum(bound, chosen.cost)
    remarks, among = spots.remarks, spots.among
    if rules.equal_groups:
        among = f"{among}, with every group counting the same,"
    if shortened:
        among = f"{among}, for the {len(crowd):,} cells that stand for the residents,"
        remarks += (
            f"They were placed for {len(crowd):,} cells that stand for the residents, and measured for all.",
        )
    grounds, centers = _stand(task, chosen, fixed, scale, spots.lonlat[usual])
    grounds = replace(grounds, cost=chosen.cost, bound=bound, among=among, remarks=remarks)
    arrangement = _arrangements(chosen.sites)
    path = measured_path(task, settings, centers, grounds, arrangement, part(report, 0.95, 1.0))
    return _thinned(task, Placed(path, grounds, centers[0]), wanted, asked, task.scaled(spots.lonlat[usual]))


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Chosen places at every setting as indices; existing facilities have the indices after the last place."""

    lonlat: Floats
    number: Ints
    own: Floats
    sites: Ints
    cost: Floats


def spots_for(task: Task, fixed: Floats) -> Spots:
    """The places where the rules allow new facilities."""
    rules, sites = task.rules, task.rules.sites
    if sites is not None:
        good = rules.allows(sites.lonlat)
        if not good.any():
            msg = f"The zones leave none of the {counted(len(sites), 'candidate site')}. Change them, or add sites."
            raise ValueError(msg)
        number = np.flatnonzero(good)
        own = np.full(len(sites), np.inf) if sites.capacity is None else sites.capacity
        remarks: tuple[str, ...] = ()
        if not good.all():
            out = int((~good).sum())
            of = f"{out:,} of {counted(len(sites), 'candidate site')} {'lies' if out == 1 else 'lie'}"
            remarks = (f"{of} where the zones allow no facility, and cannot be chosen.",)
        spots = Spots(sites.lonlat[number], number, own[number], "these sites", remarks)
        remarks += rules.travel.remarks(task.residents, spots.lonlat)
        spots = replace(spots, remarks=remarks)
    elif rules.travel.places is not None:
        most = max(200, min(2_000, ENTRIES // len(task.residents)))
        lonlat, junction = on_streets.junctions(task, rules.travel.places, most)
        among = (
            f"the {counted(len(lonlat), 'junction')} that were compared"
            if len(lonlat) > 1
            else "the only junction"
        )
        spots = Spots(lonlat, np.full(len(lonlat), -1), np.full(len(lonlat), np.inf), among,
                      rules.travel.remarks(task.residents), junction)  # fmt: skip
    else:
        spots = _lattice(task)
    if not len(fixed):
        return spots
    return spots.without(rules.travel.taken(task.residents, spots.lonlat, spots.number, fixed))


def _lattice(task: Task) -> Spots:
    """Allowed points of a lattice over the city."""
    home, rules = task.residents, task.rules
    low, high = home.xy.min(axis=0), home.xy.max(axis=0)
    if rules.only_in is not None:
        west, south, east, north = shapely.transform(rules.only_in.shape, home.lonlat_to_xy).bounds
        inside = np.maximum(low, [west, south]), np.minimum(high, [east, north])
        # a zone away from the residents is searched as a whole
        low, high = (
            inside if (inside[0] < inside[1]).all() else (np.array([west, south]), np.array([east, north]))
        )
    sides = np.maximum(high - low, 1.0)
    mesh = float(np.sqrt(sides.prod() / LATTICE))
    for _ in range(7):
        points = lattice(low, low + sides, mesh)
        lonlat = home.to_lonlat(points)
        good = rules.allows(lonlat)
        if good.sum() >= max(LATTICE / 4, 5 * task.k):
            break
        mesh /= 2
    if good.sum() < task.k:
        left = counted(int(good.sum()), "place")
        msg = f"The zones leave {left} for {counted(task.k, 'facility', 'facilities')}. Change them, or open fewer."
        raise ValueError(msg)
    lonlat = lonlat[good]
    remark = f"Facilities stand on allowed points of a grid with a spacing of {mesh / 1000:.2g} km."
    none = np.full(len(lonlat), -1)
    return Spots(
        lonlat, none, np.full(len(lonlat), np.inf), f"the {len(lonlat):,} points of the grid", (remark,)
    )


def _crowd(task: Task, columns: int) -> tuple[Residents, Floats, bool]:
    """Residents and how much each counts; cells instead if the table would be too large and is not the planner's."""
    home, most = task.residents, max(2_000, ENTRIES // columns)
    if len(home) <= most or not task.rules.travel.any_origin:
        return home, task.people, False
    cells = gather(home.xy, task.people, most)
    lived = cells.weights > 0
    crowd = Residents.from_lonlat(home.to_lonlat(cells.xy[lived]), cells.weights[lived], keep_suspect=True)
    return crowd, crowd.weights, True


def table_for(task: Task, crowd: Residents, spots: Spots, fixed: Floats, start: float, end: float) -> Floats:
    """Distances from every resident to every candidate, then to every existing facility."""
    travel, report = task.rules.travel, part(task.report, start, end)
    columns = None if task.rules.sites is None else spots.number
    kind = np.float32 if len(crowd) * len(spots) > ENTRIES // 10 and not task.rules.limited else np.float64
    report(0.0, "Measuring the way to every site")
    to_spots = travel.table(crowd, spots.lonlat, columns=columns, dtype=kind, progress=report)
    if not len(fixed):
        return to_spots
    travel.check_existing(crowd, fixed)
    return np.concatenate([to_spots, travel.table(crowd, fixed, dtype=kind)], axis=1)


def _moved(task: Task, spots: Spots) -> Ints:
    """The candidates nearest to the facilities of k-means++, each used once."""
    task.report(0.0, "Finding the lowest-average sites")
    usual = kmeans_sites(task.residents, min(task.k, _different(task)), task.fixed, task.random_state)
    first = usual[: len(usual) - len(task.fixed)]
    _, column = linear_sum_assignment(cdist(first, task.scaled(spots.lonlat)))
    spare = np.setdiff1d(np.arange(len(spots)), column)
    return np.append(column, spare[: task.k - len(column)]).astype(np.int64)


def _different(task: Task) -> int:
    """Number of distinct places where people live, up to k."""
    peopled = task.residents.xy[task.residents.weights > 0]
    return min(task.k, len(np.unique(peopled[: 100 * task.k], axis=0))) or 1


def _stand(task: Task, chosen: _Chosen, fixed: Floats, scale: float, usual: Floats) -> tuple[Grounds, Floats]:
    """What the plan is based on (its places and their distances), and its facilities in scaled coordinates."""
    moved = cKDTree(task.scaled(chosen.lonlat)).query(task.scaled(usual))
    also = np.unique(moved[1][moved[0] * task.residents.scale <= SAME_PLACE])
    used = np.unique(np.append(chosen.sites[:, : task.k], also))
    lonlat = np.concatenate([chosen.lonlat[used], fixed])
    number = np.append(chosen.number[used], np.full(len(fixed), -1))
    own = np.append(chosen.own[used], np.full(len(fixed), np.inf))
    new = np.searchsorted(used, chosen.sites[:, : task.k])
    kept = np.broadcast_to(np.arange(len(used), len(lonlat)), (len(new), len(fixed)))
    places = np.concatenate([new, kept], axis=1)
    table = None if task.rules.straight else task.rules.travel.table(task.residents, lonlat, columns=number)
    spot = task.scaled(lonlat)
    spot[len(used) :] = task.fixed
    known = Known(lonlat, table, number, own)
    return Grounds(scale, known, places), spot[places]


def _shorter(sites: Ints, table: Floats, people: Floats, settings: Floats) -> Ints:
    """At infinite t, prefer the plan on the path with the lowest average among those with the shortest longest trip."""
    if not np.isinf(settings[-1]):
        return sites
    live = people > 0
    trips = [table[:, row].min(axis=1)[live] for row in sites]
    longest, mean = [trip.max() for trip in trips], [np.average(trip, weights=people[live]) for trip in trips]
    equal = [i for i, far in enumerate(longest) if far <= longest[-1] * (1 + 1e-9)]
    best = min(equal, key=lambda i: (mean[i], -i))
    return np.concatenate([sites[:-1], sites[best : best + 1]])


def _arrangements(sites: Ints) -> Ints:
    """A number for each setting that changes whenever the set of sites does."""
    sets = np.sort(sites, axis=1)
    return np.append(0, np.cumsum((np.diff(sets, axis=0) != 0).any(axis=1))).astype(np.int64)


def _thinned(task: Task, placed: Placed, wanted: Floats, asked: Bools, usual: Floats) -> Placed:
    """Drop the settings at which nothing changes, and take the better of two lowest-average plans."""
    path, grounds = placed.path, placed.grounds
    serving = Serving(task.residents, task.rules, grounds.scale, grounds.known)

    def trips(i: int) -> tuple[float, float]:
        """Average and longest trip at setting i."""
        places = None if grounds.places is None else grounds.places[i]
        found = serving.evaluate(task.residents.to_xy(path.centers[i]), float(path.t[i]), places=places)
        return found.mean_distance, found.largest_distance

    baseline, made = path.centers[0], f"the best found at t = 0 on {grounds.among}".rstrip(",")
    if not task.rules.limited:
        other = np.concatenate([usual, task.fixed])
        if serving.reaches_all(task.residents.to_xy(other)):
            mean = serving.evaluate(task.residents.to_xy(other)).mean_distance
            if mean < trips(0)[0] * (1 - 1e-9):
                baseline, made = other, "k-means++ moved to the nearest sites"
    placed = Placed(path, replace(grounds, made=made), baseline)
    keep = np.isin(path.t, wanted)
    if not task.free:
        return placed.at(keep)
    held = np.isin(path.t, wanted[asked])
    held[[0, -1]] = True
    last, before = path.arrangement[0], trips(0) if task.rules.limited else (0.0, 0.0)
    for i in range(1, len(path.t) - 1):
        if path.arrangement[i] != last:
            keep[i], last = True, path.arrangement[i]
            before = trips(i) if task.rules.limited else before
            continue
        keep[i] = held[i]
        if task.rules.limited:
            now = trips(i)
            if any(abs(a - b) > SAME * b for a, b in zip(now, before, strict=True)):
                keep[i], before = True, now
    return placed.at(keep & np.isin(path.t, np.append(wanted, [0.0])))
