"""Cells that cover the places where facilities may stand, and the costs of residents served from a cell."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.sites.plane_bound import compiled

SMALL = 30.0  # t times the plan's cost up to which e^{tf} - 1 is summed
OVERLAP = (
    1e-9  # relative: cells are this much larger than needed, so that rounding leaves no gaps between them
)
QUARTERS = np.array([(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)])
CHUNK = 512  # cells looked at together
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Hull:
    """Half-planes whose intersection holds every resident; none if the residents lie on a line."""

    normals: Floats
    offsets: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, X: Floats) -> "Hull":
        """The convex hull of residents: the optimum of any cluster lies in it."""
        low, high = X.min(axis=0), X.max(axis=0)
        try:
            sides = ConvexHull(X).equations
        except (QhullError, ValueError):
            sides = np.empty((0, 3))
        return cls(sides[:, :2], sides[:, 2], low, high)

    def touches(self, cells: "Cells") -> Bools:
        """Whether a cell may have a point in common with the hull."""
        slack = 1e-6 * float((self.high - self.low).max())
        return np.asarray(
            (
                self.normals @ cells.M.T + self.offsets[:, None] <= np.abs(self.normals) @ cells.H.T + slack
            ).all(axis=0)
        )


@dataclass(frozen=True)
class Cells:
    """Rectangles, by middle and half sides (m, 2)."""

    M: Floats
    H: Floats

    def __len__(self) -> int:
        return len(self.M)

    @classmethod
    def over(cls, hull: Hull, count: int) -> "Cells":
        """About ``count`` equal cells over the residents' box, nearly square, without those outside the hull."""
        sides = hull.high - hull.low
        longest = float(sides.max())
        ratio = np.maximum(sides / longest, 1e-9)
        length = longest * math.sqrt(max(ratio.min(), 1.0 / count) / count)
        numbers = np.maximum(np.ceil(sides / length - 1e-9), 1).astype(int)
        half = sides / numbers / 2
        x, y = (hull.low[a] + half[a] * (2 * np.arange(numbers[a]) + 1) for a in (0, 1))
        M = np.stack([np.repeat(x, len(y)), np.tile(y, len(x))], axis=1)
        cells = cls(M, np.tile(half, (len(M), 1)))
        return cells[hull.touches(cells)]

    def __getitem__(self, chosen: "Bools | Ints | slice") -> "Cells":
        return replace(self, M=self.M[chosen], H=self.H[chosen])

    def split(self, hull: Hull) -> "Cells":
        """Each cell in four (a flat one in two), without those outside the hull."""
        parts = []
        for quarter in QUARTERS:
            half = self.H / 2
            parts.append(Cells(self.M + quarter * half, half))
        cells = Cells(*(np.concatenate([getattr(each, name) for each in parts]) for name in ("M", "H")))
        flat = (cells.H == 0).any(axis=1)
        if flat.any():
            both = np.unique(np.hstack([cells.M, cells.H]), axis=0)
            cells = Cells(np.ascontiguousarray(both[:, :2]), np.ascontiguousarray(both[:, 2:]))
        return cells[hull.touches(cells)]

    def joined(self, other: "Cells") -> "Cells":
        """These cells and others."""
        return Cells(np.concatenate([self.M, other.M]), np.concatenate([self.H, other.H]))


@dataclass
class TiltedSum:
    """The sum whose logarithm is the city-wide cost, scaled to the best plan known.

    Attributes
    ----------
    X, w : arrays
        Places and their weights, which add up to 1.
    t : float
        Finite.
    small : bool
        Whether (e^{tf} - 1) / t is summed, otherwise e^{tf - shift}.
    upper : float
        The sum of the best plan known; it may be lowered.
    most : float
        No plan as good as the first one known has a resident of a higher cost.
    ceiling : array (n,)
        Costs at the existing facilities, clipped at ``most``.
    """

    X: Floats
    w: Floats
    t: float
    shift: float
    small: bool
    upper: float
    most: float
    ceiling: Floats

    @classmethod
    def of(cls, X: Floats, w: Floats, t: float, value: float, far: Floats) -> "TiltedSum":
        """The sum at a finite t, given a plan's city-wide cost, and squared distances to existing facilities."""
        small = t * value <= SMALL
        shift = 0.0 if small else t * value
        found = cls(
            np.array(X), np.array(w), t, shift, small, 0.0, math.inf, w
        )  # writable, for the compiled loops
        found.upper = found.total(value)
        found.most = found.upper * (1 + 1e-9) + 1e-300
        found.ceiling = np.minimum(found.at(far), found.most)
        return found

    def at(self, f: Floats) -> Floats:
        """Costs at squared distances f."""
        if self.t == 0:
            return self.w * f
        e = np.minimum(self.t * f - self.shift, 600.0)
        return self.w * (np.expm1(e) / self.t if self.small else np.exp(e))

    def total(self, value: float) -> float:
        """The sum of a plan with this city-wide cost."""
        if self.t == 0:
            return value
        return math.expm1(self.t * value) / self.t if self.small else math.exp(self.t * value - self.shift)

    def phi(self, total: float) -> float:
        """The city-wide cost of a sum."""
        if total <= 0:
            return 0.0
        if self.t == 0:
            return total
        if self.small:
            return math.log1p(self.t * total) / self.t
        return max((self.shift + math.log(total)) / self.t, 0.0)

    def reach(self, prices: Floats) -> Floats:
        """The squared distance at which each resident's cost equals their price."""
        if self.t == 0:
            return prices / self.w
        with np.errstate(divide="ignore"):
            e = np.log1p(prices * self.t / self.w) if self.small else np.log(prices / self.w) + self.shift
        return np.asarray(np.maximum(e, 0.0) / self.t)

    def costs(self, cells: Cells, prices: Floats) -> tuple[Floats, Floats]:
        """Lower bounds (cells, n) on the cost of each resident served from each cell, and reduced costs."""
        V, rho = np.empty((len(cells), len(self.X))), np.empty(len(cells))
        compiled.cell_costs(
            self.X, self.w, self.t, self.shift, self.small, self.most, np.ascontiguousarray(cells.M),
            np.ascontiguousarray(cells.H * (1 + OVERLAP)), prices, V, rho,
        )  # fmt: skip
        return V, rho

    def looseness(self, cells: Cells, rho: Floats, prices: Floats) -> Floats:
        """How far the reduced costs of cells could rise at most if the cells were split again and again."""
        found = np.empty(len(cells))
        for start in range(0, len(cells), CHUNK):
            part = slice(start, start + CHUNK)
            f = ((cells.M[part, None] - self.X) ** 2).sum(axis=2)
            found[part] = np.minimum(self.at(f) - prices, 0.0).sum(axis=1)
        return found - rho

    def rounding(self, prices: Floats) -> float:
        """The most that rounding can have added to a bound with these prices."""
        # an exponent has the relative error of its square; costs above ``most`` are never summed
        exponent = self.shift + (0.0 if self.t == 0 else SMALL + float(-np.log(self.w.min())))
        each = 4 * EPS * (len(prices) + 8 * (1 + exponent))
        return each * (2 * float(np.abs(prices).sum()) + self.upper)
