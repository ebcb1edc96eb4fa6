"""An upload before it is used: the files, the planner's corrections, and what was understood."""

import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pandas as pd
import streamlit as st

from pages.serving.config import config
from pages.serving.jobs import tasks
from pages.shared.markdown import escaped
from tkm_core.residents import SHAPEFILE_PARTS, Existing, Report, Residents, ResidentsError, read_existing

T = TypeVar("T")

# what the sentences of the library say to programmers
ARGUMENT = re.compile(
    r" \((?:x|y|weight|group|id|crs|sheet|layer|encoding|delimiter|decimal)=\w*\)| with layer="
)
LIKELY = 4  # answers that are offered as buttons
GUESS = "as guessed"
NONE = "none: every row counts once"
ROLES = {
    "x": "Longitude or easting",
    "y": "Latitude or northing",
    "weight": "Number of people",
    "group": "District or group",
    "id": "Identifier",
}
FREE = {
    "crs": "Reference system of the coordinates",
    "encoding": "Encoding of the text",
    "delimiter": "Separator between columns",
    "decimal": "Decimal sign",
}
PARTS = ("sheet", "layer")
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
class Draft:
    """One uploader with what was made of its file; keys of its widgets begin with `prefix`.

    Attributes
    ----------
    uploader : str
        Key of the file uploader.
    roles : mapping
        What columns can be chosen for, in words.
    """

    uploader: str
    label: str
    roles: Mapping[str, str]
    prefix: str = ""

    @property
    def _draft(self) -> str:
        return f"{self.prefix}draft"

    def _fix(self, name: str) -> str:
        return f"{self.prefix}fix_{name}"

    def files(self, *, help: str | None = None) -> list[NamedBytes]:  # noqa: A002  as Streamlit calls it
        """The uploader; what it was given stays until it is replaced, used or discarded."""
        given = st.file_uploader(
            self.label,
            accept_multiple_files=True,
            max_upload_size=config().upload_mb,
            key=self.uploader,
            on_change=self._forget_corrections,
            help=help,
        )
        if len(given) > 1 and not any(Path(file.name).suffix.lower() in SHAPEFILE_PARTS for file in given):
            given = given[-1:]  # a second try after a file that would not do
            st.markdown(
                f":small[:gray[Several files can only be the parts of a shapefile: the last, "
                f"{escaped(given[0].name)}, is read.]]"
            )
        if given:
            st.session_state[self._draft] = [(file.name, file.getvalue()) for file in given]
        return [NamedBytes(name, content) for name, content in st.session_state.get(self._draft, [])]

    def _forget_corrections(self) -> None:
        for key in (self._draft, f"{self.prefix}title"):
            st.session_state.pop(key, None)
        for name in [*ROLES, *FREE, *PARTS, "keep_suspect"]:
            st.session_state.pop(self._fix(name), None)

    def discard(self) -> None:
        """Forget the draft, its corrections and what was read from it."""
        self._forget_corrections()
        st.session_state.pop(f"{self._draft}_read", None)

    def choices(self) -> dict[str, Any]:
        """The planner's corrections as arguments for `load_residents`."""
        found: dict[str, Any] = {}
        for name in [*ROLES, *FREE, *PARTS]:
            value = st.session_state.get(self._fix(name), GUESS)
            if value not in (GUESS, None):
                found[name] = False if value == NONE else value
        if st.session_state.get(self._fix("keep_suspect")):
            found["keep_suspect"] = True
        return found

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What was made of the files, made once for the same content and corrections, for this visitor only."""
        kept = st.session_state.get(f"{self._draft}_read")
        if kept is None or kept[0] != key:
            with st.spinner("Reading the file", show_time=True):
                kept = key, make()
            st.session_state[f"{self._draft}_read"] = kept
        return cast("T", kept[1])

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
        with st.expander("Correct what was guessed", icon=":material/edit:", expanded=needs is not None):
            columns: list[str] = (
                []
                if report is None
                else [column.name for column in report.columns] or [str(name) for name in report.preview]
            )
            taken = {} if report is None else {role: report.column_for(role) for role in self.roles}
            for role, label in self.roles.items():
                options = [GUESS, *([NONE] if role not in ("x", "y") else []), *columns]
                nothing = NONE if role == "weight" else "none"
                words = {GUESS: f"as guessed: {taken.get(role) or 'none'}", NONE: nothing}
                st.selectbox(label, options, format_func=partial(_in_words, words), key=self._fix(role))
            for name, many in (
                ("sheet", [] if report is None else report.sheets),
                ("layer", [] if report is None else report.layers),
            ):
                if len(many) > 1:
                    st.selectbox(name.capitalize(), [GUESS, *many], key=self._fix(name))
            for name in FREE:
                if name != needs:
                    self._free(name, [], report)
            if "weight" in self.roles:
                st.checkbox("Keep points at (0, 0) and lone points far away", key=self._fix("keep_suspect"))

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
        st.session_state[self._fix(name)] = value

    def _free(self, name: str, suggestions: list[tuple[str, str]], report: Report | None = None) -> None:
        names = dict(suggestions)
        guess = None
        if report is not None:
            guess = report.source_crs if name == "crs" else getattr(report, name)
        shown = {"\t": "tab", ",": "comma  ,", ";": "semicolon  ;", ".": "point  ."}
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
        out = report.rows_read - report.rows_kept
        st.success(
            f"{report.rows_read:,} rows read, {report.rows_kept:,} kept, {out:,} left out.",
            icon=":material/check_circle:",
        )
        for warning in report.warnings:
            st.warning(escaped(ARGUMENT.sub("", warning)), icon=":material/warning:")
        left_out(report)
        if "weight" in self.roles and report.column_for("weight") is None and report.proposed_weights:
            self._ask_for_people(report.proposed_weights[:LIKELY])
        self.questions(report)
        with st.expander("What was understood, and why", icon=":material/fact_check:"):
            st.dataframe(columns_table(report), hide_index=True)
            st.markdown(facts(report))
            st.markdown("**The first rows of the file**")
            st.dataframe(report.preview.rename_axis("Row"), height=200)

    def _ask_for_people(self, columns: Sequence[str]) -> None:
        """Every row counts once, but there are columns that may count people: is it one of them?"""
        if self._fix("weight") in st.session_state and st.session_state[self._fix("weight")] == NONE:
            return
        st.markdown("Every row counts as one resident. **Does one of these columns count the people?**")
        with st.container(horizontal=True, gap="small"):
            for column in columns:
                st.button(
                    escaped(column),
                    key=f"{self._fix('weight')}_{column}",
                    on_click=self._choose,
                    args=("weight", column),
                )
            st.button("No", key=f"{self._fix('weight')}_none", on_click=self._choose, args=("weight", NONE))


RESIDENTS = Draft("upload", "Your file (all parts of a shapefile together)", ROLES)
EXISTING = Draft(
    "existing_file",
    "File with existing facilities",
    {"x": ROLES["x"], "y": ROLES["y"], "id": "Name of the facility"},
    prefix="existing_",
)


def _in_words(words: dict[str, str], option: str) -> str:
    return words.get(option, option)


def residents(given: list[NamedBytes]) -> Residents:
    """Residents from the files and the planner's corrections."""
    chosen = RESIDENTS.choices()
    key = _digest(given, chosen)
    return RESIDENTS.once(key, lambda: _load(key, given, chosen, "draft"))


def existing(given: list[NamedBytes], home: Residents) -> Existing:
    """Existing facilities from the files and the planner's corrections, checked against the residents."""
    chosen = EXISTING.choices()
    key = _digest(given, chosen, home.fingerprint)

    def read(options: dict[str, Any]) -> Residents:
        return _load(_digest(given, options), given, options, "existing_draft")

    return EXISTING.once(key, lambda: read_existing(read, home, **chosen))


def _digest(given: list[NamedBytes], chosen: Mapping[str, Any], more: str = "") -> str:
    digest = hashlib.blake2b(repr(sorted(chosen.items())).encode(), digest_size=16)
    digest.update(more.encode())
    for file in given:
        digest.update(
            repr((file.name, file.getbuffer().nbytes)).encode()
        )  # so that no name runs into the content
        digest.update(file.getbuffer())
    return digest.hexdigest()


def _load(key: str, given: list[NamedBytes], options: Mapping[str, Any], draft: str) -> Residents:
    parts = [(file.name, file.getvalue()) for file in given]
    # touching the session is where a visitor who left is noticed
    return tasks.residents(key, parts, options, lambda _fraction, _text: st.session_state.get(draft))


def left_out(report: Report) -> None:
    """What was left out, and why, with examples."""
    if not report.dropped:
        return
    rows = [
        {
            "Rows": drop.count,
            "Left out because": drop.reason,
            "For instance": "; ".join(f"row {row}: {text}" for row, text in drop.examples[:3]),
        }
        for drop in report.dropped
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")


def columns_table(report: Report) -> pd.DataFrame:
    """Each column, what it was taken for, and why."""
    return pd.DataFrame(
        [
            {
                "Column": column.name,
                "Taken as": column.role or "not used",
                "Why": column.why,
                "Values": ", ".join(column.samples[:3]),
            }
            for column in report.columns
        ]
    )


def facts(report: Report) -> str:
    """Format, encoding and reference systems as a list."""
    told = {
        "Format": report.file_format,
        "Encoding": report.encoding,
        "Separator": {"\t": "tab"}.get(report.delimiter or "", report.delimiter),
        "Decimal sign": report.decimal,
        "Reference system of the file": report.source_crs,
        "Map in metres": report.crs,
    }
    lines = [f"- {name}: {escaped(str(value))}" for name, value in told.items() if value]
    return "\n".join([*lines, *(f"- {escaped(note)}" for note in report.notes)])
