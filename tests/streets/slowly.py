"""Travel times by the plain definition: every point a node, places put in between, Dijkstra with heapq."""

import heapq
import math
from collections import defaultdict
from itertools import pairwise

from pyproj import Geod

from tests.streets.cities import Nodes

GEOD = Geod(ellps="WGS84")
Directed = tuple[list[int], float, float]  # nodes, km/h along, km/h against
PACE = 4.8


def metres(a: tuple[float, float], b: tuple[float, float]) -> float:
    return GEOD.inv(*a, *b)[2]


def reachable(arcs: dict[int, set[int]], start: int) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        for head in arcs[waiting.pop()]:
            if head not in seen:
                seen.add(head)
                waiting.append(head)
    return seen


def largest_part(nodes: Nodes, ways: list[Directed]) -> list[tuple[int, int, float, float]]:
    """The pieces (from, to, km/h along, km/h against) of the longest part in which all reach all."""
    speeds: dict[tuple[int, int], float] = defaultdict(float)
    for refs, ahead, back in ways:
        for a, b in pairwise(refs):
            speeds[a, b], speeds[b, a] = max(speeds[a, b], ahead), max(speeds[b, a], back)
    pieces = [(a, b, ahead, speeds[b, a]) for (a, b), ahead in list(speeds.items()) if a < b]
    out, into = defaultdict(set), defaultdict(set)
    for a, b, ahead, back in pieces:
        for tail, head, speed in ((a, b, ahead), (b, a, back)):
            if speed > 0:
                out[tail].add(head)
                into[head].add(tail)
    best: tuple[float, list[tuple[int, int, float, float]]] = (0.0, [])
    seen: set[int] = set()
    for node in nodes:
        if node in seen:
            continue
        part = reachable(out, node) & reachable(into, node)
        seen |= part
        inside = [piece for piece in pieces if piece[0] in part and piece[1] in part]
        long = sum(metres(nodes[a], nodes[b]) for a, b, *_ in inside)
        if long > best[0]:
            best = (long, inside)
    return best[1]


def nearest(
    nodes: Nodes, pieces: list[tuple[int, int, float, float]], place: tuple[float, float]
) -> tuple[int, float, float]:
    """The nearest piece, the share of it that lies before the nearest point, and the metres to that point."""
    east, north = math.cos(math.radians(place[1])) * 111_320, 111_132
    best = (-1, 0.0, math.inf)
    for number, (a, b, _, _) in enumerate(pieces):
        ax, ay = (nodes[a][0] - place[0]) * east, (nodes[a][1] - place[1]) * north
        dx, dy = (nodes[b][0] - nodes[a][0]) * east, (nodes[b][1] - nodes[a][1]) * north
        share = min(1.0, max(0.0, -(ax * dx + ay * dy) / (dx * dx + dy * dy)))
        foot = tuple(nodes[a][axis] + share * (nodes[b][axis] - nodes[a][axis]) for axis in (0, 1))
        apart = metres(place, (foot[0], foot[1]))
        if apart < best[2]:
            best = (number, share, apart)
    return best


def travel(
    nodes: Nodes,
    ways: list[Directed],
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    by_length: bool = False,
) -> float:
    """Minutes of the quickest way, or metres of the shortest."""
    pieces = largest_part(nodes, ways)
    ends = {name: nearest(nodes, pieces, place) for name, place in (("start", start), ("end", end))}
    graph: dict[object, list[tuple[object, float]]] = defaultdict(list)
    for number, (a, b, ahead, back) in enumerate(pieces):
        long = metres(nodes[a], nodes[b])
        stops: list[tuple[float, object]] = [(0.0, a), (1.0, b)]
        stops += [(share, name) for name, (piece, share, _) in ends.items() if piece == number]
        stops.sort(key=lambda stop: stop[0])
        for (low, one), (high, other) in pairwise(stops):
            for tail, head, speed in ((one, other, ahead), (other, one, back)):
                if speed > 0:
                    graph[tail].append((head, (high - low) * long * (1.0 if by_length else 0.06 / speed)))
        for share, name in stops:  # at the very end of a piece one is at the node, whatever its direction
            for limit, corner in ((0.0, a), (1.0, b)):
                if isinstance(name, str) and share == limit:
                    graph[name].append((corner, 0.0))
                    graph[corner].append((name, 0.0))
    heap: list[tuple[float, str, object]] = [(0.0, "", "start")]
    settled: dict[object, float] = {}
    while heap:
        cost, _, node = heapq.heappop(heap)
        if node in settled:
            continue
        settled[node] = cost
        for head, more in graph[node]:
            heapq.heappush(heap, (cost + more, str(head), head))
    pace = 1.0 if by_length else 0.06 / PACE
    by_street = settled.get("end", math.inf) + (ends["start"][2] + ends["end"][2]) * pace
    next_door = ends["start"][0] == ends["end"][0] and metres(start, end) <= max(
        ends["start"][2], ends["end"][2]
    )
    return min(by_street, metres(start, end) * pace) if next_door else by_street
