"""Build the street network: junctions, edges, and its largest strongly connected part."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.streets.rules import StreetsError
from tkm_core.streets.ways import Ways

EQUATOR, FLATTENING = 6_378_137.0, 1 / 298.257223563  # WGS84
AROUND_THE_EARTH = 5e7  # metres: more than any street is long
SPEEDS = (1e-3, 1e4)  # km/h: slower and faster than anybody travels
SHORTEST = 0.01  # metres: the least length of an edge, so that none costs nothing


@dataclass
class Network:
    """Junctions and edges as arrays.

    Attributes
    ----------
    lonlat : ndarray of shape (j, 2)
        The junctions.
    start, end : ndarray of shape (e,)
        The junctions an edge leads from and to; every edge is open in this direction.
    metres : ndarray of shape (e,)
        Lengths.
    forward, backward : ndarray of shape (e,)
        Speed in km/h along and against the edge; against a one-way street it is 0.
    classes : ndarray of shape (e,)
        Index of each edge's class.
    shape : ndarray of shape (q, 2)
        Longitude and latitude of the points of all edges, including their ends, one edge after another.
    shape_starts : ndarray of shape (e + 1,)
        Where in `shape` each edge begins.
    """

    lonlat: Floats
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    metres: Floats
    forward: Floats
    backward: Floats
    classes: npt.NDArray[np.int16]
    shape: Floats
    shape_starts: Ints


def check_network(network: Network, n_classes: int) -> None:
    """Check that the arrays of a network from another process fit together: compiled loops do not check.

    Parameters
    ----------
    network : Network
    n_classes : int
        Number of classes of streets.

    Raises
    ------
    ValueError
        If they do not.
    """
    junctions, edges, points = len(network.lonlat), len(network.start), len(network.shape)
    forms = (
        (network.lonlat, np.float64, (junctions, 2)),
        (network.shape, np.float64, (points, 2)),
        (network.start, np.int32, (edges,)),
        (network.end, np.int32, (edges,)),
        (network.metres, np.float64, (edges,)),
        (network.forward, np.float64, (edges,)),
        (network.backward, np.float64, (edges,)),
        (network.classes, np.int16, (edges,)),
        (network.shape_starts, np.int64, (edges + 1,)),
    )
    within = (
        (network.start, 0, junctions - 1),
        (network.end, 0, junctions - 1),
        (network.classes, 0, n_classes - 1),
        (network.shape_starts, 0, points),
    )
    formed = edges > 0 and all(
        type(array) is np.ndarray and array.dtype == kind and array.shape == shape
        for array, kind, shape in forms
    )
    if not (
        formed
        and all(low <= array.min() and array.max() <= high for array, low, high in within)
        and (np.diff(network.shape_starts) > 0).all()
        and all(np.isfinite(array).all() for array, kind, _ in forms if kind is np.float64)
        and all((np.abs(array) <= (180, 90)).all() for array in (network.lonlat, network.shape))
        and _between(network.metres, 1e-6, AROUND_THE_EARTH)
        and _between(network.forward, *SPEEDS)
        and _between(network.backward[network.backward != 0], *SPEEDS)
        # a junction that no street leads to stands nowhere
        and np.isin(np.arange(junctions), np.concatenate([network.start, network.end])).all()
    ):
        msg = "These streets are damaged. Read the road file again."
        raise ValueError(msg)


def _between(array: Floats, low: float, high: float) -> bool:
    """Whether all values lie in a range."""
    return bool(((array >= low) & (array <= high)).all())


@dataclass
class CutOff:
    """How many parts, junctions and metres do not belong to the largest part."""

    parts: int
    junctions: int
    metres: float


def lengths(first: Floats, second: Floats) -> Floats:
    """Lengths in metres of short straight pieces on the ellipsoid, from longitudes and latitudes.

    Computed from the radii of curvature at the middle latitude: within 1e-5 of the geodesic up to 50 km.

    Examples
    --------
    >>> lengths(np.array([[0.0, 0.0], [7.0, 47.0]]), np.array([[0.001, 0.0], [7.0, 47.001]])).round(2)
    array([111.32, 111.17])
    """
    middle = np.radians((first[:, 1] + second[:, 1]) / 2)
    squeezed = FLATTENING * (2 - FLATTENING)
    root = np.sqrt(1 - squeezed * np.sin(middle) ** 2)
    north = EQUATOR * (1 - squeezed) / root**3 * np.radians(second[:, 1] - first[:, 1])
    wrapped = (second[:, 0] - first[:, 0] + 180) % 360 - 180
    east = EQUATOR / root * np.cos(middle) * np.radians(wrapped)
    return np.hypot(north, east)


def build_network(ways: Ways) -> tuple[Network, CutOff]:
    """Turn lines that share points into junctions and edges, and keep the longest strongly connected part."""
    pieces = _pieces(ways)
    chains = _chains(pieces, len(ways.lonlat))
    return _largest_part(_assemble(ways, pieces, chains))


@dataclass
class _Pieces:
    """Straight pieces between neighbouring points, all open from `first` to `second`."""

    first: Ints
    second: Ints
    forward: Floats
    backward: Floats
    classes: npt.NDArray[np.int16]


def _pieces(ways: Ways) -> _Pieces:
    """Cut the lines into straight pieces; a street drawn twice becomes one."""
    inside = np.ones(len(ways.points), dtype=bool)
    inside[ways.starts[1:] - 1] = False  # no piece starts at the last point of a line
    place = np.flatnonzero(inside)
    first, second = ways.points[place], ways.points[place + 1]
    way = np.repeat(np.arange(len(ways.forward)), np.diff(ways.starts))[place]
    known = ~np.isnan(ways.lonlat[:, 0])
    sound = known[first] & known[second] & (first != second)
    first, second, way = first[sound], second[sound], way[sound]
    if len(first) == 0:
        msg = "No street of the file has two points that are on the globe."
        raise StreetsError(msg)
    # A street drawn twice, for instance once in each direction, is one street open both ways.
    turned = first > second
    low, high = np.where(turned, second, first), np.where(turned, first, second)
    upward = np.where(turned, ways.backward[way], ways.forward[way])
    downward = np.where(turned, ways.forward[way], ways.backward[way])
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    begins = np.flatnonzero((np.diff(low, prepend=-1) != 0) | (np.diff(high, prepend=-1) != 0))
    low, high, way = low[begins], high[begins], way[order][begins]
    upward, downward = (np.maximum.reduceat(side[order], begins) for side in (upward, downward))
    against = upward <= 0
    return _Pieces(
        np.where(against, high, low),
        np.where(against, low, high),
        np.where(against, downward, upward),
        np.where(against, upward, downward),
        ways.classes[way],
    )


def _chains(pieces: _Pieces, n_points: int) -> tuple[Ints, Ints, Bools]:
    """Join pieces into chains through points where nothing branches off and nothing changes.

    Returns
    -------
    chain : ndarray of shape (s,)
        Index of each piece's chain.
    rank : ndarray of shape (s,)
        The piece's position within the chain.
    turned : ndarray of shape (s,)
        Whether the piece runs against its chain.
    """
    count = len(pieces.first)
    # Piece s has two directed halves: 2 s runs along it, 2 s + 1 against it.
    tail = np.column_stack([pieces.first, pieces.second]).ravel()
    head = np.column_stack([pieces.second, pieces.first]).ravel()
    kind = np.column_stack([pieces.forward, pieces.backward, pieces.classes])
    speeds = np.empty((2 * count, 3))
    speeds[0::2], speeds[1::2] = kind, kind[:, [1, 0, 2]]
    degree = np.bincount(tail, minlength=n_points)
    leaving = np.argsort(tail, kind="stable")
    where = np.concatenate([[0], np.cumsum(degree)])
    through = np.flatnonzero(degree == 2)
    one, other = leaving[where[through]], leaving[where[through] + 1]
    same = np.all(speeds[one ^ 1] == speeds[other], axis=1) & (head[one] != head[other])
    one, other = one[same], other[same]
    after = np.arange(2 * count)  # the half that follows; at a junction, the half itself
    after[one ^ 1], after[other ^ 1] = other, one
    after = _open_rings(after)
    last, steps = _run_to_end(after)
    # All pieces of a chain must agree on its direction: the one that ends in the half with the smaller number.
    ahead, back = last[0::2], last[1::2]
    turned = (ahead > back) & (pieces.backward > 0)  # a one-way chain keeps its direction
    end = np.where(turned, back, ahead)
    rank = -np.where(turned, steps[1::2], steps[0::2])
    _, chain = np.unique(end, return_inverse=True)
    return chain, rank, turned


def _open_rings(after: Ints) -> Ints:
    """Cut each ring without junctions at one point, so that every chain has an end."""
    last, _ = _run_to_end(after)
    on_ring = np.flatnonzero(after[last] != last)
    if len(on_ring) == 0:
        return after
    here, there = on_ring // 2, after[on_ring] // 2  # a ring is the same in both directions
    links = coo_array((np.ones(len(here), dtype=bool), (here, there)), shape=(len(after) // 2,) * 2)
    _, ring = connected_components(links, directed=False)
    _, first = np.unique(ring[here], return_index=True)
    cut = on_ring[first]
    after = after.copy()
    follower = after[cut]
    after[cut] = cut
    after[follower ^ 1] = follower ^ 1
    return after


def _run_to_end(after: Ints) -> tuple[Ints, Ints]:
    """The last entry reached by following each one, and in how many steps (by pointer doubling)."""
    last = after.copy()
    steps = (after != np.arange(len(after))).astype(np.int64)
    for _ in range(int(np.ceil(np.log2(len(after) + 1))) + 1):
        further = last[last]
        if np.array_equal(further, last):
            break
        steps = steps + steps[last]
        last = further
    return last, steps


def _assemble(ways: Ways, pieces: _Pieces, chains: tuple[Ints, Ints, Bools]) -> Network:
    """Make an edge of every chain, with its length, speeds and points."""
    chain, rank, turned = chains
    order = np.lexsort((rank, chain))
    chain = chain[order]
    first = np.where(turned, pieces.second, pieces.first)[order]
    second = np.where(turned, pieces.first, pieces.second)[order]
    begins = np.flatnonzero(np.diff(chain, prepend=-1))
    ends = np.append(begins[1:], len(chain)) - 1
    # A chain's points are the first point of every piece and the second of the last.
    at = np.arange(len(chain)) + np.cumsum(np.diff(chain, prepend=0))
    shape_starts = np.append(at[begins], len(chain) + len(begins))
    points = np.empty(shape_starts[-1], dtype=np.int64)
    points[at] = first
    points[shape_starts[1:] - 1] = second[ends]
    metres = np.maximum(lengths(ways.lonlat[first], ways.lonlat[second]), SHORTEST)
    one = order[begins]
    flip = turned[one]
    junctions, numbers = np.unique(np.concatenate([first[begins], second[ends]]), return_inverse=True)
    start, end = numbers.astype(np.int32).reshape(2, -1)
    return Network(
        lonlat=ways.lonlat[junctions],
        start=start,
        end=end,
        metres=np.add.reduceat(metres, begins),
        forward=np.where(flip, pieces.backward[one], pieces.forward[one]),
        backward=np.where(flip, pieces.forward[one], pieces.backward[one]),
        classes=pieces.classes[one],
        shape=ways.lonlat[points],
        shape_starts=shape_starts,
    )


def _largest_part(whole: Network) -> tuple[Network, CutOff]:
    """Keep the longest strongly connected part, with junctions renumbered along a curve."""
    count = len(whole.lonlat)
    two_way = whole.backward > 0
    tails = np.concatenate([whole.start, whole.end[two_way]])
    heads = np.concatenate([whole.end, whole.start[two_way]])
    graph = coo_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(count, count))
    parts, part = connected_components(graph, directed=True, connection="strong")
    within = part[whole.start] == part[whole.end]
    kept = part == np.bincount(part[whole.start], whole.metres * within).argmax()
    edges = kept[whole.start] & kept[whole.end]
    # Neighbours on the map become neighbours in memory, which makes the search for shortest paths faster.
    places = np.flatnonzero(kept)
    places = places[np.argsort(_along_a_curve(whole.lonlat[places]))]
    numbers = np.full(count, -1, dtype=np.int32)
    numbers[places] = np.arange(len(places))
    cut = CutOff(parts - 1, count - len(places), float(whole.metres[~edges].sum()))
    sizes = np.diff(whole.shape_starts)
    network = Network(
        lonlat=whole.lonlat[places],
        start=numbers[whole.start[edges]],
        end=numbers[whole.end[edges]],
        metres=whole.metres[edges],
        forward=whole.forward[edges],
        backward=whole.backward[edges],
        classes=whole.classes[edges],
        shape=whole.shape[np.repeat(edges, sizes)],
        shape_starts=np.concatenate([[0], np.cumsum(sizes[edges])]),
    )
    return network, cut


def _along_a_curve(lonlat: Floats) -> Ints:
    """The position of each point on Morton's curve, along which neighbours stay close."""
    low, span = lonlat.min(axis=0), np.ptp(lonlat, axis=0).max() or 1.0
    cells = ((lonlat - low) / span * 65535).astype(np.int64)
    code = np.zeros(len(cells), dtype=np.int64)
    for bit in range(16):
        code |= ((cells[:, 0] >> bit & 1) << 2 * bit) | ((cells[:, 1] >> bit & 1) << (2 * bit + 1))
    return code
