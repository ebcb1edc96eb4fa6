"""The solver's own coordinates: residents moved and scaled so that no size is too large or too small to square.

The move is exact and every scale is a power of two, so results are those of the data as given, carried back.
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

FAR = 2.0**30  # widths of the residents' box: a facility farther away than this serves nobody
HEAVIEST = 2.0**500  # in the middle of what can be represented: the lightest may be 2^1000 times lighter
MILDEST, STRONGEST = 2.0**-100, 2.0**140  # tilts beyond these act as 0 and as the largest distance
EASY = (
    2.0**30
)  # lengths up to this, and down to one over it, are used as they are: that saves a copy of the data
ROUNDED = 1e-9  # of the typical distance: a facility that rounding moves farther is measured where it ends


def power_of_two(size: float) -> float:
    """The power of two just above ``size``, which brings it to between 0.5 and 1; 1 for a size of 0.

    >>> power_of_two(5.0), power_of_two(0.0), power_of_two(1e-320) == 2.0**-1000
    (8.0, 1.0, True)
    """
    return 2.0 ** min(max(math.frexp(size)[1], -1000), 1000) if size > 0 else 1.0


def unit_for(size: float) -> float:
    """The unit in which lengths up to ``size`` are squared without loss: 1 where that is easy, else a power of two.

    >>> unit_for(5.0), unit_for(3e9) == 2.0**32
    (1.0, True)
    """
    return 1.0 if 1 / EASY <= size <= EASY else power_of_two(size)


def in_easy_units(values: Floats, unit: float) -> Floats:
    """Values divided by a power of two; the same array where that is 1."""
    return values if unit == 1.0 else values * (1 / unit)


def level_weights(weights: Floats) -> Floats:
    """Weights above 0, where needed times a power of two that puts the heaviest near ``HEAVIEST``.

    Only their ratios matter.
    """
    heaviest = float(weights.max())
    if 1 / EASY <= heaviest <= EASY and weights.min() >= 1 / HEAVIEST:
        return weights
    return weights / power_of_two(heaviest) * HEAVIEST


def in_units_of(values: Floats | float, unit: float, power: int, what: str) -> Floats:
    """Values times unit^power, or a sentence if that is more than a number can hold."""
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
    """The dial t for lengths in units of ``unit``, within the range where it makes a difference.

    >>> tilt(0.5, 2.0), tilt(1e300, 1e9) == STRONGEST, tilt(1e-300, 1.0)
    (2.0, True, 0.0)
    """
    scaled = float(t) * unit * unit
    if scaled < MILDEST or math.isinf(t):
        return t if math.isinf(t) else 0.0
    return min(scaled, STRONGEST)


def check_width(low: Floats, high: Floats, name: str) -> float:
    """The longest side of a box, if distances across it can be squared; else a sentence."""
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

    The unit fits the rows that are ``live`` (all by default), so that the squares of their distances neither
    overflow nor vanish.

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
    """How wide the box of X and one facility is: the facility for which it is smallest."""
    low, high = box(X)
    with np.errstate(over="ignore"):
        away = np.maximum(np.abs(centers - low), np.abs(centers - high)).max(axis=1)
    nearby = centers[int(away.argmin())]
    return check_width(np.minimum(low, nearby), np.maximum(high, nearby), "X with its facilities")


@dataclass(frozen=True)
class Frame:
    """Where the solver's coordinates begin and how long they are, in those of the data.

    Attributes
    ----------
    origin : array (d,)
        An edge of the residents' box where that is far from 0 compared with its width, else 0.
    unit : float
        1, or where squares of the box's width would be hard to hold, a power of two about as large as it.
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
        # numbers within a factor of two of each other are subtracted without rounding (Sterbenz)
        with np.errstate(over="ignore"):
            origin = np.where(high <= 2 * low, low, np.where(low >= 2 * high, high, 0.0))
        return cls(origin, unit, low, high)

    def inside(self, points: Floats) -> Floats:
        """Points in the solver's coordinates; what is far from all residents is brought nearer."""
        far = FAR * (float((self.high - self.low).max()) / self.unit or 1.0)
        with np.errstate(over="ignore"):
            moved = points - self.origin if self.origin.any() else points
            scaled = in_easy_units(moved, self.unit)
        near = scaled.size == 0 or (scaled.min() >= -far and scaled.max() <= far)
        return scaled if near else np.clip(scaled, -far, far)

    def outside(self, centers: Floats) -> Floats:
        """Facilities in the coordinates of the data; rounding does not put one outside the residents' box."""
        return np.clip(centers * self.unit + self.origin, self.low, self.high)


@dataclass(frozen=True)
class Framed:
    """A problem in the solver's coordinates, without the rows that have no weight, and the way back.

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
        """Frame residents, weights and existing facilities, all checked before."""
        live = weights > 0
        rows, mass = (X, weights) if live.all() else (X[live], weights[live])
        frame = Frame.of(rows)
        problem = Problem.of(frame.inside(rows), level_weights(mass), n_free)
        return cls(frame, problem, frame.inside(fixed), X, fixed)

    def length_of_t(self, scale: str | float | None) -> float:
        """The length in which t is counted (``scale`` of ``TiltedKMeans``), in the solver's coordinates."""
        if scale == "auto":
            return spread(self.problem.X, self.problem.weights) or 1.0
        return max((1.0 if scale is None else check_number(scale, "scale")) / self.frame.unit, 2.0**-1000)

    def tilt(self, t: float, length: float | None = None) -> float:
        """The dial in the solver's coordinates, where t is counted in ``length``; by default in the unit of X."""
        return tilt(t, self.frame.unit if length is None else 1 / length) if t else 0.0

    def back(self, found: Descent, t: float) -> Descent:
        """What a descent found (at t in the solver's coordinates), in the coordinates of the data.

        Existing facilities are handed out as they were given. Where rounding moves a new one noticeably, the costs are
        those of where it ends.
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
