"""Input checks of the library, each with a sentence that says what is wrong and where."""

import numbers

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats

WEIGHT_RATIO = 2.0**-1000  # of the smallest weight above 0 to the largest: beyond it shares vanish


def check_points(X: ArrayLike, name: str = "X") -> Floats:
    """Residents as a C-ordered float64 array (n, d) of finite numbers.

    >>> check_points([[0, 1], [2, float("nan")]])
    Traceback (most recent call last):
    ValueError: X has a NaN in row 1, column 1; remove or repair that row.
    """
    try:
        points = np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} must be a table of numbers: {error}."
        raise ValueError(msg) from None
    if points.ndim != 2:
        msg = f"{name} has {points.ndim} dimension(s); it must be a table with one row per point (n, d)."
        raise ValueError(msg)
    if 0 in points.shape:
        msg = f"{name} is empty: it has shape {points.shape}, and at least one row and one column are needed."
        raise ValueError(msg)
    # a sum is finite only if every entry is: one cheap pass before any search
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(points.sum()) or bool(np.isfinite(points).all())
    if not finite:
        row, column = np.argwhere(~np.isfinite(points))[0]
        what = "a NaN" if np.isnan(points[row, column]) else "an infinite value"
        msg = f"{name} has {what} in row {row}, column {column}; remove or repair that row."
        raise ValueError(msg)
    return points


def check_centers(centers: ArrayLike, d: int, name: str) -> Floats:
    """Facilities as an array (k, d) that fits residents in d dimensions.

    >>> check_centers([[0.0, 0.0]], 3, "centers")
    Traceback (most recent call last):
    ValueError: centers has 2 column(s), the residents have 3; they must have the same.
    """
    sites = check_points(centers, name)
    if sites.shape[1] != d:
        msg = f"{name} has {sites.shape[1]} column(s), the residents have {d}; they must have the same."
        raise ValueError(msg)
    return sites


def check_weights(sample_weight: ArrayLike | None, n: int) -> Floats:
    """Weights as an array (n,): finite, none negative, not all zero; ones if None.

    >>> check_weights([1, -2], 2)
    Traceback (most recent call last):
    ValueError: sample_weight is -2.0 in row 1; weights are populations and cannot be negative.
    """
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, numbers.Number):
        return check_weights(np.full(n, sample_weight, dtype=np.float64), n)
    weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        msg = f"sample_weight has shape {weights.shape}; it needs one weight for each of the {n} rows of X."
        raise ValueError(msg)
    if not np.isfinite(weights).all():
        row = int(np.argmin(np.isfinite(weights)))
        msg = f"sample_weight is {weights[row]} in row {row}; weights must be finite numbers."
        raise ValueError(msg)
    if weights.min() < 0:
        row = int(np.argmin(weights))
        msg = f"sample_weight is {weights[row]} in row {row}; weights are populations and cannot be negative."
        raise ValueError(msg)
    if not weights.any():
        msg = "sample_weight is zero in every row; at least one resident must count."
        raise ValueError(msg)
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            msg = "sample_weight adds up to more than a computer can hold (1.8e308); divide it by a constant."
            raise ValueError(msg)
    row, heaviest = int(np.argmin(np.where(weights > 0, weights, np.inf))), float(weights.max())
    if weights[row] < heaviest * WEIGHT_RATIO:
        msg = (
            f"sample_weight is {weights[row]:.3g} in row {row} and {heaviest:.3g} in row {int(np.argmax(weights))}: "
            "too far apart to be compared. Set such small weights to 0, or check the large ones."
        )
        raise ValueError(msg)
    return weights


def check_t(t: object) -> float:
    """The dial: a number from 0 to infinity.

    >>> check_t(-1)
    Traceback (most recent call last):
    ValueError: t is -1; it must be 0 or more (infinity is allowed).
    """
    if not isinstance(t, numbers.Real) or not float(t) >= 0:
        msg = f"t is {t!r}; it must be 0 or more (infinity is allowed)."
        raise ValueError(msg)
    return float(t)


def check_clusters(n_clusters: object, n: int) -> int:
    """The number of facilities: at least one, at most one for each resident point.

    >>> check_clusters(5, 3)
    Traceback (most recent call last):
    ValueError: n_clusters is 5, but there are only 3 residents (n_samples=3): choose 3 or fewer.
    """
    if not isinstance(n_clusters, numbers.Integral) or int(n_clusters) < 1:
        msg = f"n_clusters is {n_clusters!r}; it must be a whole number, 1 or more."
        raise ValueError(msg)
    if int(n_clusters) > n:
        msg = f"n_clusters is {n_clusters}, but there are only {n} residents (n_samples={n}): choose {n} or fewer."
        raise ValueError(msg)
    return int(n_clusters)


def check_fixed(fixed_centers: ArrayLike | None, d: int) -> Floats:
    """Existing facilities as an array (f, d), with no rows if there are none.

    >>> check_fixed(None, 2).shape
    (0, 2)
    """
    return np.empty((0, d)) if fixed_centers is None else check_centers(fixed_centers, d, "fixed_centers")
