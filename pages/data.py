"""Data: upload your own residents, see what was understood, correct it, and only then use it."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from pages.serving.city import City
from pages.serving.config import config
from pages.serving.plan_settings import UPLOAD
from pages.session import address, cities, markdown, notices, screen, state, stored_data
from pages.widgets import gone_data, plan_files, removed_data, server_datasets, upload, windows
from tkm_core import figures
from tkm_core.residents import FORMATS, SAMPLES, Existing, Residents, ResidentsError
from tkm_core.wording import plain


def render() -> None:
    """Uploader and questions on the left, the preview on the right."""
    notices.show()
    st.title("Where people live", anchor=False)
    try:
        place = cities.current()
    except stored_data.GoneError as gone:
        gone_data.show(gone, alone=False)
        _instead()
        return
    kept = "" if place.existing is None else f", and {place.existing.words}"
    st.markdown(
        f":gray[In use now: **{markdown.escaped(place.title)}**, {markdown.escaped(place.size)}{kept}.]"
    )
    left, right = st.columns([1, 1.15], gap="large")
    with left:
        files = upload.RESIDENTS.files()
        if files and upload.RESIDENTS.token:
            _read_anew()
        found = _understand(files) if files else None
        if not files:
            _nothing_yet()
    with right:
        if found is not None:
            _preview(found)
        elif files:
            st.markdown(f":gray[Still in use: **{markdown.escaped(place.title)}**]")
            _current_map(place)
        else:
            _in_use(place)


def _instead() -> None:
    """Without the data of the link: what was removed can be restored, and other residents uploaded."""
    removed_data.bin_of_uploads()
    files = upload.RESIDENTS.files()
    found = _understand(files) if files else None
    if found is not None:
        _preview(found)


def _understand(files: list[upload.NamedBytes]) -> Residents | None:
    """Read the files with the planner's corrections; if something is wrong, say so and ask."""
    try:
        found = upload.residents(files)
    except ResidentsError as problem:
        upload.RESIDENTS.problem(problem)
        return None
    upload.RESIDENTS.understood(found.report)
    return found


def _read_anew() -> None:
    """Say that the data in use are being read again, with a button to leave them as they were."""
    st.markdown("You are changing how the data in use are read.")
    st.button(
        "Leave them as they were",
        icon=":material/undo:",
        key="leave_answers",
        on_click=upload.RESIDENTS.discard,
    )


def _preview(found: Residents) -> None:
    """The residents on a map, and the button that takes them into use."""
    name_spot, people_spot = st.columns([1.6, 1])
    title = name_spot.text_input(
        "Name of this data set",
        plain(found.name, "Your data"),
        max_chars=80,
        key="title",
        help="Shown on the pages, in the report and in the names of downloads.",
    )
    people = people_spot.text_input(
        "What each row counts",
        "residents",
        max_chars=30,
        key="people",
        help="The word used in sentences, such as “homes” or “pupils”.",
    )
    place = City("preview", title, people, found)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        asked = found.report.asks_for_people
        if st.button(
            "Use these residents",
            type="primary",
            icon=":material/check:",
            key="use_upload",
            disabled=asked,
        ):
            with st.spinner("Keeping your data"):  # with millions of rows it takes a while
                kept = cities.keep_upload(found, place.title, place.people, instead_of=upload.RESIDENTS.token)
                upload.RESIDENTS.keep(kept.key)
            st.switch_page(state.page("plan"))
        told = (
            "First say how many people each row stands for."
            if asked
            else f"{markdown.escaped(place.size)}. Nothing is used until you press this."
        )
        st.markdown(f":gray[{told}]", width="content")
    _map(place, "preview_map")


def _in_use(place: City) -> None:
    """The residents in use on a map, and the facilities that exist for them already."""
    spot = st.container()
    st.header("Existing facilities", anchor=False)
    found = _existing(place)
    with spot:
        _current_map(place if found is None else replace(place, existing=found))
        if address.get("dataset") == UPLOAD and cities.owns(place.key):
            brought = state.visit().brought
            if brought is not None and brought.token == place.key:
                st.button(
                    "Change how these data were read",
                    icon=":material/edit:",
                    key="change_upload",
                    on_click=_change,
                    args=(place,),
                    help="Choose other columns for people, districts or names, or another reference system. "
                    "You need not upload the file again.",
                )
            st.button(
                "Remove these data from the server"
                if place.saved is None
                else "Remove this plan from the server",
                icon=":material/delete:",
                key="forget",
                on_click=windows.ask,
                args=("remove",),
            )
            if windows.is_open("remove"):
                removed_data.ask_about_upload(place)
        removed_data.bin_of_uploads()


def _change(place: City) -> None:
    """Ask the questions about the data in use again."""
    upload.RESIDENTS.take_up()
    state.set_widget("title", place.title)
    state.set_widget("people", place.people)


def _current_map(place: City) -> None:
    _map(place, "current_map")
    if place.source:
        st.markdown(f":small[:gray[Source: {place.source}]]")


def _existing(place: City) -> Existing | None:
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
        own = cities.owns(address.get("existing"))
        st.button(
            "Remove the existing facilities" if own else "Plan without the existing facilities",
            icon=":material/delete:" if own else ":material/close:",
            key="leave_existing",
            on_click=windows.ask if own else cities.leave_existing,
            args=("remove_existing",) if own else (),
        )
        if windows.is_open("remove_existing"):
            removed_data.ask_about_existing(place)
        return None
    st.markdown(
        "Schools, clinics or service desks that are open and will stay. Upload a small file with their coordinates, in "
        "degrees or in the grid of your residents. They serve people in every plan and never move; the number of "
        "facilities you choose then counts the new ones only."
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
        cities.keep_existing(found)
        upload.EXISTING.discard()
        st.switch_page(state.page("plan"))
    return found


def _these(found: Existing) -> str:
    return "this facility" if len(found) == 1 else f"these {len(found)} facilities"


def _listed(existing: Existing) -> pd.DataFrame:
    """Names and places of existing facilities."""
    named = {"Name": list(existing.names)} if existing.names else {}
    return pd.DataFrame(
        {**named, "Latitude": existing.lonlat[:, 1].round(5), "Longitude": existing.lonlat[:, 0].round(5)}
    )


def _map(place: City, key: str) -> None:
    look = screen.look(place)
    height = 400 if screen.on_phone() else 520
    width = 360 if screen.on_phone() else 620
    sites = None if place.existing is None else place.existing.lonlat
    ground = figures.MapGround.of(place.residents, width=width, height=height, existing_lonlat=sites)
    kept = "" if place.existing is None else f" and {place.existing.words}"
    st.pydeck_chart(
        figures.residents_map(place.residents, ground, look, place.existing),
        height=height,
        key=key,
        alt=f"Map of {place.size}{kept}",
    )


def _nothing_yet() -> None:
    st.markdown(
        f"Upload a table with coordinates (**{_formats(is_map=False)}**) or a map file "
        f"(**{_formats(is_map=True)}**), zipped or not. It needs one row per home, or one row per place with a column "
        "that counts its people. Coordinates may be in degrees or in any national grid; separators, encodings and "
        f"decimal commas are recognised. A table larger than {config().upload_mb} MB may fit if it is zipped or saved "
        "as Parquet.\n\n"
        "Your file stays on this server, so that your link still opens tomorrow, until you remove it or nobody has "
        f"used it for {config().upload_days} days. It is sent nowhere else."
    )
    st.markdown("**Or start with a sample**")
    for key, sample in SAMPLES.items():
        with _row():
            if st.button(sample.title, key=f"take_{key}", width=210):
                address.put("dataset", key)
                address.put("upload", "")
                st.switch_page(state.page("plan"))
            st.markdown(f":small[:gray[{sample.description}]]", width="stretch")
    server_datasets.offer(_row)
    plan_files.reopen()


def _formats(*, is_map: bool) -> str:
    return ", ".join(one.name for one in FORMATS.values() if one.is_map == is_map)


def _row() -> st.delta_generator.DeltaGenerator:
    """A button with its words beside it; below it on a phone, where there is no room."""
    if screen.on_phone():
        return st.container(gap="xsmall")
    return st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small")


if __name__ == "__main__":
    from app import main

    main()
