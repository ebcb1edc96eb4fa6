"""The exact pass: sums of each cluster for all t at once, from cells and from single rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from tkm_core.arrays import Bools, Floats, Labels
from tkm_core.clustering.compiled.kernel import address_of
from tkm_core.clustering.compiled.passes import NEAREST, find_nearest, sweep
from tkm_core.clustering.compiled.records import City, Rule, frozen
from tkm_core.clustering.descent import CHUNK, merge
from tkm_core.clustering.frame import Frame
from tkm_core.clustering.streamed.cells import Sums
from tkm_core.clustering.streamed.compiled import find_rows, note_farthest, take_rows
from tkm_core.clustering.streamed.grid import Grid
from tkm_core.partitions import Block

WORD = 64
GATHERED = 1 << 19  # rows collected before they are summed
SECTORS = 16  # directions in which the farthest row of a cluster is recorded, on a map


@dataclass(frozen=True)
class Ask:
    """What a pass has to compute.

    Attributes
    ----------
    frame : Frame
    centers : array (m, k, d)
        In the solver's coordinates.
    tilts : array (m,)
    small : bool array (m,)
        Settings at which sums are kept as e^{t f} - 1.
    hot : bool array (m,)
        Settings at which the farthest rows decide, so that they are recorded.
    grid : Grid or None
    looked_at : uint64 array (cells, words) or None
        Bit i of a cell says whether its rows are summed at setting i. None: all rows at every setting.
    """

    frame: Frame
    centers: Floats
    tilts: Floats
    small: Bools
    hot: Bools
    grid: Grid | None = None
    looked_at: NDArray[np.uint64] | None = None

    @cached_property
    def somewhere(self) -> Bools:
        """The cells that are looked at at any setting: a table so small that it stays near the processor."""
        return np.asarray(np.zeros(0, np.bool_) if self.looked_at is None else self.looked_at.any(axis=1))


@dataclass(frozen=True)
class Found:
    """The results of a pass: the sums, and the farthest rows at hot settings.

    Attributes
    ----------
    sums : Sums
    far : array (m, k, sectors)
        Squared distances of the farthest rows; -1 if there is none.
    rows : array (m, k, sectors, d + 1)
        Their coordinates and weights.
    weight : float
        Total weight of all rows.
    """

    sums: Sums
    far: Floats
    rows: Floats
    weight: float


def bits(rows: Bools) -> NDArray[np.uint64]:
    """A boolean table (m, cells) packed into words (cells, words)."""
    m, cells = rows.shape
    words = np.zeros((cells, -(-m // WORD)), np.uint64)
    for i in range(m):
        words[:, i // WORD] |= rows[i].astype(np.uint64) << np.uint64(i % WORD)
    return words


def look(blocks: Iterator[Block], ask: Ask) -> Found:
    """Sum the rows that the pass has to read."""
    m, k, d = ask.centers.shape
    sectors = SECTORS if d == 2 else 2 * d
    found = Found(Sums.zeros(m, k, d), np.full((m, k, sectors), -1.0), np.zeros((m, k, sectors, d + 1)), 0.0)
    waiting: list[tuple[Floats, Floats, NDArray[np.uint64]]] = []
    count = 0
    for block in blocks:
        found = replace(found, weight=found.weight + float(block.weights.sum()))
        some = _looked_at(block, ask)
        if len(some[0]):
            waiting.append(some)
            count += len(some[0])
        if count >= GATHERED:
            found = _sum_up(waiting, ask, found)
            waiting, count = [], 0
    return _sum_up(waiting, ask, found) if waiting else found


def _looked_at(block: Block, ask: Ask) -> tuple[Floats, Floats, NDArray[np.uint64]]:
    """The rows of a block that the pass has to look at, their weights, and at which settings."""
    X, weights = np.ascontiguousarray(ask.frame.inside(block.X)), block.weights
    if ask.grid is None or ask.looked_at is None:
        live = weights > 0
        everywhere = np.full((1, -(-len(ask.tilts) // WORD)), ~np.uint64(0))
        return X[live], weights[live], np.repeat(everywhere, int(live.sum()), axis=0)
    rows, cells = np.empty((2, len(X)), np.int64)
    count = find_rows(X, weights, *ask.grid.lookup, ask.somewhere, rows, cells)
    rows = rows[:count]
    return X[rows], weights[rows], ask.looked_at[cells[:count]]


def _sum_up(waiting: list[tuple[Floats, Floats, NDArray[np.uint64]]], ask: Ask, found: Found) -> Found:
    """Add collected rows at every setting."""
    X, weights, words = (np.concatenate(each) for each in zip(*waiting, strict=True))
    m, k, d = ask.centers.shape
    new = Sums.zeros(m, k, d)
    into, people = np.empty((len(X) + 1, d)), np.empty(len(X) + 1)
    for i in range(m):
        count = take_rows(X, weights, words, i, into, people)
        for at in range(0, count, CHUNK):
            part = slice(at, min(at + CHUNK, count))
            one = Sums.zeros(1, k, d)
            labels = sum_of(
                into[part], people[part], ask.centers[i], ask.tilts[i], one, small=bool(ask.small[i])
            )
            _add(new, i, one, ask.tilts[i], small=bool(ask.small[i]))
            if ask.hot[i]:
                centers = np.ascontiguousarray(ask.centers[i])
                note_farthest(into[part], people[part], labels, centers, found.far[i], found.rows[i])
    return replace(found, sums=together(ask, [found.sums, new]))


def rule_of(t: float, *, small: bool) -> Rule:
    """The rule for a sweep; the addresses are those of this process."""
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
    """Add the sums of one setting to those of the i-th, scaled to their common largest exponent."""
    parts = np.stack([sums.clusters[i], one.clusters[0]])
    first, second = np.stack([sums.first[i], one.first[0]]), np.stack([sums.second[i], one.second[0]])
    sums.first[i], sums.second[i] = merge(parts, first, second, rule_of(t, small=small), sums.clusters[i])


def together(ask: Ask, parts: list[Sums]) -> Sums:
    """Merge the sums of several parts, at every setting."""
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
    """Merge the results of several parts of a pass."""
    far, rows = parts[0].far.copy(), parts[0].rows.copy()
    for part in parts[1:]:
        farther = part.far > far
        far[farther], rows[farther] = part.far[farther], part.rows[farther]
    return Found(together(ask, [part.sums for part in parts]), far, rows, sum(part.weight for part in parts))


def merging(ask: Ask) -> "partial[Found]":
    """The function that merges the results of parts, without the large tables of the pass."""
    return partial(_merged, replace(ask, grid=None, looked_at=None))
