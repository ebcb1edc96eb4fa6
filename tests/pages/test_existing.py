"""Existing facilities in the app: brought on the Data page, kept in every plan, removed again."""

import base64
import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import session
from tests.pages.conftest import Opened, turn_to
from tkm_core.export import plan_json
from tkm_core.planning.plan import make_plan
from tkm_core.residents import Report
from tkm_core.residents.existing import Existing
from tkm_core.residents.samples import load_sample

NAME = "East <script>alert(1)</script> ![x](https://e.example)"
SITES = f"name,lat,lon\nNorth clinic,38.70,-121.40\n{NAME},38.50,-121.20\n".encode()


def text(app: AppTest) -> str:
    parts = [
        element.value for kind in ("markdown", "title", "subheader", "info") for element in app.get(kind)
    ]
    return " ".join(map(str, parts))


def layers(app: AppTest) -> dict[str, dict]:
    return {layer["id"]: layer for layer in json.loads(app.get("deck_gl_json_chart")[0].proto.json)["layers"]}


def draft(opened: Opened, content: bytes = SITES, **query: str) -> AppTest:
    app = opened("data", **query)
    app.file_uploader(key="existing_file").upload("clinics.csv", content, "text/csv").run()
    assert not app.exception
    return app


@pytest.fixture
def kept(opened: Opened) -> AppTest:
    """A visitor with two existing facilities, on the Plan page."""
    app = draft(opened, k="2")
    app.button(key="use_existing").click().run()
    turn_to(app, "plan")
    assert not app.exception
    return app


def test_they_are_shown_but_not_used_until_asked(opened: Opened) -> None:
    app = draft(opened)
    assert "2 rows read, 2 kept, 0 left out" in app.success[0].value
    assert len(layers(app)["existing"]["data"]) == 2
    assert "existing" not in app.query_params
    app.button(key="use_existing").click().run()
    assert len(app.query_params["existing"]) >= 30


def test_they_stay_while_the_dial_turns_and_k_counts_the_new_ones(kept: AppTest) -> None:
    assert "2 new and 2 existing facilities for 932 homes" in text(kept)
    assert "Today, with the 2 existing ones alone, the average trip is" in text(kept)
    assert "2 existing facilities stay" in text(kept)
    assert kept.number_input(key="k").label == "New facilities to site"
    squares = [row["p"] for row in layers(kept)["existing"]["data"]]
    np.testing.assert_allclose(squares, [[-121.40, 38.70], [-121.20, 38.50]], atol=1e-6)
    before = layers(kept)["sites"]["data"]
    kept.select_slider(key="t").set_value(5.0).run()
    assert [row["p"] for row in layers(kept)["existing"]["data"]] == squares
    assert layers(kept)["sites"]["data"] != before
    assert len(before) == 2
    kept.number_input(key="k").set_value(3).run()
    assert len(layers(kept)["sites"]["data"]) == 3 and len(layers(kept)["existing"]["data"]) == 2


def test_names_are_data(kept: AppTest) -> None:
    chart = kept.get("deck_gl_json_chart")[0].proto
    assert "North clinic" in chart.json and "html" not in json.loads(chart.tooltip), "tooltips are text"
    turn_to(kept, "data")
    assert kept.dataframe[0].value["Name"].tolist() == ["North clinic", NAME]
    assert "<script" not in text(kept) and "![x]" not in text(kept)


def test_a_link_shows_the_same_and_a_stale_one_says_so(kept: AppTest, opened: Opened) -> None:
    other = opened(k="2", existing=kept.query_params["existing"])
    assert "2 new and 2 existing facilities" in text(other)
    stale = opened(k="2", existing="C" * 32)
    assert "existing facilities of this link are no longer here" in stale.warning[0].value
    assert "2 facilities for 932 homes" in text(stale)
    assert "damaged" in opened(existing="x").warning[0].value


def test_another_city_does_not_take_them_over(kept: AppTest) -> None:
    kept.selectbox(key="dataset").set_value("toulouse").run()
    assert "your 2 existing facilities are elsewhere and not used here" in text(kept)
    assert "existing" not in layers(kept)
    assert "2 facilities for" in text(kept)
    kept.selectbox(key="dataset").set_value("sacramento").run()
    assert "2 new and 2 existing facilities" in text(kept)


def test_they_can_be_removed(kept: AppTest, opened: Opened) -> None:
    token = kept.query_params["existing"]
    found = session.shelves().existing.get(token)
    turn_to(kept, "data")
    assert "and 2 existing facilities" in text(kept)
    assert kept.button(key="leave_existing").label == "Remove the existing facilities"
    kept.button(key="leave_existing").click().run()
    assert not [key for shelf in vars(session.shelves()).values() for key in shelf._kept if about(key, found)]
    turn_to(kept, "plan")
    assert "2 facilities for 932 homes" in text(kept) and "existing" not in kept.query_params
    assert opened(existing=token).warning, "they are off the server"


def about(key: object, found: Existing) -> bool:
    return found.fingerprint in repr(key)


def test_who_was_sent_the_link_can_leave_them_out_but_not_remove_them(kept: AppTest, opened: Opened) -> None:
    token = kept.query_params["existing"]
    guest = opened("data", k="2", existing=token)
    assert guest.button(key="leave_existing").label == "Plan without the existing facilities"
    guest.button(key="leave_existing").click().run()
    turn_to(guest, "plan")
    assert "2 facilities for 932 homes" in text(guest)
    turn_to(kept, "plan")
    assert "2 new and 2 existing facilities" in text(kept)
    assert session.shelves().existing.get(token) is not None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"name,lat,lon\nBerlin,52.5,13.4\n", "None of these facilities is near the residents"),
        (b"Dear council,\nplease find nothing here.\n", ""),
    ],
)
def test_a_bad_file_gets_a_sentence(opened: Opened, content: bytes, sentence: str) -> None:
    app = draft(opened, content)
    assert sentence in app.error[0].value
    assert not [button for button in app.button if button.key == "use_existing"]
    assert len(app.get("deck_gl_json_chart")) == 1, "the residents stay on the map"


def test_names_can_come_from_another_column(opened: Opened) -> None:
    app = draft(opened, b"name,desk,lat,lon\na,Hall,38.7,-121.4\nb,Annex,38.5,-121.2\n")
    app.selectbox(key="existing_fix_id").set_value("desk").run()
    assert "Hall" in app.get("deck_gl_json_chart")[0].proto.json


def test_compare_leaves_out_methods_that_cannot_keep_them(kept: AppTest) -> None:
    turn_to(kept, "compare")
    assert not kept.exception
    assert "JKL, MV, FR and SFR place every facility anew and cannot keep your 2 existing ones" in text(kept)
    html = " ".join(block.proto.body for block in kept.get("html"))
    assert html.count(' alt="Map of ') == 3
    drawn = [base64.b64decode(part.split('"')[0]).decode() for part in html.split("svg+xml;base64,")[1:]]
    assert all(svg.count('rx="2"') == 2 and svg.count('r="8"') == 2 for svg in drawn), "squares and discs"
    assert "existing facility" in html
    assert "2 new and 2 existing facilities for" in text(kept)
    kept.button_group(key="methods").set_value(["jkl"]).run()
    assert not kept.exception and "JKL places every facility anew" in text(kept)


def test_how_many_counts_new_ones(opened: Opened) -> None:
    app = draft(opened, b"lat,lon\n45.0,-27.0\n", dataset="generated-300", k="3")
    app.button(key="use_existing").click().run()
    turn_to(app, "how_many")
    assert "A 4th new facility makes the average trip" in app.title[0].value
    assert "1 existing facility stays in every plan" in text(app)
    city = load_sample("generated", n=300)
    plan = make_plan(city, 1, fixed_lonlat=[[-27.0, 45.0]])
    told = app.dataframe[0].value["Average distance, km (k-means++)"][0]
    assert told == pytest.approx(plan.baseline_evaluation().mean_distance / 1000, abs=0.01)


def test_lab_says_that_it_leaves_them_out(kept: AppTest) -> None:
    kept.session_state["race_n_iter"] = 20
    kept.session_state["race_starts"] = 1
    turn_to(kept, "lab")
    assert "The Lab places every facility anew: your 2 existing facilities are left out here." in text(kept)


def test_a_plan_file_brings_them_back(opened: Opened) -> None:
    city = load_sample("san-francisco")
    sites = Existing(city.lonlat[:2].copy(), ("A", "B"), Report())
    plan = make_plan(city, 2, fixed_lonlat=sites.lonlat, fixed_names=sites.names)
    app = opened("data")
    app.file_uploader(key="plan_file").upload(
        "p.evenreach.json", plan_json(plan, 9), "application/json"
    ).run()
    assert "it is the same plan" in app.info[0].value
    app.button(key="show_plan_file").click().run()
    turn_to(app, "plan")
    assert "2 new and 2 existing facilities" in text(app)
    np.testing.assert_allclose(
        [row["p"] for row in layers(app)["sites"]["data"]], plan.centers_lonlat(9)[:2].round(6), atol=1e-9
    )
