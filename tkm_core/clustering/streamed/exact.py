"""The exact pass: sums of each cluster at every setting of the dial at once, from cells and from single rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tkm_core.arrays import Bools, Floats, Labels
from tkm_core.clustering.compiled.kernel import address_of
from tkm_core.clustering.compiled.passes import NEAREST, find_nearest, sweep
from tkm_core.clustering.compiled.records import City, Rule, frozen
from tkm_core.clustering.descent import CHUNK, merge
from tkm_core.clustering.frame import Frame
from tkm_core.clustering.streamed.cells import Sums
from tkm_core.clustering.streamed.grid import Grid
from tkm_core.partitions import Block

WORD = 64
GATHERED = 1 << 18  # rows that are gathered before they are summed
SECTORS = 16  # directions in which the farthest row of a cluster is noted, on a map


@dataclass(frozen=True)
class Ask:
    """What a pass is to sum up.

    Attributes
    ----------
    frame : Frame
    centers : array (m, k, d)
        In the solver's coordinates.
    tilts : array (m,)
    small : bool array (m,)
        Where sums are kept as e^{t f} - 1.
    hot : bool array (m,)
        Where the rows farthest out decide: they are noted.
    grid : Grid or None
    looked_at : uint64 array (cells, words) or None
        Bit i of a cell: its rows count at setting i. Without it all rows do, at every setting.
    """

    frame: Frame
    centers: Floats
    tilts: Floats
    small: Bools
    hot: Bools
    grid: Grid | None = None
    looked_at: NDArray[np.uint64] | None = None


@dataclass(frozen=True)
class Found:
    """What a pass found: the sums, and where it is hot the rows farthest out.

    Attributes
    ----------
    sums : Sums
    far : array (m, k, sectors)
        Their squared distances, -1 where there is none.
    rows : array (m, k, sectors, d + 1)
        Their coordinates and weights.
    weight : float
        Of all rows.
    """

    sums: Sums
    far: Floats
    rows: Floats
    weight: float


def bits(rows: Bools) -> NDArray[np.uint64]:
    """A table (m, cells) of yes and no as words (cells, words)."""
    m, cells = rows.shape
    words = np.zeros((cells, -(-m // WORD)), np.uint64)
    for i in range(m):
        words[:, i // WORD] |= rows[i].astype(np.uint64) << np.uint64(i % WORD)
    return words


def look(blocks: Iterator[Block], ask: Ask) -> Found:
    """Sum up the rows that the pass has to look at."""
    m, k, d = ask.centers.shape
    sectors = SECTORS if d == 2 else 2 * d
    found = Found(Sums.zeros(m, k, d), np.full((m, k, sectors), -1.0), np.zeros((m, k, sectors, d + 1)), 0.0)
    waiting: list[tuple[Floats, Floats, NDArray[np.uint64] | None]] = []
    count = 0
    for block in blocks:
        live = block.weights > 0
        X, weights = (block.X, block.weights) if live.all() else (block.X[live], block.weights[live])
        found = replace(found, weight=found.weight + float(weights.sum()))
        X = ask.frame.inside(X)
        words = None
        if ask.grid is not None and ask.looked_at is not None:
            words = ask.looked_at[ask.grid.bins(np.ascontiguousarray(X))]
            some = words.any(axis=1)
            X, weights, words = X[some], weights[some], words[some]
        if len(X):
            waiting.append((X, weights, words))
            count += len(X)
        if count >= GATHERED:
            found = _sum_up(waiting, ask, found)
            waiting, count = [], 0
    return _sum_up(waiting, ask, found) if waiting else found


def _sum_up(waiting: list[tuple[Floats, Floats, NDArray[np.uint64] | None]], ask: Ask, found: Found) -> Found:
    """Add gathered rows at every setting."""
    X, weights = (np.concatenate([each[part] for each in waiting]) for part in (0, 1))
    words = (
        None
        if waiting[0][2] is None
        else np.concatenate([each[2] for each in waiting if each[2] is not None])
    )
    m, k, d = ask.centers.shape
    new = Sums.zeros(m, k, d)
    for i in range(m):
        some: Any = slice(None)
        if words is not None:
            some = (words[:, i // WORD] & (np.uint64(1) << np.uint64(i % WORD))) != 0
        points, people = X[some], weights[some]
        for at in range(0, len(points), CHUNK):
            part = slice(at, at + CHUNK)
            one = Sums.zeros(1, k, d)
            labels = sum_of(
                points[part], people[part], ask.centers[i], ask.tilts[i], one, small=bool(ask.small[i])
            )
            _add(new, i, one, ask.tilts[i], small=bool(ask.small[i]))
            if ask.hot[i]:
                _note_farthest(
                    points[part], people[part], labels, ask.centers[i], found.far[i], found.rows[i]
                )
    return replace(found, sums=together(ask, [found.sums, new]))


def rule_of(t: float, *, small: bool) -> Rule:
    """What a sweep needs to know; addresses are those of this process."""
    return Rule(
        t=float(t), small=bool(small), n_free=0, tol=0.0, nearest=address_of(find_nearest, NEAREST), sweep=0, judge=0,
        steps=0, mean=0, wide=False, stop=np.zeros(1, np.int64),
    )  # fmt: skip


def sum_of(X: Floats, weights: Floats, centers: Floats, t: float, into: Sums, *, small: bool) -> Labels:
    """The sums of some rows at one setting; returns the nearest facility of each row."""
    labels, before = np.empty(len(X), np.int32), np.full(len(X), -1, np.int32)
    city, rule = City(frozen(X), frozen(weights)), rule_of(t, small=small)
    sums = into.clusters[0], into.first[0], into.second[0]
    sweep(city, np.ascontiguousarray(centers), rule, 0, len(X), before, labels, *sums)
    return labels


def _add(sums: Sums, i: int, one: Sums, t: float, *, small: bool) -> None:
    """Add the sums of one setting to those of the i-th, at their common top."""
    parts = np.stack([sums.clusters[i], one.clusters[0]])
    first, second = np.stack([sums.first[i], one.first[0]]), np.stack([sums.second[i], one.second[0]])
    sums.first[i], sums.second[i] = merge(parts, first, second, rule_of(t, small=small), sums.clusters[i])


def together(ask: Ask, parts: list[Sums]) -> Sums:
    """The sums of several parts as those of one, at every setting."""
    m, k, d = ask.centers.shape
    whole = Sums.zeros(m, k, d)
    for i in range(m):
        clusters, first, second = (
            np.stack([each[i] for each in table])
            for table in zip(*((part.clusters, part.first, part.second) for part in parts), strict=True)
        )
        rule = rule_of(ask.tilts[i], small=bool(ask.small[i]))
        whole.first[i], whole.second[i] = merge(clusters, first, second, rule, whole.clusters[i])
    return whole


def _merged(ask: Ask, parts: list[Found]) -> Found:
    """What several parts of a pass found as what one did."""
    far, rows = parts[0].far.copy(), parts[0].rows.copy()
    for part in parts[1:]:
        farther = part.far > far
        far[farther], rows[farther] = part.far[farther], part.rows[farther]
    return Found(together(ask, [part.sums for part in parts]), far, rows, sum(part.weight for part in parts))


def merging(ask: Ask) -> "partial[Found]":
    """The function that merges what parts of this pass found; the large tables of the pass are not needed for it."""
    return partial(_merged, replace(ask, grid=None, looked_at=None))


def _note_farthest(
    X: Floats, weights: Floats, labels: Labels, centers: Floats, far: Floats, rows: Floats
) -> None:
    """Note, for each cluster and direction, the row that lies farthest out."""
    k, sectors = far.shape
    u = X - centers[labels]
    f = (u**2).sum(axis=1)
    if X.shape[1] == 2:
        turn = np.arctan2(u[:, 1], u[:, 0]) / (2 * np.pi) + 0.5
        sector = np.minimum((turn * sectors).astype(np.int64), sectors - 1)
    else:
        axis = np.abs(u).argmax(axis=1)
        sector = 2 * axis + (np.take_along_axis(u, axis[:, None], axis=1)[:, 0] > 0)
    key = labels.astype(np.int64) * sectors + sector
    order = np.lexsort((f, key))
    last = order[np.append(np.flatnonzero(np.diff(key[order])), len(order) - 1)]
    flat, places = far.reshape(-1), rows.reshape(k * sectors, -1)  # views
    better = last[f[last] > flat[key[last]]]
    flat[key[better]] = f[better]
    places[key[better]] = np.column_stack([X[better], weights[better]])
