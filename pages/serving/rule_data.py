"""What rules are made of: sites and zones, road files, travel tables; as they are kept, and as a plan follows them.

The same for what the address says, for a saved scenario and for a call of the API: each says where its data come from.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
import shapely

from pages.serving.cache import caches
from pages.serving.drawing import Drawing, Site, Zone
from pages.serving.jobs import files
from pages.serving.store import Dataset
from tkm_core.planning import FREE, STRAIGHT, AlongStreets, ByTable, Rules, Travel
from tkm_core.progress import Progress
from tkm_core.residents import Existing, Residents, Sites, Zones, find_sample
from tkm_core.sites import Capacity
from tkm_core.streets import Streets, mode_words, sample_streets

NO_COLUMN = "-"  # instead of a column of a layer of lines: it has none
SAMPLE = "sample"  # where a token would stand: what came with the sample
MODES = {mode: words[:1].upper() + words[1:] for mode, words in mode_words().items()}
DEAR = 1_000  # corners of a zone that can be edited by hand
NO_STREETS = "There are no streets here: upload a road file on the Sites page."
NO_TABLE = "The travel table needs candidate sites with the names of its columns: add them on the Sites page."
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

    def with_sites(self, sites: Sites, mark: str) -> "Places":
        """Add candidate sites from a file; one that stands where a site is already takes that one's place.

        `mark` begins the ids of new sites and is unlike every other.
        """
        spots = {spot.id: spot for spot in self.drawing.sites}
        there = {_spot(spot.lonlat): spot for spot in self.drawing.sites}
        room = dict(self.room)
        names = sites.names or ("",) * len(sites)
        limits = np.full(len(sites), np.inf) if sites.capacity is None else np.asarray(sites.capacity)
        for n, (lonlat, name, most) in enumerate(
            zip(sites.lonlat.tolist(), names, limits.tolist(), strict=True)
        ):
            known = there.get(_spot(lonlat))
            spot = (
                Site(f"{mark}-{n}", name, (lonlat[0], lonlat[1]))
                if known is None
                else replace(known, name=name or known.name)
            )
            spots[spot.id] = spot
            if most < np.inf:
                room[spot.id] = most
        return replace(
            self, drawing=replace(self.drawing, sites=tuple(spots.values())), room=tuple(room.items())
        )

    def already(self, sites: Sites) -> int:
        """How many of some sites stand where a site is already."""
        there = {_spot(spot.lonlat) for spot in self.drawing.sites}
        return sum(_spot(lonlat) in there for lonlat in sites.lonlat.tolist())

    def with_zones(self, zones: Zones, kind: str, mark: str) -> "Places":
        """With zones from a file added, of a kind; `mark` as in `with_sites`."""
        rings, shapes = [], []
        for n, (shape, name) in enumerate(zip(zones.shapes, zones.names or ("",) * len(zones), strict=True)):
            for m, part in enumerate(shapely.get_parts(shape)):
                corners = shapely.get_coordinates(part.exterior)[:-1] if part.geom_type == "Polygon" else []
                if len(corners) and not part.interiors and len(corners) <= DEAR:
                    ring = tuple((round(float(lon), 6), round(float(lat), 6)) for lon, lat in corners)
                    rings.append(Zone(f"{mark}-{n}-{m}", name, kind, ring))
                elif part.geom_type == "Polygon":
                    shapes.append((kind, name, shapely.to_wkb(part)))
        drawing = replace(self.drawing, zones=(*self.drawing.zones, *rings))
        return replace(self, drawing=drawing, shapes=(*self.shapes, *shapes))


def _spot(lonlat: Sequence[float]) -> tuple[float, float]:
    """A place to about a metre: two sites so near to each other are the same."""
    return round(lonlat[0], 5), round(lonlat[1], 5)


NOTHING = Places()


def places_of(told: Rules) -> Places:
    """The sites and zones of rules that came with a plan file."""
    found = NOTHING if told.sites is None else NOTHING.with_sites(told.sites, "plan")
    for kind, zones in (("only_in", told.only_in), ("not_in", told.not_in)):
        if zones is None:
            continue
        drawn = found.with_zones(zones, kind, f"plan-{kind}")
        made = drawn.zones(kind)
        if made is None or made.fingerprint != zones.fingerprint:  # finer than what is drawn by hand
            names = zones.names or ("",) * len(zones)
            exact = tuple(
                (kind, name, shapely.to_wkb(shape)) for shape, name in zip(zones.shapes, names, strict=True)
            )
            drawn = replace(found, shapes=(*found.shapes, *exact))
        found = drawn
    return found


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


Kept = Places | KeptFile


def from_store(row: Dataset, content: bytes) -> Kept:
    """Sites and zones, a road file or a travel table, as the store has it."""
    if row.kind == "places":
        return places_from(content)
    columns: tuple[tuple[str, str], ...] = ()
    if row.kind == "roads":
        with contextlib.suppress(ValueError):  # too many to be kept: the file is read as it was guessed
            columns = tuple((str(role), str(name)) for role, name in json.loads(row.people or "[]"))
    return KeptFile(row.title, content, "" if row.kind == "roads" else row.people, columns)


def said_of(file: KeptFile) -> str:
    """What the store keeps beside a road file or a travel table: the columns that were chosen, or the unit."""
    return json.dumps(file.columns) if file.columns else file.unit


@dataclass(frozen=True)
class RuleSource:
    """Where rules come from.

    Attributes
    ----------
    told : mapping
        The fields of the address that say something about rules, and `dataset`.
    fetch : callable
        Gets one of the fields `places`, `roads` and `table`, and its token; returns what it names, or None if that
        cannot be had.
    progress : callable
        Called while files are read; an exception raised in it ends that.
    """

    told: Mapping[str, Any]
    fetch: Callable[[str, str], Kept | None]
    progress: Progress

    @property
    def _sample(self) -> Any:
        return find_sample(self.told["dataset"])

    def places(self) -> Places:
        """The sites and zones."""
        token, sample = self.told["places"], self._sample
        if token == SAMPLE and sample is not None and sample.sites_file:
            names, lonlat = sample.sites
            spots = [
                Site(f"sample-{n}", name, (float(lon), float(lat)))
                for n, (name, (lon, lat)) in enumerate(zip(names, lonlat, strict=True))
            ]
            return Places(Drawing(sites=tuple(spots)))
        found = self.fetch("places", token) if token and token != SAMPLE else None
        return found if isinstance(found, Places) else NOTHING

    def road_file(self) -> KeptFile | None:
        """The road file that was uploaded, if any."""
        found = self.fetch("roads", self.told["roads"]) if self.told["roads"] else None
        return found if isinstance(found, KeptFile) else None

    @property
    def has_streets(self) -> bool:
        """Whether there are streets to measure along."""
        sample = self._sample
        return self.road_file() is not None or (sample is not None and sample.streets_path is not None)

    def _streets_key(self, mode: str) -> tuple[Hashable, ...]:
        """Name the streets for a mode of travel, by where they come from."""
        file = self.road_file()
        if file is None:
            return ("streets", self.told["dataset"], "", mode, ())
        return ("streets", self.told["roads"], file.digest, mode, file.columns)

    def streets(self, mode: str) -> Streets | None:
        """The streets for a mode of travel: those of the road file, or the sample's own; read once."""
        file, sample = self.road_file(), self._sample
        read: Callable[[], Streets]
        if file is not None:
            chosen = {role: False if name == NO_COLUMN else name for role, name in file.columns}

            def read() -> Streets:
                return files.streets(
                    file.digest, file.name, file.content, mode, self.progress, columns=chosen
                )

        elif sample is not None and sample.streets_path is not None:

            def read() -> Streets:
                return sample_streets(sample.key, mode=mode)

        else:
            return None
        return cast("Streets", caches().results.once(self._streets_key(mode), read, weight=4))

    def travel(self, home: Residents, existing: Existing | None, sites: Sites | None) -> Travel:
        """How far it is.

        Raises
        ------
        ValueError
            If it cannot be measured so, with a sentence that says why.
        """
        by = self.told["by"]
        if by in MODES:
            found = self.streets(by)
            if found is None:
                raise ValueError(NO_STREETS)
            measure, direction = self.told["measure"], self.told["direction"]
            # kept, since it remembers where each home joins the streets
            kept = caches().results.once(
                ("along", self._streets_key(by), measure, direction),
                lambda: AlongStreets(found, measure, direction),
            )
            along = cast("AlongStreets", kept)
            along.check(home)
            return along
        if by == "table":
            own = self._table(home, existing, sites)
            if own is None:
                raise ValueError(NO_TABLE)
            return own
        return STRAIGHT

    def _table(self, home: Residents, existing: Existing | None, sites: Sites | None) -> ByTable | None:
        """The planner's own travel table, matched by name to residents, sites and existing facilities."""
        token = self.told["table"]
        if not token or sites is None:
            return None
        if token == SAMPLE:
            sample = self._sample
            if sample is None or sample.table_path is None:
                return None
            file = KeptFile(sample.table_path.name, sample.table_path.read_bytes(), "m")
        else:
            found = self.fetch("table", token)
            if not isinstance(found, KeptFile):
                return None
            file = found
        names = [*sites.names, *(() if existing is None else existing.names)]
        lonlat = sites.lonlat if existing is None else np.concatenate([sites.lonlat, existing.lonlat])
        key = ("table", token, file.digest, home.fingerprint, sites.fingerprint, tuple(names))

        def read() -> ByTable:
            ids = range(len(home)) if home.ids is None else home.ids
            made = files.travel_table(key, file.content, list(ids), names, file.unit, self.progress)
            return ByTable.of(made, lonlat, file.name)

        return cast("ByTable", caches().results.once(key, read, weight=4))

    def rules(self, home: Residents, existing: Existing | None, *, travel: Travel | None = None) -> Rules:
        """The rules for some residents.

        Parameters
        ----------
        home : Residents
        existing : Existing or None
            Facilities that are there already, without those pinned by hand.
        travel : Travel, optional
            How far it is; by default as it is told.

        Raises
        ------
        ValueError
            If they cannot be followed, with a sentence that says why.
        """
        drawn = self.places()
        way = self.travel(home, existing, drawn.sites) if travel is None else travel
        most, least = self.told["most"], self.told["least"]
        limits = Capacity(most or np.inf, least) if most or least else None
        equal = bool(self.told["equal"]) and home.groups is not None and limits is None
        made = Rules(way, drawn.sites, drawn.zones("only_in"), drawn.zones("not_in"), limits, equal)
        return FREE if made == FREE else made
