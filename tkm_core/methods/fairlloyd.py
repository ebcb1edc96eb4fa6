"""Fair-Lloyd: minimise the average cost of the worst-off group."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from tkm_core.arrays import Floats, Labels
from tkm_core.clustering import (
    KMEANS_PP,
    Framed,
    check_fixed,
    check_whole,
    clearly_lower,
    in_units_of,
    nearest,
    seeds,
)
from tkm_core.methods import kmeanspp
from tkm_core.methods.method import Method, Placement, Rows, Task
from tkm_core.progress import part, silent

RUNS = 5  # starts; the first is the k-means plan itself
GAIN = 1e-6  # relative: a step that gains less for the worst group is the last
NOISE = 1e-26  # rounding error, as a share of the squared width
ACTIVE = 12  # the most groups balanced against each other in one step
FLOOR = 1e-9  # smallest weight of a group, so that a cluster of only one group still has a centre


def place(
    task: Task, *, n_init: int = RUNS, max_iter: int = 100, fixed_centers: ArrayLike | None = None
) -> Placement:
    """Lloyd's algorithm with fair centres, from the k-means plan and from other seeds; the best one wins.

    Nearest assignment lowers the average of every group, and ``fair_centers`` lowers the largest of them, so the
    worst-off group is never worse than with k-means.
    """
    for name, value in {"n_init": n_init, "max_iter": max_iter}.items():
        check_whole(value, name)
    task.report(0.0, "Fair-Lloyd: k-means to begin with")
    k, fixed = task.n_clusters, check_fixed(fixed_centers, task.points.shape[1])
    plain = kmeanspp.place(replace(task, report=silent), fixed_centers=fixed_centers)
    framed = Framed.of(task.points, task.weights, k, fixed)
    groups = np.zeros(len(task.points), np.intp) if task.groups is None else task.groups
    city = Grouped(framed.problem.X, share_of_group(framed.problem.weights, groups), groups)
    starts = [
        np.vstack([framed.frame.inside(plain.centers[: len(plain.centers) - len(fixed)]), framed.fixed])
    ]
    rng = np.random.default_rng(task.random_state.randint(2**31 - 1))
    for _ in range(n_init - 1 if city.count > 1 else 0):
        start = np.vstack([np.zeros((k, city.X.shape[1])), framed.fixed])
        seeds(city.X, city.shares, start, k, KMEANS_PP, int(rng.integers(2**31)))
        starts.append(start)
    noise = NOISE * framed.problem.diameter2
    best, lowest, steps = starts[0], city.worst(starts[0]), 0
    for number, start in enumerate(starts if city.count > 1 else []):
        report = part(task.report, number / len(starts), (number + 1) / len(starts))
        centers, worst = start, city.worst(start)
        for step in range(max_iter):
            report(step / max_iter, f"Fair-Lloyd: start {number + 1} of {len(starts)}")
            fairer = city.fair_centers(centers, len(start) - len(fixed))
            steps += 1
            now = city.worst(fairer)
            if now < worst:
                centers = fairer
            if not clearly_lower(now, worst, GAIN, noise):
                break
            worst = now
        worst = city.worst(centers)
        if worst < lowest:
            best, lowest = centers, worst
    found = np.vstack([framed.frame.outside(best[: len(best) - len(fixed)]), fixed])
    one = "Everyone is in one group, so Fair-Lloyd is the same as k-means."
    notes = (one,) if city.count == 1 else ()
    average = float(in_units_of(lowest, framed.frame.unit, 2, "The average of the worst group"))
    return Placement(found, notes=notes, details={"worst_group": average, "steps": steps})


def share_of_group(weights: Floats, groups: Rows) -> Floats:
    """The weight of each resident in the average of their own group: weights sum to 1 in every group.

    >>> share_of_group(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]))
    array([0.25, 0.75, 1.  ])
    """
    return weights / np.bincount(groups, weights)[groups]


@dataclass(frozen=True)
class Grouped:
    """Residents of several groups; ``shares`` are their weights in their own group's average."""

    X: Floats
    shares: Floats
    groups: Rows

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.groups.max()) + 1

    def worst(self, centers: Floats) -> float:
        """The largest average squared distance of any group to the nearest centre."""
        return float(np.bincount(self.groups, self.shares * nearest(self.X, centers)[1]).max())

    def fair_centers(self, centers: Floats, n_free: int) -> Floats:
        """The centres with the lowest average for the worst group, while everyone keeps their current centre.

        Only the first ``n_free`` may move. Groups that are never worst have no weight, so the worst group is added to
        the active ones until no other is worse.
        """
        labels = nearest(self.X, centers)[0]
        parts = Parts.of(self, labels, centers, n_free)
        active = [int(parts.costs(centers).argmax())]
        best, lowest = centers, float(parts.costs(centers).max())
        for _ in range(ACTIVE):
            found = parts.balanced(np.array(active), centers)
            costs = parts.costs(found)
            if costs.max() < lowest:
                best, lowest = found, float(costs.max())
            worst = int(costs.argmax())
            if worst in active:
                break
            active.append(worst)
        return best


@dataclass(frozen=True)
class Parts:
    """Each group's part in each cluster; the average of group g is scatter_g + sum_j share_gj |c_j - mean_gj|².

    Attributes
    ----------
    share : array (m, k)
        The share of group g that is in cluster j.
    mean : array (m, k, d)
        Their weighted mean.
    scatter : array (m,)
        The part that no centre can change: the scatter around the means, and the distances to fixed centres.
    """

    share: Floats
    mean: Floats
    scatter: Floats

    @classmethod
    def of(cls, city: Grouped, labels: Labels, centers: Floats, n_free: int) -> Self:
        """Sum up the residents of every group and cluster."""
        m, k, d = city.count, len(centers), city.X.shape[1]
        cell = city.groups * k + labels
        share: Floats = np.bincount(cell, city.shares, m * k).astype(np.float64)
        total = np.stack([np.bincount(cell, city.shares * column, m * k) for column in city.X.T], axis=1)
        mean = total / np.where(share > 0, share, 1.0)[:, None]
        around = np.where((labels < n_free)[:, None], mean[cell], centers[labels])
        scatter = np.bincount(city.groups, city.shares * ((city.X - around) ** 2).sum(axis=1), m).astype(
            np.float64
        )
        share, mean = share.reshape(m, k), mean.reshape(m, k, d)
        share[:, n_free:] = 0.0
        return cls(share, mean, scatter)

    def costs(self, centers: Floats) -> Floats:
        """The average squared distance of each group."""
        return self.scatter + (self.share * ((self.mean - centers) ** 2).sum(axis=2)).sum(axis=1)

    def centers(self, weights: Floats, start: Floats) -> Floats:
        """The centres that minimise the weighted sum of the groups' averages; empty ones stay."""
        pull = weights[:, None] * self.share
        mass = pull.sum(axis=0)
        moved = (pull[:, :, None] * self.mean).sum(axis=0) / np.where(mass > 0, mass, 1.0)[:, None]
        return np.where((mass > 0)[:, None], moved, start)

    def balanced(self, active: Rows, start: Floats) -> Floats:
        """The centres for the weights of the ``active`` groups at which the weighted sum is largest.

        That sum is concave in the weights, its slope is the groups' averages, and its maximum is the lowest value that
        the worst of them can have (strong duality).
        """
        m = len(self.scatter)

        def spread_out(weights: Floats) -> Floats:
            """Weights of all groups from those of the active ones."""
            whole = np.full(m, FLOOR / m)
            whole[active] += np.maximum(weights, 0.0)
            return whole

        if len(active) == 1:
            return self.centers(spread_out(np.ones(1)), start)
        scale = float(self.costs(start).max()) or 1.0

        def loss(weights: Floats) -> tuple[float, Floats]:
            """Minus the weighted sum, and its gradient."""
            costs = self.costs(self.centers(spread_out(weights), start))[active] / scale
            return -float(weights @ costs), -costs

        found = minimize(
            loss,
            np.full(len(active), 1 / len(active)),
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(active),
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
            options={"ftol": 1e-12, "maxiter": 200},
        )
        return self.centers(spread_out(found.x), start)


METHOD = Method(
    name="fair-lloyd",
    title="Fair-Lloyd",
    description="Makes average squared travel as small as possible for the group of residents that has the farthest to "
    "go.",
    source="M. Ghadiri, S. Samadi, S. Vempala: Socially Fair k-Means Clustering, FAccT 2021",
    centers_are_points=False,
    options={"n_init": RUNS, "max_iter": 100, "fixed_centers": None},
    place=place,
    cost=lambda n, d, k: (1.0 + n * (7e-6 * k + 2e-6 * d), 80 * n * (d + 2)),
    needs_groups=True,
)
