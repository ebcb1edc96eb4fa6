"""Places, costs and bounds of a plan under rules in a plan file, so that it opens without being solved again."""

from typing import Any

import numpy as np
import shapely

from tkm_core.arrays import Floats, Ints
from tkm_core.planning import Grounds, Known, Rules
from tkm_core.residents import Residents, Zones

LONGEST, MOST_REMARKS = 1_000, 20  # characters of a remark, and remarks
# How far outside the extent of residents, sites and streets a facility may be, as a share of it, for rounding.
ROOM = 0.01
EDGE = 1e-4  # degrees by which a facility may be on the wrong side of a zone's edge, for rounding
OUTSIDE = "This plan file has a new facility far outside the area where people live: it was changed."
FORBIDDEN = "This plan file has a new facility where its own rules allow none: it was changed."


def written_grounds(grounds: Grounds) -> dict[str, Any]:
    """What a plan is based on, as plain types, without distances and capacities, which follow from the rules."""
    known = grounds.known
    return {
        "scale": grounds.scale,
        "known": None
        if known is None
        else {"lonlat": known.lonlat.tolist(), "number": known.number.tolist()},
        "places": None if grounds.places is None else grounds.places.tolist(),
        "cost": None if grounds.cost is None else grounds.cost.tolist(),
        "bound": None if grounds.bound is None else grounds.bound.tolist(),
        "among": grounds.among,
        "made": grounds.made,
        "remarks": list(grounds.remarks),
    }


def checked_grounds(stored: Any, steps: int, facilities: int) -> dict[str, Any]:
    """Check what a file says its plan is based on; errors are passed to the caller.

    Parameters
    ----------
    stored : Any
        As in the file.
    steps, facilities : int
        Settings of the dial, and facilities at each.
    """
    if not 0 < float(stored["scale"]) < np.inf:
        _wrong("the scale of the dial is not a number")
    known = stored["known"]
    if (known is None) != (stored["places"] is None):
        _wrong("the places of the plan do not fit")
    if known is not None:
        lonlat, number, places = _lonlat(known), _whole(known["number"]), _whole(stored["places"])
        if number.shape != (len(lonlat),) or places.shape != (steps, facilities):
            _wrong("the places of the plan do not fit")
        if (number < -1).any() or not ((places >= 0) & (places < len(lonlat))).all():
            _wrong("a facility stands on a place that is not there")
        if not (np.abs(lonlat) <= (180, 90)).all():
            _wrong("a place of the plan is not on earth")
    for part in ("cost", "bound"):
        if stored[part] is not None:
            values = np.array(stored[part], dtype=np.float64)
            if values.shape != (steps,) or not (np.isfinite(values) & (values >= 0)).all():
                _wrong(f"the {part} of the plan does not fit the settings of the dial")
    texts = [stored["among"], stored["made"], *stored["remarks"][: MOST_REMARKS + 1]]
    if not all(isinstance(text, str) and len(text) <= LONGEST for text in texts):
        _wrong("what is said about the plan is too long")
    if len(texts) > MOST_REMARKS + 2:
        _wrong("too much is said about the plan")
    return dict(stored)


def restored_grounds(stored: dict[str, Any], residents: Residents, rules: Rules) -> Grounds:
    """What a plan is based on, with distances measured by its rules.

    Parameters
    ----------
    stored : dict
        As `checked_grounds` returns it.
    residents : Residents
    rules : Rules

    Raises
    ------
    ValueError
        If the rules do not allow a facility at one of its places.
    """
    return Grounds(
        float(stored["scale"]),
        _known(stored["known"], residents, rules),
        None if stored["places"] is None else _whole(stored["places"]),
        _array(stored["cost"]),
        _array(stored["bound"]),
        stored["among"],
        stored["made"],
        tuple(stored["remarks"]),
    )


def check_places(lonlat: Floats, residents: Residents, rules: Rules) -> None:
    """Check that new facilities stand where the rules allow them.

    Parameters
    ----------
    lonlat : ndarray of shape (..., 2)
        In degrees.
    residents : Residents
    rules : Rules

    Raises
    ------
    ValueError
        If one does not.
    """
    spots = np.unique(lonlat.reshape(-1, 2), axis=0)
    corners = [residents.lonlat]
    if rules.sites is not None:
        corners.append(rules.sites.lonlat)
    if rules.travel.places is not None:
        corners.append(rules.travel.places)
    if rules.only_in is not None:
        corners.append(np.reshape(rules.only_in.shape.bounds, (2, 2)))
    low = np.min([each.min(axis=0) for each in corners], axis=0)
    high = np.max([each.max(axis=0) for each in corners], axis=0)
    room = ROOM * max(float((high - low).max()), EDGE)
    if ((spots < low - room) | (spots > high + room)).any():
        raise ValueError(OUTSIDE)
    if rules.only_in is not None and not _in(rules.only_in, spots, EDGE).all():
        raise ValueError(FORBIDDEN)
    if rules.not_in is not None and _in(rules.not_in, spots, -EDGE).any():
        raise ValueError(FORBIDDEN)


def _in(zones: Zones, spots: Floats, edge: float) -> Any:
    """Which places lie in zones extended by an edge, or shrunk if it is negative."""
    return shapely.intersects_xy(zones.shape.buffer(edge), spots)


def _known(stored: Any, residents: Residents, rules: Rules) -> Known | None:
    """The places of the plan, which must be its sites, with distances measured by the rules."""
    if stored is None:
        return None
    lonlat, number = _lonlat(stored), _whole(stored["number"])
    own = np.full(len(lonlat), np.inf)
    on_site = number >= 0
    if on_site.any():
        sites = rules.sites
        if sites is None or number.max() >= len(sites):
            raise ValueError(FORBIDDEN)
        if not np.allclose(lonlat[on_site], sites.lonlat[number[on_site]], rtol=0, atol=1e-9):
            raise ValueError(FORBIDDEN)
        if sites.capacity is not None:
            own[on_site] = sites.capacity[number[on_site]]
    table = None if rules.straight else rules.travel.table(residents, lonlat, columns=number)
    return Known(lonlat, table, number, own)


def _lonlat(known: Any) -> Floats:
    """Positions from the file."""
    return np.array(known["lonlat"], dtype=np.float64).reshape(-1, 2)


def _array(values: Any) -> Floats | None:
    """Numbers from the file."""
    return None if values is None else np.array(values, dtype=np.float64)


def _whole(values: Any) -> Ints:
    """Whole numbers from the file."""
    array = np.array(values)
    if array.size and array.dtype.kind != "i":
        _wrong("the places of the plan are not whole numbers")
    return array.astype(np.int64)


def _wrong(reason: str) -> None:
    """Raise an error with the reason."""
    raise ValueError(reason)
