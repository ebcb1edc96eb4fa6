"""Sites: what may be built where, how distance is measured, and how many people a facility can serve."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import streamlit as st

from pages.live_map import Canvas, follow_edits, show_editor
from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.config import config
from pages.session import address, cities, markdown, notices, rules, screen, state
from pages.widgets import upload
from tkm_core import figures
from tkm_core.planning import AlongStreets, ResidentCells, UncoveredError
from tkm_core.residents import ResidentsError, find_sample
from tkm_core.wording import counted

KEY = "site_editor"
UNITS = {"min": "minutes", "s": "seconds", "h": "hours", "m": "metres", "km": "kilometres", "mi": "miles"}
NO_COLUMN = rules.NO_COLUMN
ROLES = {"road_class": "Class of the street", "oneway": "One-way direction", "speed": "Speed, km/h"}
KINDS = {"not_in": "No facility inside them", "only_in": "Facilities only inside them"}
NO_RULES = (
    "No rules yet: facilities may stand anywhere, distances are straight lines, people go to the nearest one."
)
MAP_HEIGHT, PHONE_HEIGHT = 560, 400


def render() -> None:
    """The rules in words and the map on which they are drawn; the settings beside it."""
    place = cities.current()
    notices.show()
    st.title("What may be built where", anchor=False)
    _in_words(place)
    if place.saved is not None:
        st.info(
            "This plan was opened from a file and keeps its rules. For other rules, choose the data set itself."
        )
        return
    left, right = st.columns([1.5, 1], gap="large")
    with left:
        _editor(place)
    with right:
        where, far, room = st.tabs(["Where", "How far", "How many people"])
        with where:
            _undo()
            _sites(place)
            _zones()
        with far:
            _travel(place)
        with room:
            _room(place)


def _in_words(place: City) -> None:
    """Every rule as a sentence."""
    told = place.rules.sentences(place.people)
    st.markdown("\n".join(f"- {markdown.escaped(sentence)}" for sentence in told) or NO_RULES)


def _editor(place: City) -> None:
    """The map: sites and zones are added, moved, named and removed on it."""
    look = screen.look(place)
    canvas = caches().results.once(
        ("canvas", *place.key_with_existing, look.length_unit, look.people),
        lambda: _canvas(place, look),
    )
    show_editor(
        replace(cast("Canvas", canvas), streets=figures.live_streets(look), roads=rules.drawn_streets()),
        rules.places().drawing,
        seen=state.visit().live_map.drawn,
        height=PHONE_HEIGHT if screen.on_phone() else MAP_HEIGHT,
        key=KEY,
        on_said=_said,
    )
    beside = rules.places().shapes
    if beside:
        st.markdown(
            f":small[:gray[{counted(len(beside), 'zone')} with holes or very many corners "
            f"{'is' if len(beside) == 1 else 'are'} taken into account, but cannot be edited here.]]"
        )


def _canvas(place: City, look: figures.Look) -> Canvas:
    existing = place.existing
    ground = figures.live_ground(
        place.residents, existing_lonlat=None if existing is None else existing.lonlat
    )
    return Canvas(
        place=figures.live_place(place.residents, ground, look, existing=existing),
        residents=figures.live_residents(place.residents, ground),
        label=f"Map of {place.title} on which candidate sites and zones are drawn",
        areas=figures.live_areas(place.residents, ground),
    )


def _said() -> None:
    """Follow what was drawn."""
    live, before = state.visit().live_map, rules.places()
    drawing, live.drawn = follow_edits(before.drawing, live.drawn, state.widget(KEY))
    if drawing != before.drawing:
        rules.keep_places(replace(before, drawing=drawing))


def _sites(place: City) -> None:
    """Candidate sites: drawn, from a file, or the sample's own."""
    st.header("Candidate sites", anchor=False)
    sites, sample = rules.places().drawing.sites, find_sample(address.get("dataset"))
    st.markdown(
        f"{counted(len(sites), 'site')}: new facilities stand on these and nowhere else."
        if sites
        else "Facilities may stand anywhere. If only some parcels are possible, add them on the map or from a file; "
        "columns with names and capacities are recognised."
    )
    if sample is not None and sample.sites_file and address.get("places") != rules.SAMPLE:
        words = counted(len(sample.sites[0]), "site")
        st.button(
            f"Use the sample's {words}",
            key="sample_sites",
            icon=":material/place:",
            on_click=lambda: address.put("places", rules.SAMPLE),
        )
    files = upload.SITES.files()
    if files:
        try:
            found = upload.sites(files, place.residents)
        except ResidentsError as problem:
            upload.SITES.problem(problem)
        else:
            upload.SITES.understood(found.report)
            _add("site", len(found), lambda: rules.add_sites(found), upload.SITES)
    if sites:
        _remove("all sites", "sites", _without)


def _zones() -> None:
    """Zones: drawn, or from a file of polygons."""
    st.header("Zones", anchor=False)
    known = rules.places()
    count = len(known.drawing.zones) + len(known.shapes)
    st.markdown(
        f"{counted(count, 'zone')} on the map."
        if count
        else "Draw a zone on the map, or upload polygons: districts in which facilities must stand, or an airport in "
        "which they must not."
    )
    kind = st.radio("Zones from a file", list(KINDS), format_func=KINDS.__getitem__, key="zone_kind")
    files = upload.ZONES.files()
    if files:
        try:
            found = upload.zones(files)
        except ResidentsError as problem:
            st.error(markdown.escaped(str(problem)), icon=":material/error:")
        else:
            _add("zone", len(found), lambda: rules.add_zones(found, kind), upload.ZONES)
    if count:
        _remove("all zones", "zones", _without)


def _add(what: str, count: int, add: Callable[[], None], files: upload.Uploader) -> None:
    """A button that adds what was read from the files and discards them."""
    if st.button(f"Add {counted(count, what)}", type="primary", icon=":material/check:", key=f"use_{what}s"):
        add()
        files.empty()
        st.rerun()


def _undo() -> None:
    """Say what was added or removed last, with the way back."""
    told = rules.last_change()
    if told:
        with st.container(horizontal=True, vertical_alignment="center", key="places_changed"):
            st.markdown(f":material/check: {markdown.escaped(told)}", width="content")
            st.button(
                "Undo", key="undo_places", icon=":material/undo:", type="tertiary", on_click=rules.undo_places
            )


def _remove(words: str, what: str, leave: Callable[[str], None]) -> None:
    st.button(f"Remove {words}", key=f"no_{what}", icon=":material/delete:", on_click=leave, args=(what,))


def _without(what: str) -> None:
    known = rules.places()
    drawing = known.drawing
    rules.change_places(
        replace(known, drawing=replace(drawing, sites=()), room=())
        if what == "sites"
        else replace(known, drawing=replace(drawing, zones=()), shapes=()),
        f"All {what} removed.",
    )


def _travel(place: City) -> None:
    """Straight lines, along streets, or by the planner's own table."""
    choice = st.container()  # drawn last: a file that is brought below sets it
    st.header("Streets", anchor=False)
    _road_file(place)
    st.header("Your own travel table", anchor=False)
    _table_file()
    ways = ["straight"]
    if rules.has_streets():
        ways += rules.MODES
    if address.get("table") and place.rules.sites is not None:
        ways.append("table")
    with choice:
        st.radio(
            "Distances are measured",
            ways,
            format_func=rules.WAYS.__getitem__,
            key="by",
            persist_state="session",
        )
        if address.get("by") in rules.MODES:
            _along_streets()


def _along_streets() -> None:
    st.segmented_control(
        "Measured in",
        ["minutes", "metres"],
        format_func={"minutes": "minutes", "metres": "distance by road"}.__getitem__,
        key="measure",
        required=True,
        persist_state="session",
    )
    st.radio(
        "Direction of travel",
        ["there", "back"],
        format_func={
            "there": "People travel to the facility",
            "back": "The facility drives out to people (fire, ambulance)",
        }.__getitem__,
        key="direction",
        persist_state="session",
        help="This matters where there are one-way streets.",
    )
    found = rules.streets(address.get("by"))
    if found is not None:
        st.markdown(f":small[:gray[{markdown.escaped(str(found.report))}]]")


def _road_file(place: City) -> None:
    file, sample = rules.road_file(), find_sample(address.get("dataset"))
    if file is not None:
        st.markdown(f"Streets of **{markdown.escaped(file.name)}**.")
        _columns(file)
        _remove("these streets", "roads", rules.leave)
        return
    if sample is not None and sample.streets_path is not None:
        st.markdown("This sample comes with its streets: choose above how people travel.")
        return
    st.markdown(
        "Upload a road file to measure along streets: an OpenStreetMap extract (.osm.pbf, .osm, .osm.gz) or a layer of "
        "lines (GeoPackage, zipped shapefile, GeoJSON). Nothing is fetched from the internet."
    )
    given = st.file_uploader("Road file", key="road_file", max_upload_size=config().upload_mb)
    if given is not None:
        content = given.getvalue()
        try:
            along = rules.read_roads(given.name, content)
            along.check(place.residents)
        except UncoveredError as problem:
            st.error(markdown.escaped(str(problem)), icon=":material/error:")
            if not _cut(place, along):
                return
        except ValueError as problem:
            st.error(markdown.escaped(str(problem)), icon=":material/error:")
            return
        rules.keep_file("roads", given.name, content)
        address.put("by", "walk")
        st.rerun()


def _cut(place: City, along: AlongStreets) -> bool:
    """Offer to plan only for the residents near the streets; True once that is chosen."""
    near = along.near(place.residents)
    if isinstance(place.residents, ResidentCells) or not place.residents.weights[near].any():
        return False
    people = f"{place.residents.weights[near].sum():,.0f} {place.people}"
    if not st.button(
        f"Plan only for the {people} near these streets",
        key="cut_to_streets",
        icon=":material/content_cut:",
        help="Makes a data set of its own. Yours stays as it is.",
    ):
        return False
    kept = cities.keep_upload(along.cut(place.residents), f"{place.title}, near its streets", place.people)
    cities.enter(kept.key)  # with the settings in use
    return True


def _columns(file: rules.KeptFile) -> None:
    """Of a layer of lines, which columns say what a street is, where they are not recognised or another is meant."""
    found = rules.streets(address.get("by") if address.get("by") in rules.MODES else "walk")
    if found is None or not found.report.columns:
        return
    with st.expander("Columns of the layer", icon=":material/view_column:"):
        asked = {
            role: st.selectbox(
                label,
                ["", NO_COLUMN, *found.report.columns],
                index=["", NO_COLUMN, *found.report.columns].index(dict(file.columns).get(role, "")),
                format_func=lambda name: {"": "As recognised", NO_COLUMN: "None"}.get(name, name),
                key=f"roads_{role}",
            )
            for role, label in ROLES.items()
        }
    chosen = tuple((role, str(name)) for role, name in asked.items() if name)
    if chosen != file.columns:
        rules.choose_columns(file, chosen)
        st.rerun()


def _table_file() -> None:
    sample = find_sample(address.get("dataset"))
    if address.get("table"):
        st.markdown("Your table is in use, for the sites named in its columns.")
        _remove("the table", "table", rules.leave)
        return
    st.markdown(
        "Driving times from your GIS, as CSV: columns *from*, *to* and the value; or a row for each home and a column "
        "for each site. Its names must match those of the residents and the sites. A missing "
        "trip counts as out of reach."
    )
    if sample is not None and sample.table_path is not None:
        st.button(
            "Use the sample's distances by road",
            key="sample_table",
            icon=":material/table:",
            on_click=_sample_table,
        )
    unit = st.selectbox("Values are in", list(UNITS), format_func=UNITS.__getitem__, key="table_unit")
    given = st.file_uploader("Travel table", type=["csv", "txt"], key="table_file")
    if given is not None:
        rules.keep_file("table", given.name, given.getvalue(), unit)
        address.put("by", "table")
        st.rerun()


def _sample_table() -> None:
    address.put("table", rules.SAMPLE)
    address.put("places", rules.SAMPLE)
    address.put("by", "table")


def _room(place: City) -> None:
    """How many people a facility can serve."""
    for name, label in (
        ("most", "Most {} that one facility can serve"),
        ("least", "Fewest {} for which a facility is worth opening"),
    ):
        state.set_widget(name, address.get(name) or None)
        st.number_input(
            label.format(place.people),
            min_value=1,
            value=None,
            step=100,
            key=name,
            placeholder="No limit",
            on_change=_limit,
            args=(name,),
        )
    st.markdown(
        ":small[:gray[Where the nearest facility is full, people go to another with room left, so that the city as a "
        "whole travels as little as possible. A place may be split between two facilities.]]"
    )


def _limit(name: str) -> None:
    """Take over a limit that was typed; an empty field is none."""
    address.put(name, int(state.widget(name) or 0))


if __name__ == "__main__":
    from app import main

    main()
