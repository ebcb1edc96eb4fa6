"""What a planner draws on a map: candidate sites and zones, and how edits from the browser are followed."""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

KINDS = ("only_in", "not_in")
MOST_SITES, MOST_ZONES, MOST_CORNERS = 5_000, 200, 1_000
LONGEST_NAME = 80
LonLat = tuple[float, float]


@dataclass(frozen=True)
class Site:
    """A place where a facility may stand; a locked one is shown, but cannot be edited.

    Attributes
    ----------
    id : str
    name : str
        Text from outside: to be shown, never interpreted.
    lonlat : tuple of float
    locked : bool
    """

    id: str
    name: str
    lonlat: LonLat
    locked: bool = False


@dataclass(frozen=True)
class Zone:
    """A part of the city where facilities must stand, or must not.

    Attributes
    ----------
    id : str
    name : str
        Text from outside: to be shown, never interpreted.
    kind : {"only_in", "not_in"}
    ring : tuple of (float, float)
        Its corners in degrees, the first not repeated.
    """

    id: str
    name: str
    kind: str
    ring: tuple[LonLat, ...]


@dataclass(frozen=True)
class Drawing:
    """Sites and zones as they are drawn.

    Attributes
    ----------
    sites : tuple of Site
    zones : tuple of Zone

    Examples
    --------
    >>> town = Drawing(sites=(Site("s1", "Town hall", (1.44, 43.6)),))
    >>> moved = {"edits": [{"seq": 4, "what": "site", "id": "s1", "name": "Town hall", "lonlat": [1.45, 43.6]}]}
    >>> follow_edits(town, 3, {"said": moved})[0].sites[0].lonlat
    (1.45, 43.6)
    >>> follow_edits(town, 4, {"said": moved})[0] == town  # it was followed already
    True
    """

    sites: tuple[Site, ...] = ()
    zones: tuple[Zone, ...] = ()


def follow_edits(drawing: Drawing, seen: int, value: Any) -> tuple[Drawing, int]:
    """Follow what a planner did in the editor.

    Parameters
    ----------
    drawing : Drawing
        As the page has it.
    seen : int
        The number of the last edit that it contains.
    value : mapping
        The editor's value: its ``said`` holds all edits that the page has not answered yet.

    Returns
    -------
    tuple of (Drawing, int)
        With the edits that are newer than `seen`, and the number of the last of them. What our own code in the browser
        would never send is left out.
    """
    edits: Iterable[Any] = ()
    with suppress(KeyError, TypeError):
        edits = sorted(value["said"]["edits"], key=lambda edit: int(edit["seq"]))
    for edit in edits:
        if int(edit["seq"]) <= seen:
            continue
        seen = int(edit["seq"])
        with suppress(KeyError, TypeError, ValueError, OverflowError):
            drawing = _followed(drawing, edit)
    return drawing, seen


def _followed(drawing: Drawing, edit: Mapping[str, Any]) -> Drawing:
    what, known = edit["what"], str(edit["id"])[:LONGEST_NAME]
    if what in ("site", "no site"):
        before = next((site for site in drawing.sites if site.id == known), None)
        if before is not None and before.locked:
            return drawing
        site = Site(known, _name(edit["name"]), _place(edit["lonlat"])) if what == "site" else None
        return replace(drawing, sites=_put(drawing.sites, known, site, MOST_SITES))
    if what in ("zone", "no zone"):
        zone = _zone(known, edit) if what == "zone" else None
        return replace(drawing, zones=_put(drawing.zones, known, zone, MOST_ZONES))
    return drawing


def _put(items: tuple[Any, ...], known: str, item: Any, most: int) -> tuple[Any, ...]:
    """The items with one put in its place or at the end; without it if there is none."""
    at = next((n for n, one in enumerate(items) if one.id == known), len(items))
    if at == len(items) and len(items) >= most:
        return items
    return (*items[:at], *(() if item is None else (item,)), *items[at + 1 :])


def _zone(known: str, edit: Mapping[str, Any]) -> Zone:
    ring = tuple(_place(corner) for corner in edit["ring"])
    if edit["kind"] not in KINDS or not 3 <= len(ring) <= MOST_CORNERS:
        msg = "no zone of ours"
        raise ValueError(msg)
    return Zone(known, _name(edit["name"]), edit["kind"], ring)


def _name(text: Any) -> str:
    return " ".join(str(text).split())[:LONGEST_NAME]


def _place(lonlat: Any) -> LonLat:
    lon, lat = (float(value) for value in lonlat)
    if not (math.isfinite(lon) and math.isfinite(lat) and -180 <= lon <= 180 and -85 <= lat <= 85):
        msg = "no place on the map"
        raise ValueError(msg)
    return round(lon, 6), round(lat, 6)
