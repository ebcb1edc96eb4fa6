"""Rules in plan files: sites, zones and limits in full, streets and tables by name."""

from typing import Any

import numpy as np
import shapely

from tkm_core.planning import Rules, Travel, check_written_travel, restored_travel, written_travel
from tkm_core.residents import MOST_SITES, Sites, Zones, from_wkb
from tkm_core.sites import Capacity

MOST_ZONES, LONGEST = 5_000, 200


def written_rules(rules: Rules) -> dict[str, Any]:
    """Rules as plain types."""
    sites = rules.sites
    return {
        "travel": written_travel(rules.travel),
        "sites": None
        if sites is None
        else {
            "lonlat": sites.lonlat.tolist(),
            "names": list(sites.names),
            "capacity": _listed(sites.capacity),
            "cost": _listed(sites.cost),
            "name": sites.name,
        },
        "only_in": _written_zones(rules.only_in),
        "not_in": _written_zones(rules.not_in),
        "most": rules.most if np.isfinite(rules.most) else None,
        "least": rules.least,
        "equal_groups": rules.equal_groups,
    }


def checked_rules(stored: Any) -> dict[str, Any]:
    """Check the rules in a file by restoring them once; errors are passed to the caller."""
    check_written_travel(stored["travel"])
    _sites(stored["sites"])
    for side in ("only_in", "not_in"):
        _zones(stored[side])
    _capacity(stored)
    if not isinstance(stored["equal_groups"], bool):
        msg = "equal_groups is neither true nor false"
        raise TypeError(msg)
    return dict(stored)


def restored_rules(stored: dict[str, Any], travel: Travel | None) -> Rules:
    """The rules in a file, with the streets or the table that it names.

    Raises
    ------
    ValueError
        If the plan needs streets or a table, and they are missing or different.
    """
    way = restored_travel(stored["travel"], travel)
    zones = [_zones(stored[side]) for side in ("only_in", "not_in")]
    return Rules(way, _sites(stored["sites"]), zones[0], zones[1], _capacity(stored), stored["equal_groups"])


def _listed(values: Any) -> list[float | None] | None:
    """Numbers for JSON, with None for infinite or missing ones."""
    return None if values is None else [float(value) if np.isfinite(value) else None for value in values]


def _written_zones(zones: Zones | None) -> dict[str, Any] | None:
    """Zones as plain types."""
    if zones is None:
        return None
    shapes = [shapely.to_wkb(shape, hex=True) for shape in zones.shapes]
    return {"shapes": shapes, "names": list(zones.names), "name": zones.name}


def _sites(stored: Any) -> Sites | None:
    """Candidate sites from a file."""
    if stored is None:
        return None
    lonlat = np.array(stored["lonlat"], dtype=np.float64).reshape(-1, 2)
    if len(lonlat) > MOST_SITES:
        msg = f"it has {len(lonlat):,} sites; there are at most {MOST_SITES:,}"
        raise ValueError(msg)
    names = tuple(str(name)[:LONGEST] for name in stored["names"])
    capacity, cost = (
        None if stored[part] is None else [empty if value is None else float(value) for value in stored[part]]
        for part, empty in (("capacity", np.inf), ("cost", np.nan))
    )
    return Sites(lonlat, names, capacity, cost, str(stored["name"])[:LONGEST])  # type: ignore[arg-type]


def _zones(stored: Any) -> Zones | None:
    """Zones from a file."""
    if stored is None:
        return None
    if len(stored["shapes"]) > MOST_ZONES:
        msg = f"it has {len(stored['shapes']):,} zones; there are at most {MOST_ZONES:,}"
        raise ValueError(msg)
    shapes = tuple(from_wkb([bytes.fromhex(shape) for shape in stored["shapes"]]))
    return Zones(
        shapes, tuple(str(name)[:LONGEST] for name in stored["names"]), str(stored["name"])[:LONGEST]
    )


def _capacity(stored: Any) -> Capacity | None:
    """Limits from a file; None if there are none."""
    most = np.inf if stored["most"] is None else float(stored["most"])
    least = float(stored["least"])
    if not (most >= least >= 0):
        msg = "the limits of a facility do not fit"
        raise ValueError(msg)
    return None if np.isinf(most) and least == 0 else Capacity(most, least)
