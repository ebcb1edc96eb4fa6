"""Set covers: the fewest sites that reach everyone within a given distance, with a proof."""

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering import check_weights
from tkm_core.progress import Progress, silent
from tkm_core.sites.solver import INFINITE, Deadline, add_rows, new_model, run
from tkm_core.sites.table import UnreachableError, check_distances, check_sites, named_rows
from tkm_core.wording import counted

PAIRS = 3_000  # up to this many residents, all pairs are compared
WHOLE = 1e-6  # tolerance for a solver's count that should be a whole number


@dataclass(frozen=True)
class FewestSites:
    """The fewest sites such that nobody is farther than a given distance.

    Attributes
    ----------
    number : int
        Number of new sites that are enough.
    sites : int array (number,)
        Their column numbers.
    bound : int
        Number of new sites that are proven to be needed.
    """

    number: int
    sites: Ints
    bound: int

    @property
    def proved(self) -> bool:
        """Whether fewer are proven to be too few."""
        return self.bound == self.number


def fewest_sites(
    distances: ArrayLike,
    reach: float,
    *,
    sample_weight: ArrayLike | None = None,
    fixed_sites: ArrayLike | None = None,
    seconds: float = 60.0,
    progress: Progress | None = None,
) -> FewestSites:
    """Choose the fewest sites so that nobody is farther than ``reach`` from one.

    Parameters
    ----------
    distances : array (n, m)
        From each resident to each site; infinite where there is no route.
    reach : float
        The farthest that anybody may have to go.
    sample_weight : array (n,), optional
        Population of each row; rows without people need not be reached.
    fixed_sites : int array, optional
        Columns of sites that exist already; they are not counted.
    seconds : float
        How long to search for a proof; after that, the answer is the best found and says what is proven.
    progress : callable(fraction, text), optional
        Called often; an exception it raises ends the work and is passed on.

    Returns
    -------
    FewestSites

    Examples
    --------
    >>> found = fewest_sites([[0, 4, 9], [4, 0, 5], [9, 5, 0]], 4)
    >>> found.number, found.proved
    (2, True)
    """
    table = check_distances(distances)
    fixed = check_sites(1, fixed_sites, table.shape[1] + 1)[1]
    people = check_weights(sample_weight, len(table))
    if not reach >= 0:
        msg = f"reach is {reach!r}; it must be a distance, 0 or more."
        raise ValueError(msg)
    rows = np.flatnonzero(people > 0)
    covers = np.ascontiguousarray(((table[rows] <= reach) & np.isfinite(table[rows])).T)
    lost = rows[~covers.any(axis=0)]
    if len(lost):
        msg = (
            f"{counted(len(lost), 'resident')} ({named_rows(lost)}) "
            f"{'is' if len(lost) == 1 else 'are'} farther than {reach:,.6g} from every site: no number of sites is "
            "enough. Allow a longer distance, or add sites."
        )
        raise UnreachableError(msg, lost)
    waiting = covers[:, ~covers[fixed].any(axis=0)]
    deadline = Deadline(seconds, progress or silent)
    deadline.text = "Looking for the fewest sites"
    sites, bound = smallest_cover(waiting, deadline)
    deadline.report(1.0, "Done")
    return FewestSites(len(sites), sites, bound)


def smallest_cover(
    covers: Bools, deadline: Deadline, enough: int | None = None, *, whole: bool = True
) -> tuple[Ints, int]:
    """Sites (rows) that cover every resident (column), and a lower bound on the size of any cover.

    With ``enough``, it ends as soon as it is known whether that many are enough: either a cover of that size is found,
    or the bound is larger. With ``whole=False`` only the linear program is solved: quick, but it may not decide.
    """
    if covers.shape[1] == 0:
        return np.empty(0, np.int64), 0
    small, names = _reduced(covers)
    found, bound = _greedy(small), packed(small)
    if enough is not None and len(found) <= enough:
        return names[found], bound
    m = len(small)
    model = new_model()
    model.addVars(m, np.zeros(m), np.ones(m))
    model.changeColsCost(m, np.arange(m, dtype=np.int32), np.ones(m))
    residents, columns = np.nonzero(small.T)
    count = small.shape[1]
    add_rows(
        model, np.bincount(residents, minlength=count), columns, np.ones(len(columns)), np.ones(count),
        np.full(count, INFINITE),
    )  # fmt: skip
    if run(model, deadline) == highspy.HighsModelStatus.kOptimal:
        bound = max(bound, _whole_bound(small, np.asarray(model.getSolution().row_dual)))
        if not whole or bound >= len(found) or (enough is not None and bound > enough):
            return names[found], bound
        model.changeColsIntegrality(
            m, np.arange(m, dtype=np.int32), np.full(m, highspy.HighsVarType.kInteger)
        )
        if enough is not None:
            add_rows(model, [m], np.arange(m), np.ones(m), np.zeros(1), np.array([float(enough)]))
            model.setOptionValue("objective_target", float(enough))
        status = run(model, deadline)
        if enough is not None and status == highspy.HighsModelStatus.kInfeasible:
            return names[found], enough + 1
        opened = (
            np.flatnonzero(np.asarray(model.getSolution().col_value) > 0.5) if m else np.empty(0, np.int64)
        )
        if len(opened) and len(opened) < len(found) and small[opened].any(axis=0).all():
            found = opened
        proven = model.getInfo().mip_dual_bound
        if np.isfinite(proven):
            bound = max(bound, int(np.ceil(proven - WHOLE)))
    return names[found], min(bound, len(found))


def packed(covers: Bools, enough: int | None = None) -> int:
    """A bound that needs no solver: how many residents were found of whom no two can share a site.

    It ends as soon as there are more than ``enough``.

    >>> packed(np.array([[True, True, False, False], [False, True, True, False], [False, False, True, True]]))
    2
    """
    free = np.ones(covers.shape[1], dtype=bool)
    count = 0
    for resident in np.argsort(
        covers.sum(axis=0), kind="stable"
    ):  # those with the fewest sites block the fewest
        if free[resident]:
            free &= ~covers[covers[:, resident]].any(axis=0)
            count += 1
            if enough is not None and count > enough:
                break
    return count


def _whole_bound(covers: Bools, duals: Floats) -> int:
    """The bound from duals scaled to be feasible: no site covers more than 1 of them, so their sum is needed."""
    prices = np.maximum(duals, 0.0)
    most = float((covers @ prices).max(initial=0.0))
    return max(int(np.ceil(prices.sum() / max(most, 1.0) - WHOLE)), 1)


def _greedy(covers: Bools) -> Ints:
    """A cover by the greedy rule: always the site that reaches most of those left; then drop sites not needed."""
    waiting = np.ones(covers.shape[1], dtype=bool)
    chosen: list[int] = []
    while waiting.any():
        best = int(covers[:, waiting].sum(axis=1).argmax())
        chosen.append(best)
        waiting &= ~covers[best]
    times = covers[chosen].sum(axis=0)
    for site in list(chosen):
        if (times[covers[site]] > 1).all():
            chosen.remove(site)
            times -= covers[site]
    return np.array(chosen, dtype=np.int64)


def _reduced(covers: Bools) -> tuple[Bools, Ints]:
    """The same problem with fewer residents and sites, and the indices of the remaining sites.

    A resident is left out if every site that reaches some other resident reaches them too; a site, if another one
    reaches the same residents and more.
    """
    names = np.arange(len(covers), dtype=np.int64)
    small = _undominated(covers.T, keep="small").T
    kept = _undominated_rows(small, keep="large")
    return np.ascontiguousarray(small[kept]), names[kept]


def _undominated(rows: Bools, keep: str) -> Bools:
    """The rows that `_undominated_rows` keeps."""
    return rows[_undominated_rows(rows, keep)]


def _undominated_rows(rows: Bools, keep: str) -> Ints:
    """Indices of rows that contain no other row (keep small) or are contained in none (keep large), without repeats."""
    _, first = np.unique(np.packbits(rows, axis=1), axis=0, return_index=True)
    first = np.sort(first)
    if len(first) > PAIRS:
        return first
    sets = rows[first].astype(np.float32)
    common = sets @ sets.T
    size = sets.sum(axis=1)
    inside = common == size[:, None]  # row a is contained in row b
    np.fill_diagonal(inside, val=False)
    dominated = inside.any(axis=0) if keep == "small" else inside.any(axis=1)
    return first[~dominated]
