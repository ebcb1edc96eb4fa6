"""Input checks, each with an error message that says what is wrong and where."""

import numbers
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats
from tkm_core.spread import spread

WEIGHT_RATIO = (
    2.0**-1000
)  # least ratio of the smallest positive weight to the largest: below it shares underflow
# t times the squared spread: below this range it is k-means, above it t = infinity. The lower end is a little below
# 0.01, at which dials begin: data scaled to a spread of 1 may miss it by a rounding error.
USEFUL = 0.0099, 10_000.0


class TiltWarning(UserWarning):
    """The value of t is far outside the range where it makes a difference, most likely because of its unit."""


def warn_of_units(t: Iterable[float], length: float, stacklevel: int = 3) -> None:
    """Warn if no t of a fit or a path makes a difference for residents who spread over ``length``.

    >>> warn_of_units([0.3], 1.0)
    """
    settings = [value for value in t if 0 < value < np.inf]
    sizes = [value * length * length for value in settings]
    if not settings or length == 0 or any(USEFUL[0] <= size <= USEFUL[1] for size in sizes):
        return
    strong = sizes[-1] > USEFUL[1]
    effect = (
        "large that only the farthest residents count, as at t = infinity"
        if strong
        else "small that near and far residents count alike, as in k-means"
    )
    warnings.warn(
        f"t is {settings[-1]:.3g} and the rows of X spread over {length:.3g}: t times the square of that is so "
        f"{effect}. "
        'The unit of t is 1/X². With scale="auto" t is a pure number, useful from 0.01 to 100; scale=1 says that t is '
        "meant as it is.",
        TiltWarning,
        stacklevel=stacklevel,
    )


def check_scale(scale: str | float | None, points: Floats, weights: Floats, t: Floats) -> float:
    """The length in which t is counted, in the unit of the points; warns of a useless t if none is given.

    Parameters
    ----------
    scale : "auto", float or None
        As in ``TiltedKMeans``.
    points, weights : array (n, d) and array (n,)
        Checked residents.
    t : array (s,)
        The dial.

    >>> check_scale("auto", np.array([[0.0, 0.0], [2.0, 14.0]]), np.ones(2), np.array([0.3]))
    5.0
    """
    if scale is not None and scale != "auto":
        return check_number(scale, "scale")
    length = spread(points, weights)
    if scale == "auto":
        return length or 1.0
    warn_of_units(np.sort(t), length, stacklevel=4)
    return 1.0


def plain_table(X: Any, name: str = "X") -> Any:
    """The table of coordinates: a GeoDataFrame of points becomes columns x and y, anything else stays.

    Raises
    ------
    ValueError
        For points in degrees, whose distances are not those on the ground; for other shapes than points; for dates.
    """
    if hasattr(X, "crs") and hasattr(X, "geometry"):
        return _point_coordinates(X, name)
    kinds = getattr(X, "dtypes", [getattr(X, "dtype", None)])  # of a table's columns, or of an array
    if any(getattr(kind, "kind", "") in ("m", "M") for kind in kinds):
        msg = f"{name} holds dates or times. Leave them out, or turn them into numbers whose distances mean something."
        raise ValueError(msg)
    return X


def named_weights(X: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Residents and their weights, where the weights may be given by the name of a column of the table X.

    The column is no coordinate then: it is left out of X, unless X has points of its own (a GeoDataFrame).

    Raises
    ------
    ValueError
        If X has no such column.
    """
    if not isinstance(sample_weight, str):
        return X, sample_weight
    columns = [str(name) for name in getattr(X, "columns", ())]
    if sample_weight not in columns:
        has = f"its columns are {', '.join(columns)}" if columns else "it has no named columns"
        msg = f"sample_weight is {sample_weight!r}, but X has no such column: {has}. Name one, or give an array."
        raise ValueError(msg)
    weights = np.asarray(X[sample_weight])
    if hasattr(X, "crs"):
        return X, weights
    return X[[name for name in X.columns if str(name) != sample_weight]], weights


def _point_coordinates(X: Any, name: str) -> Any:
    """The columns x and y of points on a plane map, with their index."""
    if X.crs is not None and X.crs.is_geographic:
        msg = (
            f"{name} is in degrees ({X.crs.name}), which are not distances. Use "
            f"{name}.to_crs({name}.estimate_utm_crs()), or make_plan({name}, k), which goes to metres by itself."
        )
        raise ValueError(msg)
    kinds = set(X.geometry.geom_type.dropna())
    if kinds - {"Point"}:
        msg = (
            f"{name} holds shapes that are not points ({', '.join(sorted(kinds - {'Point'}))}). Take a point of each: "
            f"{name}.set_geometry({name}.representative_point())."
        )
        raise ValueError(msg)
    absent = np.asarray(X.geometry.isna() | X.geometry.is_empty)
    if absent.any():
        msg = f"{name} has no point in row {int(absent.argmax())}; remove or repair that row."
        raise ValueError(msg)
    return X.geometry.get_coordinates()


def check_points(X: ArrayLike, name: str = "X") -> Floats:
    """Residents as a C-ordered float64 array (n, d) of finite numbers.

    >>> check_points([[0, 1], [2, float("nan")]])
    Traceback (most recent call last):
    ValueError: X has a NaN in row 1, column 1; remove or repair that row.
    """
    try:
        points = np.ascontiguousarray(plain_table(X, name), dtype=np.float64)
    except (TypeError, ValueError) as error:
        if str(error).startswith(f"{name} "):
            raise
        msg = f"{name} must be a table of numbers: {error}."
        raise ValueError(msg) from None
    if points.ndim != 2:
        msg = f"{name} has {points.ndim} dimension(s); it must be a table with one row per point (n, d)."
        raise ValueError(msg)
    if 0 in points.shape:
        msg = f"{name} is empty: it has shape {points.shape}, and at least one row and one column are needed."
        raise ValueError(msg)
    # a sum is finite only if every entry is: a cheap check before any search
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


def check_grid(t: ArrayLike | None, unit: float = 1.0) -> Floats:
    """Settings of the dial; by default 0 and 60 geometric values from 0.01 to 100, over the square of a length.

    >>> check_grid([0, 1]).tolist(), len(check_grid(None))
    ([0.0, 1.0], 61)
    """
    if t is None:
        return np.append(0.0, np.geomspace(0.01, 100.0, 60)) / unit**2
    return np.array([check_t(float(value)) for value in np.ravel(np.asarray(t))])


def check_whole(value: object, name: str, least: int = 1) -> int:
    """A whole number of at least ``least``.

    >>> check_whole(0, "max_iter")
    Traceback (most recent call last):
    ValueError: max_iter is 0; it must be a whole number, 1 or more.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        msg = f"{name} is {value!r}; it must be a whole number, {least} or more."
        raise ValueError(msg)
    return int(value)


def check_number(value: object, name: str, *, zero: bool = False) -> float:
    """A finite number above 0, or from 0 upwards if ``zero``.

    >>> check_number(-1, "tol", zero=True)
    Traceback (most recent call last):
    ValueError: tol is -1; it must be a number, 0 or more.
    """
    right = isinstance(value, numbers.Real) and np.isfinite(float(value)) and float(value) >= 0
    if not right or (not zero and float(value) == 0):  # type: ignore[arg-type]
        msg = f"{name} is {value!r}; it must be a number{', 0 or more' if zero else ' above 0'}."
        raise ValueError(msg)
    return float(value)  # type: ignore[arg-type]


def check_choice(value: object, name: str, choices: Iterable[str]) -> str:
    """One of a few words.

    >>> check_choice("adam", "solver", ("newton", "sgd"))
    Traceback (most recent call last):
    ValueError: solver is 'adam'; it must be 'newton' or 'sgd'.
    """
    if not isinstance(value, str) or value not in choices:
        msg = f"{name} is {value!r}; it must be {' or '.join(map(repr, choices))}."
        raise ValueError(msg)
    return value


def check_clusters(n_clusters: object, n: int) -> int:
    """The number of facilities: at least one, at most one for each resident point.

    >>> check_clusters(5, 3)
    Traceback (most recent call last):
    ValueError: n_clusters is 5, but there are only 3 residents (n_samples=3): choose 3 or fewer.
    """
    k = check_whole(n_clusters, "n_clusters")
    if k > n:
        msg = f"n_clusters is {k}, but there are only {n} residents (n_samples={n}): choose {n} or fewer."
        raise ValueError(msg)
    return k


def check_fixed(fixed_centers: ArrayLike | None, d: int) -> Floats:
    """Existing facilities as an array (f, d), with no rows if there are none.

    >>> check_fixed(None, 2).shape
    (0, 2)
    """
    return np.empty((0, d)) if fixed_centers is None else check_centers(fixed_centers, d, "fixed_centers")
