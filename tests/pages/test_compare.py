"""Compare: table, charts and maps of the methods, and their marks on the Plan page."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.session import compared_methods
from tests.pages.conftest import Opened, text, turn_to
from tkm_core.measures import COMPARED, shown_in
from tkm_core.methods import FOR_ANYONE, describe, run_method
from tkm_core.planning import Reference, make_plan, moves, one_setting
from tkm_core.residents.samples import load_sample
from tkm_core.stories import RATIO, tell_plan
from tkm_core.wording import listed, number_word


def rows(app: AppTest) -> dict[str, list[str]]:
    """The table by method."""
    html = next(block.proto.body for block in app.get("html") if "er-methods" in block.proto.body)
    found = [[str(cell.text) for cell in row] for row in ET.fromstring(html).iter("tr")]
    return {title: cells for title, *cells in found[1:]}


@pytest.fixture
def compare(opened: Opened) -> AppTest:
    return opened("compare", dataset="san-francisco", k="4", t="0.3", compare="methods")


def test_every_method_with_honest_figures(compare: AppTest) -> None:
    table = rows(compare)
    told = [describe(name).title + ", t = 0.3" * describe(name).has_dial for name in FOR_ANYONE]
    assert list(table) == told, "San Francisco's tracts have no groups: Fair-Lloyd is not offered"
    city = load_sample("san-francisco")
    for title, name in (("JKL", "jkl"), ("FR", "fr")):
        sites = city.to_xy(
            run_method(name, city.scaled, 4, sample_weight=city.weights, random_state=0).centers
        )
        d = np.linalg.norm(city.xy[:, None] - sites[None], axis=2).min(axis=1) / 1000
        mean, farthest = np.average(d, weights=city.weights), d.max()
        assert float(table[title][1]) == pytest.approx(mean, abs=0.051)
        assert float(table[title][0]) == pytest.approx(farthest, abs=0.051)


def test_what_has_to_be_known_is_said(compare: AppTest) -> None:
    said = text(compare)
    city, standard = load_sample("san-francisco"), compare.session_state["standard_metres"]
    plan = make_plan(city, 4, with_t=0.25).with_stop(0.3)
    beyond = [
        round(city.weights[one.distance > standard].sum())
        for one in (plan.baseline_evaluation(), plan.evaluation(plan.index(0.3)))
    ]
    usual, own = (f"{number:,}" for number in beyond)
    assert f"# The usual method (k-means++) leaves {usual} residents beyond 3 km; this plan leaves " in said
    assert own in said.split("this plan leaves ")[1][:30]
    assert f"Of {number_word(len(FOR_ANYONE))} methods, tilted k-means has" in said
    on_points = listed([describe(name).title for name in FOR_ANYONE if describe(name).centers_are_points])
    assert f"{on_points} may build only where one of the" in said
    assert "Every method ran on all 205 places." in said
    assert [cell for cell in rows(compare)["MV"] if "at " in cell], "the table says it too"


def test_charts_in_the_papers_form(compare: AppTest) -> None:
    charts = compare.get("plotly_chart")
    assert len(charts) == 4
    for chart in charts:
        traces = json.loads(chart.proto.spec)["data"]
        assert len(traces) == len(FOR_ANYONE)
        assert chart.proto.alt.count(";") >= 6, "every bar is in words, too"
    clusters = json.loads(charts[1].proto.spec)["data"]
    assert all(trace["y"] == sorted(trace["y"], reverse=True) for trace in clusters)
    assert len(clusters[0]["y"]) == 4


def test_small_map_for_each_method(compare: AppTest) -> None:
    html = next(block.proto.body for block in compare.get("html") if "er-maps" in block.proto.body)
    assert html.count("data:image/svg+xml") == len(FOR_ANYONE)
    assert html.count(' alt="Map of ') == len(FOR_ANYONE)


def test_methods_can_be_chosen_and_t_runs_tkm_only(compare: AppTest) -> None:
    before = rows(compare)
    stop = compare.select_slider(key="t").options[20]
    compare.select_slider(key="t").set_value(float(stop.removeprefix("t = "))).run()
    after = rows(compare)
    assert f"TKM, {stop}" in after
    assert after["FR"] == before["FR"], "the time too: it was not run again"
    compare.button_group(key="methods").set_value(["kmeans++", "jkl"]).run()
    assert list(rows(compare)) == ["k-means++", "JKL"]
    compare.button_group(key="methods").set_value([]).run()
    assert "at least one method" in compare.info[0].value
    assert not compare.exception


def test_units_change_every_figure(compare: AppTest) -> None:
    before = float(rows(compare)["JKL"][2])
    compare.button_group(key="units").set_value("mi").run()
    assert float(rows(compare)["JKL"][2]) == pytest.approx(before / 1.609344, abs=0.06)


def test_methods_appear_in_the_trade_off_on_the_chosen_axes(compare: AppTest, opened: Opened) -> None:
    other = opened(dataset=compare.session_state["dataset"], k=str(compare.session_state["k"]))
    assert "diamond" not in other.get("plotly_chart")[0].proto.spec, "a link shows everyone the same"
    turn_to(compare, "plan")
    for axis in ("largest_distance", "p95_distance"):
        compare.radio(key="y").set_value(axis).run()
        spec = json.loads(compare.get("plotly_chart")[0].proto.spec)
        marks = [trace for trace in spec["data"] if trace.get("marker", {}).get("symbol") == "diamond"]
        named = " ".join(str(note.get("text")) for note in spec["layout"]["annotations"])
        assert marks and all(name in named for name in ("NF", "JKL", "MV", "FR", "SFR"))
        if axis == "largest_distance":
            first = marks[0]["y"]
    assert marks[0]["y"] != first


@pytest.mark.nightly
def test_sampling_is_said_and_hatched(opened: Opened) -> None:
    app = opened("plan", dataset="generated-3k", k="3")
    app.session_state["methods_with_groups"] = ["kmeans++", "fr"]
    app.session_state["compare"] = "methods"
    turn_to(app, "compare")
    assert not app.exception
    assert "FR ran on a sample of 1,000 of the 3,000 places" in text(app)
    assert rows(app)["FR"][-1] == "1,000 drawn"
    full, drawn = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    assert "pattern" not in full["marker"] and drawn["marker"]["pattern"]["shape"] == "/"


def test_tilted_k_means_has_the_figures_of_the_plan_page(opened: Opened) -> None:
    app = opened("compare", dataset="sacramento", k="6", methods="tkm", compare="methods")
    plan = make_plan(load_sample("sacramento"), 6, with_t=0.25)
    found, shown = plan.evaluation(plan.index(0.25), 10_000), rows(app)["TKM, t = 0.25"]
    usual, base = plan.baseline_evaluation(10_000), rows(app)["k-means++"]
    column = list(shown_in(COMPARED)).index
    for cells, truth in ((shown, found), (base, usual)):
        for name in ("largest_distance", "mean_distance", "p95_distance"):
            cell = cells[column(name)]
            assert cell == f"{getattr(truth, name) / 1000:.{len(cell.partition('.')[2])}f}"
    assert shown[column("share_within")] == f"{100 * found.share_within:.1f}"


def test_the_neighbourhood_ratio_is_defined_once() -> None:
    glossary = (Path(__file__).parents[2] / "assets" / "help" / "glossary.md").read_text(encoding="utf-8")
    assert RATIO in glossary


def test_two_plans_side_by_side(opened: Opened) -> None:
    app = opened(dataset="generated-300", k="3")
    app.button(key="keep_plan").click().run()
    app.number_input(key="k").set_value(4).run()
    turn_to(app, "compare")
    assert not app.exception
    city = load_sample("generated", n=300)
    three, four = (make_plan(city, k, with_t=0.25) for k in (3, 4))
    one, two = (one_setting(plan, plan.index(0.25)) for plan in (three, four))
    told = tell_plan(
        two.against(Reference("saved", "Plan A", one.centers_lonlat(0))), 0, standard=10_000
    ).headline_text
    headline = re.sub(r":(green|orange|gray)\[(.*?)\]", r"\2", text(app)).replace("\\", "")
    assert told in headline
    sent = [json.loads(element.proto.json) for element in app.get("bidi_component")]
    assert [one["group"] for one in sent] == ["two plans"] * 2 and not any(one["touch"] for one in sent)
    assert list(app.table[0].value.columns) == ["Key figure", "Plan now", "Plan A", "Change"]
    assert app.dataframe[0].value["Residents"].sum() == sum(move.people for move in moves(one, two))
    assert "compare" not in app.query_params and len(app.query_params["a"]) == 32
    token = app.query_params["a"]
    app.text_input(key=f"name_{token}").set_value("Council's *wish*").run()
    assert "Council's wish" in app.table[0].value.columns[2].replace("\\", "")
    app.button(key=f"drop_{token}").click().run()
    assert "To compare with a plan of your own" in app.info[0].value
    assert list(app.table[0].value.columns) == ["Key figure", "Plan now", "Lowest average", "Change"]


def test_two_plans_with_rules_are_shown_as_they_were_worked_out(opened: Opened) -> None:
    app = opened(dataset="san-francisco", k="2", by="table", table="sample", places="sample")
    app.button(key="keep_plan").click().run()
    app.number_input(key="k").set_value(3).run()
    turn_to(app, "compare")
    assert not app.exception
    sent = [json.loads(element.proto.json) for element in app.get("bidi_component")]
    assert len(sent) == 2 and all(one["service"] for one in sent), "a browser cannot know distances by road"


def test_without_a_kept_plan_the_one_now_stands_beside_the_lowest_average(opened: Opened) -> None:
    app = opened("compare", dataset="generated-300", k="3", t="1")
    assert "To compare with a plan of your own" in app.info[0].value
    plan = make_plan(load_sample("generated", n=300), 3, with_t=1.0)
    first, last = one_setting(plan, 0), one_setting(plan, plan.index(1.0))
    told = tell_plan(
        last.against(Reference("saved", "Lowest average", first.centers_lonlat(0))), 0, standard=10_000
    ).headline_text
    assert told in re.sub(r":(green|orange|gray)\[(.*?)\]", r"\2", text(app)).replace("\\", "")


def test_groups_reach_the_method_that_looks_at_them(opened: Opened) -> None:
    app = opened("plan", dataset="generated-300", k="4")
    app.session_state["methods_with_groups"] = ["kmeans++", "fair-lloyd"]
    app.session_state["compare"] = "methods"
    turn_to(app, "compare")
    assert not app.exception
    table = rows(app)
    assert list(table) == ["k-means++", "Fair-Lloyd"]
    assert table["Fair-Lloyd"] != table["k-means++"]
    assert "Everyone is in one group" not in text(app)


@pytest.mark.nightly
def test_no_method_of_a_large_city_is_lost(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its results weigh as much in the cache as those of five million places."""
    monkeypatch.setattr(compared_methods, "SLIM", compared_methods.SLIM * 932 / 5_000_000)
    monkeypatch.setattr(compared_methods, "WEIGHT", compared_methods.WEIGHT * 932 / 5_000_000)
    app = opened("compare", dataset="sacramento", k="9", compare="methods")
    for _ in range(2):  # also when the page is drawn again
        assert "Not run yet" not in text(app)
        assert len(rows(app)) == len(FOR_ANYONE)
        app.run()
