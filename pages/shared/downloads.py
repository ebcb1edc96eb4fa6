"""Take a plan along: downloads, and the link to it."""

import re
import sys
from collections.abc import Callable, Hashable
from functools import partial

import streamlit as st
from streamlit.runtime import memory_media_file_storage

from pages.serving.config import config
from pages.serving.jobs import tasks
from pages.shared import address, background, cities, long_work, screen
from pages.shared.cache import caches
from pages.shared.markdown import escaped
from tkm_core import export
from tkm_core.figures import Look, html_report
from tkm_core.planning import Plan
from tkm_core.progress import Progress
from tkm_core.stories import Story
from tkm_core.wording import dial_text

AT_ONCE = 10_000  # residents; their table takes at most 0.2 s, of a million 2 to 17 s
TABLE_WORDS = {
    "all": "Everything (GeoPackage)",
    "facilities": "Facilities",
    "allocations": "Who goes where",
    "areas": "Service areas",
}
# Streamlit names a download by its content, but from 1 MiB on looks at parts of it only: two visitors' files that
# differ elsewhere would have one address
setattr(memory_media_file_storage, "_PARTIAL_HASH_THRESHOLD", sys.maxsize)  # noqa: B010  it is final to mypy


def sidebar(place: cities.City, plan: Plan, i: int, story: Story, look: Look) -> None:
    """Downloads and the link, at the end of the sidebar; files are made only when they are asked for."""
    name = f"{_file_name(place.title)}-k{plan.k}-t{plan.t[i]:g}"
    with st.sidebar, st.container(horizontal=True, gap="small"):
        with st.popover("Download", icon=":material/download:", width="stretch"):
            _report(place, plan, i, story, look, name)
            _plan_files(place, plan, i, name)
            _geopackage(place, plan, i, name)
            chosen = st.selectbox(
                "Tables as",
                list(export.FORMATS),
                format_func=lambda name: export.FORMATS[name].menu,
                key="table_format",
            )
            for what in export.TABLES:
                if what == "allocations" and len(plan.residents) > AT_ONCE:
                    _large_table(place, plan, i, what, chosen, name)
                else:
                    _save_table(partial(_table, plan, i, what, chosen), what, chosen, name)
        with st.popover("Share", icon=":material/link:", width="stretch"):
            st.markdown("This link shows the same plan elsewhere.")
            st.code(address.link(), language=None, wrap_lines=True)
            if address.get("dataset") == address.UPLOAD:
                st.markdown(
                    ":small[:gray[The data belong to a project: the link opens for those who may see it. Share the "
                    "project on the Scenarios page.]]"
                    if place.project
                    else ":small[:gray[It names the data by a secret: whoever has the link sees the data, until you "
                    f"remove them on the Data page or nobody has used them for {config().upload_days} days.]]"
                )


def _plan_files(place: cities.City, plan: Plan, i: int, name: str) -> None:
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


def _geopackage(place: cities.City, plan: Plan, i: int, name: str) -> None:
    """All tables in one file, with the columns and areas of the residents' file."""
    if len(plan.residents) > AT_ONCE:
        _large_table(place, plan, i, "all", "gpkg", name)
    else:
        _save_table(lambda: export.to_bytes(export.all_layers(plan, i), "gpkg"), "all", "gpkg", name)


def _report(place: cities.City, plan: Plan, i: int, story: Story, look: Look, name: str) -> None:
    options = {"utility": address.get("x"), "fairness": address.get("y"), "budget": address.get("budget")}
    standard = screen.standard(place)
    # A link to uploaded data opens that data: it does not belong in a report that is passed around.
    link = "" if address.get("dataset") == address.UPLOAD else address.link()
    st.download_button(
        "Report (HTML, prints well)",
        data=lambda: html_report(
            plan,
            i,
            story,
            look,
            title=place.title,
            source=place.source,
            link=link,
            standard=standard,
            **options,
        ),
        file_name=f"{name}.html",
        mime="text/html",
        icon=":material/description:",
        key="save_report",
        on_click="ignore",
        type="primary",
        width="stretch",
    )


def _save_table(data: Callable[[], bytes], what: str, file_format: str, name: str) -> None:
    st.download_button(
        TABLE_WORDS[what],
        data=data,
        file_name=f"{name}-{what}.{file_format}",
        mime=export.FORMATS[file_format].media_type,
        key=f"save_{what}",
        on_click="ignore",
        help="Facilities, who goes where and service areas as layers of one file, with your own columns and areas."
        if what == "all"
        else None,
        width="stretch",
    )


def _large_table(place: cities.City, plan: Plan, i: int, what: str, file_format: str, name: str) -> None:
    """A table of very many rows: made when it is asked for, in line with other long work; then it can be saved."""
    files = caches().files
    key = (*place.key_with_existing, plan.path.centers[i].tobytes(), plan.reference, what, file_format)
    running = background.current()
    if running is not None and running.running:
        background.watch(running)
        return
    if files.get(key) is not None:
        _save_table(partial(_kept, key), what, file_format, name)
        return

    def make(progress: Progress) -> None:
        waiting = partial(progress, 0.0, long_work.WAITING)
        made = files.once(
            key, lambda: tasks.table(key, plan, i, what, file_format, progress), waiting, weight=1.0
        )
        files.put(key, made, len(made))

    if running is not None and running.problem and running.key == key:
        st.error(escaped(running.problem), icon=":material/error:")
    st.button(
        f"{TABLE_WORDS[what]}: make the file",
        key=f"make_{what}",
        on_click=background.begin,
        args=(key, f"{TABLE_WORDS[what]} at t = {dial_text(plan.t[i])}", make),
        help="There are so many rows that the file is made first, in line with other long work. Then you can save it.",
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


def _file_name(title: str) -> str:
    """A title as a plain file name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-").lower()[:40] or "plan"
