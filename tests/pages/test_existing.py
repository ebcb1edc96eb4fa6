"""Existing facilities in the app: brought on the Data page, kept in every plan, removed again."""

import base64
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.serving.cache import caches
from tests.pages.conftest import Opened, live, turn_dial, turn_to
from tkm_core.export import plan_json
from tkm_core.methods import describe
from tkm_core.planning import make_plan, methods_for
from tkm_core.residents import Report
from tkm_core.residents.existing import Existing
from tkm_core.residents.samples import load_sample
from tkm_core.wording import listed

NAME = "East <script>alert(1)</script> ![x](https://e.example)"
SITES = f"name,lat,lon\nNorth clinic,38.70,-121.40\n{NAME},38.50,-121.20\n".encode()


def text(app: AppTest) -> str:
    parts = [
        element.value for kind in ("markdown", "title", "subheader", "info") for element in app.get(kind)
    ]
    if app.get("bidi_component"):
        parts.append(live(app).text)
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
    app = draft(opened, k="2", t="0.25")
    app.button(key="use_existing").click().run()
    turn_to(app, "plan")
    assert not app.exception
    return app


def test_a_city_opens_on_its_suggested_plan_unless_somebody_says_otherwise(opened: Opened) -> None:
    app = draft(opened, k="2")
    app.button(key="use_existing").click().run()
    turn_to(app, "plan")
    plan = make_plan(load_sample("sacramento"), 2, fixed_lonlat=[[-121.4, 38.7], [-121.2, 38.5]], with_t=0.25)
    suggested = float(plan.t[plan.knee()])
    assert live(app).t == pytest.approx(suggested) != 0.25
    assert float(app.query_params["t"]) == pytest.approx(suggested, rel=1e-5), "a link shows the same"
    turn_dial(app, 0.25)
    assert live(app).t == 0.25, "a hand has the last word"
    assert app.query_params["t"] == "0.25"
    app.number_input(key="k").set_value(3).run()
    assert live(app).t == 0.25
    token = app.query_params["existing"]
    assert live(opened(existing=token, k="2", t="0.25")).t == 0.25
    assert live(opened(existing=token, k="2")).t == pytest.approx(suggested)


def test_they_are_shown_but_not_used_until_asked(opened: Opened) -> None:
    app = draft(opened)
    assert "2 rows read, 2 kept, 0 left out" in app.success[0].value
    assert len(layers(app)["existing"]["data"]) == 2
    assert "existing" not in app.query_params
    app.button(key="use_existing").click().run()
    assert len(app.query_params["existing"]) >= 30


def test_they_stay_while_the_dial_turns_and_k_counts_the_new_ones(kept: AppTest) -> None:
    assert "2 new and 2 existing facilities for 932 homes" in text(kept)
    assert "compared with today" in text(kept)
    assert "each counted once; 2 existing facilities" in text(kept)
    assert kept.number_input(key="k").label == "New facilities to site"
    squares = live(kept).sites("existing")
    np.testing.assert_allclose(squares, [[-121.40, 38.70], [-121.20, 38.50]], atol=1e-6)
    before = live(kept).sites()
    turn_dial(kept, 5.0)
    assert live(kept).sites("existing") == squares
    assert live(kept).sites() != before
    assert len(before) == 2
    kept.number_input(key="k").set_value(3).run()
    assert len(live(kept).sites()) == 3 and len(live(kept).sites("existing")) == 2


def test_names_are_data(kept: AppTest) -> None:
    assert live(kept).plan["titles"][2] == "Existing facility 1, North clinic"
    turn_to(kept, "data")
    assert kept.dataframe[0].value["Name"].tolist() == ["North clinic", NAME]
    assert "<script" not in text(kept) and "![x]" not in text(kept)


def test_a_link_shows_the_same_and_a_stale_one_says_so(kept: AppTest, opened: Opened) -> None:
    other = opened(k="2", existing=kept.query_params["existing"])
    assert "2 new and 2 existing facilities" in text(other)
    stale = opened(k="2", existing="C" * 32)
    assert "existing facilities of this link are no longer here" in stale.warning[0].value
    assert not stale.get("bidi_component"), "no plan without them stands in for the plan of the link"
    assert "damaged" in opened(existing="x").warning[0].value


def test_another_city_does_not_take_them_over(kept: AppTest) -> None:
    kept.selectbox(key="dataset").set_value("toulouse").run()
    assert "your 2 existing facilities are elsewhere and not used here" in text(kept)
    assert not live(kept).sites("existing")
    assert "6 facilities for" in text(kept)
    kept.selectbox(key="dataset").set_value("sacramento").run()
    assert "2 new and 2 existing facilities" in text(kept)


def test_they_can_be_removed(kept: AppTest, opened: Opened) -> None:
    token = kept.query_params["existing"]
    found, _ = caches().existing.get(token)
    turn_to(kept, "data")
    assert "and 2 existing facilities" in text(kept)
    assert kept.button(key="leave_existing").label == "Remove the existing facilities"
    kept.button(key="leave_existing").click().run()
    kept.button(key="remove_yes").click().run()
    assert not [key for cache in vars(caches()).values() for key in cache._kept if about(key, found)]
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
    assert caches().existing.get(token) is not None


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
    kept.session_state["compare"] = "methods"
    turn_to(kept, "compare")
    assert not kept.exception
    offered = methods_for(load_sample("sacramento"))
    unable = [describe(name).title for name in offered if not describe(name).keeps_existing]
    able = len(offered) - len(unable)
    assert f"{listed(unable)} place every facility anew and cannot keep your 2 existing ones" in text(kept)
    html = " ".join(block.proto.body for block in kept.get("html"))
    assert html.count(' alt="Map of ') == able
    assert html.count("2 new, 2 existing") == able
    assert "left out" not in html, "one line below the table says it"
    assert text(kept).count("left out here") == 1
    assert ":gray[~~JKL~~]" in kept.button_group(key="methods").options
    drawn = [base64.b64decode(part.split('"')[0]).decode() for part in html.split("svg+xml;base64,")[1:]]
    assert all(svg.count('rx="2"') == 2 and svg.count('r="8"') == 2 for svg in drawn), "squares and discs"
    assert "existing facility" in html
    assert "2 new and 2 existing facilities for" in text(kept)
    kept.button_group(key="methods").set_value(["jkl"]).run()
    assert not kept.exception and "JKL places every facility anew" in text(kept)


def test_compare_says_what_plan_says_with_a_row_for_today(kept: AppTest) -> None:
    figures = kept.table[0].value
    kept.session_state["compare"] = "methods"
    turn_to(kept, "compare")
    html = next(block.proto.body for block in kept.get("html") if "er-methods" in block.proto.body)
    cells = [["".join(cell.itertext()) for cell in row] for row in ET.fromstring(html).iter("tr")]
    today, own = (next(row for row in cells if row[0].startswith(name)) for name in ("Today", "TKM"))
    for label, heading in (("Farthest home", "Farthest"), ("Average distance", "Average")):
        row = figures[figures.iloc[:, 0].str.startswith(label)].iloc[0]
        at = next(number for number, name in enumerate(cells[0]) if name.startswith(heading))
        assert [own[at], today[at]] == [re.sub(r"[^0-9.]", "", str(row.iloc[side])) for side in (1, 2)]
    assert "2 existing" in today and "bold" not in html.split("Today</th>")[1].split("</tr>")[0]


def test_how_many_counts_new_ones(opened: Opened) -> None:
    app = draft(opened, b"lat,lon\n45.0,-27.0\n", dataset="generated-300", k="3")
    app.button(key="use_existing").click().run()
    turn_to(app, "how_many")
    assert "A 4th new facility makes the average trip" in app.title[0].value
    assert "1 existing facility stays in every plan" in text(app)
    city = load_sample("generated", n=300)
    plan = make_plan(city, 1, fixed_lonlat=[[-27.0, 45.0]])
    told = app.dataframe[0].value["Average distance, km (Today)"][0]
    assert told == pytest.approx(plan.reference_evaluation().mean_distance / 1000, abs=0.01)
    assert app.dataframe[0].value["New facilities"].tolist()[:2] == [0, 1]
    app.selectbox(key="against").set_value("average").run()
    assert "compared with the lowest-average plan (k-means++)" in text(app)
    told = app.dataframe[0].value["Average distance, km (Lowest average)"][1]
    assert told == pytest.approx(plan.baseline_evaluation().mean_distance / 1000, abs=0.01)


def test_lab_says_that_it_leaves_them_out(kept: AppTest) -> None:
    kept.session_state["solvers_n_iter"] = 20
    kept.session_state["solvers_starts"] = 1
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
    np.testing.assert_allclose(live(app).sites(), plan.centers_lonlat(9)[:2].round(6), atol=1e-9)
