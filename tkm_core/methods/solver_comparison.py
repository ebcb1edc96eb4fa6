"""Compare the Newton and SGD solvers from the same starts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats
from tkm_core.clustering import (
    KMEANS_PP,
    Descent,
    Framed,
    TiltedKMeans,
    check_clusters,
    check_fixed,
    check_points,
    check_t,
    check_weights,
    descend,
    descend_by_sgd,
    seeds,
)
from tkm_core.progress import Progress, silent

if TYPE_CHECKING:
    import pandas as pd

COSTS = {"tilted_sse": 1, "city_cost": 0, "sse": 2}  # columns of a history


@dataclass(frozen=True, eq=False)
class SolverRun:
    """One descent of one solver.

    Attributes
    ----------
    history : array (steps + 1, 3)
        City-wide cost, tilted SSE and SSE of the start and after every step.
    seconds : float
    """

    history: Floats
    seconds: float

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.history) - 1

    def cost(self, name: str = "tilted_sse") -> Floats:
        """One cost at every step: "tilted_sse", "city_cost" or "sse"."""
        return self.history[:, COSTS[name]]

    def end(self, name: str = "tilted_sse") -> float:
        """The final cost."""
        return float(self.cost(name)[-1])


@dataclass(frozen=True, eq=False)
class SolverComparison:
    """Both solvers from the same starts.

    Attributes
    ----------
    t, k : float, int
    newton, sgd : tuple of SolverRun
        One for each start, in the same order.
    polished : tuple of SolverRun
        Newton again, from where SGD ended.
    search : dict of str to float
        The costs of the full search of ``TiltedKMeans``, with many kinds of starts and moves.
    """

    t: float
    k: int
    newton: tuple[SolverRun, ...]
    sgd: tuple[SolverRun, ...]
    polished: tuple[SolverRun, ...]
    search: dict[str, float]

    def table(self) -> "pd.DataFrame":
        """One row per start: tilted SSE at the start and at each end, steps and seconds."""
        import pandas as pd  # optional: the solver works without it

        return pd.DataFrame(
            {
                "Start": np.arange(1, len(self.newton) + 1),
                "Tilted SSE at the start": [run.cost()[0] for run in self.newton],
                "Newton ends at": [run.end() for run in self.newton],
                "Newton steps": [run.steps for run in self.newton],
                "Newton, s": [run.seconds for run in self.newton],
                "SGD ends at": [run.end() for run in self.sgd],
                "SGD steps": [run.steps for run in self.sgd],
                "SGD, s": [run.seconds for run in self.sgd],
                "SGD’s end, polished by Newton": [run.end() for run in self.polished],
            }
        )

    def sentence(self) -> str:
        """The result of the comparison as a sentence."""
        newton, sgd = (np.array([run.end() for run in runs]) for runs in (self.newton, self.sgd))
        lower = int((newton < sgd * (1 - 1e-9)).sum())
        quicker = np.median([run.seconds for run in self.sgd]) / np.median(
            [run.seconds for run in self.newton]
        )
        found, lowest = self.search["tilted_sse"], float(min(newton.min(), sgd.min()))
        above = 100 * (lowest / found - 1) if found > 0 else 0.0
        told = (
            f"the whole search gets {abs(above):.1f} % {'below' if above > 0 else 'above'} the best of them"
            if abs(above) >= 0.05
            else "the whole search finds no better"
        )
        return (
            f"In {lower} of {len(newton)} start{'' if len(newton) == 1 else 's'} Newton ends lower than SGD, and it "
            f"{_times(quicker)}; {told}."
        )


def _times(ratio: float) -> str:
    """A ratio of times in words, with two digits.

    >>> _times(2730.4), _times(0.5)
    ('is about 2,700 times faster', 'takes 2.0 times as long')
    """
    if ratio < 1:
        return f"takes {1 / ratio:.1f} times as long"
    return f"is about {float(f'{ratio:.2g}'):,.0f} times faster"


def compare_solvers(
    X: ArrayLike,
    n_clusters: int,
    *,
    t: float,
    starts: int = 5,
    learning_rate: float = 0.05,
    n_epochs: int = 5,
    batch_size: int = 100,
    n_iter: int = 500,
    sample_weight: ArrayLike | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> SolverComparison:
    """Let Newton and the paper's SGD descend from the same k-means++ seeds.

    Parameters
    ----------
    X : array (n, d)
    n_clusters : int
    t : float
        Finite, because SGD has no limit at infinity.
    starts : int
        Number of seedings.
    learning_rate, n_epochs, batch_size, n_iter : float, int, int, int
        Options of SGD, as in ``TiltedKMeans``.
    sample_weight : array (n,), optional
    random_state : int
    progress : callable, optional
        Called with a fraction and a text; an exception it raises ends the work.

    Returns
    -------
    SolverComparison

    Examples
    --------
    >>> points = np.random.default_rng(0).normal(size=(60, 2))
    >>> run = compare_solvers(points, 3, t=0.5, starts=2, n_iter=20)
    >>> bool(np.isclose(run.newton[0].cost()[0], run.sgd[0].cost()[0])), run.sgd[0].steps
    (True, 20)
    """
    points = check_points(X)
    weights = check_weights(sample_weight, len(points))
    t, k = check_t(t), check_clusters(n_clusters, len(points))
    if starts < 1:
        msg = f"starts is {starts}; there has to be at least one."
        raise ValueError(msg)
    report = progress or silent
    framed = Framed.of(points, weights, k, check_fixed(None, points.shape[1]))
    problem, tilt = framed.problem, framed.tilt(t)

    def timed(work: Callable[[], Descent]) -> tuple[SolverRun, Descent]:
        """Run a descent and time it."""
        began = perf_counter()
        found = work()
        seconds = perf_counter() - began
        return SolverRun(framed.back(found, tilt).history, seconds), found

    runs: dict[str, list[SolverRun]] = {"newton": [], "sgd": [], "polished": []}
    report(0.0, "Newton: getting ready")
    # Compiles and loads everything, so that the runs below are timed without it.
    descend(problem, problem.X[:1].repeat(k, axis=0), tilt)
    for number in range(starts):
        seed = int(np.random.SeedSequence([random_state, number]).generate_state(1)[0])
        report(number / (starts + 1), f"start {number + 1} of {starts}")
        begin = np.zeros((k, points.shape[1]))
        # the first number that SGD draws is the seed of its start
        first = int(np.random.default_rng(seed).integers(2**31))
        seeds(problem.X, problem.weights, begin, k, KMEANS_PP, first)
        runs["newton"].append(timed(partial(descend, problem, begin, tilt))[0])
        slow, ended = timed(
            partial(
                descend_by_sgd,
                problem,
                tilt,
                np.random.default_rng(seed),
                fixed=framed.fixed,
                learning_rate=learning_rate,
                n_epochs=n_epochs,
                batch_size=batch_size,
                n_iter=n_iter,
            )
        )
        runs["sgd"].append(slow)
        runs["polished"].append(timed(partial(descend, problem, ended.centers, tilt))[0])
    report(starts / (starts + 1), "the whole search")
    model = TiltedKMeans(k, t=t, scale=1.0, random_state=random_state).fit(points, sample_weight=weights)
    search = {
        "tilted_sse": model.tilted_sse_,
        "city_cost": model.city_cost_,
        "sse": model.inertia_ / float(weights.sum()),
    }
    report(1.0, "done")
    return SolverComparison(t, k, tuple(runs["newton"]), tuple(runs["sgd"]), tuple(runs["polished"]), search)
