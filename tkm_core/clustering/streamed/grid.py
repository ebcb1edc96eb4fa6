"""The first passes over data beyond memory: the range of the rows, and the moments of the cells of a grid."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tkm_core.arrays import Floats, Ints
from tkm_core.clustering.descent import box
from tkm_core.clustering.frame import Frame
from tkm_core.clustering.streamed.compiled import add_moments, find_bins
from tkm_core.partitions import Block, PartitionError, Passes, Piece, Rows
from tkm_core.progress import Progress, silent

SIDES = {1: 1 << 16, 2: 512, 3: 64}  # cells along each axis
SLOTS, MOST_SLOTS = 64, 1 << 20  # equal parts of an axis for each cell along it: most lie in one cell
ROUNDING = 1e-12  # of the range: a row so near to the edge of a part may be counted to its neighbour
SAMPLE = 50_000  # rows sampled to place the grid; in more than three dimensions they stand for all rows
OUTER = 2_500  # in that case, rows farthest from the middle that stand for themselves
LOOKED_AT = 32  # pieces sampled if the range is known without a pass


@dataclass(frozen=True)
class Survey:
    """What is known of the rows before they are condensed: their box, their number, and a sample."""

    low: Floats
    high: Floats
    count: int
    sample: Floats
    people: Floats  # weights of the sample, times the number of rows each stands for


@dataclass(frozen=True)
class FirstBlock:
    """The first block of a piece; the others are not read."""

    piece: Piece
    n_rows: int | None = None

    @property
    def name(self) -> str:
        """The name of the piece."""
        return self.piece.name

    def blocks(self) -> Iterator[Block]:
        """The block."""
        yield from islice(self.piece.blocks(), 1)

    def delayed(self) -> "FirstBlock":
        """The piece itself: only files state their range without a pass, and workers read those themselves."""
        return self


def survey(passes: Passes, report: Progress = silent) -> Survey:
    """Find the range and take a sample; only from a few pieces if the files state their range."""
    rows = passes.rows
    if rows.box is not None and rows.n_rows is not None and rows.n_columns in SIDES:
        every = max(1, len(rows.pieces) // LOOKED_AT)
        some = Rows(rows.name, rows.n_columns, tuple(FirstBlock(piece) for piece in rows.pieces[::every]))
        found = Passes(some, passes.client)(_look, _together, None, report, "Looking at the data")
        return Survey(*rows.box, rows.n_rows, found.sample, found.people)
    found = passes(_look, _together, None, report, "Finding where the rows lie")
    if found.count == 0:
        msg = f"{rows.name} has no rows with a weight above 0; at least one resident must count."
        raise PartitionError(msg)
    return found


def _look(blocks: Iterator[Block], _: None) -> Survey:
    """The box of some rows and every m-th of them."""
    parts = [_of_block(block) for block in blocks]
    return (
        _together(parts) if parts else Survey(np.array([]), np.array([]), 0, np.empty((0, 0)), np.array([]))
    )


def _of_block(block: Block) -> Survey:
    """The survey of one block."""
    live = block.weights > 0
    X, weights = (block.X, block.weights) if live.all() else (block.X[live], block.weights[live])
    low, high = box(X) if len(X) else (np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf))
    every = max(1, -(-len(X) // 4096))
    return Survey(low, high, len(X), X[::every], weights[::every] * every)


def _together(parts: list[Survey]) -> Survey:
    """Merge surveys; the sample is thinned evenly to a limited size."""
    parts = [part for part in parts if part.count]
    if not parts:
        return Survey(np.array([]), np.array([]), 0, np.empty((0, 0)), np.array([]))
    sample = np.concatenate([part.sample for part in parts])
    people = np.concatenate([part.people for part in parts])
    every = -(-len(sample) // SAMPLE)
    return Survey(
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        sum(part.count for part in parts),
        sample[::every],
        people[::every] * every,
    )


def outermost(blocks: Iterator[Block], middle: Floats) -> tuple[Floats, Floats, Floats]:
    """The rows farthest from the middle, with weights and squared distances, since a sample may miss them."""
    found = [(np.empty((0, len(middle))), np.empty(0), np.empty(0))]
    for block in blocks:
        live = block.weights > 0
        X, weights = block.X[live], block.weights[live]
        found = [outer_of([*found, (X, weights, ((X - middle) ** 2).sum(axis=1))])]
    return found[0]


def outer_of(parts: list[tuple[Floats, Floats, Floats]]) -> tuple[Floats, Floats, Floats]:
    """The farthest of several parts."""
    X, weights, f = (np.concatenate([part[i] for part in parts]) for i in range(3))
    far = np.sort(np.argsort(-f, kind="stable")[:OUTER])
    return X[far], weights[far], f[far]


@dataclass(frozen=True)
class Grid:
    """The cells of a map in the solver's coordinates.

    Half of the edges divide the range evenly and the other half the population, so that neither a remote farm nor the
    old town is lost in one cell.

    Attributes
    ----------
    frame : Frame
        From the coordinates of the data to the solver's.
    low, high : arrays (d,)
        The box there.
    edges : array (d, side - 1)
    """

    frame: Frame
    low: Floats
    high: Floats
    edges: Floats

    @classmethod
    def of(cls, found: Survey) -> "Grid":
        """The grid that fits a survey."""
        frame = Frame.of(np.vstack([found.low, found.high]))
        low, high = frame.inside(found.low[None])[0], frame.inside(found.high[None])[0]
        side = SIDES[len(low)]
        share = np.linspace(0.0, 1.0, side // 2 + 2)[1:-1]
        sample = frame.inside(found.sample)
        edges = [
            np.sort(np.concatenate([np.quantile(column, share), a + share * (b - a)]))[: side - 1]
            for column, a, b in zip(sample.T, low, high, strict=True)
        ]
        return cls(frame, low, high, np.array(edges))

    @property
    def middle(self) -> Floats:
        """The middle of the box, about which moments are taken for accuracy."""
        return (self.low + self.high) / 2

    @cached_property
    def lookup(self) -> tuple[Floats, Floats, NDArray[np.int32], Floats]:
        """What the compiled loops find the cell of a row by: edges, the first, cells of parts, parts a unit."""
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        count = min(SLOTS * (self.edges.shape[1] + 1), MOST_SLOTS)
        slots = np.empty((len(width), count), np.int32)
        for own, edges, low, across in zip(slots, self.edges, self.low, width, strict=True):
            cuts = low + np.linspace(0.0, 1.0, count + 1) * across
            first = np.searchsorted(edges, cuts[:-1] - ROUNDING * across)
            last = np.searchsorted(edges, cuts[1:] + ROUNDING * across)
            own[:] = np.where(first == last, first, -1)
        return np.ascontiguousarray(self.edges), self.low, slots, count / width

    @property
    def count(self) -> int:
        """Number of cells."""
        return int((self.edges.shape[1] + 1) ** len(self.low))

    def bins(self, X: Floats) -> Ints:
        """The cell of each row, in the solver's coordinates."""
        found = np.empty(len(X), np.int64)
        find_bins(X, *self.lookup, found)
        return found

    def add(self, X: Floats, weights: Floats, sums: Floats) -> None:
        """Add rows, in the solver's coordinates, to the moments of their cells."""
        add_moments(X, weights, *self.lookup, self.middle, sums)

    def boxes(self, cells: Ints) -> tuple[Floats, Floats]:
        """The lowest and highest corner of some cells."""
        side, d = self.edges.shape[1] + 1, len(self.low)
        places = np.stack(np.unravel_index(cells, (side,) * d), axis=1)
        walls = np.concatenate([self.low[:, None], self.edges, self.high[:, None]], axis=1)
        axes = np.arange(d)
        return walls[axes, places], walls[axes, places + 1]


@dataclass(frozen=True)
class Moments:
    """Sums over the rows of each cell, as `Grid.add` makes them, and other results of the pass."""

    sums: Floats
    low: Floats  # of the data, as given
    high: Floats
    heaviest: float


def condense(blocks: Iterator[Block], grid: Grid) -> Moments:
    """The pass that makes the cells."""
    d = len(grid.low)
    sums = np.zeros((grid.count, 2 + d + d * (d + 1) // 2))
    low, high, heaviest = np.full(d, np.inf), np.full(d, -np.inf), 0.0
    for block in blocks:
        live = block.weights > 0
        X = block.X if live.all() else block.X[live]
        if len(X) == 0:
            continue
        lowest, highest = box(X)
        low, high = np.minimum(low, lowest), np.maximum(high, highest)
        heaviest = max(heaviest, float(block.weights.max()))
        grid.add(grid.frame.inside(block.X), block.weights, sums)
    return Moments(sums, low, high, heaviest)


def added(parts: list[Moments]) -> Moments:
    """Merge the sums of several parts."""
    sums = parts[0].sums.copy()
    for part in parts[1:]:
        sums += part.sums
    return Moments(
        sums,
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        max(part.heaviest for part in parts),
    )
