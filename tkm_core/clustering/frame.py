"""The solver's coordinates: residents shifted and scaled so that squares neither overflow nor underflow.

The shift is exact and every scale is a power of two, so results can be transformed back without loss.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tkm_core.arrays import Floats, Labels
from tkm_core.clustering.checks import check_number
from tkm_core.clustering.descent import Descent, Problem, box, nearest
from tkm_core.clustering.objective import city_cost, tilted_sse
from tkm_core.spread import spread

FAR = 2.0**30  # times the width of the residents' box: a facility farther away serves nobody
HEAVIEST = 2.0**500  # in the middle of the number range: the smallest weight may be 2^1000 times smaller
MILDEST, STRONGEST = 2.0**-100, 2.0**140  # beyond these, t acts as 0 and as infinity
EASY = 2.0**30  # lengths between 1/EASY and EASY are used as they are, which saves a copy of the data
# Share of the typical distance: if rounding moves a facility farther, costs are computed again.
ROUNDED = 1e-9


def power_of_two(size: float) -> float:
    """The power of two just above ``size``, which scales it to between 0.5 and 1; 1 for a size of 0.

    >>> power_of_two(5.0), power_of_two(0.0), power_of_two(1e-320) == 2.0**-1000
    (8.0, 1.0, True)
    """
    return 2.0 ** min(max(math.frexp(size)[1], -1000), 1000) if size > 0 else 1.0


def unit_for(size: float) -> float:
    """The unit in which lengths up to ``size`` can be squared safely: 1 if possible, otherwise a power of two.

    >>> unit_for(5.0), unit_for(3e9) == 2.0**32
    (1.0, True)
    """
    return 1.0 if 1 / EASY <= size <= EASY else power_of_two(size)


def in_easy_units(values: Floats, unit: float) -> Floats:
    """Values divided by a power of two; the same array if that is 1."""
    return values if unit == 1.0 else values * (1 / unit)


def level_weights(weights: Floats) -> Floats:
    """Positive weights, scaled if needed by a power of two so that the largest is near ``HEAVIEST``.

    Only their ratios matter.
    """
    heaviest = float(weights.max())
    if 1 / EASY <= heaviest <= EASY and weights.min() >= 1 / HEAVIEST:
        return weights
    return weights / power_of_two(heaviest) * HEAVIEST


def in_units_of(values: Floats | float, unit: float, power: int, what: str) -> Floats:
    """Values times unit^power; an error if that overflows."""
    with np.errstate(over="ignore"):
        scaled = np.asarray(values, dtype=np.float64)
        for _ in range(power):
            scaled = scaled * unit
    if not np.isfinite(scaled).all():
        msg = (
            f"{what} would be larger than the largest number a computer can hold (1.8e308). Divide the coordinates by "
            "a constant, or the weights if those are large."
        )
        raise ValueError(msg)
    return scaled


def tilt(t: float, unit: float) -> float:
    """The value of t for lengths in units of ``unit``, within the range where it makes a difference.

    >>> tilt(0.5, 2.0), tilt(1e300, 1e9) == STRONGEST, tilt(1e-300, 1.0)
    (2.0, True, 0.0)
    """
    scaled = float(t) * unit * unit
    if scaled < MILDEST or math.isinf(t):
        return t if math.isinf(t) else 0.0
    return min(scaled, STRONGEST)


def check_width(low: Floats, high: Floats, name: str) -> float:
    """The longest side of a box; an error if distances across it cannot be squared."""
    with np.errstate(over="ignore"):
        sides = high - low
        if np.isfinite((sides * sides).sum()):
            return float(sides.max())
    axis = int(np.argmax(sides))
    msg = (
        f"{name} reaches from {low[axis]:.3g} to {high[axis]:.3g} in column {axis}: squared distances would be larger "
        "than the largest number a computer can hold (1.8e308). Check the coordinates, or divide them by a constant."
    )
    raise ValueError(msg)


def served(X: Floats, centers: Floats, live: NDArray[np.bool_] | None = None) -> tuple[Labels, Floats, float]:
    """Nearest facility of each row, its squared distance in units of unit², and that unit, a power of two.

    The unit fits the ``live`` rows (all by default), so that their squared distances neither overflow nor underflow.

    >>> labels, f, unit = served(np.array([[3e-170, 4e-170]]), np.zeros((1, 2)))
    >>> float(round(np.sqrt(f[0]) * unit * 1e170, 9))
    5.0
    """
    rows = X if live is None or live.all() else X[live]
    unit = unit_for(_reach(rows, centers) or _reach(X, centers))
    with np.errstate(over="ignore"):
        labels, f = nearest(in_easy_units(X, unit), in_easy_units(centers, unit))
    lost = ~np.isfinite(f)
    if lost.any():
        row = int(np.argmax(lost))
        msg = f"Row {row} of X lies too far from every facility for its distance to be squared; check its coordinates."
        raise ValueError(msg)
    return labels, f, unit


def _reach(X: Floats, centers: Floats) -> float:
    """The smallest width of a box around X and one of the facilities."""
    low, high = box(X)
    with np.errstate(over="ignore"):
        away = np.maximum(np.abs(centers - low), np.abs(centers - high)).max(axis=1)
    nearby = centers[int(away.argmin())]
    return check_width(np.minimum(low, nearby), np.maximum(high, nearby), "X with its facilities")


@dataclass(frozen=True)
class Frame:
    """Origin and unit of the solver's coordinates, in the coordinates of the data.

    Attributes
    ----------
    origin : array (d,)
        An edge of the residents' box if that is far from 0 compared with its width, otherwise 0.
    unit : float
        1, or a power of two near the width of the box if its square could overflow or underflow.
    low, high : arrays (d,)
        The box.
    """

    origin: Floats
    unit: float
    low: Floats
    high: Floats

    @classmethod
    def of(cls, X: Floats) -> Self:
        """The frame that fits residents X."""
        low, high = box(X)
        unit = unit_for(check_width(low, high, "X"))
        # numbers within a factor of two are subtracted without rounding (Sterbenz)
        with np.errstate(over="ignore"):
            origin = np.where(high <= 2 * low, low, np.where(low >= 2 * high, high, 0.0))
        return cls(origin, unit, low, high)

    def inside(self, points: Floats) -> Floats:
        """Points in the solver's coordinates; points very far from all residents are moved nearer."""
        far = FAR * (float((self.high - self.low).max()) / self.unit or 1.0)
        with np.errstate(over="ignore"):
            moved = points - self.origin if self.origin.any() else points
            scaled = in_easy_units(moved, self.unit)
        near = scaled.size == 0 or (scaled.min() >= -far and scaled.max() <= far)
        return scaled if near else np.clip(scaled, -far, far)

    def outside(self, centers: Floats) -> Floats:
        """Facilities in the coordinates of the data, kept within the residents' box despite rounding."""
        return np.clip(centers * self.unit + self.origin, self.low, self.high)


@dataclass(frozen=True)
class Framed:
    """A problem in the solver's coordinates, without rows of weight 0, and the transformation back.

    Attributes
    ----------
    frame : Frame
    problem : Problem
    fixed : array (f, d)
        Existing facilities in the solver's coordinates.
    X, fixed_as_given : arrays
        Residents and existing facilities in the coordinates of the data.
    """

    frame: Frame
    problem: Problem
    fixed: Floats
    X: Floats
    fixed_as_given: Floats

    @classmethod
    def of(cls, X: Floats, weights: Floats, n_free: int, fixed: Floats) -> Self:
        """Transform residents, weights and existing facilities, which must be checked already."""
        live = weights > 0
        rows, mass = (X, weights) if live.all() else (X[live], weights[live])
        frame = Frame.of(rows)
        problem = Problem.of(frame.inside(rows), level_weights(mass), n_free)
        return cls(frame, problem, frame.inside(fixed), X, fixed)

    def length_of_t(self, scale: str | float | None) -> float:
        """The unit of length for t (``scale`` of ``TiltedKMeans``), in the solver's coordinates."""
        if scale == "auto":
            return spread(self.problem.X, self.problem.weights) or 1.0
        return max((1.0 if scale is None else check_number(scale, "scale")) / self.frame.unit, 2.0**-1000)

    def tilt(self, t: float, length: float | None = None) -> float:
        """The value of t in the solver's coordinates, for t in units of 1/``length``²; by default in the unit of X."""
        return tilt(t, self.frame.unit if length is None else 1 / length) if t else 0.0

    def back(self, found: Descent, t: float) -> Descent:
        """The result of a descent (at t in the solver's coordinates), in the coordinates of the data.

        Existing facilities are returned exactly as given. If rounding moves a new one noticeably, the costs are
        computed at its final place.
        """
        n_free, history, labels = self.problem.n_free, found.history, found.labels
        centers = self.frame.outside(found.centers[:n_free])
        ends = np.vstack([self.frame.inside(centers), self.fixed])
        moved = np.abs(ends - found.centers).max()
        if moved > ROUNDED * math.sqrt(max(found.sse, 0.0)):
            weights = self.problem.weights
            near, f = nearest(self.problem.X, ends)
            history = history.copy()
            history[-1] = (
                city_cost(f, weights, t), tilted_sse(f, near, weights, len(ends), t), city_cost(f, weights, 0.0)
            )  # fmt: skip
            labels = near if len(labels) else labels
        if len(labels) and len(self.X) > len(labels):
            labels = nearest(self.frame.inside(self.X), ends)[0]
        return Descent(
            np.vstack([centers, self.fixed_as_given]),
            labels,
            found.n_iter,
            found.left,
            in_units_of(history, self.frame.unit, 2, "The tilted cost"),
        )
