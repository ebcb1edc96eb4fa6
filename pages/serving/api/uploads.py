"""What a program uploads, by its kind: read in a process of its own, and as bytes for the store."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Form

from pages.serving.api import cities
from pages.serving.api.messages import Id, Name
from pages.serving.jobs import files
from pages.serving.rule_data import NOTHING, KeptFile, Places, places_bytes, said_of
from pages.serving.store import EXISTING, RESIDENTS, Actor
from pages.serving.store.packing import existing_bytes, residents_bytes
from tkm_core.planning import AlongStreets
from tkm_core.progress import Progress
from tkm_core.residents import Residents, read_existing, read_sites
from tkm_core.wording import listed, plain

Kind = Literal["residents", "existing", "sites", "only_in", "not_in", "roads", "table"]
Unit = Literal["min", "s", "h", "m", "km", "mi"]
Text = Annotated[str | None, Form(max_length=200)]
OF_STREETS = ("road_class", "oneway", "speed")


@dataclass(frozen=True)
class Said:
    """What a caller says about files: columns and the like as the library takes them, and what the rows are."""

    people: str
    of: str | None
    add_to: str | None
    unit: str
    options: Mapping[str, str]


def said(
    of: Annotated[
        Id | None,
        Form(
            description="The residents these are for, a sample's key or a token: for existing facilities and sites."
        ),
    ] = None,
    add_to: Annotated[
        Id | None,
        Form(
            description="For sites and zones: the token of earlier ones, to which these are added under a new token."
        ),
    ] = None,
    people: Annotated[Name, Form(description="For residents: what each row counts, such as homes.")] = "",
    unit: Annotated[Unit, Form(description="For a travel table: the unit of its values.")] = "min",
    x: Text = None,
    y: Text = None,
    weight: Text = None,
    group: Text = None,
    id: Text = None,  # noqa: A002  as the library calls it
    place: Text = None,
    capacity: Text = None,
    crs: Text = None,
    sheet: Text = None,
    layer: Text = None,
    encoding: Text = None,
    delimiter: Text = None,
    decimal: Text = None,
    road_class: Text = None,
    oneway: Text = None,
    speed: Text = None,
) -> Said:
    """What is not said about columns, reference system or encoding is guessed."""
    told = {
        "x": x, "y": y, "weight": weight, "group": group, "id": id, "place": place, "capacity": capacity, "crs": crs,
        "sheet": sheet, "layer": layer, "encoding": encoding, "delimiter": delimiter, "decimal": decimal,
        "road_class": road_class, "oneway": oneway, "speed": speed,
    }  # fmt: skip
    return Said(people, of, add_to, unit, {name: value for name, value in told.items() if value})


@dataclass(frozen=True)
class Given:
    """Files that somebody uploads, with what is said about them."""

    actor: Actor
    files: list[tuple[str, bytes]]
    kind: str
    said: Said
    progress: Progress

    def read(self, options: Mapping[str, Any]) -> Residents:
        """The files as places, by options of `load_residents`."""
        return files.residents(self.digest(options), self.files, options, self.progress)

    def digest(self, options: Mapping[str, Any]) -> str:
        """Of the files and what is said about them."""
        digest = hashlib.blake2b(repr(sorted(options.items())).encode(), digest_size=16)
        for name, content in self.files:
            digest.update(repr((name, len(content))).encode())  # so that no name runs into the content
            digest.update(content)
        return digest.hexdigest()

    @property
    def home(self) -> Residents:
        """The residents that these are for."""
        if self.said.of is None:
            msg = "Say in `of` which residents these are for: a sample's key, or the token of an upload."
            raise ValueError(msg)
        return cities.home(self.actor, self.said.of).residents

    @property
    def before(self) -> Places:
        """The sites and zones to which these are added."""
        token = self.said.add_to
        if token is None:
            return NOTHING
        found = cities.kept(self.actor, "places", token)
        assert isinstance(found, Places)  # noqa: S101  by its kind
        return found

    @property
    def alone(self) -> tuple[str, bytes]:
        """The single file; more than one is refused."""
        if len(self.files) > 1:
            msg = f"Files of this kind are read one at a time; {len(self.files)} were sent."
            raise ValueError(msg)
        return self.files[0]


@dataclass(frozen=True)
class Taken:
    """What was read: as the store keeps it, and what is told about it."""

    kind: str
    content: bytes
    rows: int
    people: str = ""
    total: float = 0.0
    remarks: tuple[str, ...] = ()


def taken(given: Given) -> Taken:
    """Read what was uploaded.

    Raises
    ------
    ValueError
        With a sentence, if it cannot be used as it is, or something is said that its kind does not have.
    """
    read, known = READERS[given.kind]
    unknown = [name for name in given.said.options if name not in known]
    if unknown:
        can = f"you can set {listed(known)}" if known else "they are read as they are"
        msg = f"Files of the kind {given.kind} have no setting {unknown[0]}: {can}."
        raise ValueError(msg)
    return read(given)


def _residents(given: Given) -> Taken:
    made = given.read(given.said.options)
    people = plain(given.said.people, "residents")[:120]
    total, remarks = float(made.weights.sum()), tuple(made.report.warnings)
    return Taken(RESIDENTS, residents_bytes(made), len(made), people, total, remarks)


def _existing(given: Given) -> Taken:
    found = read_existing(given.read, given.home, **given.said.options)
    return Taken(EXISTING, existing_bytes(found), len(found), remarks=tuple(found.report.warnings))


def _sites(given: Given) -> Taken:
    found = read_sites(given.read, given.home, **given.said.options)
    content = places_bytes(given.before.with_sites(found, secrets.token_hex(3)))
    again = given.before.already(found)
    known = (f"{again:,} of them were there already.",) if again else ()
    return Taken("places", content, len(found), remarks=(*found.report.warnings, *known))


def _zones(given: Given) -> Taken:
    found = files.zones(given.digest({}), given.files, given.progress)
    content = places_bytes(given.before.with_zones(found, given.kind, secrets.token_hex(3)))
    return Taken("places", content, len(found))


def _roads(given: Given) -> Taken:
    name, content = given.alone
    columns = tuple(given.said.options.items())
    file = KeptFile(name, content, columns=columns)
    found = files.streets(file.digest, name, content, "walk", given.progress, columns=dict(columns))
    if given.said.of is not None:
        AlongStreets(found).check(given.home)
    return Taken("roads", content, len(found.network.start), said_of(file), remarks=(str(found.report),))


def _table(given: Given) -> Taken:
    """Keep a travel table as it is: its names are matched when it is used with residents and sites."""
    _, content = given.alone
    rows = files.travel_rows(given.digest({}), content, given.progress)
    return Taken("table", content, rows, given.said.unit)


OF_FILES = ("x", "y", "id", "crs", "sheet", "layer", "encoding", "delimiter", "decimal")
READERS: dict[str, tuple[Callable[[Given], Taken], tuple[str, ...]]] = {
    "residents": (_residents, (*OF_FILES, "weight", "group", "place")),
    "existing": (_existing, OF_FILES),
    "sites": (_sites, (*OF_FILES, "capacity")),
    "only_in": (_zones, ()),
    "not_in": (_zones, ()),
    "roads": (_roads, OF_STREETS),
    "table": (_table, ()),
}
