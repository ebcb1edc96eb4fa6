"""All experiments, in the order in which they are shown."""

from tkm_core.experiments import convergence, methods_on_samples, monotone, timing, trajectory
from tkm_core.experiments.model import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        methods_on_samples.SSE,
        methods_on_samples.VARIANCE,
        methods_on_samples.MAX_DISTANCE,
        timing.EXPERIMENT,
        trajectory.EXPERIMENT,
        convergence.BY_T,
        convergence.BY_EPOCHS,
        convergence.BY_RATE,
        monotone.EXPERIMENT,
    )
}
