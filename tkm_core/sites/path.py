"""`site_path`: the best choice of sites found at every t, and how much better any other could be."""

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering import check_grid, check_weights
from tkm_core.notebooks import data_frame, room_above
from tkm_core.progress import Progress, never_falling, part
from tkm_core.sites.capacity import Capacity, RoomySearch, as_capacity, roomy
from tkm_core.sites.cover import smallest_cover
from tkm_core.sites.proof import Proof
from tkm_core.sites.search import Found, Search, walk
from tkm_core.sites.solver import Deadline
from tkm_core.sites.table import Table, UnreachableError, check_distances, check_sites, distance_scale
from tkm_core.wording import counted

PROVED = 1e-8  # relative gap at which a plan counts as proven best
FOREVER = 1e9  # seconds, for work that ends by itself
COVER_SECONDS = 30.0


@dataclass(frozen=True, eq=False, repr=False)
class SitePath:
    """Chosen sites over a grid of t; facility j is the same facility along the path where possible.

    Attributes
    ----------
    t : array (s,)
    sites : int array (s, k)
        Column numbers; those of existing sites come last.
    city_cost : array (s,)
        City-wide tilted cost, in squared distances (plain ones with ``power=1``).
    bound : array (s,)
        Lower bound: no plan on these sites costs less.
    """

    t: Floats
    sites: Ints
    city_cost: Floats
    bound: Floats
    _distances: NDArray[np.floating] = field(repr=False)
    _proof: Proof = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"<SitePath: {self.sites.shape[1]} of {self._distances.shape[1]} sites at {len(self.t)} t from "
            f"{self.t.min():g} to {self.t.max():g}, {int(self.proved.sum())} proved, largest gap "
            f"{100 * self.gap.max():.2g} %>"
        )

    def to_frame(self) -> Any:
        """One row for each t and facility: its site, and the cost, bound and gap at that t.

        Returns
        -------
        pandas.DataFrame
            Indexed by t and facility, counted from 0.

        Examples
        --------
        >>> path = site_path([[0, 4, 9], [4, 0, 5], [9, 5, 0]], 2, t=[0, 1], random_state=0)
        >>> path.to_frame().shape, list(path.to_frame().columns)
        ((4, 5), ['site', 'city_cost', 'bound', 'gap', 'proved'])
        """
        s, k = self.sites.shape
        columns = {
            "t": np.repeat(self.t, k),
            "facility": np.tile(np.arange(k), s),
            "site": self.sites.ravel(),
        }
        for name in ("city_cost", "bound", "gap", "proved"):
            columns[name] = np.repeat(getattr(self, name), k)
        return data_frame(columns).set_index(["t", "facility"])

    def plot(self, what: str | None = None, **options: Any) -> Any:
        """Draw the city-wide cost and its bound over t.

        Needs the extra "plot"; options as in `tkm_core.figures.plot`.

        Returns
        -------
        plotly Figure
        """
        return room_above("figures", "plot").plot(self, what, **options)

    @property
    def gap(self) -> Floats:
        """The largest share of its cost by which each plan could be improved."""
        below = np.maximum(self.city_cost - self.bound, 0.0)
        return np.divide(below, self.city_cost, out=np.zeros_like(below), where=self.city_cost > 0)

    @property
    def proved(self) -> Bools:
        """Where the plan is proven to be optimal."""
        return self.gap <= PROVED

    def shares(self, i: int) -> Floats:
        """The part of each resident's people that each of ``sites[i]`` serves at t[i] (n, k).

        Without capacities everyone goes to the nearest site, and rows without people always do. A row that can reach
        no site has only zeros.
        """
        near = self._distances[:, self.sites[i]]
        part_of = np.zeros(near.shape)
        slot = near.argmin(axis=1)
        rows = np.arange(len(near))
        part_of[rows, slot] = np.isfinite(near[rows, slot])
        search = self._proof.search
        if isinstance(search, RoomySearch):
            part_of[search.table.rows] = search.shares(self.sites[i], search.table.tilt(float(self.t[i]))).T
        return part_of

    def served_by(self, i: int) -> Ints:
        """The column number of the site that serves each resident at t[i]; -1 for those who can reach none.

        If the people of a place are split, it is the site that serves most of them.
        """
        part_of = self.shares(i)
        return np.where(part_of.any(axis=1), self.sites[i][part_of.argmax(axis=1)], -1)

    def distance(self, i: int) -> Floats:
        """Distance from each resident to the site that serves them at t[i]; the mean if a place is split."""
        part_of = self.shares(i)
        near = np.where(part_of > 0, self._distances[:, self.sites[i]], 0.0)
        return np.where(part_of.any(axis=1), (part_of * near).sum(axis=1), math.inf)

    def in_words(self, i: int) -> str:
        """What is proven about the plan at t[i], as a sentence.

        >>> site_path([[1.0, 2.0], [3.0, 1.0]], 1, t=[0.0]).in_words(0)
        'No plan on these sites has a lower city-wide cost at this setting of the dial.'
        """
        return told_gap(0.0 if self.proved[i] else float(self.gap[i]))

    def improve(self, seconds: float = 30.0, *, progress: Progress | None = None) -> "SitePath":
        """The same path with tighter bounds, and with better plans if the proof finds some.

        It takes about ``seconds`` and ends early only when everything is proven; a later call goes on where this one
        stopped. An exception raised by ``progress`` ends it too; what was proven until then is kept for the next call.

        Examples
        --------
        >>> distances = np.random.default_rng(0).uniform(1, 9, (30, 10))
        >>> bool(site_path(distances, 3, t=[0, 0.1, np.inf], random_state=0).improve(20).proved.all())
        True
        """
        self._proof.work(Deadline(seconds, never_falling(progress)))
        return _gathered(self._proof, self.t, self._distances, self)


def site_path(
    distances: ArrayLike,
    n_sites: int,
    *,
    t: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    fixed_sites: ArrayLike | None = None,
    capacity: Capacity | ArrayLike | None = None,
    power: int = 2,
    random_state: int | None = None,
    progress: Progress | None = None,
) -> SitePath:
    """Choose sites for every t of a grid so that the city-wide tilted cost is as low as possible.

    Parameters
    ----------
    distances : array (n, m)
        From each resident to each site, in any unit (metres, minutes) and by any route; infinite if unreachable.
        float32 stays float32.
    n_sites : int
        Sites to choose.
    t : array (s,), optional
        The dial, in units of 1 / distances²; infinity is allowed. By default 0 and 60 geometric values from 0.01 to
        100, divided by ``distance_scale(distances) ** power``.
    sample_weight : array (n,), optional
        Population of each row.
    fixed_sites : int array (f,), optional
        Columns of sites that exist already: they serve in every plan and are not counted in ``n_sites``.
    capacity : number, array (m,) or Capacity, optional
        The most people a facility may serve, for all or for each site; ``Capacity(most, least)`` for both limits.
        A place's people may be split between facilities.
    power : {1, 2}
        What is tilted and averaged: distances (1) or squared distances (2). With 1, t is in units of 1 / distances,
        t = 0 is the classic p-median problem (``city_cost`` times all people is its sum) and t = infinity the
        p-center problem (``city_cost`` is the longest distance).
    random_state : int, optional
        Makes the result repeatable.
    progress : callable(fraction, text), optional
        Called often; an exception it raises ends the work and is passed on.

    Returns
    -------
    SitePath
        With first bounds; its ``improve`` tightens them.

    Raises
    ------
    UnreachableError
        If somebody can reach no site (``rows`` says who), or ``n_sites`` are too few to reach everyone.

    Examples
    --------
    >>> distances = [[0, 4, 9], [4, 0, 5], [9, 5, 0], [8, 4, 1]]
    >>> path = site_path(distances, 1, t=[0, 1], random_state=0)
    >>> path.sites.ravel().tolist(), float(path.city_cost[0])
    ([1, 1], 14.25)
    """
    table = check_distances(distances)
    k, fixed = check_sites(n_sites, fixed_sites, table.shape[1])
    if power not in (1, 2):
        msg = f"power is {power!r}; it must be 1 (distances) or 2 (squared distances)."
        raise ValueError(msg)
    known = Table.of(table, sample_weight, power)
    grid = check_grid(t, distance_scale(table, sample_weight) ** (power / 2) if t is None else 1.0)
    report = never_falling(progress)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    order = np.argsort(grid, kind="stable")
    tilts = np.array([known.tilt(v) for v in grid[order]])
    search = Search(known, k, fixed)
    limits = as_capacity(capacity)
    if limits is not None:
        people = float(check_weights(sample_weight, len(table)).sum())
        search = roomy(search, limits, people, report)
    found = walk(search, tilts, search.descend, rng, part(report, 0.0, 0.8))
    found = _all_reached(found, search, tilts, report) if limits is None else _all_have_room(found, search)
    proof = Proof(search, tilts, found, np.zeros(len(grid)), free=limits is None)
    proof.begin(Deadline(FOREVER, lambda *_: report(0.8, "First bounds")))
    report(1.0, "Done")
    return _gathered(proof, grid, table, None)


def _all_reached(found: list[Found], search: Search, tilts: Floats, report: Progress) -> list[Found]:
    """Plans that reach everyone, found by a set cover where swaps failed; otherwise an error."""
    if not any(each.lost for each in found):
        return found
    F = search.table.F
    open_ = np.isfinite(F)
    waiting = ~open_[search.fixed].any(axis=0)
    deadline = Deadline(COVER_SECONDS, lambda *_: report(0.8, "Looking for sites that reach everyone"))
    sites, needed = smallest_cover(open_[:, waiting], deadline, enough=search.n_free)
    if len(sites) > search.n_free:
        lost = search.table.rows[np.isinf(F[found[0].sites].min(axis=0))]
        if needed > search.n_free:
            msg = f"No choice of {counted(search.n_free, 'new site')} can reach everyone: more are needed."
        else:
            msg = f"No choice of {counted(search.n_free, 'new site')} was found that reaches everyone: allow more."
        raise UnreachableError(msg, lost)
    spare = np.setdiff1d(search.choice, sites)[: search.n_free - len(sites)]
    start = np.concatenate([sites, spare, search.fixed]).astype(np.int64)
    return [
        each if each.lost == 0 else search.descend(start.copy(), tilts[i], i) for i, each in enumerate(found)
    ]


def _all_have_room(found: list[Found], search: Search) -> list[Found]:
    """The same plans, or an error if one has too little room for those who can reach it."""
    if any(each.lost for each in found):
        msg = (
            f"No choice of {counted(search.n_free, 'new site')} was found that has room for everyone who depends on "
            "it. Allow more sites, or more people each."
        )
        raise ValueError(msg)
    return found


def _gathered(
    proof: Proof, grid: Floats, distances: NDArray[np.floating], before: SitePath | None
) -> SitePath:
    """The state of a proof as a path over the grid in its original order."""
    table = proof.search.table
    order = np.argsort(grid, kind="stable")
    back = np.argsort(order, kind="stable")
    value = np.array([found.value for found in proof.found])
    sites = _matched([found.sites for found in proof.found], table, proof.search.n_free)
    bound = np.minimum(proof.bound, value)
    # the optimal cost cannot fall as t grows, so a bound at a smaller t also holds at a larger one
    cost, least = table.outside(value), table.outside(np.maximum.accumulate(bound))
    path = SitePath(grid, sites[back], cost[back], np.minimum(least, cost)[back], distances, proof)
    return (
        path
        if before is None
        else replace(before, **{f: getattr(path, f) for f in ("sites", "city_cost", "bound")})
    )


def _matched(sites: list[Ints], table: Table, k: int) -> Ints:
    """Order the k new facilities so that each keeps its site, or else most of its people, from one t to the next."""
    numbered = [sites[0]]
    for _, here in pairwise(sites):
        before = numbered[-1]
        if np.array_equal(np.sort(before[:k]), np.sort(here[:k])):
            numbered.append(before)
            continue
        then, now = table.F[before].argmin(axis=0), table.F[here].argmin(axis=0)
        size = len(here)
        shared = np.bincount(then * size + now, table.weights, size * size).reshape(size, size)[:k, :k]
        shared[before[:k, None] == here[None, :k]] += 2 * table.weights.sum()
        _, slots = linear_sum_assignment(shared, maximize=True)
        numbered.append(np.concatenate([here[:k][slots], here[k:]]))
    return np.array(numbered)


def told_gap(gap: float, among: str = "these sites") -> str:
    """What is proven about a plan, as a sentence that says at what no other is better.

    Parameters
    ----------
    gap : float
        The largest share of its city-wide cost by which the plan could be improved.
    among : str
        Which plans the proof is about.

    Examples
    --------
    >>> told_gap(0.0321)
    'No plan on these sites has a city-wide cost more than 3.3 % lower at this setting of the dial.'
    """
    percent = 100 * gap
    if percent <= 0:
        return f"No plan on {among} has a lower city-wide cost at this setting of the dial."
    if percent >= 99.5:
        return (
            f"How much lower the city-wide cost of another plan on {among} could be at this setting of the dial is not "
            "known yet."
        )
    step = 1.0 if percent >= 10 else 0.1 if percent >= 1 else 0.01
    shown = f"{math.ceil(percent / step - 1e-9) * step:g}"  # rounded up, so that it still holds
    return f"No plan on {among} has a city-wide cost more than {shown} % lower at this setting of the dial."
