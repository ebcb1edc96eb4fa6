"""Prices of the Lagrangian bound over cells, raised by a bundle method.

For any prices, sum_i price_i + the k smallest of rho_a = sum_i min(V_ai - price_i, 0) bounds the cost of every plan
from below: its facilities lie in at most k cells. Each cell a with its residents S = {i: V_ai < price_i} is a column:
rho_a is at most sum_{i in S} (V_ai - price_i) at any other prices. The next prices are the best ones for the columns
known, less a penalty on the way from the best prices so far; the shares in which columns are used come from a quadratic
program. Only the bound at the prices found counts, so the program need not be solved exactly.
"""

from dataclasses import dataclass

import numpy as np

from tkm_core.arrays import Floats, Ints, Labels
from tkm_core.sites.plane_bound import compiled
from tkm_core.sites.solver import Deadline

COLUMNS = 240  # kept at most, besides the newest
MOVES = 3_000  # of pairs in one quadratic program
ENOUGH = 0.1  # share of the predicted gain for which the prices are adopted
PATIENCE = 8  # rounds over which the gain is judged
SMALLEST = 4  # cells that become columns wherever they lie, besides the best of each region


@dataclass
class Priced:
    """Prices, the bound and the reduced costs there, shares of the cells, and the length of steps for next time."""

    prices: Floats
    bound: float
    rho: Floats
    opened: Floats
    step: float


def least(rho: Floats, k: int) -> float:
    """The sum of the k smallest reduced costs."""
    return float(np.partition(rho, k - 1)[:k].sum() if len(rho) > k else rho.sum())


def raised(
    V: Floats,
    k: int,
    prices: Floats,
    ceiling: Floats,
    region: Labels,
    upper: float,
    goal: float,
    step: float,
    rounds: int,
    deadline: Deadline,
) -> Priced:
    """Raise the bound over cells with costs ``V``; ends if a round promises less than ``goal`` of the remaining gap.

    ``region`` says which facility of the best plan is nearest to each cell; each region gives a column in every round.
    """
    m, n = V.shape
    k = min(k, m)
    floor = np.minimum(V.min(axis=0), ceiling)
    center = np.clip(prices, floor, ceiling)
    rho = np.empty(m)
    compiled.reduced(V, center, rho)
    best = float(center.sum()) + least(rho, k)
    kept = rho.copy()
    pace = np.maximum(center, 1e-3 * float(center.mean()) + 1e-300)
    A: Floats = np.zeros((1, n))
    b: Floats = np.zeros(1)
    names: Ints = np.array([-1])
    alpha: Floats = np.array([float(k)])
    most, idle = alpha.copy(), np.zeros(1, np.int64)
    G = np.zeros((1, 1))
    at, seen = center, rho
    order = np.argsort(region, kind="stable")
    starts = np.flatnonzero(np.diff(region[order], prepend=-1))
    history: list[float] = []
    for number in range(rounds):
        new = _columns(seen, order, starts)
        inside = V[new] < at
        used = inside.any(axis=1)
        new, inside = new[used], inside[used].astype(float)
        fresh = len(new)
        if fresh:
            weighted = inside * pace
            across = weighted @ A.T
            G = np.block([[G, across.T], [across, weighted @ inside.T]])
            A = np.vstack([A, inside])
            b = np.append(b, (V[new] * inside).sum(axis=1))
            names = np.append(names, new)
            alpha, most = np.append(alpha, np.zeros(fresh)), np.append(most, np.ones(fresh))
            idle = np.append(idle, np.zeros(fresh, np.int64))
        slack = b - A @ center
        compiled.balance(np.ascontiguousarray(G * step), slack - step * (A @ pace), most, alpha, MOVES)
        at = np.clip(center + step * pace * (1.0 - alpha @ A), floor, ceiling)
        promised = float(at.sum()) + float(alpha @ (b - A @ at)) - best
        compiled.reduced(V, at, rho)
        seen = rho
        bound = float(at.sum()) + least(rho, k)
        if bound > best:
            long = bound - best > 0.5 * promised
            if bound - best > ENOUGH * promised:
                step *= 1.6 if long else 1.0
            center, best, kept = at, bound, rho.copy()
        elif best - bound > promised:
            step *= 0.6
        history.append(best)
        if number > PATIENCE and best - history[-PATIENCE] < goal * (upper - best):
            break
        if promised < goal * (upper - best):
            step *= 1.5
        if best >= upper or deadline.left <= 0:
            break
        deadline.say()
        idle = np.where(alpha > 1e-9, 0, idle + 1)
        if len(idle) > COLUMNS + k:
            keep = np.sort(np.argsort(idle[1:], kind="stable")[:COLUMNS] + 1)
            keep = np.append(0, keep[(idle[keep] < 20) | (alpha[keep] > 0)])
            alpha[0] += alpha.sum() - alpha[keep].sum()
            A, b, names = A[keep], b[keep], names[keep]
            alpha, most, idle = alpha[keep], most[keep], idle[keep]
            G = np.ascontiguousarray(G[np.ix_(keep, keep)])
    opened = np.bincount(names[1:], alpha[1:], m).astype(np.float64)
    return Priced(center, best, kept, opened, step)


def _columns(rho: Floats, order: Ints, starts: Ints) -> Ints:
    """The cell of least reduced cost in each region, and a few of the least of all."""
    sorted_ = rho[order]
    ends = np.append(starts[1:], len(order))
    firsts = [order[s + int(sorted_[s:e].argmin())] for s, e in zip(starts, ends, strict=True)]
    few = np.argpartition(rho, min(SMALLEST, len(rho) - 1))[:SMALLEST]
    return np.unique(np.concatenate([firsts, few]))
