"""The linear program of fair service: fractional facilities that fully serve everyone within their radius.

    minimise   sum_v w_v sum_u |v - u|² x_vu
    such that  sum_u x_vu = 1 over the u within r_v,   0 <= x_vu <= y_u <= 1,   sum_u y_u <= k

In full it has a variable and a constraint for every pair within the radius, a quarter of a million at n = 1,000 and
k = 4. Here only the openings y and one cost theta_v per resident remain (Benders' decomposition): for given y, a
resident is best served by filling up from the nearest opening, and that cost is the largest of the linear functions

    theta_v >= D_q - sum_{u nearer than the q-th} (D_q - |v - u|²) y_u,      D_q the q-th smallest |v - u|²

A round solves the program, adds for each resident the most violated inequality, and continues from the last basis.
Three to ten rounds reach the optimum. (The inequalities are those of the radius formulation of the p-median problem.)
"""

from dataclasses import dataclass
from time import monotonic

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tkm_core.arrays import Floats
from tkm_core.progress import Progress

GAP = 1e-9  # relative gap at which the optimum counts as reached
FEASIBLE = 1e-7  # how far HiGHS lets a row be violated, in our scaled units
FULL = 1e-9
HEARTBEAT = 0.1  # seconds between two progress reports, which may cancel the work
BLOCK_ENTRIES = 4_000_000
MOST_ROUNDS = 200  # rounds of the linear program; three to ten are usual


@dataclass(frozen=True)
class FairService:
    """Optimal openings y (n,), each resident's cost share (n,), the optimum, and the number of rounds."""

    openings: Floats
    shares: Floats
    value: float
    rounds: int


@dataclass(frozen=True)
class _Neighbours:
    """For each resident, the points within their radius from the nearest, squared distances, and their number."""

    index: NDArray[np.int32]
    squared: Floats
    count: NDArray[np.intp]


def fair_service(points: Floats, weights: Floats, k: int, radius: Floats, report: Progress) -> FairService:
    """Solve the program; each ball of ``radius`` must hold a k-th of the weight for it to have a solution.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> found = fair_service(points, np.ones(4), 2, np.ones(4), lambda fraction, text: None)
    >>> round(found.value, 6)
    2.0
    """
    n = len(points)
    near = _neighbours(points, radius, report)
    # HiGHS has absolute tolerances, so costs and weights are scaled to about 1
    y = k * weights / weights.sum()
    shares, last = _serve(near, np.minimum(y, 1.0))
    unit = float(weights @ shares) / float(weights.sum()) or 1.0
    scaled_weights = weights * (n / weights.sum())
    model = _Master(n, k, scaled_weights, report)
    theta, value, best, rounds = np.full(n, -np.inf), -np.inf, np.inf, 0
    constrained = np.zeros(n, dtype=bool)
    solution = (y, shares)
    while rounds <= MOST_ROUNDS:
        short = ~constrained & (_within(near, y) < 1 - FEASIBLE)
        cost = float(scaled_weights @ shares) / unit
        if not short.any() and cost < best:
            best, solution = cost, (y, shares)
        broken = shares / unit > theta + 2 * FEASIBLE
        gap = (best - value) / best if 0 < best < np.inf else 0.0
        if not short.any() and (gap <= GAP or not broken.any()):
            break
        model.gap, model.round = gap, rounds
        model.require_service(near, np.flatnonzero(short))
        model.require_cost(near, np.flatnonzero(broken), last, unit)
        constrained |= short
        y, theta, value = model.solve()
        rounds += 1
        shares, last = _serve(near, y)
    if not np.isfinite(best):
        msg = (
            "The linear program found no plan that serves everyone: distances or weights differ too much. Run it on a "
            "sample, or use MV."
        )
        raise ValueError(msg)
    y, shares = solution
    return FairService(y, shares, min(value, best) * unit * float(weights.sum()) / n, rounds)


def _neighbours(points: Floats, radius: Floats, report: Progress) -> _Neighbours:
    """Find the points within each resident's radius."""
    n = len(points)
    blocks = [slice(i, i + max(1, BLOCK_ENTRIES // n)) for i in range(0, n, max(1, BLOCK_ENTRIES // n))]
    # a radius is the distance to some point, which rounding must not exclude
    limit = (radius * (1 + 1e-9)) ** 2
    count = np.concatenate(
        [(cdist(points[b], points, "sqeuclidean") <= limit[b, None]).sum(axis=1) for b in blocks]
    )
    width = int(count.max())
    index = np.zeros((n, width), dtype=np.int32)
    squared = np.zeros((n, width))
    for block in blocks:
        report(0.0, "Sorting neighbours")
        distances = cdist(points[block], points, "sqeuclidean")
        index[block] = np.argsort(distances, axis=1, kind="stable")[:, :width]
        squared[block] = np.take_along_axis(distances, index[block], axis=1)
    return _Neighbours(index, squared, count)


def _filled(near: _Neighbours, y: Floats) -> Floats:
    """The openings of each resident's neighbours, added up from the nearest."""
    return np.cumsum(y[near.index], axis=1)


def _within(near: _Neighbours, y: Floats) -> Floats:
    """The sum of the openings within each resident's radius."""
    return _filled(near, y)[np.arange(len(y)), near.count - 1]


def _serve(near: _Neighbours, y: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Each resident's cost when served from the nearest openings, and the last opening it needs."""
    rows = np.arange(len(y))
    filled = _filled(near, y)
    enough = filled >= 1 - FULL
    enough[rows, near.count - 1] = True
    last = enough.argmax(axis=1)
    farthest = near.squared[rows, last]
    saved = np.where(
        np.arange(near.index.shape[1]) < last[:, None],
        (farthest[:, None] - near.squared) * y[near.index],
        0.0,
    )
    return np.maximum(farthest - saved.sum(axis=1), 0.0), last


class _Master:
    """The program over y and theta in HiGHS, which grows by rows and is solved again from its last basis."""

    def __init__(self, n: int, k: int, weights: Floats, report: Progress) -> None:
        self.n, self.report = n, report
        self.gap, self.round = 0.0, 0
        self.stopped: BaseException | None = None
        self.looked = monotonic()
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)  # noqa: FBT003 - the library's own form
        self.highs.setOptionValue("threads", 1)
        none = np.empty(0, dtype=np.int32)
        upper = np.concatenate([np.ones(n), np.full(n, highspy.kHighsInf)])
        self.highs.addCols(
            2 * n, np.concatenate([np.zeros(n), weights]), np.zeros(2 * n), upper, 0, none, none, np.empty(0)
        )
        self.highs.addRow(-highspy.kHighsInf, float(k), n, np.arange(n, dtype=np.int32), np.ones(n))
        self.highs.cbSimplexInterrupt.subscribe(self._heartbeat)

    def require_service(self, near: _Neighbours, rows: NDArray[np.intp]) -> None:
        """Require openings of at least 1 in total within the radius of each of ``rows``."""
        inside = np.arange(near.index.shape[1]) < near.count[rows, None]
        self._add(
            inside.sum(axis=1), near.index[rows][inside], np.ones(int(inside.sum())), np.ones(len(rows))
        )

    def require_cost(
        self, near: _Neighbours, rows: NDArray[np.intp], last: NDArray[np.intp], unit: float
    ) -> None:
        """Add the inequality of the module's docstring for each of ``rows``, with q = ``last``."""
        farthest = near.squared[rows, last[rows]] / unit
        # theta_v comes after the neighbours
        columns = np.column_stack([near.index[rows], self.n + rows]).astype(np.int32)
        values = np.column_stack([farthest[:, None] - near.squared[rows] / unit, np.ones(len(rows))])
        used = np.column_stack(
            [np.arange(near.index.shape[1]) < last[rows, None], np.ones(len(rows), dtype=bool)]
        )
        used &= values > 0
        self._add(used.sum(axis=1), columns[used], values[used], farthest)

    def _add(
        self, lengths: NDArray[np.intp], columns: NDArray[np.int32], values: Floats, at_least: Floats
    ) -> None:
        """Add rows to the program."""
        if len(lengths):
            starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
            above = np.full(len(lengths), highspy.kHighsInf)
            self.highs.addRows(len(lengths), at_least, above, len(values), starts, columns, values)

    def solve(self) -> tuple[Floats, Floats, float]:
        """Openings, costs and value of the current program; an exception of the progress function is raised here."""
        self._say()
        self.highs.run()
        if self.stopped is not None:
            raise self.stopped
        status = self.highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            ended = self.highs.modelStatusToString(status)
            msg = f"The linear program ended with '{ended}' instead of an optimum. Run it on a sample, or use MV."
            raise ValueError(msg)
        found = np.asarray(self.highs.getSolution().col_value)
        # the solver may return -4e-15 for 0
        return (
            np.clip(found[: self.n], 0.0, 1.0),
            found[self.n :],
            self.highs.getInfo().objective_function_value,
        )

    def _say(self) -> None:
        """Report progress, by how much the gap has closed."""
        done = (
            0.0
            if self.round == 0
            else float(np.clip(-np.log10(max(self.gap, GAP)) / -np.log10(GAP), 0.05, 0.95))
        )
        gap = "" if self.round == 0 or not np.isfinite(self.gap) else f", {self.gap:.2g} from the optimum"
        self.report(done, f"Linear program, round {self.round + 1}{gap}")

    def _heartbeat(self, event: highspy.HighsCallbackEvent) -> None:
        """Report progress now and then, and interrupt the solver after an exception."""
        now = monotonic()
        if self.stopped is None and now - self.looked > HEARTBEAT:
            self.looked = now
            try:
                self._say()
            except BaseException as error:  # noqa: BLE001 - it must not cross the solver's C++ frames; solve() raises it
                self.stopped = error
        if self.stopped is not None:
            event.interrupt()


def lp_cost(n: int) -> tuple[float, int]:
    """Expected seconds and bytes of the program on n residents.

    >>> seconds, size = lp_cost(1000)
    >>> seconds < 10 and size < 2**30
    True
    """
    # measured at n = 1,000 to 4,000: 0.5 to 9 s · (n / 1,000)³; most of the memory is for the factorised basis
    return 3.5e-9 * n**3, 400 * n * n + 50_000_000
