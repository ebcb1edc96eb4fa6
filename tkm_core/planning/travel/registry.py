"""The registry of ways to travel, and how one is read from arguments and plan files."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.planning.travel.straight import STRAIGHT, StraightLines
from tkm_core.planning.travel.streets import AlongStreets
from tkm_core.planning.travel.table import ByTable
from tkm_core.planning.travel.way import Travel
from tkm_core.residents import Sites
from tkm_core.sites import TravelTable
from tkm_core.units import KINDS

WAYS: dict[str, type[Travel]] = {way.kind: way for way in (StraightLines, AlongStreets, ByTable)}
LONGEST = 200  # characters of a sentence from a file
NEEDS_SITES = "A travel table needs the candidate sites that its columns stand for: give sites, too."


def as_travel(streets: Any, travel: Any, sites: Sites | None, fixed: Floats) -> Travel:
    """Make a way of travelling from the arguments of `make_plan`."""
    if streets is not None and travel is not None:
        msg = "Distances are measured along streets or by a table, not both: give streets or travel."
        raise ValueError(msg)
    if streets is not None:
        return _along(streets)
    return STRAIGHT if travel is None else _given(travel, sites, fixed)


def _along(streets: Any) -> Travel:
    """Along streets, which are read from a file if needed."""
    from tkm_core.streets import Streets, load_streets

    if isinstance(streets, Travel):
        return streets
    return AlongStreets(streets if isinstance(streets, Streets) else load_streets(streets))


def _given(travel: Any, sites: Sites | None, fixed: Floats) -> Travel:
    """A travel table for the sites, and for the existing facilities if it has columns for them; or any other way."""
    if isinstance(travel, Travel):
        return travel
    if not isinstance(travel, TravelTable):
        msg = "travel must be a table from read_travel, which needs the names of residents and sites and the unit."
        raise ValueError(msg)  # noqa: TRY004 - a sentence for the planner
    if sites is None:
        raise ValueError(NEEDS_SITES)
    wide = travel.values.shape[1]
    places = np.concatenate([sites.lonlat, fixed]) if wide == len(sites) + len(fixed) else sites.lonlat
    return ByTable.of(travel, places)


def written_travel(travel: Travel) -> dict[str, str]:
    """A way of travelling for a plan file, which names streets and tables but does not contain them."""
    return {
        "kind": travel.kind,
        "unit": travel.unit,
        "fingerprint": travel.fingerprint,
        "words": travel.sentence,
    }


def check_written_travel(stored: Mapping[str, Any]) -> None:
    """Check what a plan file says about travel; errors are passed to the caller."""
    if stored["kind"] not in WAYS or stored["unit"] not in KINDS:
        msg = "how distances are measured is unknown"
        raise ValueError(msg)
    for word in ("fingerprint", "words"):
        if not isinstance(stored[word], str):
            msg = f"{word} is not text"
            raise TypeError(msg)


def restored_travel(stored: Mapping[str, Any], given: Travel | None) -> Travel:
    """The way of travelling that a plan file names, if it is the given one.

    Raises
    ------
    ValueError
        If the plan needs streets or a table, and they are missing or different.
    """
    if stored["kind"] == STRAIGHT.kind:
        return STRAIGHT
    words = " ".join(stored["words"].split())[:LONGEST]
    if given is None:
        msg = (
            f"This plan file needs the streets or the table its plan was measured by. {words} Give them, too."
        )
        raise ValueError(msg)
    if given.fingerprint != stored["fingerprint"]:
        msg = f"These are not the streets or the table the plan was measured by. {words}"
        raise ValueError(msg)
    return given
