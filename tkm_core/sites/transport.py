"""The transport problem: the exact cheapest assignment to facilities of limited room, compiled.

A place's people may be split between facilities. The problem is a flow from places through a few facilities to one
sink, whose arcs hold between ``least`` and ``most`` people. At first everyone goes where it is cheapest at given prices
of the facilities, which is optimal for the resulting loads. Then surplus is sent along shortest paths to where there is
room (successive shortest paths). A path runs over facilities only: whoever loses least by it goes from a to b.
"""

import numpy as np

from tkm_core.clustering import inner, kernel

SNAP = 1e-12  # share of all people; less is rounding
NOWHERE = -1
ANY = np.int64(-1)  # a plain -1 would be a separate type for numba


@inner
def _cheapest_leavers(C, x, a, loss, leaver, only):
    """For facility a, which of its people would lose least by going to each other facility (or to ``only`` one)."""
    k, n = C.shape
    for b in range(k):
        if b == a or (only >= 0 and b != only):
            continue
        best = np.inf
        who = -1
        for i in range(n):
            if x[a, i] > 0.0:
                v = C[b, i] - C[a, i]
                if v < best:
                    best = v
                    who = i
        loss[a, b] = best
        leaver[a, b] = who


@inner
def _shortest(loss, flow, least, most, start, reach, before):
    """Shortest paths from ``start`` values over the facilities and the sink (the last), by Bellman-Ford."""
    k = flow.shape[0]
    for v in range(k + 1):  # reach[:] = start would take three seconds more to compile
        reach[v] = start[v]
        before[v] = NOWHERE
    for _ in range(k + 1):
        changed = False
        for a in range(k):
            if reach[a] < np.inf:
                slack = 1e-13 * (abs(reach[a]) + 1e-300)
                for b in range(k):
                    if b != a and reach[a] + loss[a, b] < reach[b] - slack - 1e-13 * abs(loss[a, b]):
                        reach[b] = reach[a] + loss[a, b]
                        before[b] = a
                        changed = True
                if flow[a] < most[a] and reach[a] < reach[k] - slack:
                    reach[k] = reach[a]
                    before[k] = a
                    changed = True
        if reach[k] < np.inf:
            for a in range(k):
                if flow[a] > least[a] and reach[k] < reach[a] - 1e-13 * abs(reach[k]):
                    reach[a] = reach[k]
                    before[a] = k
                    changed = True
        if not changed:
            return


@kernel(signature="b1(f8[:,::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[:,::1])", heavy=True)
def assign(C, w, least, most, prices, x):
    """Fill x (k, n) with the people of place i served by facility j at the least total cost; False if infeasible.

    C (k, n) holds costs per person, infinite if unreachable. ``prices`` (k,) are any starting prices, and are replaced
    by those of the optimum.
    """
    k, n = C.shape
    people = w.sum()
    snap = SNAP * people
    flow = np.zeros(k)
    extra = np.zeros(k + 1)
    loss = np.full((k, k), np.inf)
    leaver = np.full((k, k), -1)
    x[:] = 0.0
    for i in range(n):
        best = -1
        for j in range(k):
            if C[j, i] < np.inf and (best < 0 or C[j, i] + prices[j] < C[best, i] + prices[best]):
                best = j
        if best < 0:
            return False
        x[best, i] = w[i]
        extra[best] += w[i]
    for j in range(k):
        if prices[j] > 0.0:
            flow[j] = most[j]
        elif prices[j] < 0.0:
            flow[j] = least[j]
        else:
            flow[j] = min(max(extra[j], least[j]), most[j])
        extra[j] -= flow[j]
    extra[k] = flow.sum() - people
    for a in range(k):
        _cheapest_leavers(C, x, a, loss, leaver, ANY)
    start = np.empty(k + 1)
    reach = np.empty(k + 1)
    before = np.empty(k + 1, np.int64)
    steps = 0
    while True:
        over = False
        for v in range(k + 1):
            start[v] = np.inf
            if extra[v] > snap:
                start[v] = 0.0
                over = True
        if not over:
            break
        steps += 1
        _shortest(loss, flow, least, most, start, reach, before)
        end = -1
        for v in range(k + 1):
            if extra[v] < -snap and reach[v] < np.inf and (end < 0 or reach[v] < reach[end]):
                end = v
        if end < 0 or steps > 50 * (n + k):
            return False
        amount = -extra[end]
        v = end
        hops = 0
        while before[v] != NOWHERE and hops <= k + 1:
            u = before[v]
            if u == k:
                amount = min(amount, flow[v] - least[v])
            elif v == k:
                amount = min(amount, most[u] - flow[u])
            else:
                amount = min(amount, x[u, leaver[u, v]])
            v = u
            hops += 1
        amount = min(amount, extra[v])
        if not amount > 0.0:  # rounding turned a path into a cycle
            return False
        extra[v] -= amount
        extra[end] += amount
        v = end
        hops = 0
        while before[v] != NOWHERE and hops <= k + 1:
            u = before[v]
            if u == k:
                flow[v] -= amount
            elif v == k:
                flow[u] += amount
            else:
                i = leaver[u, v]
                x[v, i] += amount
                x[u, i] -= amount
                if x[u, i] <= snap * 1e-3:
                    x[v, i] += x[u, i]
                    x[u, i] = 0.0
                    for b in range(k):
                        if b != u and leaver[u, b] == i:
                            _cheapest_leavers(C, x, u, loss, leaver, b)
                for b in range(k):
                    if b != v and C[b, i] - C[v, i] < loss[v, b]:
                        loss[v, b] = C[b, i] - C[v, i]
                        leaver[v, b] = i
            v = u
            hops += 1
    for v in range(k + 1):
        if extra[v] < -2.0 * (k + 1) * snap:
            return False
    _shortest(loss, flow, least, most, np.zeros(k + 1), reach, before)
    for j in range(k):
        prices[j] = reach[k] - reach[j]
    return True
