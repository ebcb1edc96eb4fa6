"""Take a plan along: downloads, and the link to it."""

import re
import sys
from collections.abc import Callable, Hashable
from functools import partial

import streamlit as st
from streamlit.runtime import memory_media_file_storage

from pages.serving.jobs import tasks
from pages.shared import address, background, session
from pages.shared.markdown import escaped
from tkm_core import export
from tkm_core.figures import Look, html_report
from tkm_core.planning import Plan
from tkm_core.progress import Progress
from tkm_core.stories import Story

AT_ONCE = 10_000  # residents; their table takes at most 0.2 s, of a million 2 to 17 s
FORMAT_WORDS = {
    "geojson": "GeoJSON",
    "gpkg": "GeoPackage",
    "csv": "CSV (spreadsheet)",
    "kml": "KML (Google Earth)",
    "parquet": "Parquet",
}
TABLE_WORDS = {"facilities": "Facilities", "allocations": "Who goes where", "areas": "Service areas"}
# Streamlit names a download by its content, but from 1 MiB on looks at parts of it only: two visitors' files that
# differ elsewhere would have one address
setattr(memory_media_file_storage, "_PARTIAL_HASH_THRESHOLD", sys.maxsize)  # noqa: B010  it is final to mypy


def sidebar(place: session.City, plan: Plan, i: int, story: Story, look: Look) -> None:
    """Downloads and the link, at the end of the sidebar; files are made only when they are asked for."""
    name = f"{_file_name(place.title)}-k{plan.k}-t{plan.t[i]:g}"
    with st.sidebar, st.container(horizontal=True, gap="small"):
        with st.popover("Download", icon=":material/download:", width="stretch"):
            _report(place, plan, i, story, look, name)
            st.download_button(
                "Plan file",
                data=lambda: export.plan_json(plan, i),
                file_name=f"{name}.evenreach.json",
                mime="application/json",
                icon=":material/save:",
                key="save_plan",
                on_click="ignore",
                width="stretch",
                help="Everything needed to open this plan again on the Data page.",
            )
            chosen = st.selectbox(
                "Tables as", list(FORMAT_WORDS), format_func=FORMAT_WORDS.__getitem__, key="table_format"
            )
            for what in TABLE_WORDS:
                if what == "allocations" and len(plan.residents) > AT_ONCE:
                    _large_table(place, plan, i, what, chosen, name)
                else:
                    _save_table(partial(_table, plan, i, what, chosen), what, chosen, name)
        with st.popover("Share", icon=":material/link:", width="stretch"):
            st.markdown("This link shows the same plan elsewhere.")
            st.code(address.link(), language=None, wrap_lines=True)
            if address.get("dataset") == address.UPLOAD:
                st.markdown(
                    ":small[:gray[It names the data by a secret: whoever has the link sees the data, for up to "
                    f"{session.UPLOAD_HOURS} hours or until you remove it on the Data page. Only you can remove it, "
                    "and only before you close or reload this page.]]"
                )


def _report(place: session.City, plan: Plan, i: int, story: Story, look: Look, name: str) -> None:
    options = {"utility": address.get("x"), "fairness": address.get("y"), "budget": address.get("budget")}
    standard = session.standard_metres()
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
        mime=export.FORMATS[file_format],
        key=f"save_{what}",
        on_click="ignore",
        width="stretch",
    )


def _large_table(place: session.City, plan: Plan, i: int, what: str, file_format: str, name: str) -> None:
    """A table of very many rows: made when it is asked for, in line with other long work; then it can be saved."""
    shelf = session.shelves().files
    key = (*place.key_with_existing, plan.path.centers.tobytes(), i, what, file_format)
    running = background.current()
    if running is not None and running.running:
        background.watch(running)
        return
    if shelf.get(key) is not None:
        _save_table(partial(_kept, key), what, file_format, name)
        return

    def make(progress: Progress) -> None:
        waiting = partial(progress, 0.0, "waiting for the same work")
        made = shelf.once(
            key, lambda: tasks.table(key, plan, i, what, file_format, progress), waiting, weight=1.0
        )
        shelf.put(key, made, len(made))

    if running is not None and running.problem and running.key == key:
        st.error(escaped(running.problem), icon=":material/error:")
    st.button(
        f"{TABLE_WORDS[what]}: make the file",
        key=f"make_{what}",
        on_click=background.begin,
        args=(key, f"{TABLE_WORDS[what]} at t = {plan.t[i]:g}", make),
        help="There are so many rows that the file is made first, in line with other long work. Then you can save it.",
        width="stretch",
    )


def _kept(key: Hashable) -> bytes:
    found = session.shelves().files.get(key)
    if found is None:
        msg = "The file is no longer here."
        raise ValueError(msg)
    return found


def _table(plan: Plan, i: int, what: str, file_format: str) -> bytes:
    return export.to_bytes(export.table(plan, i, what), file_format)


def _file_name(title: str) -> str:
    """A title as a plain file name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-").lower()[:40] or "plan"
