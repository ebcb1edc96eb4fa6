"""Cells that stand for their rows: their sums at each t, and which cells are too inexact to be used.

A cell has the weight W, the mean m and the covariance S of its rows. If all of them are served by the facility c, and
u = m - c, then up to terms of third order in the size of the cell

    sum w f         = W (u² + tr S)                                               exactly,
    sum w e^{t f}   = W e^{t u²} (1 + a),            a = t tr S + 2 t² u'S u,
    sum w e^{t f} (x - c)          = W e^{t u²} ((1 + a) u + 2 t S u),
    sum w e^{t f} (x - c)(x - c)'  = W e^{t u²} ((1 + a) u u' + S + 2 t (S u u' + u u'S)).

The error of these formulas is bounded. Cells on a border between two facilities, and those whose bounds add up to more
than ``ERROR`` of the cost, are summed row by row in a pass.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering.compiled.records import CLUSTER
from tkm_core.clustering.streamed.compiled import judge_cells, sum_cells
from tkm_core.clustering.streamed.grid import Grid, Moments

ERROR = 1e-4  # largest total error of the cells at each t, as a share of the city-wide cost


@dataclass(frozen=True)
class Sums:
    """The sums for a step and the costs at each of m settings: `CLUSTER` (m, k), and the moments of x - c."""

    clusters: NDArray[np.void]
    first: Floats
    second: Floats

    @classmethod
    def zeros(cls, m: int, k: int, d: int) -> "Sums":
        """Empty sums."""
        clusters = np.zeros((m, k), CLUSTER)
        for name in ("top", "top_before"):
            clusters[name] = -np.inf
        return cls(clusters, np.zeros((m, k, d)), np.zeros((m, k, d * d)))


@dataclass(frozen=True)
class Cells:
    """The inhabited cells, in the solver's coordinates."""

    grid: Grid
    numbers: Ints
    weight: Floats
    mean: Floats
    spread: Floats  # (cells, d, d): covariance of the rows of each
    centre: Floats
    half: Floats  # from the centre to a corner
    reach: Floats  # from the mean to the farthest corner

    @classmethod
    def of(cls, grid: Grid, found: Moments) -> "Cells":
        """Make cells from the sums of a pass."""
        d = len(grid.low)
        numbers = np.flatnonzero(found.sums[:, 0] > 0)
        sums = found.sums[numbers]
        weight = sums[:, 1]
        away = sums[:, 2 : 2 + d] / weight[:, None]
        low, high = grid.boxes(numbers)
        mean = np.clip(away + grid.middle, low, high)
        spread = np.zeros((len(numbers), d, d))
        at = 2 + d
        for a in range(d):
            for b in range(a + 1):
                spread[:, a, b] = spread[:, b, a] = sums[:, at] / weight - away[:, a] * away[:, b]
                at += 1
        alone = sums[:, 0] == 1
        spread[alone] = 0.0
        axes = np.arange(d)
        spread[:, axes, axes] = np.maximum(spread[:, axes, axes], 0.0)
        reach = np.where(alone, 0.0, np.linalg.norm(np.maximum(mean - low, high - mean), axis=1))
        # a cell with a single row has no extent
        centre = np.where(alone[:, None], mean, (low + high) / 2)
        half = np.where(alone, 0.0, np.linalg.norm(high - low, axis=1) / 2)
        return cls(grid, numbers, weight, mean, spread, centre, half, reach)

    @property
    def variance(self) -> float:
        """Weighted variance per axis of all rows: exact, within cells and between them."""
        total = float(self.weight.sum())
        middle = np.dot(self.weight, self.mean) / total
        between = np.dot(self.weight, ((self.mean - middle) ** 2).sum(axis=1))
        within = np.dot(self.weight, np.trace(self.spread, axis1=1, axis2=2))
        return float(between + within) / total / self.mean.shape[1]

    @cached_property
    def _table(self) -> tuple[Floats, ...]:
        """The cells in the form that compiled loops take."""
        flat = self.spread.reshape(len(self.numbers), -1)
        return tuple(map(np.ascontiguousarray, (self.centre, self.half, self.mean, flat, self.reach)))

    def summed(self, centers: Floats, t: float, *, small: bool) -> tuple[Bools, Sums, float]:
        """Which cells must be summed row by row at t, the sums of all others, and the error bound of those.

        The error is relative to the city-wide cost.
        """
        k, d = centers.shape
        count, t = len(self.numbers), float(t)
        labels, others = np.empty(count, np.int64), np.empty(count, np.int64)
        contested, (f, lift, bound) = np.empty(count, np.bool_), np.empty((3, count))
        centers = np.ascontiguousarray(centers)
        judge_cells(self._table, centers, t, labels, others, contested, f, lift, bound)
        if np.isinf(t):
            rows, wrong = self._far(f, labels, others, contested, k), 0.0
        else:
            rows, wrong = self._doubtful(f, lift, bound, contested, t)
        sums = Sums.zeros(1, k, d)
        cluster, tops, totals = sums.clusters[0], np.full(k, -np.inf), np.zeros((k, 3 + d + d * d))
        sum_cells(self._table, self.weight, centers, t, bool(small), ~rows, labels, f, lift, tops, totals)
        cluster["mass"], cluster["weight"], cluster["cost"] = totals[:, :3].T
        cluster["top"] = tops
        for name in ("top", "mass"):
            cluster[f"{name}_before"] = cluster[name]
        sums.first[0], sums.second[0] = totals[:, 3 : 3 + d], totals[:, 3 + d :]
        return rows, sums, wrong

    def _doubtful(
        self, f: Floats, lift: Floats, bound: Floats, contested: Bools, t: float
    ) -> tuple[Bools, float]:
        """Contested cells, and those whose bounds together would exceed the allowed error."""
        if t == 0:
            return contested, 0.0
        top = float(f.max())
        mass = self.weight * np.exp(t * (f - top)) * (1 + lift)
        total = float(mass.sum())
        cost = top + float(np.log(total / self.weight.sum())) / t
        allowed = ERROR * t * cost * total
        share = np.where(contested, 0.0, mass * bound)
        large = np.flatnonzero(share > allowed / (2 * len(share)))
        trusted = float(
            share.sum() - share[large].sum()
        )  # error of all others: at most half of what is allowed
        order = large[np.argsort(share[large])]
        added = trusted + np.cumsum(share[order])
        few = int(np.searchsorted(added, allowed, side="right"))
        rows = contested.copy()
        rows[order[few:]] = True
        return rows, (float(added[few - 1]) if few else trusted) / (t * cost * total)

    def _far(self, f: Floats, labels: Ints, others: Ints, contested: Bools, k: int) -> Bools:
        """Contested cells, and those that may contain the farthest resident of a cluster."""
        length = np.sqrt(f)
        least = np.zeros(k)
        np.maximum.at(least, labels[~contested], length[~contested])
        bar = np.where(contested, np.minimum(least[labels], least[others]), least[labels])
        return (self.reach > 0) & (contested | (length + 3 * self.reach >= bar))
