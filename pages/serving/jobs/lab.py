"""The Lab's jobs: an experiment of the paper, and the two solvers side by side, each from a worker."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from pages.serving.jobs.tasks import pool
from pages.serving.jobs.worker import leave_rest
from tkm_core.arrays import Floats
from tkm_core.experiments import EXPERIMENTS, Dataset, Result, Stopped
from tkm_core.methods import SolverComparison, compare_solvers
from tkm_core.progress import Progress


def experiment(
    key: Hashable,
    name: str,
    data: Dataset | None,
    *,
    seed: int,
    theme: str,
    settings: Mapping[str, Any],
    progress: Progress,
    rest: Callable[[tuple[Result | None]], object],
) -> Result:
    """One of the paper's experiments.

    Parameters
    ----------
    key : hashable
        Everything the result depends on.
    name : str
        One of `EXPERIMENTS`.
    data : Dataset or None
        None: the experiment's own data.
    seed : int
    theme : str
    settings : mapping
        As the experiment takes them.
    progress : callable
        As in `JobPool.run`.
    rest : callable
        Called with a tuple of what was finished, or of None, when the run is cancelled.
    """
    about = {"job": "experiment", "experiment": name, "points": 0 if data is None else len(data.X)}
    found: Result = pool().run(
        key, _experiment, name, data, seed, theme, dict(settings), about=about, progress=progress, rest=rest
    )
    return found


def give_up(key: Hashable) -> bool:
    """Stop an experiment that was left for good; returns whether a partial result may follow soon."""
    return pool().give_up(key)


def solvers(
    key: Hashable, points: Floats, k: int, *, weights: Floats, progress: Progress, **options: Any
) -> SolverComparison:
    """Newton and SGD compared, as `tkm_core.methods.compare_solvers` runs them."""
    about = {"job": "solvers", "points": len(points)}
    found: SolverComparison = pool().run(
        key, _solvers, points, k, weights, options, about=about, progress=progress
    )
    return found


def _solvers(
    points: Floats, k: int, weights: Floats, options: Mapping[str, Any], progress: Progress
) -> SolverComparison:
    return compare_solvers(points, k, sample_weight=weights, progress=progress, **options)


def _experiment(
    name: str, data: Dataset | None, seed: int, theme: str, settings: Mapping[str, Any], progress: Progress
) -> Result:
    """Run it; when it is cancelled, what is finished goes along with the cancellation."""
    chosen = EXPERIMENTS[name]
    ended: list[BaseException] = []

    def told(fraction: float, text: str) -> None:
        try:
            progress(fraction, text)
        except BaseException as wish:  # in a page, Streamlit ends a run with an exception of its own
            ended.append(wish)
            raise Stopped from wish

    used = chosen.data(seed) if data is None else [data]
    try:
        result = chosen.run(used, seed=seed, progress=told, theme=theme, **settings)
    except Stopped:
        leave_rest(ended[0], (None,))
        raise ended[0] from None
    if ended:
        leave_rest(ended[0], (result,))
        raise ended[0]
    return result
