"""Scratch arrays and loops over columns for compiled functions.

Each loop and each ``np.empty`` that stands in a kernel is compiled there once more; these are compiled once.
"""

import numpy as np
from numba import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic

from tkm_core.clustering.compiled.kernel import any_order, inner

# numba gives a plain number in the source a type of its own, and would compile the callee once more for it
ZERO, ONE = np.int64(0), np.int64(1)


@inner
def floats(n):
    """A row of n numbers, uninitialised."""
    return np.empty(n)


@inner
def filled(n, value):
    """A row of n numbers, all the same."""
    row = np.empty(n)
    for i in range(n):
        row[i] = value
    return row


@inner
def table(n, m):
    """A table of n x m numbers, uninitialised."""
    return np.empty((n, m))


@inner
def zeros(n, m):
    """A table of n x m zeros."""
    rows = np.empty((n, m))
    for i in range(n):
        for a in range(m):
            rows[i, a] = 0.0
    return rows


@inner
def integers(n):
    """A row of n whole numbers, uninitialised."""
    return np.empty(n, np.int64)


@inner
def copy_row(source, i, into, j):
    """Row i of one table into row j of another."""
    for a in range(into.shape[1]):
        into[j, a] = source[i, a]


@inner
def copy_rows(source, into):
    """A whole table into another."""
    for j in range(into.shape[0]):
        copy_row(source, j, into, j)


@inner
def square(rows, i):
    """The squared length of row i."""
    total = 0.0
    for a in range(rows.shape[1]):
        total += rows[i, a] * rows[i, a]
    return total


@inner
def apart(rows, i, others, j):
    """The squared distance of row i from row j of others."""
    total = 0.0
    for a in range(rows.shape[1]):
        away = rows[i, a] - others[j, a]
        total += away * away
    return total


@inner
def apart_from(rows, i, x):
    """The squared distance of row i from x."""
    total = 0.0
    for a in range(x.shape[0]):
        away = rows[i, a] - x[a]
        total += away * away
    return total


@any_order
def square_apart(rows, i, x):
    """The squared distance of row i from x, summed in any order."""
    total = 0.0
    for a in range(x.shape[0]):
        away = rows[i, a] - x[a]
        total += away * away
    return total


def _same_bits(kind):
    """A function for kernels that reads the 64 bits of a number as another type."""

    @intrinsic
    def same_bits(typingctx, number):  # noqa: ARG001  numba's form
        def generate(context, builder, signature, values):
            return builder.bitcast(values[0], context.get_value_type(signature.return_type))

        return kind(number), generate

    return same_bits


bits_of, float_of = _same_bits(types.int64), _same_bits(types.float64)


@intrinsic
def read_only(typingctx, array):  # noqa: ARG001  numba's form
    """The same array, read-only: the functions that get it are compiled for one type, not two."""

    def generate(context, builder, signature, values):
        return impl_ret_borrowed(context, builder, signature.return_type, values[0])

    return array.copy(readonly=True)(array), generate
