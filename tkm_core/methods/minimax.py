"""Minimax: the shortest longest distance, which is tilted k-means at t = infinity."""

from typing import Any

from tkm_core.methods.method import Method, Placement, Task
from tkm_core.methods.tkm import tilted


def place(task: Task, **options: Any) -> Placement:
    """``TiltedKMeans`` at t = infinity by the city-wide cost, which there is the largest squared distance."""
    return tilted(task, "Minimax", t=float("inf"), criterion="city", **options)


METHOD = Method(
    name="minimax",
    title="Minimax",
    description="Makes the longest trip of any resident as short as possible, whatever that costs on average: "
    "tilted k-means with its dial at infinity.",
    source="N. Megiddo, K. J. Supowit: On the Complexity of Some Common Geometric Location Problems, "
    "SIAM J. Comput. 1984 (the p-center problem in the plane)",
    centers_are_points=False,
    options={"n_init": "auto", "max_iter": 300, "fixed_centers": None},
    place=place,
    cost=lambda n, d, k: (0.3 + n * (2e-6 + 2e-7 * k * d), 40 * n + 20_000_000),
    scales=True,
)
