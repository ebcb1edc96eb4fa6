"""The proof for facilities that may stand anywhere: `prove` and its result."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats
from tkm_core.clustering import (
    Framed,
    Problem,
    TiltedKMeans,
    check_centers,
    check_fixed,
    check_number,
    check_points,
    check_scale,
    check_t,
    check_weights,
    in_units_of,
    named_weights,
)
from tkm_core.progress import Progress, silent
from tkm_core.sites.plane_bound.proving import PLACES, Proving
from tkm_core.sites.solver import Deadline
from tkm_core.wording import counted

PROVED = 1e-8  # relative gap at which a plan counts as proven best


@dataclass(frozen=True, eq=False)
class Proof:
    """A lower bound on the city-wide cost of any facilities in the plane, next to a plan. Made by `prove`.

    Costs are in the unit of the coordinates, squared.

    Attributes
    ----------
    t : float
        The setting of the dial, in units of 1/``scale``².
    scale : float
        The length in which t is counted.
    n_new, n_existing : int
        New facilities, which may stand anywhere, and existing ones.
    cost : float
        City-wide cost of the given plan.
    bound : float
        No plan with as many new facilities costs less, wherever they stand.
    centers : array (n_new + n_existing, d)
        The best plan found on the way; the given one if none is better. Existing facilities come last.
    best_cost : float
        City-wide cost of ``centers``.

    Examples
    --------
    >>> prove([[0, 0], [0, 2], [9, 0], [9, 2]], [[0, 1], [9, 1]]).proved
    True
    """

    t: float
    scale: float
    n_new: int
    n_existing: int
    cost: float
    bound: float
    centers: Floats
    best_cost: float

    @property
    def gap(self) -> float:
        """The largest share of its cost by which the given plan could be improved."""
        return max(self.cost - self.bound, 0.0) / self.cost if self.cost > 0 else 0.0

    @property
    def proved(self) -> bool:
        """Whether the given plan is proven to be optimal, but for rounding."""
        return self.gap <= PROVED

    @property
    def sentence(self) -> str:
        """What is proven, as a sentence for planners.

        >>> prove([[0, 0], [0, 2], [9, 0], [9, 2]], [[0, 1], [9, 1]]).sentence
        'No plan with 2 facilities anywhere has a lower city-wide cost at this setting of the dial.'
        """
        return told(0.0 if self.proved else self.gap, self.n_new, new=self.n_existing > 0)

    def __repr__(self) -> str:
        """The bound next to the plan's cost, in one line."""
        return (
            f"Proof(t={self.t:g}, cost={self.cost:.6g}, bound={self.bound:.6g}, gap={100 * self.gap:.3g} %)"
        )


def told(gap: float, count: int, *, new: bool = False) -> str:
    """What is proven about a plan whose facilities may stand anywhere, as a sentence.

    Parameters
    ----------
    gap : float
        The largest share of its city-wide cost by which the plan could be improved.
    count : int
        Number of facilities that were placed.
    new : bool
        Whether there are existing ones besides.

    Returns
    -------
    str

    Examples
    --------
    >>> told(0.0321, 6)
    'No plan with 6 facilities anywhere has a city-wide cost more than 3.3 % lower at this setting of the dial.'
    """
    named = "new facility" if new else "facility"
    which = f"plan with {counted(count, named, f'{named[:-1]}ies')} anywhere"
    percent = 100 * gap
    if percent <= 0:
        return f"No {which} has a lower city-wide cost at this setting of the dial."
    if percent >= 99.5:
        other = f"the city-wide cost of another {which} could be at this setting of the dial"
        return f"How much lower {other} is not known yet."
    # two digits, rounded up, so that it still holds
    step = 10.0 ** math.floor(min(max(math.log10(percent), -4.0), 1.0) - 1)
    shown = f"{math.ceil(percent / step - 1e-9) * step:.6g}"
    return f"No {which} has a city-wide cost more than {shown} % lower at this setting of the dial."


def prove(
    X: ArrayLike,
    centers: ArrayLike,
    *,
    t: float = 0.0,
    sample_weight: ArrayLike | str | None = None,
    fixed_centers: ArrayLike | None = None,
    scale: str | float | None = None,
    seconds: float = 30.0,
    random_state: object = None,
    progress: Progress | None = None,
) -> Proof:
    """Prove how much lower the city-wide cost of any other facilities could be, wherever they stand.

    The bound holds for every plan with as many new facilities in the plane, at this t. It is about the city-wide cost
    (1/t) log[(1/W) sum_i w_i e^{t f_i}], with f_i the squared straight-line distance to the nearest facility: the mean
    of f at t = 0 (k-means), its maximum at infinity (the smallest enclosing discs). The paper's tilted SSE is a sum of
    logarithms, for which it says nothing.

    Parameters
    ----------
    X : array (n, 2) or (n, 1)
        Residents, in plane coordinates.
    centers : array (k, d) or (k + f, d)
        The new facilities of the plan, and after them the existing ones if they are listed too, as in
        ``TiltedKMeans.cluster_centers_``.
    t : float
        The dial, from 0 to infinity, in units of 1/``scale``².
    sample_weight : array (n,) or str, optional
        Population of each row, or the name of that column of X.
    fixed_centers : array (f, d), optional
        Existing facilities: they serve residents too, and never move.
    scale : "auto", float or None
        The length in which t is counted, as in `TiltedKMeans`.
    seconds : float
        How long to work at most, apart from what is begun at that time. It ends earlier if the plan is proven optimal.
    random_state : int, RandomState or None
        For the search that looks for a better plan first; the proof itself has nothing random. What a deadline cuts
        off depends on the speed of the machine.
    progress : callable(fraction, text), optional
        Called often; an exception it raises ends the work and is passed on.

    Returns
    -------
    Proof
        With ``bound``, ``gap``, ``proved``, ``sentence``, and the best plan found on the way.

    Raises
    ------
    ValueError
        If the residents have more than two coordinates, or an argument makes no sense. Rules such as zones, capacities
        or streets are not part of the question: for facilities on sites, `site_path` has bounds of its own.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = TiltedKMeans(3, t=0.5, criterion="city", random_state=0).fit(X)
    >>> found = prove(X, model.cluster_centers_, t=0.5, random_state=0)
    >>> found.bound <= found.cost, found.gap < 1e-6
    (True, True)
    >>> worse = prove(X, X[:3], t=0.5, random_state=0)
    >>> worse.proved, bool(abs(worse.best_cost - found.cost) < 1e-6)
    (False, True)
    """
    X, sample_weight = named_weights(X, sample_weight)
    points = check_points(X)
    n, d = points.shape
    if d > 2:
        msg = f"X has {d} columns; a proof needs places in the plane, with 2 columns (or 1, on a line)."
        raise ValueError(msg)
    weights, t = check_weights(sample_weight, n), check_t(t)
    fixed = check_fixed(fixed_centers, d)
    free = _new_ones(check_centers(centers, d, "centers"), fixed)
    seconds = check_number(seconds, "seconds")
    live = weights > 0
    length = check_scale(scale, points[live], weights[live], np.array([t]))
    deadline = Deadline(seconds, progress or silent)
    deadline.say()
    framed = Framed.of(_in_plane(points), weights, len(free), _in_plane(fixed))
    unit = framed.frame.unit
    start = np.vstack([framed.frame.inside(_in_plane(free)), framed.fixed])
    work = Proving(_places(framed.problem), framed.fixed, framed.tilt(t, length / unit), start, deadline)
    cost = work.value
    if len(free):
        _search(work, points, weights, fixed, t / length**2, framed, random_state)
        work.work()
    else:
        work.bound = cost
    deadline.report(1.0, "Done")
    kept = work.value >= cost
    best = free if kept else framed.frame.outside(work.centers[: len(free)])[:, :d]
    cost_, bound, value = (
        float(in_units_of(one, unit, 2, "The city-wide cost")) for one in (cost, work.bound, work.value)
    )
    return Proof(
        t,
        length,
        len(free),
        len(fixed),
        cost_,
        min(bound, cost_),
        np.vstack([best, fixed]),
        min(value, cost_),
    )


def _new_ones(centers: Floats, fixed: Floats) -> Floats:
    """The new facilities of a plan that may list the existing ones after them."""
    f = len(fixed)
    listed = f and len(centers) >= f and np.array_equal(centers[-f:], fixed)
    return centers[:-f] if listed else centers


def _in_plane(points: Floats) -> Floats:
    """Points with two coordinates: those on a line get a second one."""
    return points if points.shape[1] == 2 else np.hstack([points, np.zeros_like(points)])


def _places(problem: Problem) -> Problem:
    """The same problem with every place once, and weights that add up to 1."""
    places, which = np.unique(problem.X, axis=0, return_inverse=True)
    mass = np.bincount(which.ravel(), problem.weights / problem.weights.sum())
    return Problem.of(places, mass / mass.sum(), problem.n_free)


def _search(
    work: Proving, X: Floats, weights: Floats, fixed: Floats, t: float, framed: Framed, random_state: object
) -> None:
    """Look for a better plan: the closer the plan is to the best one, the more cells can be dropped."""
    k = len(work.centers) - len(fixed)
    if len(work.problem.X) > PLACES or k >= len(work.problem.X):
        return
    model = TiltedKMeans(
        k, t=t, criterion="city", n_init=1, scale=1.0, random_state=random_state,
        fixed_centers=fixed if len(fixed) else None,
    ).fit(X, sample_weight=weights)  # fmt: skip
    work.consider(np.vstack([framed.frame.inside(_in_plane(model.cluster_centers_[:k])), work.fixed]))
