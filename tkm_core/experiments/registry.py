"""All experiments, in the order in which they are shown."""

from tkm_core.experiments import convergence
from tkm_core.experiments.data import cities_and_blobs, two_blobs
from tkm_core.experiments.model import Experiment
from tkm_core.experiments.trajectory import DIALS, trajectory

_SHORT = {"repeats": 2, "iterations": 100}

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
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
            settings={"repeats": 10, "k": 4, "iterations": 500, "t": convergence.DIALS, "size": 1000},
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
            settings={"repeats": 10, "k": 4, "iterations": 500, "n_epochs": convergence.EPOCHS, "size": 1000},
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
            settings={
                "repeats": 10,
                "k": 4,
                "iterations": 500,
                "learning_rate": convergence.RATES,
                "size": 1000,
            },
            quick=_SHORT,
        ),
    )
}
