"""How far residents must go to meet a share of the population, compiled."""

import numpy as np

from tkm_core.clustering.compiled.kernel import kernel


@kernel(heavy=True)
def fill_reach(points, weights, target, start, stop, squared):
    """Squared distance at which rows start..stop meet ``target``, by weighted quickselect on each row."""
    n, d = points.shape
    f = np.empty(n)
    w = np.empty(n)
    for i in range(start, stop):
        for j in range(n):
            total = 0.0
            for q in range(d):
                a = points[i, q] - points[j, q]
                total += a * a
            f[j] = total
            w[j] = weights[j]
        low, high, held = 0, n, 0.0
        while True:
            first, middle, last = f[low], f[(low + high) // 2], f[high - 1]
            pivot = max(min(first, middle), min(max(first, middle), last))
            # less than the pivot in [low, less), equal in [less, more), greater in [more, high)
            less, at, more = low, low, high
            below, equal = 0.0, 0.0
            while at < more:
                if f[at] < pivot:
                    below += w[at]
                    f[at], f[less] = f[less], f[at]
                    w[at], w[less] = w[less], w[at]
                    less += 1
                    at += 1
                elif f[at] > pivot:
                    more -= 1
                    f[at], f[more] = f[more], f[at]
                    w[at], w[more] = w[more], w[at]
                else:
                    equal += w[at]
                    at += 1
            if held + below >= target and less > low:
                high = less
            elif held + below + equal >= target or more == high:
                squared[i] = pivot
                break
            else:
                held += below + equal
                low = more
