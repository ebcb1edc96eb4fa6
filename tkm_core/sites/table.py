"""The table of distances from residents to sites: checked, squared and transposed."""

import math
import numbers
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tkm_core.arrays import Floats, Ints
from tkm_core.clustering import check_weights, city_cost, in_units_of, level_weights, tilt, unit_for
from tkm_core.wording import counted, listed

BLOCK = 4_000_000  # entries processed at a time
NAMED = 5  # rows listed in a message
WHOLE = 1e-4  # how far a sum of whole numbers may be moved by rounding
LARGEST_SUM = 2.0**50  # sums up to this are exact


class UnreachableError(ValueError):
    """Some residents cannot be reached: ``rows`` are their numbers."""

    def __init__(self, message: str, rows: Ints) -> None:
        super().__init__(message)
        self.rows = rows

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.rows)  # a worker sends it back to whoever waits


def check_distances(distances: ArrayLike, name: str = "distances") -> NDArray[np.floating]:
    """Check a table (n residents, m sites) of distances; +inf if unreachable. float32 stays float32.

    >>> check_distances([[1.0, -2.0]])
    Traceback (most recent call last):
    ValueError: distances is -2.0 in row 0, column 1; a distance is 0 or more (infinity: cannot be reached).
    """
    try:
        table = np.asarray(distances)
        if table.dtype not in (np.float32, np.float64):
            table = table.astype(np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} must be a table of numbers: {error}."
        raise ValueError(msg) from None
    if table.ndim != 2 or 0 in table.shape:
        msg = f"{name} has shape {table.shape}; it needs one row for each resident and one column for each site."
        raise ValueError(msg)
    # the minimum is NaN if any entry is
    if not table.min() >= 0:
        row, column = np.argwhere(~(table >= 0))[0]
        msg = (
            f"{name} is {table[row, column]} in row {row}, column {column}; a distance is 0 or more (infinity: "
            "cannot be reached)."
        )
        raise ValueError(msg)
    return table


def check_sites(n_sites: object, fixed_sites: ArrayLike | None, m: int) -> tuple[int, Ints]:
    """How many sites to choose, and the column numbers of those that exist already.

    >>> check_sites(3, [0], 3)
    Traceback (most recent call last):
    ValueError: n_sites is 3, but there are only 2 sites to choose from (3, of which 1 exists already).
    """
    fixed = np.empty(0, np.int64) if fixed_sites is None else np.ravel(np.asarray(fixed_sites))
    if len(fixed) and (
        not np.issubdtype(fixed.dtype, np.integer)
        or fixed.min() < 0
        or fixed.max() >= m
        or len(set(fixed)) < len(fixed)
    ):
        msg = f"fixed_sites is {fixed.tolist()}; it must hold different column numbers from 0 to {m - 1}."
        raise ValueError(msg)
    if not isinstance(n_sites, numbers.Integral) or int(n_sites) < 1:
        msg = f"n_sites is {n_sites!r}; it must be a whole number, 1 or more."
        raise ValueError(msg)
    left = m - len(fixed)
    if int(n_sites) > left:
        exist = f"{len(fixed)} {'exists' if len(fixed) == 1 else 'exist'}"
        already = f" ({m}, of which {exist} already)" if len(fixed) else ""
        are = "is" if left == 1 else "are"
        msg = f"n_sites is {n_sites}, but there {are} only {counted(left, 'site')} to choose from{already}."
        raise ValueError(msg)
    return int(n_sites), fixed.astype(np.int64)


def named_rows(rows: Ints) -> str:
    """Row numbers for a message, shortened if there are many.

    >>> named_rows(np.arange(3)), named_rows(np.arange(9))
    ('rows 0, 1 and 2', 'rows 0, 1, 2, 3, 4 and 4 more')
    """
    shown = [str(row) for row in rows[:NAMED]]
    if len(rows) > NAMED:
        shown.append(f"{len(rows) - NAMED} more")
    return f"{'row' if len(rows) == 1 else 'rows'} {listed(shown)}"


@dataclass(frozen=True)
class Step:
    """The step in which a sum of costs grows, and by how much rounding of the table may have moved a sum."""

    size: float
    error: float


@dataclass(frozen=True)
class Table:
    """Squared distances (m sites, n residents) of rows with people, in a unit that does not overflow.

    Attributes
    ----------
    F : array (m, n)
        Squared distances in units of unit²; +inf if unreachable.
    weights : array (n,)
        All above 0; only their ratios matter.
    rows : int array (n,)
        Their rows in the table that was given.
    unit : float
        A power of two.
    far : float
        The largest entry of F that is finite.
    power : {1, 2}
        With 1, distances are not squared; then read "distances" for "squared distances" everywhere.
    """

    F: Floats
    weights: Floats
    rows: Ints
    unit: float
    far: float
    power: int = 2

    @classmethod
    def of(cls, distances: NDArray[np.floating], sample_weight: ArrayLike | None, power: int = 2) -> Self:
        """Square and transpose a table of distances; an error names residents who can reach no site."""
        n, m = distances.shape
        people = check_weights(sample_weight, n)
        rows = np.flatnonzero(people > 0)
        nearest = distances.min(axis=1)
        lost = rows[np.isinf(nearest[rows])]
        if len(lost):
            msg = (
                f"{counted(len(lost), 'resident')} ({named_rows(lost)}; {people[lost].sum():,.6g} of "
                f"{people.sum():,.6g} people) cannot reach any of the {counted(m, 'site')}. Add a site they can reach, "
                "or plan without them."
            )
            raise UnreachableError(msg, lost)
        F = np.empty((m, len(rows)))
        size = max(1, BLOCK // m)
        for start in range(0, len(rows), size):
            F[:, start : start + size] = distances[rows[start : start + size]].T
        longest = float(F.max(where=np.isfinite(F), initial=0.0))
        unit = unit_for(longest)
        for j in range(m):
            F[j] = (F[j] / unit) ** power
        return cls(F, level_weights(people[rows]), rows, unit, (longest / unit) ** power, power)

    @cached_property
    def step(self) -> "Step | None":
        """The step in which sums of weights times entries of F grow, if weights and distances are whole numbers."""
        size = float(self.unit) ** self.power
        whole = np.rint(self.weights)
        largest = max(float(whole.max()) * len(whole), 1.0)
        if not np.array_equal(whole, self.weights) or largest > LARGEST_SUM / max(self.far * size, 1.0):
            return None
        divisor, error = 0, 0.0
        for row in self.F:
            lengths = row[np.isfinite(row)] * size
            near = np.rint(lengths)
            error = max(error, float(np.abs(lengths - near).max(initial=0.0)))
            if error * whole.sum() > WHOLE:
                return None
            divisor = int(np.gcd.reduce(near.astype(np.int64), initial=divisor))
        common = divisor * int(np.gcd.reduce(whole.astype(np.int64)))
        return Step(common / size, error * float(whole.sum()) / size) if common else None

    def tilt(self, t: float) -> float:
        """The setting t for lengths in units of ``unit``."""
        return (
            tilt(t, self.unit)
            if self.power == 2
            else tilt(t if math.isinf(t) else min(t * self.unit, 1e300), 1.0)
        )

    def phi(self, f: Floats, t: float) -> float:
        """City-wide cost at a tilt of this table, in units of unit²."""
        return city_cost(f, self.weights, t)

    def outside(self, value: Floats | float) -> Floats:
        """Costs in the units of the distances that were given, to the power."""
        return in_units_of(value, self.unit, self.power, "The cost")


def distance_scale(distances: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """The unit of distance in which t means the same as on a map: t / scale² is the t of ``site_path``.

    It is half the root mean squared distance between residents and sites, weighted by people. In the plane, with
    sites spread like residents, that is the standard deviation along one axis.

    Parameters
    ----------
    distances : array (n, m)
        From each resident to each site; infinite ones are left out.
    sample_weight : array (n,), optional
        Population of each row.

    Returns
    -------
    float

    Examples
    --------
    >>> distance_scale([[0.0, 2.0], [2.0, 0.0]])
    0.707...
    """
    table = check_distances(distances)
    people = check_weights(sample_weight, len(table))
    people = people / people.max()
    longest = float(table.max(where=np.isfinite(table), initial=0.0)) or 1.0
    total = weight = 0.0
    size = max(1, BLOCK // table.shape[1])
    for start in range(0, len(table), size):
        block = table[start : start + size].astype(np.float64) / longest
        open_ = np.isfinite(block)
        share = people[start : start + size]
        total += float(share @ np.where(open_, block, 0.0).__pow__(2).sum(axis=1))
        weight += float(share @ open_.sum(axis=1))
    return math.sqrt(total / weight / 4) * longest if weight and total else 1.0
