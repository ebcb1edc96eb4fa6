"""Compiled loops over tables of distances: costs, swap search, prices of the Lagrangian bound.

``F`` holds squared distances with one row per site, so that a pass over all residents reads memory in order.
A cost is w e^{t f - shift}; where t f is small for all who matter it is w (e^{t f} - 1) / t instead, which loses no
digits as t falls to 0. Both are clipped at ``most``: a cost above that of a whole known plan is in no better plan.
"""

import numpy as np

from tkm_core.clustering import inner, kernel

SMALL = 30.0  # t f up to which e^{t f} - 1 is used
LOWER = 1e-11  # relative: smaller improvements count as none


@kernel(signature="f8(f8,f8,f8,f8,b1,f8)")
def cost(f, w, t, shift, small, most):
    """Cost of one resident at squared distance f."""
    if f == np.inf:
        return most
    if t == 0.0:
        return min(w * f, most)
    z = t * f - shift
    if z > 600.0:
        return most
    if small:
        return min(w * np.expm1(z) / t, most)
    return min(w * np.exp(z), most)


@kernel(signature="void(f8[:,::1],f8[::1],f8,f8,b1,f8,f8[:,::1])")
def costs(F, w, t, shift, small, most, out):
    """Costs of sorted rows: after the first that is clipped, all are."""
    n, m = F.shape
    for i in range(n):
        c = 0.0
        for q in range(m):
            if c < most:
                c = cost(F[i, q], w[i], t, shift, small, most)
            out[i, q] = c


@inner
def two_nearest(F, sites, near, first, second):
    """For each resident, the slot of the nearest of ``sites`` and the squared distances of the nearest two."""
    n = F.shape[1]
    first[:] = np.inf
    second[:] = np.inf
    near[:] = 0
    for slot in range(sites.shape[0]):
        row = F[sites[slot]]
        for i in range(n):
            if row[i] < first[i]:
                second[i] = first[i]
                first[i] = row[i]
                near[i] = slot
            elif row[i] < second[i]:
                second[i] = row[i]


@inner
def judge(first, w, t, weight, far):
    """Number of unreached rows, city-wide cost, shift, whether t f is small, sum of costs, and where to clip."""
    n = first.shape[0]
    lost = 0
    top = 0.0
    for i in range(n):
        if first[i] == np.inf:
            lost += 1
        elif first[i] > top:
            top = first[i]
    if lost:
        top = far  # then every cost is at most its weight, and one unreached row costs more than all of them
    small = t * top <= SMALL
    shift = 0.0 if small else t * top
    most = np.inf if lost == 0 else 2.0 * weight * max(cost(far, 1.0, t, shift, small, np.inf), 1e-300)
    total = 0.0
    for i in range(n):
        total += cost(first[i], w[i], t, shift, small, most)
    if t == 0.0:
        value = total / weight
    elif small:
        value = np.log1p(t * total / weight) / t
    else:
        value = (shift + np.log(total / weight)) / t
    return lost, value, shift, small, total, most if lost else 2.0 * total


@kernel(
    signature="Tuple((i8,f8))(f8[:,::1],f8[::1],i8[::1],i8,f8,f8,i8[::1],i4[::1],f8[::1],f8[::1])", heavy=True
)
def swap(F, w, sites, n_free, t, far, order, near, first, second):
    """Swap sites while that lowers the city-wide cost; return the number of unreached rows and the cost.

    The first ``n_free`` of ``sites`` may be swapped for those in ``order``. Since each resident's nearest and second
    nearest are known, one pass over the residents evaluates all swaps for one new site. The best one is made at once
    if it is an improvement. The search ends when no swap is.
    """
    n = F.shape[1]
    k = sites.shape[0]
    weight = w.sum()
    c1 = np.empty(n)
    c2 = np.empty(n)
    loss = np.empty(k)
    gain = np.empty(k)
    open_ = np.zeros(F.shape[0], np.bool_)
    for slot in range(k):
        open_[sites[slot]] = True
    two_nearest(F, sites, near, first, second)
    lost, value, shift, small, total, most = judge(first, w, t, weight, far)
    fresh = True
    waiting = order.shape[0]
    at = 0
    while waiting > 0:
        if fresh:
            loss[:] = 0.0
            for i in range(n):
                c1[i] = cost(first[i], w[i], t, shift, small, most)
                c2[i] = cost(second[i], w[i], t, shift, small, most)
                loss[near[i]] += c2[i] - c1[i]
            fresh = False
        new = order[at]
        at = (at + 1) % order.shape[0]
        waiting -= 1
        if open_[new]:
            continue
        gain[:] = 0.0
        always = 0.0
        row = F[new]
        for i in range(n):
            f = row[i]
            if f < second[i]:
                c = cost(f, w[i], t, shift, small, most)
                if f < first[i]:
                    always += c1[i] - c
                    gain[near[i]] += c2[i] - c1[i]
                else:
                    gain[near[i]] += c2[i] - c
        best = 0
        for slot in range(1, n_free):
            if gain[slot] - loss[slot] > gain[best] - loss[best]:
                best = slot
        if always + gain[best] - loss[best] <= LOWER * total:
            continue
        old = sites[best]
        sites[best] = new
        two_nearest(F, sites, near, first, second)
        found = judge(first, w, t, weight, far)
        # evaluated again: gains from rounding alone would never end
        if found[0] < lost or (found[0] == lost and found[1] < value - LOWER * abs(value)):
            lost, value, shift, small, total, most = found
            open_[old] = False
            open_[new] = True
            waiting = order.shape[0]
            fresh = True
        else:
            sites[best] = old
            two_nearest(F, sites, near, first, second)
    return lost, value


@inner
def _two_cheapest(C, sites, i, first, second, near, next_):
    """The slots of the two cheapest of ``sites`` for resident i, and their costs."""
    for slot in range(sites.shape[0]):
        c = C[sites[slot], i]
        if c < first[i]:
            second[i] = first[i]
            next_[i] = near[i]
            first[i] = c
            near[i] = slot
        elif c < second[i]:
            second[i] = c
            next_[i] = slot


@kernel(signature="f8(f8[:,::1],i8[::1],i8,f8,i8[::1])", heavy=True)
def exchange(C, sites, n_free, most, order):
    """Swap sites while that lowers the sum of costs; return the sum.

    ``C`` (m, n) holds the costs, none above ``most``. The first ``n_free`` of ``sites`` may be swapped for those in
    ``order``. After a swap only residents who lose one of their two cheapest sites look at all sites again.
    """
    n = C.shape[1]
    k = sites.shape[0]
    first = np.full(n, most)
    second = np.full(n, most)
    near = np.zeros(n, np.int64)
    next_ = np.full(n, -1)
    loss = np.empty(k)
    gain = np.empty(k)
    open_ = np.zeros(C.shape[0], np.bool_)
    for slot in range(k):
        open_[sites[slot]] = True
    for i in range(n):
        _two_cheapest(C, sites, i, first, second, near, next_)
    total = first.sum()
    fresh = True
    waiting = order.shape[0]
    at = 0
    while waiting > 0:
        if fresh:
            loss[:] = 0.0
            for i in range(n):
                loss[near[i]] += second[i] - first[i]
            fresh = False
        new = order[at]
        at = (at + 1) % order.shape[0]
        waiting -= 1
        if open_[new]:
            continue
        gain[:] = 0.0
        always = 0.0
        row = C[new]
        for i in range(n):
            c = row[i]
            if c < second[i]:
                if c < first[i]:
                    always += first[i] - c
                    gain[near[i]] += second[i] - first[i]
                else:
                    gain[near[i]] += second[i] - c
        best = 0
        for slot in range(1, n_free):
            if gain[slot] - loss[slot] > gain[best] - loss[best]:
                best = slot
        if always + gain[best] - loss[best] <= LOWER * total:
            continue
        open_[sites[best]] = False
        open_[new] = True
        sites[best] = new
        for i in range(n):
            c = row[i]
            if near[i] == best or next_[i] == best:
                first[i] = most
                second[i] = most
                near[i] = 0
                next_[i] = -1
                _two_cheapest(C, sites, i, first, second, near, next_)
            elif c < first[i]:
                second[i] = first[i]
                next_[i] = near[i]
                first[i] = c
                near[i] = best
            elif c < second[i]:
                second[i] = c
                next_[i] = best
        before = total
        total = first.sum()
        if total >= before:  # gains from rounding alone would never end
            return total
        waiting = order.shape[0]
        fresh = True
    return total


@kernel(signature="f8(f8[::1],i1[::1],i8,b1[::1])")
def cheapest(rho, rule, k, chosen):
    """Sum of the k smallest of ``rho``, always with sites of rule 1 and never of rule -1; marks them in ``chosen``."""
    m = rho.shape[0]
    kept = np.empty(max(k, 1), np.int64)
    size = 0
    total = 0.0
    chosen[:] = False
    for j in range(m):
        if rule[j] == 1:
            chosen[j] = True
            total += rho[j]
            k -= 1
    for j in range(m):
        if rule[j] != 0 or k <= 0 or (size == k and rho[j] >= rho[kept[size - 1]]):
            continue
        at = size if size < k else k - 1
        size = min(size + 1, k)
        while at > 0 and rho[kept[at - 1]] > rho[j]:
            kept[at] = kept[at - 1]
            at -= 1
        kept[at] = j
    for q in range(size):
        chosen[kept[q]] = True
        total += rho[kept[q]]
    return total


@inner
def _copy(source, into):
    """Like into[:] = source, for which numba also compiles an error message; that would take three seconds."""
    for i in range(into.shape[0]):
        into[i] = source[i]


@kernel(signature="void(f8[:,::1],i4[:,::1],f8[::1],f8[::1])")
def reduced_costs(C, order, prices, rho):
    """rho_j = sum_i min(c_ij - price_i, 0), from sorted rows of costs."""
    rho[:] = 0.0
    for i in range(C.shape[0]):
        for q in range(C.shape[1]):
            if C[i, q] >= prices[i]:
                break
            rho[order[i, q]] += C[i, q] - prices[i]


@kernel(
    signature="Tuple((f8,i8))(f8[:,::1],i4[:,::1],i1[::1],i8,f8,f8[::1],f8[::1],i8,f8,f8[::1])", heavy=True
)
def ascend(C, order, rule, k, upper, pace, prices, steps, theta, best_prices):
    """Raise the Lagrangian bound sum_i price_i + min over k sites of sum_j rho_j by subgradient steps.

    ``pace`` scales the step of each price. Returns the best bound and the number of steps taken.
    """
    n = C.shape[0]
    m = rule.shape[0]
    rho = np.empty(m)
    chosen = np.empty(m, np.bool_)
    served = np.empty(n)
    trend = np.zeros(n)
    best = -np.inf
    stall = 0
    for step in range(steps):
        reduced_costs(C, order, prices, rho)
        bound = prices.sum() + cheapest(rho, rule, k, chosen)
        if bound > best:
            stall = 0 if bound > best + 1e-4 * abs(upper - best) else stall + 1
            best = bound
            _copy(prices, best_prices)
        else:
            stall += 1
        if stall > 8:
            theta *= 0.6
            stall = 0
            _copy(best_prices, prices)
            trend[:] = 0.0
            continue
        if upper - best <= 1e-9 * upper or theta < 1e-4:
            return best, step + 1
        size = 0.0
        for i in range(n):
            count = 0
            for q in range(C.shape[1]):
                if C[i, q] >= prices[i]:
                    break
                if chosen[order[i, q]]:
                    count += 1
            # some of the last direction keeps the steps from zigzagging
            trend[i] = (1.0 - count) + 0.3 * trend[i]
            served[i] = pace[i] * trend[i]
            size += served[i] * served[i]
        if size == 0.0:
            return best, step + 1
        move = theta * (upper - bound) / size
        for i in range(n):
            prices[i] = max(prices[i] + move * pace[i] * served[i], C[i, 0])
    return best, steps
