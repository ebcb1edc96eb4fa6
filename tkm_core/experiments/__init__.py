"""The paper's figures and table, on any data: ``EXPERIMENTS[name].run(data)``.

>>> from tkm_core.experiments import EXPERIMENTS, blobs
>>> result = EXPERIMENTS["trajectory"].run([blobs(2, seed=0)], k=(2,), t=(0.01, 1.0))
>>> len(result.table), result.complete
(4, True)
"""

from tkm_core.experiments.data import blobs, read_dataset, sample
from tkm_core.experiments.drawing import one_below_another
from tkm_core.experiments.model import Dataset, Experiment, Result, Stopped
from tkm_core.experiments.page import page
from tkm_core.experiments.registry import EXPERIMENTS

__all__ = [
    "EXPERIMENTS",
    "Dataset",
    "Experiment",
    "Result",
    "Stopped",
    "blobs",
    "one_below_another",
    "page",
    "read_dataset",
    "sample",
]
