"""Shortest paths from many places (Dijkstra), compiled by numba."""

import numpy as np
from numba import float64, int32, int64, void

from tkm_core.clustering import kernel

_ints, _floats, _table = int32[::1], float64[::1], float64[:, ::1]


@kernel(
    signature=void(
        int64[::1], _ints, _floats,
        _ints, _ints, _floats, _floats, _floats,
        _ints, _floats, _floats, _table,
        _ints, _floats, _floats, _table,
        float64, float64, _table,
    ),
    heavy=True,
)  # fmt: skip
def search(
    first_arc, arc_head, arc_cost,
    edge_start, edge_end, edge_metres, along, against,
    source_edge, source_at, source_cost, source_xy,
    target_edge, target_at, target_cost, target_xy,
    pace, limit, out,
):  # fmt: skip
    """Write the cost of the cheapest path from every source to every target; infinity beyond the limit.

    Dijkstra's algorithm with a four-ary heap. A junction reached again at a lower cost is pushed again, and its older
    entry is ignored. Sources and targets lie beside edges: they join at `at` metres from the start of the edge, and
    getting there costs `cost`. A metre costs `along` in the direction of the edge and `against` in the other.
    Two places at the same edge that are nearer to each other than to the street are connected straight, at `pace`
    per metre: nobody walks to the street and back to reach the house next door.
    """
    reached = np.empty(len(first_arc) - 1)
    heap_cost = np.empty(len(arc_head) + 2)
    heap = np.empty(len(arc_head) + 2, np.int32)
    for s in range(len(source_edge)):
        reached[:] = np.inf
        own, at, spent = source_edge[s], source_at[s], source_cost[s]
        rest = edge_metres[own] - at
        reached[edge_end[own]] = along[own] * rest if rest > 0 else 0.0
        back = against[own] * at if at > 0 else 0.0
        if back < reached[edge_start[own]]:
            reached[edge_start[own]] = back
        heap[0], heap[1] = edge_end[own], edge_start[own]
        if reached[heap[1]] < reached[heap[0]]:
            heap[0], heap[1] = heap[1], heap[0]
        heap_cost[0], heap_cost[1] = reached[heap[0]], reached[heap[1]]
        size = 2
        while size > 0:
            so_far, u = heap_cost[0], heap[0]
            if so_far + spent > limit or so_far == np.inf:
                break
            size -= 1
            cost, v = heap_cost[size], heap[size]
            i = 0
            while True:  # sift the last entry down from the top
                child = 4 * i + 1
                if child >= size:
                    break
                first, least = child, heap_cost[child]
                for c in range(child + 1, min(child + 4, size)):
                    if heap_cost[c] < least:
                        first, least = c, heap_cost[c]
                if least >= cost:
                    break
                heap_cost[i], heap[i] = least, heap[first]
                i = first
            heap_cost[i], heap[i] = cost, v
            if so_far > reached[u]:
                continue
            for arc in range(first_arc[u], first_arc[u + 1]):
                v = arc_head[arc]
                cost = so_far + arc_cost[arc]
                if cost < reached[v]:
                    reached[v] = cost
                    i = size
                    size += 1
                    while i > 0:  # sift the new entry up
                        parent = (i - 1) >> 2
                        if heap_cost[parent] <= cost:
                            break
                        heap_cost[i], heap[i] = heap_cost[parent], heap[parent]
                        i = parent
                    heap_cost[i], heap[i] = cost, v
        for t in range(len(target_edge)):
            e, to = target_edge[t], target_at[t]
            rest = edge_metres[e] - to
            best = reached[edge_start[e]] + (along[e] * to if to > 0 else 0.0)
            cost = reached[edge_end[e]] + (against[e] * rest if rest > 0 else 0.0)
            best = min(best, cost)
            if e == own:
                cost = along[e] * (to - at) if to > at else (against[e] * (at - to) if to < at else 0.0)
                best = min(best, cost)
            best += spent + target_cost[t]
            if e == own:
                east, north = target_xy[t, 0] - source_xy[s, 0], target_xy[t, 1] - source_xy[s, 1]
                straight = pace * np.sqrt(east * east + north * north)
                if straight <= max(spent, target_cost[t]):
                    best = min(best, straight)
            out[s, t] = best if best <= limit else np.inf
