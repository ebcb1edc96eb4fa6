"""A page with nothing but live maps: ``python -m streamlit run tests/browser/live_map_page.py``.

The address says what is shown: ``dataset``, ``k``, ``t``, ``colour``, ``two`` (a second map in step), ``slow`` (seconds
that the server takes to answer), ``web`` (streets from a web that is not there). The data set ``quarters`` has areas,
``quarters-ruled`` a plan whose rules a browser cannot follow, and ``quarters-close`` sites beside one another.
"""

import json
import time
from dataclasses import asdict

import numpy as np
import shapely
import streamlit as st

from pages.live_map import (
    Canvas,
    Drawing,
    Scene,
    Site,
    Zone,
    follow_edits,
    show_editor,
    show_map,
    show_sentence,
    told_json,
)
from tkm_core import figures
from tkm_core.planning import Plan, make_plan
from tkm_core.residents import Existing, Report, Residents, Sites, load_residents, load_sample

PEOPLE = "homes"


def quarters() -> Residents:
    """A city of 36 square quarters with names, some of which a browser might take for mark-up."""
    shapes = {
        f"Quarter <b>{row}</b>{column}": shapely.box(x, y, x + 0.1, y + 0.1)
        for row, y in enumerate(43 + 0.1 * np.arange(6))
        for column, x in enumerate(1 + 0.1 * np.arange(6))
    }
    features = [
        {"type": "Feature", "properties": {"name": name}, "geometry": json.loads(shapely.to_geojson(shape))}
        for name, shape in shapes.items()
    ]
    content = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    return load_residents(content, name="quarters.geojson", id="name")


SITES = Sites(
    np.array([[1.15, 43.15], [1.45, 43.15], [1.15, 43.45], [1.45, 43.45]]), ("<i>A</i>", "B", "C", "D")
)


# each with a worse one right beside it
CLOSE = Sites(
    np.array([[1.15, 43.15], [1.12, 43.15], [1.45, 43.45], [1.48, 43.45]]),
    ("Oak", "Worse 1", "Elm", "Worse 2"),
)


@st.cache_resource
def planned(dataset: str, k: int) -> Plan:
    if dataset.startswith("generated"):
        return make_plan(load_sample(dataset), k, t=[0, 0.25, np.inf])
    if not dataset.startswith("quarters"):
        return make_plan(load_sample(dataset), k, with_t=0.25)
    existing = {"fixed_lonlat": [[1.31, 43.31]], "fixed_names": ["Town <b>hall</b>"]}
    if dataset.endswith("close"):
        return make_plan(quarters(), k, with_t=0.25, sites=CLOSE)
    if dataset.endswith("ruled"):
        return make_plan(quarters(), k, with_t=0.25, sites=SITES, capacity=20, **existing)
    return make_plan(quarters(), k, with_t=0.25, **existing)


@st.cache_resource
def parts(dataset: str, k: int) -> tuple[bytes, bytes, bytes, bytes | None, bytes | None]:
    plan = planned(dataset, k)
    ground, look = figures.live_ground(plan.residents), figures.Look(people=PEOPLE)
    stories = figures.live_stories(plan, look, None)
    told = [figures.live_words(story.headline, story.detail, story.context) for story in stories]
    return (
        figures.live_plan(plan, ground, look),
        figures.live_residents(plan.residents, ground),
        told_json(plan.t, told),
        figures.live_areas(plan.residents, ground),
        figures.live_service(plan, ground),
    )


def said(key: str) -> None:
    told = st.session_state[key]["said"]
    st.session_state["log"] = [*st.session_state.get("log", []), told]
    st.session_state["t"], st.session_state["seen"] = float(told["t"]), told["seq"]
    st.session_state["trial"] = told if told["what"] == "move" else None


def maps() -> None:
    q = st.query_params
    time.sleep(float(q.get("slow", 0)))
    dataset, k = q.get("dataset", "sacramento"), int(q.get("k", 6))
    plan = planned(dataset, k)
    state = st.session_state
    i, seen = plan.index(state.setdefault("t", float(q.get("t", 0.25)))), state.setdefault("seen", 0)
    look = figures.Look(
        people=PEOPLE,
        colour=st.radio("Colour", figures.COLOURS, index=figures.COLOURS.index(q.get("colour", "facility"))),
    )
    path, residents, told, areas, service = parts(dataset, k)
    ground = figures.live_ground(plan.residents)
    trial = state.get("trial") and {
        "j": state["trial"]["j"],
        "lonlat": state["trial"]["lonlat"],
        "rows": [["Farthest home, km", "30.1", "32.7", "▼ 2.6", "better"]],
    }
    scene = Scene(
        path,
        residents,
        look.colour,
        look.layers,
        figures.live_legend(plan, ground, look),
        "A map",
        areas=areas,
        service=service,
        streets={"light": "/nowhere.json"} if "web" in q else None,
        pin=True,
        trial=trial,
    )
    story = figures.live_stories(plan, look, None)[i] if len(plan.residents) < 20_000 else None
    if story:
        show_sentence(
            told,
            figures.live_words(story.headline, story.detail, story.context),
            at=i,
            seen=seen,
            key="sentence",
            group="plan",
        )
    columns = st.columns(2) if "two" in q else [st.container()]
    for number, column in enumerate(columns):
        with column:
            show_map(
                scene,
                at=i,
                seen=seen,
                height=588,
                key=f"map{number}",
                group="plan",
                on_said=lambda number=number: said(f"map{number}"),
            )
    st.code(json.dumps({"t": state["t"], "log": state.get("log", [])}), language=None)


@st.cache_resource
def canvas() -> Canvas:
    residents = load_sample("sacramento")
    ground, look = figures.live_ground(residents), figures.Look(people=PEOPLE)
    halls = Existing(np.array([[-121.45, 38.6]]), ("Town <b>hall</b>",), Report())
    return Canvas(
        figures.live_place(residents, ground, look, existing=halls),
        figures.live_residents(residents, ground),
        "Sites and zones",
    )


def drawn() -> None:
    drawing, st.session_state["edited"] = follow_edits(
        st.session_state["drawing"], st.session_state["edited"], st.session_state["editor"]
    )
    st.session_state["drawing"] = drawing


def editor() -> None:
    """Sites and zones to edit; what the server knows of them stands below."""
    time.sleep(float(st.query_params.get("slow", 0)))
    state = st.session_state
    school = Site("s1", "<i>School</i>", (-121.3, 38.65))
    park = Zone("z1", "Park", "not_in", ((-121.5, 38.4), (-121.4, 38.4), (-121.4, 38.5), (-121.5, 38.5)))
    first = Drawing((school, Site("s2", "Fixed", (-121.2, 38.8), locked=True)), (park,))
    state.setdefault("drawing", first)
    if st.button("Remove all"):
        state["drawing"] = Drawing()
    if st.button("Begin again"):  # as a server does that was started anew: it knows of no edit
        state["drawing"], state["edited"] = first, 0
    show_editor(
        canvas(),
        state["drawing"],
        seen=state.setdefault("edited", 0),
        height=560,
        key="editor",
        on_said=drawn,
    )
    st.code(json.dumps(asdict(state["drawing"])), language=None, wrap_lines=True)


def other() -> None:
    st.write("another page")


st.set_page_config(layout="wide")
st.navigation(
    [
        st.Page(maps, title="Maps", default=True),
        st.Page(editor, title="Editor"),
        st.Page(other, title="Other"),
    ],
    position="top",
).run()
