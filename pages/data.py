"""Data: bring your own residents, see what was understood, correct it, and only then use it."""

import streamlit as st

from pages.frame import address, planfiles, session, upload, words
from tkm_core import figures
from tkm_core.residents import Residents, ResidentsError
from tkm_core.residents.samples import SAMPLES


def render() -> None:
    """Uploader and questions on the left, the preview on the right."""
    session.show_notices()
    st.title("Where people live", anchor=False)
    place = session.city()
    st.markdown(f":gray[In use now: **{upload.escaped(place.title)}**, {place.size}.]")
    left, right = st.columns([1, 1.15], gap="large")
    with left:
        files = upload.files()
        found = _understand(files) if files else None
        if not files:
            _nothing_yet()
    with right:
        if found is not None:
            _preview(found)
        else:
            _in_use(place)


def _understand(files: list[upload.NamedBytes]) -> Residents | None:
    """Read the files with the planner's corrections; a problem is said and asked about."""
    choices = upload.choices()
    try:
        found = upload.read(files, choices)
    except ResidentsError as problem:
        st.error(upload.escaped(str(problem)), icon=":material/error:")
        upload.questions(problem.report, needs=problem.needs, suggestions=problem.suggestions)
        if problem.report is not None and len(problem.report.preview):
            st.markdown("**The first rows of the file**")
            st.dataframe(problem.report.preview, height=240)
        return None
    report = found.report
    left_out = report.rows_read - report.rows_kept
    st.success(
        f"{report.rows_read:,} rows read, {report.rows_kept:,} kept, {left_out:,} left out.",
        icon=":material/check_circle:",
    )
    for warning in report.warnings:
        st.warning(upload.escaped(warning), icon=":material/warning:")
    upload.left_out(report)
    upload.questions(report)
    with st.expander("What was understood, and why", icon=":material/fact_check:"):
        st.dataframe(upload.columns_table(report), hide_index=True)
        st.markdown(upload.facts(report))
        st.markdown("**The first rows of the file**")
        st.dataframe(report.preview, height=200)
    return found


def _preview(found: Residents) -> None:
    """The residents on a map, and the button that takes them into use."""
    people = st.text_input(
        "What each row counts",
        "residents",
        max_chars=30,
        key="people",
        help="Used in sentences: “homes”, “pupils”.",
    )
    place = session.City("preview", found.name, words.plain(people, "residents"), found)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if st.button("Use these residents", type="primary", icon=":material/check:", key="use_upload"):
            session.keep_upload(found, place.people)
            upload.discard()
            st.switch_page(session.page("plan"))
        st.markdown(f":gray[{place.size}. Nothing is used until you press this.]", width="content")
    _map(place, "preview_map")


def _in_use(place: session.City) -> None:
    _map(place, "current_map")
    if place.source:
        st.markdown(f":small[:gray[Source: {place.source}]]")
    if address.get("dataset") == address.UPLOAD:
        st.button(
            "Remove this data from the server",
            icon=":material/delete:",
            key="forget",
            on_click=session.forget_upload,
        )


def _map(place: session.City, key: str) -> None:
    look = session.look(place.people)
    height = 400 if session.on_phone() else 520
    width = 360 if session.on_phone() else 620
    ground = figures.MapGround.of(place.residents, width=width, height=height)
    st.pydeck_chart(
        figures.residents_map(place.residents, ground, look),
        height=height,
        key=key,
        alt=f"Map of {place.size}",
    )


def _nothing_yet() -> None:
    st.markdown(
        "A table with coordinates (**CSV, Excel**) or a map file (**GeoJSON, GeoPackage, shapefile, KML, Parquet**), "
        "also zipped. One row a home, or one row a place with a column that counts its people. Coordinates in degrees "
        "or in any national grid; separators, encodings and decimal commas are recognised.\n\n"
        "Your file stays in this server's memory and goes nowhere else."
    )
    st.markdown("**Or start with a sample**")
    for key, sample in SAMPLES.items():
        with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
            if st.button(sample.title, key=f"take_{key}", width=210):
                address.put("dataset", key)
                address.put("upload", "")
                st.switch_page(session.page("plan"))
            st.markdown(f":small[:gray[{sample.description}]]", width="stretch")
    planfiles.reopen()


if __name__ == "__main__":
    from app import main

    main()
