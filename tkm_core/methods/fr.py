"""FR: solve fair service as a linear program, then round fractional facilities to whole ones."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tkm_core.arrays import Floats
from tkm_core.evaluation import neighbourhood_radius
from tkm_core.methods.cover import Cover, ball_filter
from tkm_core.methods.method import Method, Placement, Rows, Task
from tkm_core.methods.service_lp import FairService, fair_service, lp_cost
from tkm_core.progress import Progress, part

Mask = NDArray[np.bool_]

DILATION = 2.0
# By Markov's inequality, half of a resident's service is within the root of twice their cost share.
SHARE = 2.0
SHARE_TOLERANCE = 1e-6
WHOLE = 1 - 1e-6  # openings from here on count as one facility


def place(task: Task) -> Placement:
    """The linear program on all residents, rounded.

    The value of the program, ``details["lower_bound"]``, is a lower bound on the cost (a mean squared distance, like
    ``Evaluation.sse``) of any plan at residents' places that serves everyone within their radius.
    """
    radius = neighbourhood_radius(
        task.points, task.n_clusters, task.weights, progress=part(task.report, 0.0, 0.1)
    )
    report = part(task.report, 0.1, 1.0)
    chosen, service = fair_round(task.points, task.weights, task.n_clusters, radius, report)
    return Placement(
        centers=task.points[chosen],
        rows=chosen,
        details={
            "lower_bound": service.value / float(task.weights.sum()) * task.unit * task.unit,
            "lp_rounds": service.rounds,
        },
    )


def fair_round(
    points: Floats, weights: Floats, k: int, radius: Floats, report: Progress
) -> tuple[Rows, FairService]:
    """Solve the program and round it; returns the points that become facilities, and the solved program."""
    service = fair_service(points, weights, k, radius, report)
    report(0.98, "Rounding the linear program")
    return round_service(points, weights, k, radius, service), service


def round_service(points: Floats, weights: Floats, k: int, radius: Floats, service: FairService) -> Rows:
    """Whole facilities from fractional ones: at most 8 radii for everyone, a bounded multiple of the cost.

    The literature quotes 4 for the root of the cost, so 16 for the cost; the triangle inequality gives 32.

    Representatives come from the ball filter with dilation 2 and R_v = min(r_v, sqrt(2 · share_v)). If there are more
    than k, every opening moves to its nearest representative. Each then holds at least one half, because the balls of
    R_v are disjoint and hold one half each. Representatives that hold a whole facility stay; the others are rounded to
    a half or a whole, and of two halves that are each other's nearest alternative, one closes. If a facility is left
    over, it reopens the closed half that would be missed most (the published rounding does not do this, but opening
    more cannot break its bounds).
    """
    candidates = partial(representatives, points, radius, service.shares)
    cover = candidates()
    chosen = cover.chosen
    if len(chosen) <= k:
        return _most_representatives(candidates, chosen, k)
    apart = cdist(points[chosen], points[chosen], "sqeuclidean")
    np.fill_diagonal(apart, np.inf)
    # ties go to the lowest index, so that nearest-other links form no cycle of more than two
    other = apart.argmin(axis=1)
    home = cdist(points, points[chosen], "sqeuclidean").argmin(axis=1)
    held = np.bincount(home, service.openings, minlength=len(chosen))
    population = np.bincount(cover.owner, weights, minlength=len(chosen))
    missed = population * apart[np.arange(len(chosen)), other]
    return chosen[_open(held >= WHOLE, other, missed, k)]


def representatives(
    points: Floats, radius: Floats, shares: Floats, share: float = SHARE, *, at_most: int | None = None
) -> Cover:
    """Residents far enough apart that each has half an opening of its own, and which of them represents whom."""
    return ball_filter(points, np.minimum(radius, np.sqrt(share * shares)), DILATION, at_most=at_most)


def _most_representatives(candidates: Callable[..., Cover], enough: Rows, k: int) -> Rows:
    """The representatives at the smallest share that needs at most k of them."""
    low, high = 0.0, SHARE
    while high - low > SHARE_TOLERANCE:
        middle = (low + high) / 2
        chosen = candidates(middle, at_most=k).chosen
        if len(chosen) <= k:
            enough, high = chosen, middle
        else:
            low = middle
    return enough


def _open(whole: Mask, other: Rows, missed: Floats, k: int) -> Mask:
    """Which representatives open: ``whole`` marks those that must, ``missed`` is the cost of closing each."""
    # the rest hold at least a half each: the remaining budget makes the most missed of them whole
    spare = 2 * k - 2 * int(whole.sum()) - int((~whole).sum())
    halves = np.flatnonzero(~whole)
    opened = whole.copy()
    opened[halves[np.argsort(-missed[halves], kind="stable")][: max(spare, 0)]] = True
    for one_side, other_side in _sides(~opened, other):
        opened[min(one_side, other_side, key=lambda side: (len(side), -missed[side].sum()))] = True
    closed = np.flatnonzero(~opened)
    opened[closed[np.argsort(-missed[closed], kind="stable")][: k - int(opened.sum())]] = True
    return opened


def _sides(half: Mask, other: Rows) -> list[tuple[list[int], list[int]]]:
    """Split each tree of "nearest other" links between halves into its even and odd levels."""
    linked: dict[int, set[int]] = {int(u): set() for u in np.flatnonzero(half)}
    for u in linked:
        if half[other[u]]:
            linked[u].add(int(other[u]))
            linked[int(other[u])].add(u)
    trees = []
    seen: set[int] = set()
    for root in linked:
        if root in seen:
            continue
        levels: tuple[list[int], list[int]] = ([], [])
        stack = [(root, 0)]
        seen.add(root)
        while stack:
            u, level = stack.pop()
            levels[level].append(u)
            stack += [(v, 1 - level) for v in linked[u] - seen]
            seen |= linked[u]
        trees.append(levels)
    return trees


METHOD = Method(
    name="fr",
    title="FR",
    description="Finds the cheapest plan that serves everyone within their own neighbourhood as if "
    "facilities could be split, then rounds it to whole facilities at residents' places.",
    source="M. Negahbani, D. Chakrabarty: Better Algorithms for Individually Fair k-Clustering, NeurIPS 2021",
    centers_are_points=True,
    options={},
    place=place,
    cost=lambda n, _d, _k: lp_cost(n),
    may_give_up=True,
)
