"""The greedy ball filter used by JKL, MV, FR and SFR."""

from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.methods.method import Rows


@dataclass(frozen=True)
class Cover:
    """Chosen points, and which of them covers each point (-1 where the filter stopped early)."""

    chosen: Rows
    owner: Rows


def ball_filter(points: Floats, radius: Floats, dilation: float, *, at_most: int | None = None) -> Cover:
    """Choose points, smallest radius first, until each point i is within dilation · radius_i of a chosen one.

    A point is chosen only if none chosen before covers it, so chosen points keep their distance: if u was
    chosen before v, then |u - v| > dilation · radius_v and radius_u <= radius_v. With ``at_most`` the filter
    gives up after one more.

    Examples
    --------
    >>> cover = ball_filter(np.array([[0.0], [1.0], [9.0]]), np.array([1.0, 2.0, 3.0]), 1.0)
    >>> cover.chosen, cover.owner
    (array([0, 2]), array([0, 0, 1]))
    """
    waiting = np.argsort(radius, kind="stable")
    chosen: list[int] = []
    owner = np.full(len(points), -1, dtype=np.intp)
    while len(waiting) and (at_most is None or len(chosen) <= at_most):
        first = waiting[0]
        reach = np.sqrt(((points[waiting] - points[first]) ** 2).sum(axis=1))
        covered = reach <= dilation * radius[waiting]
        covered[0] = True  # it covers itself, whatever the dilation
        owner[waiting[covered]] = len(chosen)
        chosen.append(int(first))
        waiting = waiting[~covered]
    return Cover(np.array(chosen, dtype=np.intp), owner)
