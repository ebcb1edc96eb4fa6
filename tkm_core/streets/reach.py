"""Routes between two places, and catchments (isochrones) around places."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Bools, Floats
from tkm_core.residents import WGS84, transform
from tkm_core.streets.joining import Ground, Joined
from tkm_core.streets.network import Network, lengths
from tkm_core.streets.travel import Graph

AROUND = 60.0  # metres on either side of a street that count as reached: about half a block
SMALL_HOLE = 100_000.0  # square metres: smaller holes, such as the inside of a block, are filled
FINE = 10.0  # metres by which the outline of a catchment may be simplified


@dataclass(frozen=True)
class Route:
    """A route from one place to another.

    Attributes
    ----------
    lonlat : ndarray of shape (q, 2)
        The line to draw, from place to place.
    minutes : float
        Travel time.
    metres : float
        Length of the route, which is the quickest and not always the shortest.
    """

    lonlat: Floats
    minutes: float
    metres: float


@dataclass(frozen=True)
class Catchment:
    """The area that can be reached within a number of minutes.

    Attributes
    ----------
    minutes : float
        The limit.
    edges : ndarray of int
        The edges that are reached at least in part.
    metres : float
        Total length of the streets reached.
    polygons : list of ndarray of shape (q, 2)
        Outlines in longitude and latitude; a hole follows its outline and runs the other way round.
    shape : MultiPolygon of shapely
        The same in longitude and latitude.
    """

    minutes: float
    edges: npt.NDArray[np.int64]
    metres: float
    polygons: list[Floats]
    shape: Any


def trace(graph: Graph, cost: Floats, source: Joined, target: Joined) -> list[tuple[int, float, float]]:
    """The cheapest path as stretches of edges: edge, and metres along it from start to end.

    Parameters
    ----------
    graph : Graph
        The graph the costs were found on.
    cost : ndarray of shape (j,)
        From the source (where it joins its edge) to every junction.
    source, target : Joined
        One place each.
    """
    own, at = int(source.edge[0]), float(source.at[0])
    e, to = int(target.edge[0]), float(target.at[0])
    long = float(graph.metres[e])
    ways = [
        (cost[graph.start[e]] + _times(graph.along[e], to), int(graph.start[e]), (e, 0.0, to)),
        (cost[graph.end[e]] + _times(graph.against[e], long - to), int(graph.end[e]), (e, long, to)),
    ]
    if own == e:
        per_metre = graph.along[e] if to > at else graph.against[e]
        ways.append((_times(per_metre, abs(to - at)), -1, (e, at, to)))
    _, junction, last = min(ways, key=lambda way: way[0])
    stretches = [last]
    if junction < 0:
        return stretches
    whole = float(graph.metres[own])
    begins = (
        (int(graph.end[own]), _times(graph.along[own], whole - at), whole),
        (int(graph.start[own]), _times(graph.against[own], at), 0.0),
    )
    arriving = _Arrivals(graph)
    while True:
        fits = [
            begin for begin in begins if begin[0] == junction and begin[1] <= cost[junction] * (1 + 1e-12)
        ]
        if fits:
            _, _, leaves_at = min(fits, key=lambda begin: begin[1])
            stretches.append((own, at, leaves_at))
            return stretches[::-1]
        junction, stretch = arriving.before(junction, cost)
        stretches.append(stretch)


def _times(per_metre: float, metres: float) -> float:
    """Cost of some metres; 0 for no metres, even where a metre costs infinity."""
    return float(per_metre * metres) if metres > 0 else 0.0


class _Arrivals:
    """The edges that lead to each junction."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.at_end = np.argsort(graph.end, kind="stable")
        self.at_start = np.argsort(graph.start, kind="stable")
        self.ends, self.starts = graph.end[self.at_end], graph.start[self.at_start]

    def before(self, junction: int, cost: Floats) -> tuple[int, tuple[int, float, float]]:
        """The junction before this one on the cheapest path, and the edge between them."""
        graph = self.graph
        low, high = np.searchsorted(self.ends, [junction, junction + 1])
        ahead = self.at_end[low:high]
        low, high = np.searchsorted(self.starts, [junction, junction + 1])
        back = self.at_start[low:high]
        edges = np.concatenate([ahead, back])
        froms = np.concatenate([graph.start[ahead], graph.end[back]])
        costs = np.concatenate([graph.along[ahead], graph.against[back]]) * graph.metres[edges]
        found = np.where(froms == junction, np.inf, cost[froms] + costs)
        best = int(np.argmin(found))
        edge, long = int(edges[best]), float(graph.metres[edges[best]])
        stretch = (edge, 0.0, long) if best < len(ahead) else (edge, long, 0.0)
        return int(froms[best]), stretch


def draw(network: Network, stretches: list[tuple[int, float, float]]) -> Floats:
    """The points of successive stretches of edges, in longitude and latitude."""
    pieces = []
    for edge, start, end in stretches:
        shape = network.shape[network.shape_starts[edge] : network.shape_starts[edge + 1]]
        long = network.metres[edge]
        along = np.concatenate([[0.0], np.cumsum(lengths(shape[:-1], shape[1:]))])
        piece = _part(shape, along, min(start, end) / long, max(start, end) / long)
        pieces.append(piece if start <= end else piece[::-1])
    line = np.concatenate(pieces)
    return line[np.concatenate([[True], np.any(np.diff(line, axis=0) != 0, axis=1)])]


def _part(points: Floats, along: Floats, begin: float, end: float) -> Floats:
    """The part of a line between two fractions of its length."""
    low, high = begin * along[-1], end * along[-1]
    inner = points[(along > low) & (along < high)]
    ends = np.column_stack([np.interp([low, high], along, points[:, axis]) for axis in (0, 1)])
    return np.concatenate([ends[:1], inner, ends[1:]])


def catchments(
    ground: Ground,
    graph: Graph,
    cost: Floats,
    sources: Joined,
    limits: Sequence[float],
    around: float = AROUND,
) -> list[Catchment]:
    """The area that can be reached from any of the sources, for each limit.

    Parameters
    ----------
    ground : Ground
        The edges on the map.
    graph : Graph
        The graph the costs were found on.
    cost : ndarray of shape (j,)
        Minutes from the nearest source to every junction.
    sources : Joined
        The places.
    limits : sequence of float
        Minutes, in any order.
    around : float
        Metres on either side of a street that count as reached.
    """
    found: dict[float, Catchment] = {}
    inner, covered = shapely.MultiPolygon(), np.zeros(len(graph.metres), dtype=bool)
    for minutes in sorted(set(limits)):  # from small to large, so that each builds on the one before
        edges, begins, ends, whole = _reached(graph, cost, sources, minutes)
        new = ~covered[edges]
        lines = _cut(
            ground.lines[edges[new]], *(side[new] / graph.metres[edges[new]] for side in (begins, ends))
        )
        area = shapely.union_all(shapely.buffer(shapely.simplify(lines, FINE), around, quad_segs=2))
        inner, covered = shapely.union(inner, area), covered | whole
        shown = _without_small_holes(shapely.simplify(inner, FINE))
        shape = shapely.transform(shown, lambda xy: transform(xy, ground.crs, WGS84))
        polygons = [
            np.asarray(ring.coords)[:, :2]
            for polygon in shapely.get_parts(shapely.orient_polygons(shape))
            for ring in (polygon.exterior, *polygon.interiors)
            if not ring.is_empty
        ]
        metres = _covered(edges, begins, ends)
        found[minutes] = Catchment(minutes, np.unique(edges), metres, polygons, shape)
    return [found[minutes] for minutes in limits]


def _reached(
    graph: Graph, cost: Floats, sources: Joined, minutes: float
) -> tuple[npt.NDArray[Any], Floats, Floats, Bools]:
    """Stretches of edges that are reached (edge, start and end in metres), and which edges are reached completely."""
    left = minutes - cost
    ahead = np.minimum(np.maximum(left[graph.start], 0) / graph.along, graph.metres)
    back = np.minimum(np.maximum(left[graph.end], 0) / graph.against, graph.metres)
    whole = ahead + back >= graph.metres
    some: list[tuple[npt.NDArray[Any], Floats, Floats]] = []
    some.append((np.flatnonzero(whole), np.zeros(whole.sum()), graph.metres[whole]))
    for reached, begin, end in (
        (ahead, np.zeros_like(ahead), ahead),
        (back, graph.metres - back, graph.metres),
    ):
        part = np.flatnonzero(~whole & (reached > 0))
        some.append((part, begin[part], end[part]))
    rest = np.maximum(minutes - sources.metres * graph.pace, 0)
    edge, near = sources.edge, rest > 0
    from_at = np.maximum(sources.at - rest / graph.against[edge], 0)
    to_at = np.minimum(sources.at + rest / graph.along[edge], graph.metres[edge])
    own = near & ~whole[edge]
    some.append((edge[own], from_at[own], to_at[own]))
    edges, begins, ends = (np.concatenate(column) for column in zip(*some, strict=True))
    return edges, begins, ends, whole


def _without_small_holes(area: Any) -> Any:
    """The same area with small holes filled, such as the inside of a block surrounded by streets."""
    filled = []
    for polygon in shapely.get_parts(area):
        holes = [ring for ring in polygon.interiors if shapely.Polygon(ring).area >= SMALL_HOLE]
        filled.append(shapely.Polygon(polygon.exterior, holes))
    return shapely.multipolygons(filled)


def _covered(edges: npt.NDArray[Any], begins: Floats, ends: Floats) -> float:
    """The total length of stretches of edges, with overlaps counted once."""
    order = np.lexsort((begins, edges))
    total, current, upto = 0.0, -1, 0.0
    for edge, begin, end in zip(edges[order].tolist(), begins[order], ends[order], strict=True):
        if edge != current:
            current, upto = edge, 0.0
        total += max(end - max(begin, upto), 0.0)
        upto = max(upto, end)
    return float(total)


def _cut(lines: npt.NDArray[Any], begins: Floats, ends: Floats) -> npt.NDArray[Any]:
    """The parts of lines between two fractions of their lengths."""
    cut = lines.copy()
    for place in np.flatnonzero((begins > 0) | (ends < 1)):
        points = shapely.get_coordinates(lines[place])
        along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
        cut[place] = shapely.linestrings(_part(points, along, begins[place], ends[place]))
    return cut
