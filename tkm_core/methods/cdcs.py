"""CDCS: MV on a coreset, a small weighted sample that preserves costs and neighbourhoods."""

from dataclasses import replace

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering import KMEANS_PP, check_whole, nearest, seeds
from tkm_core.methods import mv
from tkm_core.methods.method import Method, Placement, Rows, Task
from tkm_core.progress import part

SIZE = 1_000  # residents drawn, unless many facilities need more
MEMBERS = 50  # the fewest residents drawn for each facility
FAIR = 0.5  # share of the draw by population, which preserves neighbourhoods; the rest preserves costs


def place(task: Task, *, size: int = SIZE, fair: float = FAIR, min_gain: float = 0.02) -> Placement:
    """MV on a coreset of ``size`` residents (at least 50 for each facility), or on everyone if there are fewer."""
    check_whole(size, "size")
    if not 0 < fair <= 1:
        msg = f"fair is {fair}; it must be above 0 and at most 1: the share of the draw that follows the population."
        raise ValueError(msg)
    size = max(size, MEMBERS * task.n_clusters)
    task.report(0.0, "CDCS: drawing a coreset")
    notes: tuple[str, ...] = ()
    rows, weights = np.arange(len(task.points)), task.weights
    if size < len(rows):
        rng = np.random.default_rng(task.random_state.randint(2**31 - 1))
        rows, weights = coreset(task.points, task.weights, task.n_clusters, size, fair, rng)
        notes = (f"CDCS let {len(rows):,} weighted residents stand for all {len(task.points):,}.",)
    few = replace(task, points=task.points[rows], weights=weights, report=part(task.report, 0.1, 1.0))
    found = mv.place(few, min_gain=min_gain)
    chosen = rows[found.rows]
    return Placement(
        task.points[chosen],
        rows=chosen,
        notes=notes,
        details={"coreset": len(rows), "swaps": found.details["swaps"]},
    )


def coreset(
    points: Floats, weights: Floats, k: int, size: int, fair: float, rng: np.random.Generator
) -> tuple[Rows, Floats]:
    """Rows drawn with repetition, and weights such that any plan costs the same on them as on everyone, on average.

    A resident is drawn with a probability of ``fair`` times their share of the population, so that balls keep their
    population, and otherwise by their sensitivity: their share of the cost of a rough plan and of their cluster.
    """
    rough = np.zeros((k, points.shape[1]))
    seeds(points, weights, rough, k, KMEANS_PP, int(rng.integers(2**31)))
    labels, f = nearest(points, rough)
    population = weights / weights.sum()
    cost = population * f
    sensitivity = population / np.bincount(labels, population, k)[labels]
    if cost.sum() > 0:
        sensitivity = sensitivity + cost / cost.sum()
    chance = fair * population + (1 - fair) * sensitivity / sensitivity.sum()
    times = rng.multinomial(size, chance / chance.sum())
    rows = np.flatnonzero(times)
    return rows, weights[rows] * times[rows] / (size * chance[rows])


METHOD = Method(
    name="cdcs",
    title="CDCS",
    description="The same as MV on a small weighted sample, drawn so that both average travel and everyone's "
    "neighbourhood stay about the same.",
    source="R. Chhaya, A. Dasgupta, J. Choudhari, S. Shit: On Coresets for Fair Regression and Individually Fair "
    "Clustering, AISTATS 2022",
    centers_are_points=True,
    options={"size": SIZE, "fair": FAIR, "min_gain": 0.02},
    place=place,
    cost=lambda n, d, k: (
        mv.METHOD.cost(min(n, max(SIZE, MEMBERS * k)), d, k)[0] + n * (2e-6 + 1e-7 * k * d),
        mv.METHOD.cost(min(n, max(SIZE, MEMBERS * k)), d, k)[1] + 100 * n,
    ),
    scales=True,
)
