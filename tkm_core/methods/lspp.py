"""LSPP: local search by sampled swaps that keep a facility in the zone of every anchor."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tkm_core.arrays import Floats
from tkm_core.clustering import Frame, check_whole, level_weights, nearest
from tkm_core.evaluation import neighbourhood_radius
from tkm_core.methods.cover import ball_filter
from tkm_core.methods.method import Method, Placement, Rows, Task
from tkm_core.progress import Progress, part

EXACT = 5_000  # up to this many residents, neighbourhoods are measured among everyone
SAMPLE = 1_000  # beyond that, among a sample of this size
MEMBERS = 50  # the fewest sampled residents in a neighbourhood
BLOCK = 2_000_000  # distances computed at a time
WIDER = 1.1  # factor by which the spacing of anchors grows while there are too many
LLOYD = 20  # rounds of Lloyd's algorithm at the end
HALVINGS = 10  # times a step is halved if it would leave a zone empty


def place(
    task: Task, *, dilation: float = 3.0, zone: float = 3.0, swaps: int = 500, lloyd: bool = True
) -> Placement:
    """Choose anchors and further seeds by squared distance, try ``swaps`` random swaps, then Lloyd's steps in zones.

    Every resident has an anchor within ``dilation`` times their neighbourhood radius, with a radius no larger than
    theirs, and every anchor has a facility within ``zone`` times its own. So nobody is farther than
    ``dilation + zone`` radii.
    """
    for name, value in {"dilation": dilation, "zone": zone}.items():
        if not 0 <= value < np.inf:
            msg = f"{name} is {value}; it must be a number from 0 upwards."
            raise ValueError(msg)
    check_whole(swaps, "swaps", least=0)
    frame = Frame.of(task.points)
    points, weights = frame.inside(task.points), level_weights(task.weights)
    weights = weights / weights.sum()
    rng = np.random.default_rng(task.random_state.randint(2**31 - 1))
    radius, notes = _radii(points, weights, task.n_clusters, rng, part(task.report, 0.0, 0.5))
    anchors = ball_filter(points, radius, dilation, at_most=task.n_clusters).chosen
    wanted = dilation
    while len(anchors) > task.n_clusters:
        dilation = max(dilation, 0.5) * WIDER
        anchors = ball_filter(points, radius, dilation, at_most=task.n_clusters).chosen
    if dilation > wanted:
        notes += (f"LSPP had to space its anchors {dilation:.2g} instead of {wanted:g} radii apart.",)
    zones = Zones(points[anchors], zone * radius[anchors])
    chosen = _seeds(points, weights, anchors, task.n_clusters, rng)
    chosen, made = _swap(points, weights, chosen, zones, swaps, rng, part(task.report, 0.5, 0.95))
    centers = points[chosen]
    for step in range(LLOYD if lloyd else 0):
        task.report(0.95 + 0.05 * step / LLOYD, "LSPP: moving facilities to the middle of those they serve")
        centers, moved = _towards_means(points, weights, centers, zones)
        if not moved:
            break
    return Placement(
        frame.outside(centers),
        notes=notes,
        details={
            "swaps": made,
            "dilation": dilation,
            "anchors": frame.outside(points[anchors]),
            "zones": zones.radius * frame.unit,
        },
    )


class Zones:
    """Balls around the anchors, each of which must contain a facility."""

    def __init__(self, anchors: Floats, radius: Floats) -> None:
        self.anchors, self.radius = anchors, radius

    def hold(self, centers: Floats) -> NDArray[np.bool_]:
        """Which zones contain which centres, shape (anchors, centers)."""
        return cdist(self.anchors, centers) <= self.radius[:, None]


def _radii(
    points: Floats, weights: Floats, k: int, rng: Generator, report: Progress
) -> tuple[Floats, tuple[str, ...]]:
    """Neighbourhood radii: exact for few residents, estimated from a sample drawn by population for many."""
    n = len(points)
    if n <= EXACT:
        return neighbourhood_radius(points, k, weights, progress=report), ()
    size = max(SAMPLE, MEMBERS * k)
    sample = points[rng.choice(n, size, p=weights)]
    rank = -(-size // k) - 1
    radius = np.empty(n)
    rows = max(1, BLOCK // size)
    for start in range(0, n, rows):
        report(start / n, "LSPP: measuring neighbourhoods")
        away = cdist(points[start : start + rows], sample)
        away.partition(rank, axis=1)
        radius[start : start + rows] = away[:, rank]
    note = f"LSPP measured the neighbourhoods of {n:,} residents among a sample of {size:,} of them."
    return radius, (note,)


def _seeds(points: Floats, weights: Floats, anchors: Rows, k: int, rng: Generator) -> Rows:
    """The anchors, and residents drawn by squared distance until there are k facilities or all distances are 0."""
    chosen = list(anchors)
    f = nearest(points, points[anchors])[1]
    while len(chosen) < k:
        row = _draw(weights * f, rng)
        if row is None:
            break
        chosen.append(row)
        f = np.minimum(f, _squared(points, points[row]))
    return np.array(chosen, dtype=np.intp)


def _draw(chances: Floats, rng: Generator) -> int | None:
    """A row drawn with probability proportional to ``chances``; None if all are 0."""
    upto = np.cumsum(chances)
    if not upto[-1] > 0:
        return None
    return int(min(np.searchsorted(upto, rng.random() * upto[-1], side="right"), len(upto) - 1))


def _swap(
    points: Floats, weights: Floats, chosen: Rows, zones: Zones, swaps: int, rng: Generator, report: Progress
) -> tuple[Rows, int]:
    """Draw residents by squared distance, and swap each for the facility missed least if that lowers the cost.

    The only facility in a zone may be swapped only for a resident in that zone.
    """
    chosen, made = chosen.copy(), 0
    k = len(chosen)
    label, first, second = _two_nearest(points, points[chosen])
    held = zones.hold(points[chosen])
    now = float((weights * first).sum())
    for attempt in range(swaps):
        if attempt % 20 == 0:
            report(attempt / swaps, f"LSPP: {made} swaps made")
        row = _draw(weights * first, rng)
        if row is None:
            break
        to_new = _squared(points, points[row])
        stays = np.bincount(label, weights * np.minimum(first, to_new), k)
        costs = stays.sum() - stays + np.bincount(label, weights * np.minimum(second, to_new), k)
        covered = zones.hold(points[[row]])
        only = held & (held.sum(axis=1, keepdims=True) == 1) & ~covered
        costs[only.any(axis=0)] = np.inf
        leaves = int(costs.argmin())
        if costs[leaves] < now * (1 - 1e-12):
            chosen[leaves] = row
            held[:, leaves] = covered[:, 0]
            label, first, second = _two_nearest(points, points[chosen])
            now = float((weights * first).sum())
            made += 1
    return chosen, made


def _squared(points: Floats, place: Floats) -> Floats:
    """Squared distances to one place, many times faster than a sum along the columns."""
    found: Floats = cdist(points, place[None], "sqeuclidean")[:, 0]
    return found


def _two_nearest(points: Floats, centers: Floats) -> tuple[Rows, Floats, Floats]:
    """The nearest centre of each point, and the squared distances to it and to the next."""
    label, first = np.zeros(len(points), np.intp), np.full(len(points), np.inf)
    second = first.copy()
    for j, center in enumerate(centers):
        f = _squared(points, center)
        nearer = f < first
        second = np.where(nearer, first, np.minimum(second, f))
        label[nearer] = j
        first = np.where(nearer, f, first)
    return label, first, second


def _towards_means(points: Floats, weights: Floats, centers: Floats, zones: Zones) -> tuple[Floats, bool]:
    """One of Lloyd's steps: each centre moves to its cluster's mean, or as far as no zone becomes empty."""
    label = nearest(points, centers)[0]
    mass = np.bincount(label, weights, len(centers))
    means = np.stack([np.bincount(label, weights * column, len(centers)) for column in points.T], axis=1)
    centers, moved = centers.copy(), False
    for j in np.flatnonzero(mass > 0):
        here, there = centers[j].copy(), means[j] / mass[j]
        others = zones.hold(np.delete(centers, j, axis=0)).any(axis=1)
        low, high = 0.0, 1.0
        for halving in range(HALVINGS):
            share = 1.0 if halving == 0 else (low + high) / 2
            held = others | zones.hold((here + share * (there - here))[None])[:, 0]
            low, high = (share, high) if held.all() else (low, share)
            if low == 1.0:
                break
        centers[j] = here + low * (there - here)
        moved = moved or bool(np.abs(centers[j] - here).max() > 1e-9 * np.abs(there - here).max() > 0)
    return centers, moved


METHOD = Method(
    name="lspp",
    title="LSPP",
    description="Swaps facilities for residents drawn at random, the farther the likelier, as long as average squared "
    "travel falls, and keeps one in the zone of every anchor so that nobody is left far behind their neighbours.",
    source="M. Bateni, V. Cohen-Addad, A. Epasto, S. Lattanzi: A Scalable Algorithm for Individually Fair k-Means "
    "Clustering, AISTATS 2024",
    centers_are_points=False,
    options={"dilation": 3.0, "zone": 3.0, "swaps": 500, "lloyd": True},
    place=place,
    cost=lambda n, d, k: (
        0.3 + n * min(n, 1_000 + 50 * k) * 2e-8 * (1 + d / 8) + n * 1e-5 * (1 + d / 4 + k / 10),
        n * (120 + 16 * d) + 30_000_000,
    ),
)
