"""TKM: tilted k-means, the method of this library."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from tkm_core.clustering import TiltedKMeans, TiltWarning
from tkm_core.methods.method import Method, Placement, Task


def place(task: Task, **options: Any) -> Placement:
    """``TiltedKMeans`` with ``options``; its warnings become notes."""
    return tilted(task, "TKM", **options)


def tilted(task: Task, title: str, **options: Any) -> Placement:
    """``TiltedKMeans``, with messages under the title of the calling method."""
    task.report(0.0, f"{title}: placing facilities")
    model = TiltedKMeans(task.n_clusters, random_state=task.random_state, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("always", TiltWarning)
        model.fit(task.points, sample_weight=task.weights)
    said = tuple(str(warning.message) for warning in caught)
    return Placement(
        model.cluster_centers_,
        notes=said,
        details={"tilted_sse": model.tilted_sse_, "n_iter": model.n_iter_},
    )


METHOD = Method(
    name="tkm",
    title="TKM",
    description="The farther residents are, the more weight they get; one dial, t, goes from the lowest "
    "average travel to the shortest longest trip.",
    source="S. Zhu, J. Zeng, Y. Sun, S. Wang, X. Li, Z. Peng: Efficient k-means with Individual Fairness via "
    "Exponential Tilting, 2024",
    centers_are_points=False,
    options={k: v for k, v in TiltedKMeans().get_params().items() if k not in ("n_clusters", "random_state")},
    place=place,
    cost=lambda n, d, k: (0.2 + n * (2e-7 + 2e-8 * k * d), 40 * n + 20_000_000),
    scales=True,
)
