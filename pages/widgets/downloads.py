"""Downloads of a plan, and the link to it."""

import sys
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.runtime import memory_media_file_storage

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.config import config
from pages.serving.jobs import documents
from pages.serving.plan_cache import WAITING
from pages.serving.plan_settings import UPLOAD
from pages.session import address, background, dial, markdown, screen, state, stored_data
from pages.widgets import errors, windows
from tkm_core import export, figures
from tkm_core.planning import Plan
from tkm_core.progress import Progress
from tkm_core.stories import tell_plan
from tkm_core.wording import FACILITY, dial_text, plain

AT_ONCE = 10_000  # residents: their table takes at most 0.2 s; that of a million takes 2 to 17 s
REPORT_AT_ONCE = 200_000  # residents: with more, the report takes longer than anybody waits without a sign
ZIPPED_FROM = 500_000  # rows: with more, a file that is not compressed gets too large to be handed out
FACILITY_KEY, AUTHOR_KEY = "report_facility", "report_author"
REPORT = "Report (HTML, prints well)"
TABLE_WORDS = {
    "all": "Everything (GeoPackage)",
    "facilities": "Facilities",
    "allocations": "Who goes where",
    "areas": "Service areas",
}
LARGE = {
    "all": "gpkg",
    "allocations": "",
}  # with a row for every resident; the format, where there is but one
# Streamlit names a download by its content, but from 1 MiB on looks at parts of it only: two visitors' files that
# differ elsewhere would have one address
setattr(memory_media_file_storage, "_PARTIAL_HASH_THRESHOLD", sys.maxsize)  # noqa: B010  it is final to mypy


def sidebar(place: City, plan: Plan) -> None:
    """Buttons for downloads and the link, at the end of the sidebar; turning the dial does not redraw them."""
    with st.sidebar:
        st.fragment(errors.show_problems(_buttons))(place, plan)


def _buttons(place: City, plan: Plan) -> None:
    windows.end_what_is_left()
    with st.container(horizontal=True, gap="small"):
        for label, icon in (("Download", ":material/download:"), ("Share", ":material/link:")):
            name = label.lower()
            st.button(label, key=name, icon=icon, on_click=windows.ask, args=(name,), width="stretch")
    if windows.is_open("download"):
        _download(place, plan)
    elif windows.is_open("share"):
        _share(place)


@st.dialog("Download this plan", icon=":material/download:", on_dismiss=windows.leave)
def _download(place: City, plan: Plan) -> None:
    """The files of the plan at the setting that is on the screen; each is made only when it is asked for."""
    i = plan.index(dial.setting(plan))
    name = export.file_stem(plan, i, place.title)
    st.markdown(f":gray[{markdown.escaped(place.title)}, as you see it now: t = {dial_text(plan.t[i])}]")
    many = len(plan.residents) > AT_ONCE
    _ask_for_report()
    if len(plan.residents) <= REPORT_AT_ONCE:
        _save_report(_report(place, plan, i), name)
    else:
        st.fragment(_large_report, run_every=background.LOOK)(place, plan, i, name)
    _plan_files(place, plan, i, name)
    if not many:
        _save_table(lambda: export.to_bytes(export.all_layers(plan, i), "gpkg"), "all", "gpkg", name)
    chosen = st.selectbox(
        "Tables as",
        list(export.FORMATS),
        format_func=lambda name: export.FORMATS[name].menu,
        key="table_format",
        persist_state="session",
    )
    for what in export.TABLES:
        if not (many and what in LARGE):
            _save_table(partial(_table, plan, i, what, chosen), what, chosen, name)
    if many:
        st.fragment(_large_tables, run_every=background.LOOK)(place, plan, i, chosen, name)


def _ask_for_report() -> None:
    """What the report calls the facilities, and who prepared it."""
    known = stored_data.actor().name if config().login else ""
    for place, key, label, usual, told in zip(
        st.columns(2),
        (FACILITY_KEY, AUTHOR_KEY),
        ("Each facility is a", "Prepared by"),
        ("", known),
        ("facility, library, clinic …", "your name or office"),
        strict=True,
    ):
        with place:
            st.text_input(
                label, usual, key=key, max_chars=60, placeholder=told, persist_state="session",
                help="One of them, in English: the report writes “library” and “libraries”."
                if key == FACILITY_KEY
                else None,
            )  # fmt: skip


@st.dialog("Share this plan", icon=":material/link:", on_dismiss=windows.close)
def _share(place: City) -> None:
    st.markdown("This link shows the same plan elsewhere.")
    st.code(address.link(), language=None, wrap_lines=True)
    if address.get("dataset") == UPLOAD:
        st.markdown(
            ":small[:gray[The data belong to a project: the link opens for those who may see it. Share the "
            "project on the Scenarios page.]]"
            if place.project
            else ":small[:gray[The link carries a secret key to the data: whoever has it can see the data, until you "
            f"remove them on the Data page or nobody has used them for {config().upload_days} days.]]"
        )


def _plan_files(place: City, plan: Plan, i: int, name: str) -> None:
    """The plan to be opened again: with its residents where they fit in, and without them."""
    shown = export.Shown(place.title, place.people, address.get("units"), screen.standard_metres())
    fits = len(plan.residents) <= export.MOST_CARRIED
    for residents, label, key, told in (
        (
            True,
            "Plan file with its data",
            "save_plan_whole",
            "Opens anywhere on the Data page, as you see it now.",
        ),
        (
            False,
            "Plan file without data",
            "save_plan",
            "Smaller, and tells nobody where people live. Whoever opens it needs the same data.",
        ),
    ):
        if residents and not fits:
            continue
        st.download_button(
            label,
            data=partial(export.plan_json, plan, i, residents=residents, shown=shown),
            file_name=f"{name}{'' if residents else '-without-data'}.evenreach.json",
            mime="application/json",
            icon=":material/save:",
            key=key,
            on_click="ignore",
            width="stretch",
            help=told,
        )


def _told(place: City) -> dict[str, Any]:
    """What the report says beside the plan."""
    # A link to uploaded data opens that data: it does not belong in a report that is passed around.
    link = "" if address.get("dataset") == UPLOAD else address.link()
    axes = {"utility": address.get("x"), "fairness": address.get("y"), "budget": address.get("budget")}
    author = " ".join(str(state.widget(AUTHOR_KEY, "")).split())
    return {"title": place.title, "author": author, "source": place.source, "link": link, **axes}


def _look(place: City) -> figures.Look:
    """How the report is drawn, with the planner's word for facilities."""
    facility = plain(str(state.widget(FACILITY_KEY, "")), FACILITY)
    return replace(screen.look(place), facility=facility)


def _report(place: City, plan: Plan, i: int) -> Callable[[], str]:
    """What makes the report when it is asked for."""
    look, standard, told = _look(place), screen.standard(place), _told(place)

    def write() -> str:
        story = tell_plan(plan, i, unit=look.unit, standard=standard, people=place.people)
        return figures.html_report(plan, i, story, look, standard=standard, **told)

    return write


def _save_report(data: Callable[[], str | bytes], name: str) -> None:
    st.download_button(
        REPORT,
        data=data,
        file_name=f"{name}.html",
        mime="text/html",
        icon=":material/description:",
        key="save_report",
        on_click="ignore",
        type="primary",
        width="stretch",
    )


def _save_table(data: Callable[[], bytes], what: str, suffix: str, name: str) -> None:
    zipped = suffix.endswith(".zip")
    st.download_button(
        f"{TABLE_WORDS[what]}, as a ZIP file" if zipped else TABLE_WORDS[what],
        data=data,
        file_name=f"{name}-{what}.{suffix}",
        mime="application/zip" if zipped else export.FORMATS[suffix].media_type,
        key=f"save_{what}",
        on_click="ignore",
        help="Facilities, who goes where and service areas as layers of one file, with your own columns and areas."
        if what == "all"
        else None,
        width="stretch",
    )


def _large_tables(place: City, plan: Plan, i: int, file_format: str, name: str) -> None:
    """Tables of very many rows: made when they are asked for, in line with other long work; then they can be saved."""
    running = background.current()
    if running is not None and running.running:
        background.bar(running)
        return
    for what, written in LARGE.items():
        _large_table(place, plan, i, what, written or file_format, name)


def _large_report(place: City, plan: Plan, i: int, name: str) -> None:
    """The report on very many residents: made when it is asked for; then it can be saved."""
    running = background.current()
    if running is not None and running.running:
        return  # the bar stands below, with the tables
    look, standard, told = _look(place), screen.standard(place), _told(place)
    key = _file_key(place, plan, i, "report", (look, standard, *told.values()))
    if caches().files.get(key) is not None:
        _save_report(partial(_kept, key), name)
        return

    def made(progress: Progress) -> bytes:
        return documents.report(key, plan, i, look, told, progress, standard=standard)

    _make_button(key, "report", REPORT, plan, i, made)


def _large_table(place: City, plan: Plan, i: int, what: str, file_format: str, name: str) -> None:
    zipped = len(plan.residents) > ZIPPED_FROM and not export.FORMATS[file_format].compressed
    suffix = f"{file_format}.zip" if zipped else file_format
    key = _file_key(place, plan, i, what, suffix)
    if caches().files.get(key) is not None:
        _save_table(partial(_kept, key), what, suffix, name)
        return

    def made(progress: Progress) -> bytes:
        return documents.table(key, plan, i, what, suffix, progress)

    _make_button(key, what, TABLE_WORDS[what], plan, i, made)


def _file_key(place: City, plan: Plan, i: int, what: str, how: Hashable) -> tuple[Hashable, ...]:
    return (*place.key_with_existing, plan.path.centers[i].tobytes(), plan.reference, what, how)


def _make_button(
    key: Hashable, what: str, label: str, plan: Plan, i: int, made: Callable[[Progress], bytes]
) -> None:
    """A button that makes a file in line with other long work, and what went wrong the last time."""
    files = caches().files

    def make(progress: Progress) -> None:
        waiting = partial(progress, 0.0, WAITING)
        content = files.once(key, lambda: made(progress), waiting, weight=1.0)
        files.put(key, content, len(content))

    last = background.current()
    if last is not None and last.problem and last.key == key:
        st.error(markdown.escaped(last.problem), icon=":material/error:")
    st.button(
        f"{label}: make the file",
        key=f"make_{what}",
        on_click=background.begin,
        args=(key, f"{label} at t = {dial_text(plan.t[i])}", make),
        help="With this many rows, making the file takes a while and may have to wait in line. You can close this "
        "window; the file is there to save when you open it again.",
        width="stretch",
    )


def _kept(key: Hashable) -> bytes:
    found = caches().files.get(key)
    if found is None:
        msg = "The file is no longer here."
        raise ValueError(msg)
    return found


def _table(plan: Plan, i: int, what: str, file_format: str) -> bytes:
    return export.to_bytes(export.table(plan, i, what), file_format)
