"""All experiments, in the order in which they are shown."""

from functools import partial

from tkm_core.experiments import convergence, methods_on_samples, timing
from tkm_core.experiments.data import cities_and_blobs, large_city, two_blobs
from tkm_core.experiments.model import Experiment
from tkm_core.experiments.monotone import monotone
from tkm_core.experiments.trajectory import DIALS, trajectory
from tkm_core.methods import METHODS

_STEPS = {"repeats": 10, "k": 4, "iterations": 500, "size": 1000}
_SHORT = {"repeats": 1, "iterations": 60, "size": 500}
_METHODS = {
    "methods": METHODS,
    "t": methods_on_samples.DIALS,
    "solver": "newton",
    "repeats": 10,
    "size": 1000,
}
_FEW = {"repeats": 2, "size": 150}

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            name="sse-vs-k",
            title="What each method costs on average",
            description="Mean squared distance (SSE) of the seven methods for 3 to 10 facilities; a band is one "
            "standard deviation over the samples.",
            paper_figure="Comparison among various methods in terms of SSE at varying values of k",
            run=methods_on_samples.sse_by_k,
            data=cities_and_blobs,
            settings={**_METHODS, "k": tuple(range(3, 11))},
            quick={**_FEW, "k": (3, 6, 10)},
        ),
        Experiment(
            name="variance",
            title="How unequal each cluster is",
            description="Variance of the squared distance within each cluster, clusters in descending order; less "
            "is fairer.",
            paper_figure="Comparison among various methods in terms of the variance in each cluster",
            run=partial(methods_on_samples.by_cluster, measure="variance"),
            data=cities_and_blobs,
            settings={**_METHODS, "k": 4},
            quick=_FEW,
        ),
        Experiment(
            name="max-distance",
            title="How far the farthest of each cluster is",
            description="Largest distance within each cluster, clusters in descending order; less is fairer.",
            paper_figure="Comparison among various methods in terms of the maximum distance in each cluster",
            run=partial(methods_on_samples.by_cluster, measure="max_distance"),
            data=cities_and_blobs,
            settings={**_METHODS, "k": 4},
            quick=_FEW,
        ),
        Experiment(
            name="running-time",
            title="Running time against the number of residents",
            description="Seconds of TKM, exact and by the paper's SGD, and of the published methods, and where each "
            "stops being usable.",
            paper_figure="Comparison among TKM, MV and FR in terms of running time (table)",
            run=timing.running_time,
            data=large_city,
            settings={
                "sizes": timing.SIZES,
                "methods": timing.TIMED,
                "t": 0.1,
                "k": 4,
                "max_seconds": 600.0,
                "repeats": 1,
            },
            quick={"sizes": (200, 500, 1_000), "max_seconds": 5.0},
        ),
        Experiment(
            name="trajectory",
            title="Where facilities go as t grows",
            description="Every facility on its way from t = 0.01 (blue) to t = 100 (red): from the middle of "
            "the many towards the few who live far out.",
            paper_figure="Visualization of two synthetic 2-dimensional data sets",
            run=trajectory,
            data=two_blobs,
            settings={"repeats": 1, "k": (2, 3), "t": DIALS, "size": 1000},
            quick={},
        ),
        Experiment(
            name="convergence-t",
            title="Convergence by t",
            description="Tilted SSE over the iterations of the paper's SGD for six values of t; dotted: the "
            "exact solver.",
            paper_figure="Effect of t on the convergence of TKM",
            run=convergence.by_t,
            data=cities_and_blobs,
            settings={**_STEPS, "t": convergence.DIALS},
            quick=_SHORT,
        ),
        Experiment(
            name="convergence-epochs",
            title="Convergence by epochs",
            description="Tilted SSE over the iterations of the paper's SGD with 1 to 9 gradient steps in "
            "each.",
            paper_figure="Effect of the epoch on the convergence of TKM",
            run=convergence.by_epochs,
            data=cities_and_blobs,
            settings={**_STEPS, "n_epochs": convergence.EPOCHS},
            quick=_SHORT,
        ),
        Experiment(
            name="convergence-lr",
            title="Convergence by learning rate",
            description="Tilted SSE over the iterations of the paper's SGD with learning rates from 0.01 to "
            "0.05.",
            paper_figure="Effect of the learning rate on the convergence of TKM",
            run=convergence.by_rate,
            data=cities_and_blobs,
            settings={**_STEPS, "learning_rate": convergence.RATES},
            quick=_SHORT,
        ),
        Experiment(
            name="monotone",
            title="What an iteration can raise",
            description="Nearest assignment and exact tilted means in turn: how often each raises the "
            "paper's tilted SSE, and the city-wide cost.",
            paper_figure="Theorem on convergence: the expected tilted SSE does not increase",
            run=monotone,
            data=cities_and_blobs,
            settings={"repeats": 10, "k": 4, "t": convergence.DIALS, "size": 1000},
            quick={"repeats": 3, "size": 300},
        ),
    )
}
