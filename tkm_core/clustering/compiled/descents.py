"""The compiled descent: a pass over all residents, a judgement of the last step, the next step, and so on."""

import numpy as np
from numba import types

from tkm_core.clustering.compiled.costs import cluster_cost, log_noise, note_costs
from tkm_core.clustering.compiled.kernel import by_address, inner, kernel
from tkm_core.clustering.compiled.records import (
    CITY,
    CLUSTER,
    CLUSTERS,
    LABELS,
    RULE,
    TABLE,
)
from tkm_core.clustering.compiled.rows import apart, copy_row, copy_rows, integers, square, table, zeros
from tkm_core.clustering.compiled.tilted_mean import EVERYONE, FAR, NOTHING, TOWARDS, newton_step

RETRY, NEXT, DONE = 0, 1, 2
EPS2 = 8e-31  # of the squared coordinates: what is nearer than that, four units of the last digit, may be rounding
HOPE = 5.0
# t f from which a Newton step is likely to overshoot: the exact tilted mean is taken at once
HOT_Z = 30.0
# kinds of a step
NONE, NEWTON, EXACT_OF_FAR, EXACT, RETRIED = 0, 1, 2, 3, 4

SWEEP = types.Tuple((types.int64, types.float64))(
    CITY, TABLE, RULE, types.int64, types.int64, LABELS, LABELS, CLUSTERS, TABLE, TABLE
)
JUDGE = types.int64(
    CITY, LABELS, LABELS, TABLE, TABLE, RULE, CLUSTERS, TABLE, TABLE, types.int64, types.boolean
)
STEPS = types.void(CITY, LABELS, TABLE, RULE, CLUSTERS, types.int64[::1], TABLE)
DESCEND = types.Tuple((types.int64, types.float64))(
    CITY, TABLE, RULE, LABELS, TABLE, types.int64, types.float64
)
call_sweep, call_judge, call_steps = by_address(SWEEP), by_address(JUDGE), by_address(STEPS)


@inner
def _go(centers, step, j, trial):
    """Write facility j, moved by its step, into ``trial``."""
    for a in range(step.shape[1]):
        trial[j, a] = centers[j, a] + step[j, a]


@kernel(heavy=True)
def judge_and_step(city, before, labels, centers, trial, rule, clusters, first, second, worst, begun):
    """Judge the centres ``trial`` just swept; set the next ones.

    A step after which a cluster's cost, for the labels it was made for, has not fallen enough is taken back (RETRY): a
    Newton step gives way to the exact tilted mean, or where t f is never large to half of itself; an exact one to none.
    Otherwise the trial is accepted into ``centers`` and the next steps are set (NEXT), or none is longer than the
    rule's ``tol`` times its cluster's radius (DONE).
    """
    X = city.X
    k, d = centers.shape
    t = rule.t
    small = rule.small
    noise = log_noise(t, small)
    wanted = integers(k)
    for j in range(k):
        wanted[j] = NOTHING
    step = zeros(k, d)
    exact = False
    retry = False
    for j in range(rule.n_free):
        own = clusters[j]
        if not begun or own.kind == NONE or t == 0.0:
            continue
        new = cluster_cost(own.top_before, own.mass_before, own.weight_before, 0.0, t, small)
        rounding = 1e-13 * own.top_before + noise
        if own.kind == NEWTON:
            enough = new <= own.cost_before + 1e-4 * own.slope or -own.slope <= rounding
        else:
            enough = new <= own.cost_before + rounding
        if enough:
            continue
        retry = True
        if own.kind == NEWTON and rule.steps == 0:
            own.slope *= 0.5
            for a in range(d):
                trial[j, a] = centers[j, a] + 0.5 * (trial[j, a] - centers[j, a])
        elif own.kind == EXACT:  # no better: stay
            own.kind = NONE
            copy_row(centers, j, trial, j)
        else:
            own.kind = RETRIED
            wanted[j] = EVERYONE
            exact = True
    if retry:
        if exact:
            call_steps(rule.steps, (city, before, centers, rule, clusters, wanted, step))
            for j in range(rule.n_free):
                if clusters[j].kind == RETRIED:
                    clusters[j].kind = EXACT
                    _go(centers, step, j, trial)
        return RETRY
    reopened = False
    for j in range(k):
        own = clusters[j]
        weight = own.weight
        top = own.top
        copy_row(trial, j, centers, j)
        rests = (own.kind > NEWTON or (own.kind == NONE and own.rests == 1)) and own.moved == 0.0
        own.rests = 1 if rests else 0
        own.kind = NONE
        own.left = 0.0
        own.slope = 0.0
        own.weight_before = weight
        if j >= rule.n_free or weight <= 0.0 or top <= 0.0:
            continue
        own.cost_before = cluster_cost(top, own.mass, weight, own.cost, t, small)
        hot = rule.steps != 0 and t * top > HOT_Z
        if rests and hot:
            continue
        if rule.wide and t > 0.0:
            own.kind = EXACT if hot else NEWTON
            wanted[j] = EVERYONE if hot else TOWARDS
            exact = True
            continue
        if t < np.inf:
            mass = weight + own.mass if small else own.mass
            own.slope = newton_step(mass, first, second, t, j, step)
            own.kind = NEWTON
        # a step too short to be taken tells how near the end is; any other may overshoot
        if hot and (t == np.inf or square(step, j) > rule.tol * rule.tol * top):
            own.slope = 0.0
            own.kind = EXACT_OF_FAR
            wanted[j] = FAR
            exact = True
    if exact:
        call_steps(rule.steps, (city, labels, centers, rule, clusters, wanted, step))
    longest = 0.0
    for j in range(rule.n_free):
        own = clusters[j]
        if own.kind != NONE:
            _go(centers, step, j, trial)
            length2 = square(step, j)
            rounding = length2 <= EPS2 * square(centers, j)
            if not (rounding and own.rounding == 1):
                own.left = np.sqrt(length2 / own.top)
            own.rounding = 1 if rounding else 0
            longest = max(longest, own.left)
        elif own.weight <= 0.0 and worst >= 0 and not reopened:
            # a facility nobody uses reopens at the costliest resident, one at a time
            reopened = apart(X, worst, centers, labels[worst]) > EPS2 * square(X, worst)
            if reopened:
                copy_row(X, worst, trial, j)
    if longest <= rule.tol and not reopened:
        copy_rows(centers, trial)
        return DONE
    return NEXT


@kernel(heavy=True)
def descend(city, centers, rule, labels, history, column, bar):
    """Nearest assignment and tilted means in turn from ``centers`` (changed in place) until a fixed point.

    Returns the number of steps taken and the longest step that is left, relative to its cluster's radius; a row of
    ``history`` takes city-wide cost, tilted SSE and SSE of each iterate, and its length is the most steps. Gives up
    early if HOPE more drops as large as the last would still leave that ``column`` above ``bar``.
    """
    n = city.X.shape[0]
    k, d = centers.shape
    before = np.empty(n, np.int32)
    for i in range(n):
        before[i] = -1
    trial = table(k, d)
    copy_rows(centers, trial)
    clusters = np.empty(k, CLUSTER)
    for j in range(k):
        own = clusters[j]
        own.kind = NONE
        own.rests = 0
        own.rounding = 0
    first = table(k, d)
    second = table(k, 0 if rule.wide else d * d)
    it = 0
    while True:
        worst, _ = call_sweep(rule.sweep, (city, trial, rule, 0, n, before, labels, clusters, first, second))
        state = call_judge(
            rule.judge, (city, before, labels, centers, trial, rule, clusters, first, second, worst, it > 0)
        )
        if state == RETRY:
            continue
        note_costs(clusters, rule.t, rule.small, history[it])
        left = 0.0
        for j in range(k):
            left = max(left, clusters[j].left)
        last = state == DONE or it == history.shape[0] - 1 or rule.stop[0] != 0
        if it > 1 and history[it, column] - HOPE * (history[it - 1, column] - history[it, column]) > bar:
            last = True
        if last:
            return it, left
        it += 1
        for i in range(n):
            before[i] = labels[i]
