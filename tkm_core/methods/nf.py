"""NF: stochastic gradient k-means without fairness, the paper's Algorithm 2 at t = 0."""

from typing import Any

from tkm_core.methods.method import Method, Placement, Task
from tkm_core.methods.tkm import tilted


def place(task: Task, **options: Any) -> Placement:
    """The SGD solver at t = 0; by default with the paper's 500 iterations."""
    return tilted(task, "NF", t=0.0, solver="sgd", **options)


METHOD = Method(
    name="nf",
    title="NF",
    description="Lowers average squared travel in many small steps on random groups of residents, without "
    "regard to fairness.",
    source="D. Sculley: Web-Scale K-Means Clustering, WWW 2010",
    centers_are_points=False,
    options={"max_iter": 500, "learning_rate": 0.05, "n_epochs": 5, "batch_size": 100, "fixed_centers": None},
    place=place,
    cost=lambda n, d, k: (0.4 + 3e-4 * n * (1 + k * d / 40), 64 * n * (d + k)),
    fair=False,
)
