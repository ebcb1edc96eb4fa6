"""The rules of the Sites page: what may be built where, how distance is measured, how much room there is.

Small settings stand in the address. Sites, zones, road files and travel tables are kept in the store under secret
tokens, which the address names.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
import shapely
import streamlit as st

from pages.live_map import Drawing, Site, Zone
from pages.serving.jobs import files
from pages.serving.store import Dataset
from pages.shared import address, kept_data, notices, state
from pages.shared.cache import caches
from tkm_core.figures import live_roads
from tkm_core.planning import FREE, STRAIGHT, AlongStreets, ByTable, Rules, Travel
from tkm_core.residents import Existing, Residents, Sites, Zones, find_sample
from tkm_core.sites import Capacity
from tkm_core.streets import Streets, sample_streets

NO_COLUMN = "-"  # instead of a column of a layer of lines: it has none
SAMPLE = "sample"  # in the address, where a token would stand: what came with the sample
MODES = {"walk": "On foot", "bicycle": "By bicycle", "car": "By car"}
WAYS = {"straight": "Straight lines", **MODES, "table": "Your table"}
SIMPLIFY = 4.0  # metres by which a street on the map may be off
DEAR = 1_000  # corners of a zone that can be edited by hand


EMPTY = Drawing()


@dataclass(frozen=True)
class Places:
    """Candidate sites and zones, as they are drawn.

    Attributes
    ----------
    drawing : Drawing
        What can be edited on the map.
    room : tuple of (str, float)
        The capacity of each site that has one of its own, by the site's id.
    shapes : tuple of (str, str, bytes)
        Zones that cannot be edited by hand, because they have holes or very many corners: kind, name and WKB.
    """

    drawing: Drawing = EMPTY
    room: tuple[tuple[str, float], ...] = ()
    shapes: tuple[tuple[str, str, bytes], ...] = ()

    @property
    def sites(self) -> Sites | None:
        """The candidate sites; None if there are none."""
        spots = self.drawing.sites
        if not spots:
            return None
        known = dict(self.room)
        own = np.array([known.get(spot.id, np.inf) for spot in spots])
        return Sites(
            np.array([spot.lonlat for spot in spots]),
            tuple(spot.name for spot in spots),
            own if np.isfinite(own).any() else None,
        )

    def zones(self, kind: str) -> Zones | None:
        """The zones of a kind; None if there are none."""
        drawn = [(zone.name, shapely.Polygon(zone.ring)) for zone in self.drawing.zones if zone.kind == kind]
        given = [(name, shapely.from_wkb(shape)) for own, name, shape in self.shapes if own == kind]
        found = [(name, shapely.make_valid(shape)) for name, shape in drawn + given]
        return Zones(tuple(shape for _, shape in found), tuple(name for name, _ in found)) if found else None


NOTHING = Places()


def places_bytes(found: Places) -> bytes:
    """Sites and zones as they are kept.

    >>> town = Places(Drawing(sites=(Site("s", "Hall", (1.4, 43.6)),)), (("s", 20.0),), (("not_in", "Lake", b"wkb"),))
    >>> places_from(places_bytes(town)) == town
    True
    """
    shapes = [(kind, name, shape.hex()) for kind, name, shape in found.shapes]
    return json.dumps({"drawing": asdict(found.drawing), "room": found.room, "shapes": shapes}).encode()


def places_from(content: bytes) -> Places:
    """Sites and zones as `places_bytes` wrote them."""
    told = json.loads(content)
    sites = [Site(**{**one, "lonlat": tuple(one["lonlat"])}) for one in told["drawing"]["sites"]]
    zones = [Zone(**{**one, "ring": tuple(map(tuple, one["ring"]))}) for one in told["drawing"]["zones"]]
    shapes = tuple((kind, name, bytes.fromhex(shape)) for kind, name, shape in told["shapes"])
    room = tuple((spot, float(most)) for spot, most in told["room"])
    return Places(Drawing(tuple(sites), tuple(zones)), room, shapes)


@dataclass(frozen=True)
class KeptFile:
    """A road file or a travel table, as it was uploaded.

    `unit` is that of a table; `columns` are those of a layer of lines that were chosen, by what they say of a street.
    """

    name: str
    content: bytes
    unit: str = ""
    columns: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """Of the content."""
        return hashlib.blake2b(self.content, digest_size=16).hexdigest()


def places() -> Places:
    """The sites and zones that the address names; if they are gone, a notice says so."""
    token, sample = address.get("places"), _sample()
    if token == SAMPLE and sample is not None and sample.sites_file:
        names, lonlat = sample.sites
        spots = [
            Site(f"sample-{n}", name, (float(lon), float(lat)))
            for n, (name, (lon, lat)) in enumerate(zip(names, lonlat, strict=True))
        ]
        return Places(Drawing(sites=tuple(spots)))
    return cast("Places", _kept("places", "candidate sites and zones")) if token else NOTHING


def keep_places(found: Places) -> None:
    """Take sites and zones into use: the address names them by a new secret token, or none if nothing is left."""
    if found == NOTHING:
        address.put("places", "")
        return
    token = state.new_token()
    caches().rules.put(token, (found, ""), 1 + len(found.drawing.sites) / 1_000)
    kept_data.write(token, "places", places_bytes(found))
    address.put("places", token)


def add_sites(sites: Sites) -> None:
    """Add candidate sites from a file to those that are there."""
    before = places()
    mark = state.new_token()[:6]
    spots = [
        Site(f"{mark}-{n}", name, (float(lon), float(lat)))
        for n, ((lon, lat), name) in enumerate(
            zip(sites.lonlat, sites.names or ("",) * len(sites), strict=True)
        )
    ]
    own = (
        ()
        if sites.capacity is None
        else tuple(
            (spot.id, float(most))
            for spot, most in zip(spots, sites.capacity, strict=True)
            if np.isfinite(most)
        )
    )
    drawing = replace(before.drawing, sites=(*before.drawing.sites, *spots))
    keep_places(replace(before, drawing=drawing, room=(*before.room, *own)))


def add_zones(zones: Zones, kind: str) -> int:
    """Add zones from a file; returns how many of them cannot be edited by hand."""
    before = places()
    mark = state.new_token()[:6]
    rings, shapes = [], []
    for n, (shape, name) in enumerate(zip(zones.shapes, zones.names or ("",) * len(zones), strict=True)):
        for m, part in enumerate(shapely.get_parts(shape)):
            corners = shapely.get_coordinates(part.exterior)[:-1] if part.geom_type == "Polygon" else []
            if len(corners) and not part.interiors and len(corners) <= DEAR:
                ring = tuple((round(float(lon), 6), round(float(lat), 6)) for lon, lat in corners)
                rings.append(Zone(f"{mark}-{n}-{m}", name, kind, ring))
            elif part.geom_type == "Polygon":
                shapes.append((kind, name, shapely.to_wkb(part)))
    drawing = replace(before.drawing, zones=(*before.drawing.zones, *rings))
    keep_places(replace(before, drawing=drawing, shapes=(*before.shapes, *shapes)))
    return len(shapes)


def keep_file(
    field: str, name: str, content: bytes, unit: str = "", *, columns: tuple[tuple[str, str], ...] = ()
) -> None:
    """Take a road file (field "roads") or a travel table (field "table") into use."""
    token = state.new_token()
    caches().rules.put(token, (KeptFile(name, content, unit, columns), ""), 1 + len(content) / 1e6)
    kept_data.write(token, field, content, name, json.dumps(columns) if columns else unit)
    address.put(field, token)


def leave(field: str) -> None:
    """Plan without what a field names; if it is this visitor's own, remove it from the server, too."""
    token = address.get(field)
    if token in state.visit().own:
        caches().remove_about(token)
        kept_data.remove(token)
    address.put(field, "")
    usual = {"roads": MODES, "table": ("table",)}
    if address.get("by") in usual.get(field, ()):
        address.put("by", "straight")


def _kept(field: str, what: str) -> object:
    """What a field of the address names: from memory, or from the store, where another server may have put it."""
    token = address.get(field)
    known = caches().rules.get(token)
    if known is not None and (not known[1] or kept_data.may_see(known[1])):
        return known[0]
    stored = kept_data.read(token, field)
    if stored is None:
        notices.add(kept_data.gone(f"The {what} of this link are", page="Sites"))
        address.put(field, "")
        return NOTHING if field == "places" else None
    row, content = stored
    found = _from_store(row, content)
    caches().rules.put(token, (found, row.project_id or ""), 1 + len(content) / 1e6)
    return found


def _from_store(row: Dataset, content: bytes) -> object:
    if row.kind == "places":
        return places_from(content)
    columns: tuple[tuple[str, str], ...] = ()
    if row.kind == "roads":
        with contextlib.suppress(ValueError):  # too many to be kept: the file is read as it was guessed
            columns = tuple((str(role), str(name)) for role, name in json.loads(row.people or "[]"))
    return KeptFile(row.title, content, "" if row.kind == "roads" else row.people, columns)


def _sample() -> Any:
    return find_sample(address.get("dataset"))


def road_file() -> KeptFile | None:
    """The road file that was uploaded, if any."""
    return cast("KeptFile | None", _kept("roads", "streets")) if address.get("roads") else None


def has_streets() -> bool:
    """Whether there are streets to measure along."""
    sample = _sample()
    return road_file() is not None or (sample is not None and sample.streets_path is not None)


def streets(mode: str) -> Streets | None:
    """The streets for a mode of travel: those of the road file, or the sample's own; read once."""
    file, sample = road_file(), _sample()
    read: Callable[[], Streets]
    if file is not None:
        key = ("streets", address.get("roads"), file.digest, mode, file.columns)
        chosen = {role: False if name == NO_COLUMN else name for role, name in file.columns}

        def read() -> Streets:
            return files.streets(file.digest, file.name, file.content, mode, state.still_here, columns=chosen)

    elif sample is not None and sample.streets_path is not None:
        key = ("streets", sample.key, "", mode, ())

        def read() -> Streets:
            return sample_streets(sample.key, mode=mode)

    else:
        return None
    with st.spinner("Reading the streets", show_time=True):
        return cast("Streets", caches().results.once(key, read, weight=4))


def _along(mode: str, home: Residents) -> AlongStreets:
    """Along the streets that are here, for a mode of travel; a ValueError says why not."""
    found = streets(mode)
    if found is None:
        msg = "There are no streets here: bring a road file on the Sites page."
        raise ValueError(msg)
    along = AlongStreets(found, address.get("measure"), address.get("direction"))
    along.check(home)
    return along


def read_roads(name: str, content: bytes, residents: Residents) -> None:
    """Read a road file once, before it is kept: what cannot be read, or is of another city, is said at once."""
    with st.spinner("Reading the streets", show_time=True):
        digest = KeptFile(name, content).digest
        found = files.streets(digest, name, content, "walk", state.still_here)
    AlongStreets(found).check(residents)


def choose_columns(file: KeptFile, columns: tuple[tuple[str, str], ...]) -> None:
    """Read a layer of lines by other columns; those that do not fit are said and not taken."""
    chosen = {role: False if name == NO_COLUMN else name for role, name in columns}
    mode = address.get("by") if address.get("by") in MODES else "walk"
    try:
        files.streets(file.digest, file.name, file.content, mode, state.still_here, columns=chosen)
    except ValueError as problem:
        notices.add(str(problem))
        return
    keep_file("roads", file.name, file.content, columns=columns)


def drawn_streets() -> bytes | None:
    """The streets as the ground of a map, where the data have them: those people travel on, or else walk on."""
    by = address.get("by") if address.get("by") in MODES else "walk"
    found = streets(by)
    if found is None:
        return None
    key = ("drawn streets", address.get("roads") or address.get("dataset"), by)
    made = caches().results.once(
        key,
        lambda: live_roads(found.lines(simplify=SIMPLIFY), areas=found.areas, credit=found.attribution),
        weight=4,
    )
    return cast("bytes", made)


def table(home: Residents, existing: Existing | None, sites: Sites | None) -> ByTable | None:
    """The planner's own travel table, matched by name to residents, sites and existing facilities; None without one.

    Raises
    ------
    ValueError
        If the table does not fit, with a sentence that says why.
    """
    token = address.get("table")
    if not token or sites is None:
        return None
    if token == SAMPLE:
        sample = _sample()
        if sample is None or sample.table_path is None:
            return None
        file = KeptFile(sample.table_path.name, sample.table_path.read_bytes(), "m")
    else:
        found = cast("KeptFile | None", _kept("table", "travel tables"))
        if found is None:
            return None
        file = found
    names = [*sites.names, *(() if existing is None else existing.names)]
    lonlat = sites.lonlat if existing is None else np.concatenate([sites.lonlat, existing.lonlat])
    key = ("table", token, file.digest, home.fingerprint, sites.fingerprint, tuple(names))

    def read() -> ByTable:
        ids = range(len(home)) if home.ids is None else home.ids
        made = files.travel_table(key, file.content, list(ids), names, file.unit, state.still_here)
        return ByTable.of(made, lonlat, file.name)

    return cast("ByTable", caches().results.once(key, read, weight=4))


def of(home: Residents, existing: Existing | None) -> Rules:
    """The rules that the address names, for some residents.

    What cannot be followed is left out with a notice.
    """
    drawn = places()
    sites = drawn.sites
    by, most, least = address.get("by"), address.get("most"), address.get("least")
    travel: Travel = STRAIGHT
    if by in MODES:
        try:
            travel = _along(by, home)
        except ValueError as problem:
            notices.add(f"{problem} Distances are straight lines.")
            address.put("by", "straight")
    elif by == "table":
        try:
            own = table(home, existing, sites)
        except ValueError as problem:
            notices.add(str(problem))
            own = None
        if own is None:
            notices.add(
                "The travel table cannot be used without candidate sites: distances are straight lines."
            )
            address.put("by", "straight")
        else:
            travel = own
    limits = Capacity(most or np.inf, least) if most or least else None
    equal = bool(address.get("equal")) and home.groups is not None and limits is None
    made = Rules(travel, sites, drawn.zones("only_in"), drawn.zones("not_in"), limits, equal)
    return FREE if made == FREE else made
