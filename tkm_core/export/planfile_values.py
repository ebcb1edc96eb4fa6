"""Check the values in plan files one by one: numbers, texts and places."""

from typing import Any

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.residents import MOST

MOST_NEW = 1_000  # new facilities


def places(value: Any, name: str) -> Floats:
    """Valid places in degrees, at most as many as a plan may have."""
    lonlat = floats(value, name).reshape(-1, 2)
    if len(lonlat) > MOST_NEW + MOST or (np.abs(lonlat) > (180, 90)).any():
        wrong(
            "an existing facility is not a place on earth"
            if name == "fixed_lonlat"
            else f"{name} is not on earth"
        )
    return lonlat


def wrong(reason: str) -> None:
    """Raise an error with the reason."""
    raise ValueError(reason)


def whole(value: Any, name: str) -> int:
    """A whole number from 0 upwards."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        wrong(f"{name} is not a whole number")
    return int(value)


def number(value: Any, name: str) -> float:
    """A finite number from 0 upwards."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
        wrong(f"{name} is not a number from 0 upwards")
    return float(value)


def text(value: Any, name: str) -> str:
    """A text, shortened."""
    if not isinstance(value, str):
        wrong(f"{name} is not text")
    return str(value)[:200]


def floats(value: Any, name: str) -> Floats:
    """An array of finite numbers."""
    array = np.array(value, dtype=np.float64)
    if not np.isfinite(array).all():
        wrong(f"{name} holds a value that is not finite")
    return array
