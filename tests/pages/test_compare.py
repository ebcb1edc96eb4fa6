"""Compare: table, charts and maps of the methods, and their marks on the Plan page."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Opened, turn_to
from tkm_core.methods import METHODS, run_method
from tkm_core.residents.samples import load_sample


def text(app: AppTest) -> str:
    return " ".join(block.value for block in app.markdown)


def rows(app: AppTest) -> dict[str, list[str]]:
    """The table by method."""
    html = next(block.proto.body for block in app.get("html") if "er-methods" in block.proto.body)
    found = [["".join(cell.itertext()) for cell in row] for row in ET.fromstring(html).iter("tr")]
    return {title: cells for title, *cells in found[1:]}


@pytest.fixture
def compare(opened: Opened) -> AppTest:
    return opened("compare", dataset="san-francisco", k="4", t="0.3")


def test_seven_methods_with_honest_figures(compare: AppTest) -> None:
    table = rows(compare)
    assert list(table) == ["TKM, t = 0.3", "k-means++", "NF", "JKL", "MV", "FR", "SFR"]
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
    assert "Of seven methods, tilted k-means has" in said
    assert "JKL, MV, FR and SFR may build only where one of the" in said
    assert "Every method ran on all 205 places." in said
    assert [cell for cell in rows(compare)["MV"] if "on " in cell], "the table says it too"


def test_charts_in_the_papers_form(compare: AppTest) -> None:
    charts = compare.get("plotly_chart")
    assert len(charts) == 4
    for chart in charts:
        traces = json.loads(chart.proto.spec)["data"]
        assert len(traces) == 7
        assert chart.proto.alt.count(";") >= 6, "every bar is in words, too"
    clusters = json.loads(charts[1].proto.spec)["data"]
    assert all(trace["y"] == sorted(trace["y"], reverse=True) for trace in clusters)
    assert len(clusters[0]["y"]) == 4


def test_small_map_for_each_method(compare: AppTest) -> None:
    html = next(block.proto.body for block in compare.get("html") if "er-maps" in block.proto.body)
    assert html.count("data:image/svg+xml") == 7
    assert html.count(' alt="Map of ') == 7


def test_methods_can_be_chosen_and_t_runs_tkm_only(compare: AppTest) -> None:
    before = rows(compare)
    compare.select_slider(key="t").set_value(1.0).run()
    after = rows(compare)
    assert "TKM, t = 1" in after
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


def test_sampling_is_said_and_hatched(opened: Opened) -> None:
    app = opened("plan", dataset="generated-3k", k="3")
    app.session_state["methods"] = ["kmeans++", "fr"]
    turn_to(app, "compare")
    assert not app.exception
    assert "FR ran on a sample of 1,000 of the 3,000 places" in text(app)
    assert rows(app)["FR"][-1] == "1,000 drawn"
    full, drawn = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    assert "pattern" not in full["marker"] and drawn["marker"]["pattern"]["shape"] == "/"


def test_every_method_of_the_library_is_there() -> None:
    assert len(METHODS) == 7
