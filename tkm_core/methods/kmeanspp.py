"""k-means++: the baseline without fairness."""

import warnings

from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from tkm_core.clustering import Frame, level_weights
from tkm_core.methods.method import Method, Placement, Task
from tkm_core.methods.tkm import tilted

ONE_THREAD = 100_000  # up to this many residents, one thread is used


def place(
    task: Task,
    *,
    n_init: int = 10,
    max_iter: int = 300,
    tol: float = 1e-4,
    fixed_centers: ArrayLike | None = None,
) -> Placement:
    """The best of ``n_init`` runs of Lloyd's algorithm from k-means++ seeds (scikit-learn's KMeans).

    scikit-learn cannot keep centres where they are: with ``fixed_centers`` our own solver runs at t = 0.
    """
    if fixed_centers is not None:
        return tilted(task, "k-means++", t=0.0, n_init=n_init, fixed_centers=fixed_centers)
    task.report(0.0, "k-means++: placing facilities")
    model = KMeans(task.n_clusters, n_init=n_init, max_iter=max_iter, tol=tol, random_state=task.random_state)
    # on little data, threads that wait for each other cost more than they save, above all on a busy machine
    threads = threadpool_limits(1 if len(task.points) <= ONE_THREAD else None, user_api="openmp")
    with threads, warnings.catch_warnings():
        # fewer distinct places than facilities: reported in a note instead
        warnings.simplefilter("ignore", ConvergenceWarning)
        frame = Frame.of(task.points)
        model.fit(frame.inside(task.points), sample_weight=level_weights(task.weights))
    return Placement(frame.outside(model.cluster_centers_))


METHOD = Method(
    name="kmeans++",
    title="k-means++",
    description="Places facilities so that average squared travel is as small as possible, whoever pays for "
    "it.",
    source="D. Arthur, S. Vassilvitskii: k-means++: The Advantages of Careful Seeding, SODA 2007",
    centers_are_points=False,
    options={"n_init": 10, "max_iter": 300, "tol": 1e-4, "fixed_centers": None},
    place=place,
    cost=lambda n, d, k: (0.2 + 7e-6 * n * k, 24 * n * (d + 2)),
    scales=True,
    fair=False,
)
