"""Lengths as people read them: round steps, and numbers with their unit."""

import math

from tkm_core.story import METRES


def nice_step(length: float, parts: float = 8.0) -> float:
    """A round step (1, 2 or 5 times a power of ten) that cuts a length into about so many parts.

    Examples
    --------
    >>> nice_step(83), nice_step(1.4)
    (20.0, 0.2)
    """
    if not (math.isfinite(length) and length > 0):
        return 1.0
    raw = length / parts
    power = 10.0 ** math.floor(math.log10(raw))
    return next(float(f"{step * power:.6g}") for step in (1, 2, 5, 10) if step * power >= raw * 0.999)


def format_length(metres: float, unit: str) -> str:
    """A length with its unit, to about three significant figures.

    Examples
    --------
    >>> format_length(32_680, "km"), format_length(845, "km"), format_length(32_680, "mi")
    ('32.7 km', '0.84 km', '20.3 mi')
    """
    value = metres / METRES[unit]
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 1 else 2
    return f"{value:,.{digits}f} {unit}"
