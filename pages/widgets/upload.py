"""An upload before it is used: the files, the planner's corrections, and what was understood."""

import hashlib
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import streamlit as st

from pages.serving.config import config
from pages.serving.jobs import files
from pages.session import state
from pages.session.markdown import escaped
from pages.widgets import file_report
from tkm_core.residents import (
    SHAPEFILE_PARTS,
    Existing,
    Report,
    Residents,
    ResidentsError,
    Sites,
    Zones,
    read_existing,
    read_sites,
)

T = TypeVar("T")
# what the sentences of the library say to programmers
ARGUMENT = re.compile(
    r" \((?:x|y|weight|group|id|place|crs|sheet|layer|encoding|delimiter|decimal)=\w*\)| with layer="
)
LIKELY = 4  # answers that are offered as buttons
GUESS = "as guessed"
NONE = "none: every row counts as one"
ROLES = {
    "x": "Longitude or easting",
    "y": "Latitude or northing",
    "weight": "Number of people",
    "group": "District or group",
    "place": "Name of the place",
    "id": "Identifier",
}
FREE = {
    "crs": "Reference system of the coordinates",
    "encoding": "Encoding of the text",
    "delimiter": "Separator between columns",
    "decimal": "Decimal sign",
}
PARTS = ("sheet", "layer")
OF_TEXT = ("encoding", "delimiter", "decimal")  # what only text files leave open
SIGNS = {"\t": "tab", " ": "space", ",": "comma  ,", ";": "semicolon  ;", ".": "point  ."}
WITHOUT = {"weight": NONE}  # what “none” means for a role
USUAL = {
    "crs": ["EPSG:4326", "EPSG:3857", "EPSG:25832", "EPSG:27700", "EPSG:2056", "EPSG:2154"],
    "encoding": ["utf-8", "cp1252", "latin-1", "utf-16", "cp949", "shift_jis", "gb18030"],
    "delimiter": [",", ";", "\t", "|"],
    "decimal": [".", ","],
}


class NamedBytes(io.BytesIO):
    """The content of a file with its name."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


@dataclass(frozen=True)
class Uploader:
    """A file uploader with its questions about the file; keys of its widgets begin with `prefix`.

    Attributes
    ----------
    key : str
        Of the file uploader.
    roles : mapping
        What columns can be chosen for, in words.
    """

    key: str
    label: str
    roles: Mapping[str, str]
    prefix: str = ""

    @property
    def _draft(self) -> state.Draft:
        return state.visit().drafts.setdefault(self.key, state.Draft())

    def _fix(self, name: str) -> str:
        return f"{self.prefix}fix_{name}"

    def files(self, *, help: str | None = None) -> list[NamedBytes]:  # noqa: A002  as Streamlit calls it
        """The uploader; what it was given stays until it is replaced, used or discarded."""
        given = st.file_uploader(
            self.label,
            accept_multiple_files=True,
            max_upload_size=config().upload_mb,
            key=state.visit().emptied.get(self.key, self.key),
            on_change=self._forget_corrections,
            help=help,
        )
        if len(given) > 1 and not any(Path(file.name).suffix.lower() in SHAPEFILE_PARTS for file in given):
            given = given[-1:]  # a second try after a file that would not do
            st.markdown(
                ":small[:gray[Several files at once must be the parts of one shapefile. Only the last, "
                f"{escaped(given[0].name)}, is read.]]"
            )
        if given:
            self._draft.files = [(file.name, file.getvalue()) for file in given]
        return [NamedBytes(name, content) for name, content in self._draft.files]

    def _forget_corrections(self) -> None:
        self._draft.files, self._draft.token = [], ""
        corrected = [self._fix(name) for name in (*ROLES, *FREE, *PARTS, "keep_suspect", "total")]
        state.forget_widgets(f"{self.prefix}title", *corrected)

    def discard(self) -> None:
        """Forget the draft, its corrections and what was read from it."""
        self._forget_corrections()
        state.visit().drafts.pop(self.key)

    def empty(self) -> None:
        """Forget the draft and the file itself."""
        self.discard()
        state.visit().emptied[self.key] = state.visit().emptied.get(self.key, self.key) + "_"

    @property
    def token(self) -> str:
        """Of the data in use whose files are read anew, or empty."""
        return self._draft.token

    def keep(self, token: str) -> None:
        """Put the files aside under the token of what was made of them, with the answers, and make room for others."""
        names = [self._fix(name) for name in (*ROLES, *FREE, *PARTS, "keep_suspect", "total")]
        answers = {name: state.widget(name) for name in names if state.widget(name) is not None}
        state.visit().brought = state.Brought(token, self._draft.files, answers)
        self.discard()

    def take_up(self) -> None:
        """Take up again what was put aside: the same questions, answered as they were."""
        brought = state.visit().brought
        if brought is not None:
            self._draft.files, self._draft.token = brought.files, brought.token
            for name, answer in brought.answers.items():
                state.set_widget(name, answer)

    def choices(self) -> dict[str, Any]:
        """The planner's corrections as arguments for `load_residents`."""
        found: dict[str, Any] = {}
        for name in [*ROLES, *FREE, *PARTS]:
            value = state.widget(self._fix(name), GUESS)
            if value not in (GUESS, None):
                found[name] = False if value == NONE else value
        if state.widget(self._fix("keep_suspect")):
            found["keep_suspect"] = True
        if state.widget(self._fix("total")):
            found["total"] = float(state.widget(self._fix("total")))
        area = state.widget(self._fix("within"))
        if area is not None:
            found["within"] = area.getvalue()
        return found

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What was made of the files, made once for the same content and corrections, for this visitor only."""
        draft = self._draft
        if draft.key != key:
            with st.spinner("Reading the file", show_time=True):
                draft.read = make()
            draft.key = key
        return cast("T", draft.read)

    def questions(
        self,
        report: Report | None,
        *,
        needs: str | None = None,
        suggestions: list[tuple[str, str]] | None = None,
    ) -> None:
        """Every guess, correctable; what is needed to go on stands first and open."""
        if needs in PARTS:
            self._likely(needs, suggestions or [])
        if needs in FREE:
            self._likely(needs, (suggestions or [])[:LIKELY])
            self._free(needs, suggestions or [])
        if report is None:
            return  # nothing was understood that could be corrected
        with st.expander("Correct what was guessed", icon=":material/edit:", expanded=needs is not None):
            columns = [column.name for column in report.columns] or [str(name) for name in report.preview]
            for role, label in self.roles.items():
                options = [GUESS, *([NONE] if role not in ("x", "y") else []), *columns]
                words = {
                    GUESS: f"as guessed: {_guessed(role, report, needs)}",
                    NONE: WITHOUT.get(role, "none"),
                }
                st.selectbox(label, options, format_func=partial(_in_words, words), key=self._fix(role))
            for name, many in (("sheet", report.sheets), ("layer", report.layers)):
                if len(many) > 1:
                    st.selectbox(name.capitalize(), [GUESS, *many], key=self._fix(name))
            for name in FREE:
                if name != needs and (name not in OF_TEXT or report.delimiter is not None):
                    self._free(name, [], report)
            if "weight" in self.roles:
                st.checkbox("Keep points at (0, 0) and single points far away", key=self._fix("keep_suspect"))
        if "weight" in self.roles:
            self._part_and_total()

    def _part_and_total(self) -> None:
        """Only a part of the file, and an official number of people: what population rasters mostly need."""
        with st.expander("Use only part of the file, or scale the number of people", icon=":material/crop:"):
            st.file_uploader(
                "Cut to an area",
                type=["geojson", "json", "gpkg", "kml", "zip"],
                key=self._fix("within"),
                help="A file of polygons (GeoJSON, GeoPackage, KML, zipped shapefile): only people who live inside "
                "are read.",
            )
            st.number_input(
                "Official number of people",
                min_value=0.0,
                step=1000.0,
                format="%.0f",
                key=self._fix("total"),
                help="Every row's count is scaled so that the total is this number. "
                "0: as counted in the file.",
            )

    def _likely(self, name: str, suggestions: list[tuple[str, str]]) -> None:
        """The likeliest answers as buttons: one click instead of a search through a list."""
        if not suggestions:
            return
        st.markdown("**Is it one of these?**")
        with st.container(horizontal=True, gap="small"):
            for value, words in suggestions:
                st.button(
                    escaped(f"{words} ({value})" if words != value else value),
                    key=f"{self._fix(name)}_{value}",
                    on_click=self._choose,
                    args=(name, value),
                )

    def _choose(self, name: str, value: str) -> None:
        state.set_widget(self._fix(name), value)

    def _free(self, name: str, suggestions: list[tuple[str, str]], report: Report | None = None) -> None:
        names = dict(suggestions)
        guess = None
        if report is not None:
            guess = report.source_crs if name == "crs" else getattr(report, name)
        shown = SIGNS
        options = [GUESS, *names, *(value for value in USUAL[name] if value not in names)]

        def words(option: str) -> str:
            if option == GUESS:
                return f"as guessed: {shown.get(guess, guess)}" if guess else "as guessed"
            return f"{option}  {names[option]}" if option in names else shown.get(option, option)

        st.selectbox(
            FREE[name],
            options,
            format_func=words,
            key=self._fix(name),
            accept_new_options=True,
            help="Choose, or type another, for instance EPSG:3435." if name == "crs" else None,
        )

    def problem(self, told: ResidentsError) -> None:
        """Say what is wrong, ask for what would help, and show the file."""
        st.error(escaped(ARGUMENT.sub("", str(told))), icon=":material/error:")
        self.questions(told.report, needs=told.needs, suggestions=told.suggestions)
        if told.report is not None and len(told.report.preview):
            st.markdown("**The first rows of the file**")
            st.dataframe(told.report.preview.rename_axis("Row"), height=240)

    def understood(self, report: Report) -> None:
        """What was read, kept, left out and guessed, each guess correctable."""
        file_report.summary(report)
        for warning in report.warnings:
            st.warning(escaped(ARGUMENT.sub("", warning)), icon=":material/warning:")
        file_report.left_out(report)
        if "weight" in self.roles and report.asks_for_people:
            self._ask_for_people(report)
        self.questions(report)
        with st.expander("What was understood, and why", icon=":material/fact_check:"):
            file_report.columns(report, {**self.roles, "lonlat": "Both coordinates", "geometry": "Shape"})
            st.markdown(file_report.facts(report))
            st.markdown("**The first rows of the file**")
            st.dataframe(report.preview.rename_axis("Row"), height=200)

    def _ask_for_people(self, report: Report) -> None:
        """Nothing says how many people a row stands for, but columns may: which one, or none?"""
        st.markdown(
            "**How many people does each row stand for?** No column says so clearly. Choose the one that counts them, "
            "or say that every row counts as one."
        )
        columns = report.proposed_weights
        with st.container(horizontal=True, gap="small"):
            for column in columns[:LIKELY]:
                values = next((one.samples for one in report.columns if one.name == column), ())
                st.button(
                    escaped(column),
                    key=f"{self._fix('weight')}_{column}",
                    on_click=self._choose,
                    args=("weight", column),
                    help=escaped(f"Its first values: {', '.join(values[:4])}") if values else None,
                )
            st.button(
                "Every row counts as one",
                key=f"{self._fix('weight')}_none",
                on_click=self._choose,
                args=("weight", NONE),
            )
        if len(columns) > LIKELY:
            st.markdown(":small[:gray[Others are in the list “Number of people” below.]]")


RESIDENTS = Uploader("upload", "Your file (all parts of a shapefile together)", ROLES)
EXISTING = Uploader(
    "existing_file",
    "File with existing facilities",
    {"x": ROLES["x"], "y": ROLES["y"], "id": "Name of the facility"},
    prefix="existing_",
)


SITES = Uploader(
    "sites_file",
    "File with candidate sites",
    {"x": ROLES["x"], "y": ROLES["y"], "id": "Name of the site"},
    prefix="sites_",
)
ZONES = Uploader("zones_file", "File with polygons", {}, prefix="zones_")


def _guessed(role: str, report: Report, needs: str | None) -> str:
    """What was guessed for a role, in a list to choose from."""
    if role in ("x", "y") and report.column_for("lonlat"):
        role = "lonlat"
    found = report.column_for(role)
    if found is None and role in ("x", "y"):
        # coordinates whose system alone is in question, and that are in no column, are those of shapes
        return "the shapes of the file" if report.source_crs is not None or needs == "crs" else "none"
    return found or ("every row counts as one" if role == "weight" else "none")


def _in_words(words: dict[str, str], option: str) -> str:
    return words.get(option, option)


def residents(given: list[NamedBytes]) -> Residents:
    """Residents from the files and the planner's corrections."""
    chosen = RESIDENTS.choices()
    key = _digest(given, chosen)
    return RESIDENTS.once(key, lambda: _load(key, given, chosen))


def existing(given: list[NamedBytes], home: Residents) -> Existing:
    """Existing facilities from the files and the planner's corrections, checked against the residents."""
    return _checked(EXISTING, given, home, read_existing)


def sites(given: list[NamedBytes], home: Residents) -> Sites:
    """Candidate sites from the files and the planner's corrections, checked against the residents."""
    return _checked(SITES, given, home, read_sites)


def zones(given: list[NamedBytes]) -> Zones:
    """Zones from a file of polygons."""
    key = _digest(given, {})
    parts = [(file.name, file.getvalue()) for file in given]
    return ZONES.once(key, lambda: files.zones(key, parts, state.still_here))


def _checked(kind: Uploader, given: list[NamedBytes], home: Residents, check: Callable[..., T]) -> T:
    chosen = kind.choices()

    def read(options: dict[str, Any]) -> Residents:
        return _load(_digest(given, options), given, options)

    return kind.once(_digest(given, chosen, home.fingerprint), lambda: check(read, home, **chosen))


def _digest(given: list[NamedBytes], chosen: Mapping[str, Any], more: str = "") -> str:
    digest = hashlib.blake2b(repr(sorted(chosen.items())).encode(), digest_size=16)
    digest.update(more.encode())
    for file in given:
        digest.update(
            repr((file.name, file.getbuffer().nbytes)).encode()
        )  # so that no name runs into the content
        digest.update(file.getbuffer())
    return digest.hexdigest()


def _load(key: str, given: list[NamedBytes], options: Mapping[str, Any]) -> Residents:
    parts = [(file.name, file.getvalue()) for file in given]
    return files.residents(key, parts, options, state.still_here)
