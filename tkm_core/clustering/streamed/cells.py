"""Cells that stand for their rows: which of them do so exactly enough at a setting of the dial, and their sums.

A cell has the weight W, the mean m and the covariance S of its rows. If all of them are served by the facility c, and
u = m - c, then up to terms of third order in the size of the cell

    sum w f         = W (u² + tr S)                                               exactly,
    sum w e^{t f}   = W e^{t u²} (1 + a),            a = t tr S + 2 t² u'S u,
    sum w e^{t f} (x - c)          = W e^{t u²} ((1 + a) u + 2 t S u),
    sum w e^{t f} (x - c)(x - c)'  = W e^{t u²} ((1 + a) u u' + S + 2 t (S u u' + u u'S)).

What these leave out is bounded. Cells through which a border between two facilities runs, and those whose bounds add up
to more than ``ERROR`` of the cost, are left to a pass over their rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering.compiled.records import CLUSTER
from tkm_core.clustering.streamed.compiled import two_nearest
from tkm_core.clustering.streamed.grid import Grid, Moments
from tkm_core.clustering.threads import in_parallel

ERROR = 1e-4  # of the city-wide cost at each t: what the cells that are not looked at row by row may be wrong by in all
PART = 16_384  # cells that one thread looks at


@dataclass(frozen=True)
class Sums:
    """What a step and the costs are made of, at each of m settings: `CLUSTER` (m, k), and the moments of x - c."""

    clusters: NDArray[np.void]
    first: Floats
    second: Floats

    @classmethod
    def zeros(cls, m: int, k: int, d: int) -> "Sums":
        """Of no rows."""
        clusters = np.zeros((m, k), CLUSTER)
        for name in ("top", "top_before"):
            clusters[name] = -np.inf
        return cls(clusters, np.zeros((m, k, d)), np.zeros((m, k, d * d)))


@dataclass(frozen=True)
class Cells:
    """The cells in which somebody lives, in the solver's coordinates."""

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
        """From the sums of a pass."""
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
        # a cell with one row has no size: it is that row
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

    def nearest(self, centers: Floats) -> tuple[Ints, Ints, Floats]:
        """The facilities nearest and second nearest to each cell's centre, and by how much farther the second is."""
        count = len(self.numbers)
        labels, others = np.empty(count, np.int64), np.empty(count, np.int64)
        f, second = np.empty(count), np.empty(count)

        def run(rows: slice) -> None:
            two_nearest(self.centre[rows], centers, labels[rows], f[rows], others[rows], second[rows])

        in_parallel(run, count, PART)
        return labels, others, np.sqrt(second) - np.sqrt(f)

    def summed(self, centers: Floats, t: float, *, small: bool) -> tuple[Bools, Sums, float]:
        """Which cells have to be looked at row by row at t, the sums of all others, and what those may be wrong by.

        The error is of the city-wide cost, relative.
        """
        k, d = centers.shape
        labels, others, margin = self.nearest(centers)
        contested = margin < 2 * self.half
        u = self.mean - centers[labels]
        f = (u**2).sum(axis=1)
        variance = np.trace(self.spread, axis1=1, axis2=2)
        su = np.einsum("cab,cb->ca", self.spread, u)
        if np.isinf(t):
            rows, wrong = self._far(f, labels, others, contested, k), 0.0
            lift, power = np.zeros(len(f)), np.zeros(len(f))
        else:
            lift = t * variance + 2 * t * t * (su * u).sum(axis=1)
            power = np.exp(t * (f - f.max()))
            rows, wrong = self._doubtful(f, variance, lift, power, contested, t)
        kept = ~rows
        sums = Sums.zeros(1, k, d)
        cluster = sums.clusters[0]
        own, weight = labels[kept], self.weight[kept]
        cluster["weight"] = np.bincount(own, weight, k)
        cluster["cost"] = np.bincount(own, weight * (f + variance)[kept], k)
        np.maximum.at(cluster["top"], own, f[kept])
        if np.isinf(t):
            return rows, sums, wrong
        tops = cluster["top"]
        u, su, lift = u[kept], su[kept], lift[kept]
        if small:
            here = np.exp(t * f[kept])
            cluster["mass"] = np.bincount(own, weight * (np.expm1(t * f[kept]) + here * lift), k)
        else:
            here = np.exp(t * (f[kept] - tops[own]))
            cluster["mass"] = np.bincount(own, weight * here * (1 + lift), k)
        here = weight * here
        for a in range(d):
            sums.first[0, :, a] = np.bincount(own, here * ((1 + lift) * u[:, a] + 2 * t * su[:, a]), k)
            for b in range(a + 1):
                product = (1 + lift) * u[:, a] * u[:, b] + self.spread[kept, a, b]
                product += 2 * t * (su[:, a] * u[:, b] + u[:, a] * su[:, b])
                sums.second[0, :, a * d + b] = np.bincount(own, here * product, k)
        for name in ("top", "mass"):
            cluster[f"{name}_before"] = cluster[name]
        return rows, sums, wrong

    def _doubtful(
        self, f: Floats, variance: Floats, lift: Floats, power: Floats, contested: Bools, t: float
    ) -> tuple[Bools, float]:
        """Contested cells, and those whose bounds together would be more than the error allows."""
        if t == 0:
            return contested, 0.0
        length = np.sqrt(f)
        z = np.minimum(t * self.reach * (2 * length + self.reach), 50.0)
        bound = z**3 / 6 * np.exp(z) + t * t * variance * self.reach * (2 * length + self.reach / 2)
        mass = self.weight * power * (1 + lift)
        share = np.where(contested, 0.0, mass * bound / mass.sum())
        cost = float(f.max() + np.log(mass.sum() / self.weight.sum()) / t)
        order = np.argsort(share)
        total = np.cumsum(share[order])
        allowed = ERROR * t * cost
        trusted = int(np.searchsorted(total, allowed, side="right"))
        rows = contested.copy()
        rows[order[trusted:]] = True
        return rows, float(total[trusted - 1] / (t * cost)) if trusted else 0.0

    def _far(self, f: Floats, labels: Ints, others: Ints, contested: Bools, k: int) -> Bools:
        """Contested cells, and those in which the farthest of a cluster may live."""
        length = np.sqrt(f)
        least = np.zeros(k)
        np.maximum.at(least, labels[~contested], length[~contested])
        bar = np.where(contested, np.minimum(least[labels], least[others]), least[labels])
        return (self.reach > 0) & (contested | (length + 3 * self.reach >= bar))
