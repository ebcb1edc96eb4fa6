"""Lengths and times with their units: conversion, round steps and formatting."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

METRES = {"km": 1000.0, "mi": 1609.344, "min": 1.0}
"""Metres, or minutes, in one of each unit that can be shown."""
WORDS = {"km": "km", "mi": "miles", "min": "minutes"}
ONE = {"km": "km", "mi": "mile", "min": "minute"}


@dataclass(frozen=True)
class Kind:
    """What trips are measured in, and the words for it.

    Attributes
    ----------
    one, many : str
        "distance", "distances"; or "travel time", "travel times".
    units : tuple of str
        In which it can be shown, the usual one first.
    suffix : str
        Of column names in exports.
    """

    one: str
    many: str
    units: tuple[str, ...]
    suffix: str


KINDS = {
    "m": Kind("distance", "distances", ("km", "mi"), "m"),
    "min": Kind("travel time", "travel times", ("min",), "min"),
}


LENGTHS = KINDS["m"].units


def kind_of(unit: str) -> Kind:
    """What a unit that is shown measures.

    Examples
    --------
    >>> kind_of("mi").one, kind_of("min").one
    ('distance', 'travel time')
    """
    return next(kind for kind in KINDS.values() if unit in kind.units)


POWERS = {0: "", 1: "", 2: "²", 4: "⁴"}


def worded(text: str, unit: str) -> str:
    """A text about distances in the words of what is measured.

    Examples
    --------
    >>> worded("the distances are more unequal", "min"), worded("average distance", "km")
    ('the travel times are more unequal', 'average distance')
    """
    kind = kind_of(unit)
    return (
        text if kind.one == "distance" else text.replace("distances", kind.many).replace("distance", kind.one)
    )


def check_unit(unit: str) -> str:
    """The unit, if distances can be shown in it.

    Examples
    --------
    >>> check_unit("furlong")
    Traceback (most recent call last):
    ...
    ValueError: Distances can be shown in km, mi or min, not in 'furlong'.
    """
    if unit not in METRES:
        msg = f"Distances can be shown in {', '.join(list(METRES)[:-1])} or {list(METRES)[-1]}, not in {unit!r}."
        raise ValueError(msg)
    return unit


def with_unit(words: str, unit: str, power: int = 1) -> str:
    """A label with the unit of its values, a length to some power.

    Examples
    --------
    >>> with_unit("variance", "km", 2), with_unit("Gini", "km", 0)
    ('variance, km²', 'Gini')
    """
    return f"{words}, {unit}{POWERS[power]}" if power else words


def nice_step(length: float, parts: float = 8.0) -> float:
    """A round step (1, 2 or 5 times a power of ten) that divides a length into about `parts` parts.

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


def shown_standard(standard: float, unit: str) -> float:
    """A service standard in metres or minutes as the number that is shown: 3 km are 1.86 mi.

    Examples
    --------
    >>> shown_standard(3_000, "mi"), shown_standard(250, "mi"), shown_standard(10_000, "km"), shown_standard(15, "min")
    (1.86, 0.155, 10.0, 15.0)
    """
    value = standard / METRES[unit]
    return round(value, 2 if value >= 1 else 3)


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


def format_lengths(metres: npt.NDArray[np.float64], unit: str) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Many lengths with their unit: the distinct texts, and for each length the index of its text.

    Examples
    --------
    >>> texts, which = format_lengths(np.array([32_680.0, 845.0, 32_690.0]), "km")
    >>> texts, which.tolist()
    (['0.84 km', '32.7 km'], [1, 0, 1])
    """
    values = metres / METRES[unit]
    steps = np.where(values >= 100, 1.0, np.where(values >= 1, 0.1, 0.01))
    shown, which = np.unique(np.rint(values / steps) * steps, return_inverse=True)
    return [format_length(value * METRES[unit], unit) for value in shown.tolist()], which
