"""Prices from a linear program with row generation; `tree` branches on what it leaves open.

    minimise sum_i theta_i   such that   sum_j y_j = k,   0 <= y_j <= 1,
    theta_i >= D_q - sum_{j nearer than the q-th} (D_q - c_ij) y_j,      D_q the q-th smallest cost of resident i

This is Benders' decomposition of the p-median problem; for given y, the most violated q is where the openings, added up
from the nearest site, reach 1. The dual weights of the rows of resident i, applied to their D_q, are the best prices
for ``pricing``. The bound is always computed from prices there, so the solver's tolerances cannot make it wrong.
"""

from dataclasses import dataclass, replace

import highspy
import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.sites.pricing import CLOSED, Priced, Rule
from tkm_core.sites.solver import INFINITE, Deadline, add_rows, new_model, run

BROKEN = 1e-6  # how far a row may be violated, where the average cost is 1
ROUNDS = 200  # of row generation at one node
STALLED = 10  # rounds in a row that did not raise the bound: more will not either
FIRST = 120  # sites of the first program, in addition to those of known plans
STEPS = 20


@dataclass
class Bounded:
    """What is known about the plans allowed by a rule: bound, prices, openings of the linear program."""

    bound: float
    prices: Floats
    rho: Floats
    y: Floats


class Master:
    """The linear program for one set of costs; rows once found are kept for all rules."""

    def __init__(self, priced: Priced, k: int, prices: Floats) -> None:
        self.priced, self.k = priced, k
        n, self.m = priced.C.shape
        self.unit = priced.upper / n or 1.0
        self.C = priced.C / self.unit
        self.model = new_model()
        model, m = self.model, self.m
        model.addVars(
            m + n,
            np.concatenate([np.zeros(m), self.C[:, 0]]),
            np.concatenate([np.ones(m), np.full(n, INFINITE)]),
        )
        model.changeColsCost(n, np.arange(m, m + n, dtype=np.int32), np.ones(n))
        add_rows(model, [m], np.arange(m), np.ones(m), np.array([float(k)]), np.array([float(k)]))
        self.rows, self.levels = [np.array([-1])], [np.array([0.0])]
        at = np.minimum((prices[:, None] > priced.C).sum(axis=1), m - 1)
        self._cut(np.arange(n), at)
        self._cut(np.arange(n), np.maximum(at - 1, 0))

    def _cut(self, rows: Ints, at: Ints) -> None:
        """The inequality of each of ``rows`` at its level ``at``."""
        rows, at = rows[at > 0], at[at > 0]
        level = self.C[rows, at]
        value = level[:, None] - self.C[rows]
        used = (np.arange(self.m) < at[:, None]) & (value > 0)
        columns = np.column_stack([self.priced.order[rows], self.m + rows])
        used = np.column_stack([used, np.ones(len(rows), dtype=bool)])
        values = np.column_stack([value, np.ones(len(rows))])
        add_rows(
            self.model, used.sum(axis=1), columns[used], values[used], level, np.full(len(rows), INFINITE)
        )
        self.rows.append(rows)
        self.levels.append(level)

    def solve(self, rule: Rule, start: Floats, deadline: Deadline) -> Bounded:
        """The best bound for plans allowed by a rule, starting from given prices."""
        priced, m = self.priced, self.m
        low, high = (rule == 1).astype(float), (rule != -1).astype(float)
        self.model.changeColsBounds(m, np.arange(m, dtype=np.int32), low, high)
        bound, rho, chosen = priced.bound(start, rule, self.k)
        best = Bounded(bound, start, rho, chosen.astype(float))
        inner = best.y.copy()
        stalled = 0
        for _ in range(ROUNDS):
            if best.bound >= priced.goal or deadline.left <= 0:
                break
            if run(self.model, deadline) != highspy.HighsModelStatus.kOptimal:
                if self.model.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
                    best.bound = np.inf  # the rule allows no plan
                break
            solution = self.model.getSolution()
            y, theta = np.asarray(solution.col_value)[:m], np.asarray(solution.col_value)[m:]
            prices = self._prices(np.asarray(solution.row_dual))
            bound, rho, _ = priced.bound(prices, rule, self.k)
            before = best.bound
            if bound > best.bound:
                best = Bounded(bound, prices, rho, y)
            best.y = y
            at, cost = self._serve(y)
            broken = np.flatnonzero(cost > theta + BROKEN)
            stalled = 0 if best.bound - before > 1e-6 * (priced.upper - best.bound) else stalled + 1
            if not len(broken) or stalled > STALLED:
                break
            # also at an average of the openings so far: rows found only at corners come and go
            inner = 0.5 * (inner + y)
            self._cut(broken, at[broken])
            other, cost = self._serve(inner)
            differs = np.flatnonzero((other != at) & (cost > BROKEN))
            self._cut(differs, other[differs])
        return best

    def _serve(self, y: Floats) -> tuple[Ints, Floats]:
        """Where the openings reach 1 in each resident's order, and the cost of being served up to there."""
        opened = y[self.priced.order]
        filled = np.cumsum(opened, axis=1)
        at = (filled >= 1 - 1e-9).argmax(axis=1)
        level = self.C[np.arange(len(at)), at]
        before = np.arange(self.m) < at[:, None]
        return at, level - np.where(before, (level[:, None] - self.C) * opened, 0.0).sum(axis=1)

    def _prices(self, duals: Floats) -> Floats:
        """Prices of the residents from the duals of their rows."""
        rows, levels = np.concatenate(self.rows), np.concatenate(self.levels)
        used = rows >= 0
        weight = np.maximum(duals[used], 0.0)
        n = len(self.C)
        share = np.bincount(rows[used], weight, n)
        paid = np.bincount(rows[used], weight * levels[used], n)
        # the remaining weight belongs to theta's own lower limit
        return (paid + np.maximum(1.0 - share, 0.0) * self.C[:, 0]) / np.maximum(share, 1.0) * self.unit


def programmed(
    priced: Priced, k: int, start: Bounded, rule: Rule, useful: Ints, goal: float, deadline: Deadline
) -> Bounded:
    """The best bound of the linear program over all sites, solved over the few that matter.

    The program has the ``useful`` sites and the most promising others. Its prices are evaluated over all sites, and
    sites that earn too much at them are added. Between rounds, intermediate prices and a few subgradient steps are
    tried too. It ends when the bound reaches ``goal``.
    """
    m = len(rule)
    core = rule == 1
    core[useful] = True
    best = start
    wanted = max(FIRST, 4 * k)
    for _ in range(ROUNDS):
        core[np.argsort(best.rho, kind="stable")[:wanted]] = True
        few = rule.copy()
        few[~core] = -1
        small, names = narrowed(priced, few)
        found = Master(small, k, best.prices).solve(few[names], best.prices, deadline)
        before = best.bound
        for share in (1.0, 0.5, 0.2):
            prices = (1 - share) * best.prices + share * found.prices
            bound, rho, chosen = priced.bound(prices, rule, k)
            core |= chosen
            if bound > best.bound:
                best = Bounded(bound, prices, rho, best.y)
        prices = priced.ascend(best.prices, rule, k, STEPS, 0.3)
        bound, rho, chosen = priced.bound(prices, rule, k)
        core |= chosen
        if bound > best.bound:
            best = Bounded(bound, prices, rho, best.y)
        open_ = min(found.bound, priced.upper) - best.bound
        if open_ <= CLOSED * priced.upper or best.bound >= goal or deadline.left <= 0 or core.all():
            break
        if best.bound - before < 1e-3 * open_:
            wanted *= 2
    best.y = np.zeros(m)
    best.y[names] = found.y
    return best


def settled(priced: Priced, k: int, found: Bounded, rule: Rule) -> Rule:
    """The rule with sites fixed by reduced costs: those that no better plan has, and those that all have."""
    bound, rho, chosen = priced.bound(found.prices, rule, k)
    free = rule == 0
    inside, outside = free & chosen, free & ~chosen
    new = rule.copy()
    if inside.any() and outside.any():
        new[outside & (bound - rho[inside].max() + rho > priced.goal)] = -1
        new[inside & (bound - rho + rho[outside].min() > priced.goal)] = 1
    return new


def narrowed(priced: Priced, rule: Rule) -> tuple[Priced, Ints]:
    """The problem without the excluded sites, and the indices of those that are left."""
    keep = rule != -1
    names = np.flatnonzero(keep)
    renumber = np.cumsum(keep, dtype=np.int32) - 1
    n = len(priced.C)
    kept = keep[priced.order]
    order = renumber[priced.order[kept]].reshape(n, -1).astype(np.int32)
    C = priced.C[kept].reshape(n, -1)
    return replace(priced, order=order, C=C), names
