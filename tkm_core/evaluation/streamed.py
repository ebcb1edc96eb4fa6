"""Measures for rows beyond memory, in one pass: sums, extremes and a mergeable sketch of distances.

The sketch assigns each squared distance to a bin by its leading bits (as DDSketch does with logarithms), and keeps the
weight and the mean distance of each bin. Bins are the same everywhere, so merging means adding. A bin is at most 0.05 %
wide in distance, so quantiles and measures of the whole distribution are exact to within that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tkm_core.arrays import Floats, Ints
from tkm_core.clustering import nearest
from tkm_core.evaluation.distribution import gini, kolm_pollak_ede, quantile, worst_share_mean
from tkm_core.evaluation.evaluation import Evaluation
from tkm_core.partitions import Block, PartitionError, Passes
from tkm_core.progress import Progress, silent

BITS = 10  # leading bits of the fraction of a squared distance that select its bin
QUANTILE_ERROR = 2.0 ** -(BITS + 1)
SHIFT = 52 - BITS
OCTAVES = 60  # binary orders of magnitude below the farthest of a block; anything nearer shares one bin


@dataclass(frozen=True, repr=False)
class StreamedEvaluation(Evaluation):
    """The measures of `Evaluation` for rows beyond memory, without results for single rows.

    Attributes
    ----------
    n_rows : int
    quantile_error : float
        Largest relative error of quantiles and of measures of the whole distribution.
    """

    n_rows: int = 0
    quantile_error: float = QUANTILE_ERROR

    @property
    def count(self) -> int:
        """Number of residents."""
        return self.n_rows


@dataclass(frozen=True)
class Sketch:
    """Weight and weighted distance of all bins that are not empty, in order."""

    bins: Ints
    weight: Floats
    distance: Floats

    @classmethod
    def of(cls, f: Floats, weights: Floats) -> "Sketch":
        """The sketch of squared distances."""
        bins = np.ascontiguousarray(f).view(np.int64) >> SHIFT
        top = int(bins.max(initial=0))
        least = max(top - (OCTAVES << BITS), 0)
        place = np.maximum(bins - least, 0)
        weight = np.bincount(place, weights).astype(np.float64)
        distance = np.bincount(place, weights * np.sqrt(f)).astype(np.float64)
        used = np.flatnonzero(weight)
        return cls(used + least, weight[used], distance[used])

    @classmethod
    def merged(cls, parts: "list[Sketch]") -> "Sketch":
        """Merge several sketches."""
        bins, place = np.unique(np.concatenate([part.bins for part in parts]), return_inverse=True)
        weight, distance = (
            np.bincount(place, np.concatenate([getattr(part, name) for part in parts]), len(bins)).astype(
                np.float64
            )
            for name in ("weight", "distance")
        )
        return cls(bins, weight, distance)


SUMS = np.dtype(
    [
        ("weight", "f8"),
        ("f", "f8"),  # sum of w f
        ("f2", "f8"),
        ("distance", "f8"),
        ("top", "f8"),  # largest f
        ("mass", "f8"),  # sum of w e^{t (f - top)}
    ]
)


@dataclass(frozen=True)
class Figures:
    """Results of a pass for each of m settings: sums per facility (m, k), a sketch, the weight within the standard."""

    sums: NDArray[np.void]
    sketches: list[Sketch]
    within: Floats
    count: int


@dataclass(frozen=True)
class Asked:
    """What to evaluate: facilities (m, k, d) and t of each setting, and the service standard."""

    centers: Floats
    t: Floats
    standard: float | None


def figures(blocks: Iterator[Block], asked: Asked) -> Figures:
    """Go through all blocks and merge their results."""
    m, k, _ = asked.centers.shape
    whole = Figures(np.zeros((m, k), SUMS), [Sketch.of(np.empty(0), np.empty(0))] * m, np.zeros(m), 0)
    for block in blocks:
        whole = _merged(asked, [whole, _of_block(block, asked)])
    return whole


def _of_block(block: Block, asked: Asked) -> Figures:
    """The results of one block."""
    live = block.weights > 0
    X, weights = (block.X, block.weights) if live.all() else (block.X[live], block.weights[live])
    m, k, _ = asked.centers.shape
    sums, sketches, within = np.zeros((m, k), SUMS), [], np.zeros(m)
    for i in range(m):
        labels, f = nearest(X, asked.centers[i])
        if not np.isfinite(f.max(initial=0.0)):
            msg = f"{block.name} has a row too far from every facility for its distance to be squared."
            raise PartitionError(msg)
        distance = np.sqrt(f)
        own = sums[i]
        for name, values in (("weight", 1.0), ("f", f), ("f2", f * f), ("distance", distance)):
            own[name] = np.bincount(labels, weights * values, k)
        np.maximum.at(own["top"], labels, f)
        if 0 < asked.t[i] < np.inf:
            own["mass"] = np.bincount(labels, weights * np.exp(asked.t[i] * (f - own["top"][labels])), k)
        sketches.append(Sketch.of(f, weights))
        if asked.standard is not None:
            within[i] = weights[distance <= asked.standard].sum()
    return Figures(sums, sketches, within, len(block.X))


def _merged(asked: Asked, parts: list[Figures]) -> Figures:
    """Merge the results of several parts, with tilted sums scaled to their common maximum."""
    stacked = np.stack([part.sums for part in parts])
    sums = np.zeros(stacked.shape[1:], SUMS)
    for name in ("weight", "f", "f2", "distance"):
        sums[name] = stacked[name].sum(axis=0)
    sums["top"] = stacked["top"].max(axis=0)
    t = np.where(np.isfinite(asked.t), asked.t, 0.0)[:, None]
    sums["mass"] = (stacked["mass"] * np.exp(t * (stacked["top"] - sums["top"]))).sum(axis=0)
    sketches = [Sketch.merged(list(each)) for each in zip(*(part.sketches for part in parts), strict=True)]
    within = np.sum([part.within for part in parts], axis=0)
    return Figures(sums, sketches, within, sum(part.count for part in parts))


def evaluate_settings(
    passes: Passes, centers: Floats, t: Floats, standard: float | None = None, report: Progress = silent
) -> list[StreamedEvaluation]:
    """Evaluate facilities (m, k, d) at several settings in one pass.

    Parameters
    ----------
    passes : Passes
    centers : array (m, k, d)
    t : array (m,)
        In the unit of 1/X².
    standard : float, optional
        A service standard for ``share_within``.
    report : callable
        Progress.

    Returns
    -------
    list of StreamedEvaluation
    """
    asked = Asked(np.ascontiguousarray(centers), t, standard)
    found = passes(figures, partial(_merged, asked), asked, report, "Measuring all rows")
    return [_evaluation(found, i, asked) for i in range(len(centers))]


def _evaluation(found: Figures, i: int, asked: Asked) -> StreamedEvaluation:
    """Every measure at one setting."""
    own, sketch, t = found.sums[i], found.sketches[i], float(asked.t[i])
    weight, total = own["weight"], float(own["weight"].sum())
    if total <= 0:
        msg = "sample_weight is zero in every row; at least one resident must count."
        raise PartitionError(msg)
    mean, mean_f, mean_f2 = (
        np.divide(own[name], weight, out=np.zeros(len(own)), where=weight > 0)
        for name in ("distance", "f", "f2")
    )
    sse, average = float(own["f"].sum()) / total, float(own["distance"].sum()) / total
    phi = _tilted(own, total, t)
    ordered = sketch.distance / sketch.weight
    cumulative = np.cumsum(sketch.weight)
    largest = np.sqrt(own["top"])
    return StreamedEvaluation(
        t=t,
        labels=np.empty(0, np.int32),
        distance=np.empty(0),
        population=weight.copy(),
        sse=sse,
        tilted_sse=float(phi.sum()),
        city_cost=_city(own, total, t),
        tilted_sse_by_cluster=phi,
        variance=np.maximum(mean_f2 - mean_f**2, 0.0),
        variance_of_distance=np.maximum(mean_f - mean**2, 0.0),
        max_distance=largest,
        overall_variance=max(float(own["f2"].sum()) / total - sse**2, 0.0),
        overall_variance_of_distance=max(sse - average**2, 0.0),
        mean_distance=average,
        median_distance=quantile(ordered, cumulative, 0.5),
        p90_distance=quantile(ordered, cumulative, 0.9),
        p95_distance=quantile(ordered, cumulative, 0.95),
        largest_distance=float(largest.max()),
        gini=gini(ordered, sketch.weight, cumulative),
        kolm_pollak_ede=kolm_pollak_ede(ordered, sketch.weight),
        worst_decile_mean=worst_share_mean(ordered, sketch.weight, cumulative, 0.1),
        standard=asked.standard,
        share_within=None if asked.standard is None else float(found.within[i]) / total,
        fairness_ratio=None,
        n_rows=found.count,
    )


def _tilted(own: NDArray[np.void], total: float, t: float) -> Floats:
    """phi_j of every facility: residents of others enter as e^0 = 1."""
    if t == 0:
        return np.asarray(own["f"] / total)
    if np.isinf(t):
        return np.asarray(own["top"].copy())
    others = np.maximum(total - own["weight"], 0.0)
    tilted = own["top"] + np.log((own["mass"] + others * np.exp(-t * own["top"])) / total) / t
    return np.clip(np.where(own["weight"] > 0, tilted, 0.0), own["f"] / total, own["top"])


def _city(own: NDArray[np.void], total: float, t: float) -> float:
    """(1/t) log[(1/W) sum_i w_i e^{t f_i}]."""
    top, mean = float(own["top"].max()), float(own["f"].sum()) / total
    if t == 0 or np.isinf(t):
        return top if t else mean
    mass = float((own["mass"] * np.exp(t * (own["top"] - top))).sum())
    return min(max(top + float(np.log(mass / total)) / t, mean), top)
