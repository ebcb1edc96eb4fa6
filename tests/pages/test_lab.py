"""Lab: the comparison of Newton and SGD with its settings, and the paper's experiments."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages.widgets.experiment_settings import numbers
from tests.pages.conftest import Opened, text, turn_to
from tkm_core.experiments import EXPERIMENTS


@pytest.fixture
def lab(opened: Opened) -> AppTest:
    app = opened("plan", dataset="san-francisco", k="3", t="0.5")
    app.session_state["solvers_n_iter"] = 40
    app.session_state["solvers_starts"] = 2
    turn_to(app, "lab")
    assert not app.exception
    return app


def test_solvers_side_by_side(lab: AppTest) -> None:
    assert "of 2 starts Newton ends lower than SGD" in text(lab)
    chart = lab.get("plotly_chart")[0].proto
    names = [trace["name"] for trace in json.loads(chart.spec)["data"]]
    assert names == ["SGD, start 1", "SGD, start 2", "Newton, start 1", "Newton, start 2"]
    assert "the whole search reaches" in chart.alt
    table = lab.dataframe[0].value
    assert (table["SGD steps"] == 40).all() and (table["Newton steps"] < 40).all()


def test_every_setting_counts(lab: AppTest) -> None:
    lab.number_input(key="solvers_starts").set_value(1).run()
    lab.number_input(key="solvers_n_iter").set_value(15).run()
    lab.number_input(key="solvers_n_epochs").set_value(2).run()
    lab.number_input(key="solvers_batch_size").set_value(20).run()
    lab.number_input(key="solvers_rate").set_value(0.2).run()
    lab.number_input(key="solvers_size").set_value(100).run()
    lab.select_slider(key="t").set_value(2.0).run()
    lab.number_input(key="k").set_value(5).run()
    assert not lab.exception and not lab.error
    assert "t = 2, 5 facilities" in text(lab)
    assert (lab.dataframe[0].value["SGD steps"] == 15).all()
    lab.button_group(key="solvers_cost").set_value("city_cost").run()
    lab.button_group(key="solvers_across").set_value("seconds").run()
    assert "seconds" in lab.get("plotly_chart")[0].proto.spec
    lab.radio(key="lab_data").set_value("own").run()
    assert "blobs" in text(lab)


@pytest.mark.parametrize("name", ["variance", "trajectory", "convergence-lr"])
def test_experiment_runs_when_asked(lab: AppTest, name: str) -> None:
    lab.selectbox(key="experiment").set_value(name).run()
    assert not lab.get("plotly_chart") and "Not run yet" in lab.info[0].value
    lab.button(key="run_experiment").click().run(timeout=120)
    assert not lab.exception and not lab.error
    chart = lab.get("plotly_chart")[0].proto
    assert EXPERIMENTS[name].title in chart.alt
    assert any(block.value == "What the numbers say" for block in lab.header)
    assert len(lab.dataframe[0].value) > 0
    lab.run()
    assert lab.get("plotly_chart"), "the result stays"


def test_settings_are_taken_and_checked(lab: AppTest) -> None:
    lab.selectbox(key="experiment").set_value("sse-vs-k").run()
    key = "setting_sse-vs-k_quick_{}"
    lab.text_input(key=key.format("k")).set_value("2, 3").run()
    lab.multiselect(key=key.format("methods")).set_value(["tkm", "kmeans++"]).run()
    lab.text_input(key=key.format("t")).set_value("0.5").run()
    lab.button(key="run_experiment").click().run(timeout=120)
    assert sorted(lab.dataframe[0].value["k"].unique()) == [2, 3]
    assert sorted(lab.dataframe[0].value["method"].unique()) == ["TKM t = 0.5", "k-means++"]
    lab.text_input(key=key.format("k")).set_value("2, many").run()
    assert "“many”" in lab.error[0].value and not lab.exception


def test_the_paper_s_settings_are_offered(lab: AppTest) -> None:
    lab.selectbox(key="experiment").set_value("variance").run()
    lab.radio(key="effort").set_value("paper").run()
    assert lab.number_input(key="setting_variance_paper_3_size").value == 1000
    assert lab.number_input(key="setting_variance_paper_3_repeats").value == 10


@pytest.mark.parametrize("typed", ["", "a", "1.5", "-2", "1e12"])
def test_lists_of_numbers_are_checked(typed: str) -> None:
    with pytest.raises(ValueError, match="k"):
        numbers(typed, "k", whole=True)
