"""A service standard to begin with: a round distance that fits the city."""

import math

from tkm_core.residents import Residents
from tkm_core.units import METRES

ROUND = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
SHARE = (
    1.5  # on real cities, three in four live within 1.3 to 1.8 times spread / sqrt(facilities), for 2 to 30
)


def usual_standard(residents: Residents, facilities: int, unit: str) -> float:
    """A round distance within which most people, but not all, live in a plan with a short average trip.

    Parameters
    ----------
    residents : Residents
    facilities : int
        New and existing ones together.
    unit : {"km", "mi"}
        In which it is to be round.

    Returns
    -------
    float
        1, 1.5, 2, 3 or 5 times a power of ten, in that unit; at least 0.1.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> [usual_standard(load_sample(city), 6, "km") for city in ("sacramento", "san-francisco")]
    [10.0, 2.0]
    """
    typical = SHARE * residents.scale / math.sqrt(max(facilities, 1)) / METRES[unit]
    if not typical > 0.1:
        return 0.1
    power = 10.0 ** math.floor(math.log10(typical))
    nearest = min(ROUND, key=lambda step: abs(math.log(step * power / typical)))
    return float(f"{nearest * power:.6g}")
