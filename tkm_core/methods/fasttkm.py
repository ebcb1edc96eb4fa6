"""FastTKM: tilted k-means from mini-batches, whose steps cost the same for any number of residents."""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats
from tkm_core.clustering import KMEANS_PP, Framed, box, check_fixed, check_number, check_t, check_whole, seeds
from tkm_core.methods.method import Method, Placement, Rows, Task
from tkm_core.spread import spread

MU = 0.5  # the share of the newest batch in the moving average
STRONGEST = 1e4  # t times the variance; a stronger tilt would count a single resident only
# Largest exponent; with squared distances it stays below -log(mu), without the square it may not.
LARGEST = 300.0
REPORTS = 50  # steps between two progress reports


def place(
    task: Task,
    *,
    t: float = 0.1,
    mu: float = MU,
    learning_rate: float = 0.05,
    n_epochs: int = 5,
    batch_size: int = 100,
    max_iter: int = 500,
    squared: bool = True,
    fixed_centers: ArrayLike | None = None,
) -> Placement:
    """``max_iter`` times ``n_epochs`` steps from k-means++ seeds, each on a batch drawn by population.

    A step moves the tilted mean cost of each cluster towards that of the batch, and weights the batch by it:

        phi_j <- (1/t) log((1 - mu) e^{t phi_j} + mu e^{t phi_j of the batch})
        c_j   <- c_j + 2 learning_rate sum over i of the batch in j: (1/B) e^{t (f_i - phi_j)} (x_i - c_j)

    with f_i the squared distance. ``squared=False`` uses the distance itself in the weight, as the published code does;
    then phi has a different unit from what it is compared with.
    """
    _check(mu, learning_rate, {"n_epochs": n_epochs, "batch_size": batch_size, "max_iter": max_iter})
    task.report(0.0, "FastTKM: choosing where to begin")
    k, fixed = task.n_clusters, check_fixed(fixed_centers, task.points.shape[1])
    framed = Framed.of(task.points, task.weights, k, fixed)
    X, weights = framed.problem.X, framed.problem.weights
    rng = np.random.default_rng(task.random_state.randint(2**31 - 1))
    centers = np.vstack([np.zeros((k, X.shape[1])), framed.fixed])
    seeds(X, weights, centers, k, KMEANS_PP, int(rng.integers(2**31)))
    low, high = box(X)
    variance = spread(X, weights) ** 2
    wanted = framed.tilt(check_t(t))
    tilt = min(wanted, STRONGEST / variance) if variance > 0 else 0.0
    averages = MovingAverages(tilt, mu, len(centers))
    draw = _drawing(weights, rng, batch_size)
    steps = max_iter * n_epochs
    for step in range(steps):
        if step % REPORTS == 0:
            task.report(step / steps, f"FastTKM: step {step:,} of {steps:,}")
        pull = averages.pull(X[draw()], centers, squared=squared)
        centers[:k] = np.clip(centers[:k] + learning_rate * pull[:k], low, high)
    found = np.vstack([framed.frame.outside(centers[:k]), fixed])
    notes: tuple[str, ...] = ()
    if tilt < wanted and variance > 0:
        notes += (
            "FastTKM has no limit at t = infinity: it ran at the strongest t that its batches can follow.",
        )
    return Placement(found, notes=notes, details={"steps": steps})


class MovingAverages:
    """The tilted mean cost of each cluster, estimated from the batches so far; 0 before the first.

    >>> averages = MovingAverages(t=0.0, mu=0.5, k=1)
    >>> averages.pull(np.array([[1.0], [3.0]]), np.array([[0.0]]))
    array([[4.]])
    >>> averages.phi
    array([5.])
    """

    def __init__(self, t: float, mu: float, k: int) -> None:
        self.t, self.mu = t, mu
        self.phi = np.zeros(k)
        self._begun = False

    def pull(self, batch: Floats, centers: Floats, *, squared: bool = True) -> Floats:
        """Update the averages with a batch, and return the direction (k, d) in which it pulls the centres."""
        t, k = self.t, len(centers)
        away = ((batch[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
        labels = away.argmin(axis=1)
        f = away[np.arange(len(batch)), labels]
        newest = self.mu if self._begun else 1.0
        if t == 0:
            self.phi = (1 - newest) * self.phi + newest * np.bincount(labels, f, k) / len(batch)
            weight = np.full(len(batch), 1 / len(batch))
        else:
            # members of other clusters count as e^0, as in the paper's tilted SSE
            terms = np.where(labels == np.arange(k)[:, None], t * f, 0.0)
            now = np.logaddexp.reduce(terms, axis=1) - np.log(len(batch))
            kept = np.log1p(-newest) + t * self.phi if newest < 1 else np.full(k, -np.inf)
            self.phi = np.logaddexp(kept, np.log(newest) + now) / t
            cost = f if squared else np.sqrt(f)
            weight = np.exp(np.minimum(t * (cost - self.phi[labels]), LARGEST)) / len(batch)
        self._begun = True
        pull = 2 * weight[:, None] * (batch - centers[labels])
        return np.stack([np.bincount(labels, column, k) for column in pull.T], axis=1)


def _drawing(weights: Floats, rng: Generator, size: int) -> Callable[[], Rows]:
    """A function that draws the rows of a batch by population, with repetition, in time independent of n."""
    n = len(weights)
    if (weights == weights[0]).all():
        return lambda: rng.integers(n, size=size)
    upto = np.cumsum(weights / weights.max())
    return lambda: np.minimum(np.searchsorted(upto, rng.random(size) * upto[-1], side="right"), n - 1)


def _check(mu: float, learning_rate: float, whole: dict[str, int]) -> None:
    """Check the options."""
    if not 0 < mu <= 1:
        msg = f"mu is {mu}; it must be above 0 and at most 1, the share of the newest batch in the moving average."
        raise ValueError(msg)
    check_number(learning_rate, "learning_rate")
    for name, value in whole.items():
        check_whole(value, name)


METHOD = Method(
    name="fasttkm",
    title="FastTKM",
    description="Tilted k-means in many small steps that each look at a hundred residents only, and remember the rest "
    "as a moving average.",
    source="S. Zhu, J. Zeng, Y. Sun, S. Wang, Y. Wang, Y. Ji, F. Nie, X. Li, Z. Peng: Highly-Efficient Large-Scale "
    "k-means with Individual Fairness, PVLDB 2026",
    centers_are_points=False,
    options={
        "t": 0.1,
        "mu": MU,
        "learning_rate": 0.05,
        "n_epochs": 5,
        "batch_size": 100,
        "max_iter": 500,
        "squared": True,
        "fixed_centers": None,
    },
    place=place,
    cost=lambda n, d, k: (0.3 + 1e-7 * n * k + 1e-4 * k * d, 40 * n + 20_000_000),
    scales=True,
)
