"""What the compiled functions hand to each other, by name, and its numba types."""

from typing import NamedTuple

import numpy as np
from numba import from_dtype, types
from numpy.typing import NDArray

from tkm_core.arrays import Floats


class City(NamedTuple):
    """Residents: coordinates (n, d) and weights (n,), both C-ordered and read-only."""

    X: Floats
    weights: Floats


class Rule(NamedTuple):
    """How to descend.

    Attributes
    ----------
    t : float
        The dial.
    small : bool
        Whether t f is so small everywhere that sums are kept as e^{t f} - 1.
    n_free : int
        The first facilities, which may move.
    tol : float
        The longest step, relative to a cluster's radius, that is not worth taking.
    nearest, sweep, judge, steps, mean : int
        Addresses of the functions a descent is made of: the nearest facilities, a pass, what follows from it, exact
        steps, and the tilted mean they lead to (both 0 where no t f is large enough to need one).
    wide : bool
        Whether there are too many columns for matrices of second moments: then every step comes from ``steps``.
    stop : array (1,)
        Set to 1 by another thread, it ends the work at the next step.
    """

    t: float
    small: bool
    n_free: int
    tol: float
    nearest: int
    sweep: int
    judge: int
    steps: int
    mean: int
    wide: bool
    stop: NDArray[np.int64]


# What is known about each cluster. The first seven come from one pass over the residents; those "before" are for the
# labels of the pass before, at the same centres: that is what a line search has to compare.
CLUSTER = np.dtype(
    [
        ("top", "f8"),  # largest f
        ("mass", "f8"),  # sum of w e^{t (f - top)}, or of w (e^{t f} - 1) where t f is small
        ("weight", "f8"),
        ("cost", "f8"),  # sum of w f
        ("top_before", "f8"),
        ("mass_before", "f8"),
        ("moved", "f8"),  # how many joined or left
        # what a descent remembers of its last step
        ("kind", "i8"),
        ("cost_before", "f8"),  # the tilted cost from which it set out
        ("slope", "f8"),  # of that cost along the step
        ("weight_before", "f8"),
        ("left", "f8"),  # the next step, relative to the radius
        ("rests", "i8"),  # 1: at its exact tilted mean, until somebody joins or leaves
        ("rounding", "i8"),  # 1: the last step may have been rounding; of two in a row the second is none
    ]
)

TABLE, LABELS = types.float64[:, ::1], types.int32[::1]
CITY = types.NamedTuple(
    (types.Array(types.float64, 2, "C", readonly=True), types.Array(types.float64, 1, "C", readonly=True)),
    City,
)
RULE = types.NamedTuple(
    (
        types.float64,
        types.boolean,
        types.int64,
        types.float64,
        *5 * (types.int64,),
        types.boolean,
        types.int64[::1],
    ),
    Rule,
)
CLUSTERS = from_dtype(CLUSTER)[::1]


def frozen(values: Floats) -> Floats:
    """The same numbers as a read-only view, C-ordered: whatever comes in is one type to the compiled functions.

    A read-only view can be had of any array without a copy; a writable one cannot.

    >>> numbers = np.zeros(3)
    >>> view = frozen(numbers)
    >>> view.flags.writeable, numbers.flags.writeable, np.shares_memory(view, numbers)
    (False, True, True)
    """
    view = np.ascontiguousarray(values, dtype=np.float64).view()
    view.flags.writeable = False
    return view
