"""Data: bring your own residents, see what was understood, correct it, and only then use it."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from pages.shared import address, markdown, plan_files, session, upload
from tkm_core import figures
from tkm_core.residents import SAMPLES, Existing, Residents, ResidentsError


def render() -> None:
    """Uploader and questions on the left, the preview on the right."""
    session.show_notices()
    st.title("Where people live", anchor=False)
    place = session.city()
    kept = "" if place.existing is None else f", and {place.existing.words}"
    st.markdown(
        f":gray[In use now: **{markdown.escaped(place.title)}**, {markdown.escaped(place.size)}{kept}.]"
    )
    left, right = st.columns([1, 1.15], gap="large")
    with left:
        files = upload.RESIDENTS.files()
        found = _understand(files) if files else None
        if not files:
            _nothing_yet()
    with right:
        if found is not None:
            _preview(found)
        elif files:
            _current_map(place)
        else:
            _in_use(place)


def _understand(files: list[upload.NamedBytes]) -> Residents | None:
    """Read the files with the planner's corrections; a problem is said and asked about."""
    try:
        found = upload.residents(files)
    except ResidentsError as problem:
        upload.RESIDENTS.problem(problem)
        return None
    upload.RESIDENTS.understood(found.report)
    return found


def _preview(found: Residents) -> None:
    """The residents on a map, and the button that takes them into use."""
    name_spot, people_spot = st.columns([1.6, 1])
    title = name_spot.text_input(
        "Name of these data",
        markdown.plain(found.name, "Your data"),
        max_chars=80,
        key="title",
        help="As it shall stand on the page, in the report and in the names of downloads.",
    )
    people = people_spot.text_input(
        "What each row counts",
        "residents",
        max_chars=30,
        key="people",
        help="Used in sentences: “homes”, “pupils”.",
    )
    place = session.City("preview", title, people, found)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if st.button("Use these residents", type="primary", icon=":material/check:", key="use_upload"):
            session.keep_upload(found, place.title, place.people)
            upload.RESIDENTS.discard()
            st.switch_page(session.page("plan"))
        st.markdown(
            f":gray[{markdown.escaped(place.size)}. Nothing is used until you press this.]", width="content"
        )
    _map(place, "preview_map")


def _in_use(place: session.City) -> None:
    """The residents in use on a map, and the facilities that exist for them already."""
    spot = st.container()
    st.header("Facilities that exist already", anchor=False)
    found = _existing(place)
    with spot:
        _current_map(place if found is None else replace(place, existing=found))
        if address.get("dataset") == address.UPLOAD and session.owns(place.key):
            st.button(
                "Remove this data from the server"
                if place.saved is None
                else "Remove this plan from the server",
                icon=":material/delete:",
                key="forget",
                on_click=session.forget_upload,
            )


def _current_map(place: session.City) -> None:
    _map(place, "current_map")
    if place.source:
        st.markdown(f":small[:gray[Source: {place.source}]]")


def _existing(place: session.City) -> Existing | None:
    """Ask for existing facilities, show what was understood, and keep them when told to; returns a draft of them."""
    if place.existing is not None:
        st.markdown(
            f"{place.existing.words.capitalize()} {'stays' if len(place.existing) == 1 else 'stay'} in every plan: "
            "squares on the map. The number of facilities you choose counts the new ones only."
        )
        st.dataframe(_listed(place.existing), hide_index=True, height="auto", width="stretch")
    if place.saved is not None:
        st.markdown(
            "These are the residents of a plan that was opened. To plan with other existing facilities, "
            "choose the data set itself."
        )
        return None
    if place.existing is not None:
        own = session.owns(address.get("existing"))
        st.button(
            "Remove the existing facilities" if own else "Plan without the existing facilities",
            icon=":material/delete:" if own else ":material/close:",
            key="leave_existing",
            on_click=session.leave_existing,
        )
        return None
    st.markdown(
        "Schools, clinics or desks that are open and will stay: a small file with their coordinates, in degrees or in "
        "the grid of your residents. They serve people in every plan and never move; the number of facilities you "
        "choose then counts the new ones only."
    )
    files = upload.EXISTING.files()
    if not files:
        return None
    try:
        found = upload.existing(files, place.residents)
    except ResidentsError as problem:
        upload.EXISTING.problem(problem)
        return None
    upload.EXISTING.understood(found.report)
    if st.button(f"Keep {_these(found)}", type="primary", icon=":material/check:", key="use_existing"):
        session.keep_existing(found)
        upload.EXISTING.discard()
        st.switch_page(session.page("plan"))
    return found


def _these(found: Existing) -> str:
    return "this facility" if len(found) == 1 else f"these {len(found)} facilities"


def _listed(existing: Existing) -> pd.DataFrame:
    """Names and places of existing facilities."""
    named = {"Name": list(existing.names)} if existing.names else {}
    return pd.DataFrame(
        {**named, "Latitude": existing.lonlat[:, 1].round(5), "Longitude": existing.lonlat[:, 0].round(5)}
    )


def _map(place: session.City, key: str) -> None:
    look = session.look(place.people)
    height = 400 if session.on_phone() else 520
    width = 360 if session.on_phone() else 620
    sites = None if place.existing is None else place.existing.lonlat
    ground = figures.MapGround.of(place.residents, width=width, height=height, existing=sites)
    kept = "" if place.existing is None else f" and {place.existing.words}"
    st.pydeck_chart(
        figures.residents_map(place.residents, ground, look, place.existing),
        height=height,
        key=key,
        alt=f"Map of {place.size}{kept}",
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
        with _row():
            if st.button(sample.title, key=f"take_{key}", width=210):
                address.put("dataset", key)
                address.put("upload", "")
                st.switch_page(session.page("plan"))
            st.markdown(f":small[:gray[{sample.description}]]", width="stretch")
    plan_files.reopen()


def _row() -> st.delta_generator.DeltaGenerator:
    """A button with its words beside it; below it on a phone, where there is no room."""
    if session.on_phone():
        return st.container(gap="xsmall")
    return st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small")


if __name__ == "__main__":
    from app import main

    main()
