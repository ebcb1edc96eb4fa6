"""The Plan page and every control on it."""

import json
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.serving.jobs import tasks
from pages.shared import background, session
from pages.shared.address import DIAL
from tests.pages.conftest import Opened


def said(app: AppTest) -> str:
    """The sentence and what stands below it."""
    return " ".join(block.value for block in app.markdown if "average" in block.value)


def deck(app: AppTest) -> dict:
    return json.loads(app.get("deck_gl_json_chart")[0].proto.json)


def layers(app: AppTest) -> dict[str, dict]:
    return {layer["id"]: layer for layer in deck(app)["layers"]}


def test_first_look(opened: Opened) -> None:
    app = opened()
    assert "The farthest home comes" in said(app)
    assert "932 homes" in said(app)
    assert len(app.get("plotly_chart")) == 2
    drawn = layers(app)
    assert len(drawn["sites"]["data"]) == 6
    assert sum(len(layer["data"]) for name, layer in drawn.items() if name.startswith("residents")) == 932
    assert not app.warning
    assert app.query_params == {}


def test_link_sets_every_control(opened: Opened) -> None:
    app = opened(dataset="toulouse", k="4", t="0.5", units="mi", colour="distance", show="areas", budget="12")
    assert app.selectbox(key="dataset").value == "toulouse"
    assert app.number_input(key="k").value == 4
    assert app.select_slider(key="t").value == 0.5
    assert app.slider(key="budget").value == 12
    assert "miles" in said(app)
    assert "paths" not in layers(app)
    assert "areas" in layers(app)


def test_link_off_the_dial_takes_the_nearest(opened: Opened) -> None:
    assert opened(t="0.34").select_slider(key="t").value == 0.35
    assert opened(t="5000").select_slider(key="t").value == 100


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"dataset": "atlantis"}, "no data set"),
        ({"k": "0"}, "from 1 to 60"),
        ({"k": "1e3"}, "from 1 to 60"),
        ({"t": "nan"}, "from 0 to 100"),
        ({"t": "-1"}, "from 0 to 100"),
        ({"units": "furlongs"}, "units"),
        ({"show": "everything"}, "the map can show"),
        ({"standard": "inf"}, "service standard"),
        ({"dataset": "generated-20m"}, "no data set"),
        ({"dataset": "upload", "upload": "x"}, "damaged"),
    ],
)
def test_broken_link_falls_back_with_a_notice(opened: Opened, query: dict[str, str], told: str) -> None:
    app = opened(**query)
    assert told in app.warning[0].value
    assert "932 homes" in said(app)


def test_turning_the_dial_changes_sentence_map_and_address(opened: Opened) -> None:
    app = opened()
    before, sites = said(app), layers(app)["sites"]["data"]
    app.select_slider(key="t").set_value(2.0).run()
    assert said(app) != before
    assert layers(app)["sites"]["data"] != sites
    assert app.query_params["t"] == "2"
    assert deck(app)["initialViewState"] == deck(opened())["initialViewState"]


def test_k_changes_the_number_of_sites(opened: Opened) -> None:
    app = opened()
    app.number_input(key="k").set_value(3).run()
    assert len(layers(app)["sites"]["data"]) == 3
    assert app.query_params["k"] == "3"


def test_dataset_changes_the_city(opened: Opened) -> None:
    app = opened()
    app.selectbox(key="dataset").set_value("san-francisco").run()
    assert "San Francisco" in app.selectbox(key="dataset").format_func("san-francisco")
    assert app.query_params["dataset"] == "san-francisco"
    assert not app.exception


def test_budget_and_suggestion_turn_the_dial(opened: Opened) -> None:
    app = opened(t="5", budget="5")
    app.button(key="to_budget").click().run()
    assert "Within your budget" in said(app)
    within = app.select_slider(key="t").value
    app.button(key="suggest").click().run()
    assert app.select_slider(key="t").value != within


@pytest.mark.parametrize(
    ("colour", "legend"), [("distance", "distance, 0 to"), ("change", "closer than k-means++")]
)
def test_colours(opened: Opened, colour: str, legend: str) -> None:
    app = opened()
    app.selectbox(key="colour").set_value(colour).run()
    assert any(legend in block.proto.body for block in app.get("html"))


def test_units_convert_the_standard(opened: Opened) -> None:
    app = opened()
    app.button_group(key="units").set_value("mi").run()
    assert app.number_input(key="standard").value == 6.2
    assert "miles" in said(app)


def test_streets_only_when_asked_for(opened: Opened) -> None:
    assert deck(opened())["mapStyle"].startswith("data:")
    assert "carto" in deck(opened(ground="streets"))["mapStyle"]


def test_axes_of_the_trade_off(opened: Opened) -> None:
    app = opened(x="sse", y="overall_variance")
    figure = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert "SSE" in figure["layout"]["xaxis"]["title"]["text"]
    assert "variance" in figure["layout"]["yaxis"]["title"]["text"]


def test_every_figure_has_words(opened: Opened) -> None:
    app = opened()
    assert all(chart.proto.alt for chart in app.get("plotly_chart"))
    assert "facility 1 at" in app.get("deck_gl_json_chart")[0].proto.alt


def test_many_residents_become_cells(opened: Opened) -> None:
    app = opened(dataset="generated-12k", k="3")
    assert "residents-cells" in layers(app)
    assert any("too many residents for single points" in block.proto.body for block in app.get("html"))


def saves(app: AppTest) -> list[str]:
    return [button.proto.label for button in app.get("download_button")]


def make_allocations(app: AppTest) -> None:
    """Ask for the file, and wait until it is made or a sentence says why not."""
    app.button(key="make_allocations").click().run()
    end = time.monotonic() + 60
    while app.get("progress") and time.monotonic() < end:
        time.sleep(0.1)
        app.run()
    assert not app.exception


def test_a_table_of_many_residents_is_made_first_and_then_saved(opened: Opened) -> None:
    app = opened(dataset="generated-12k", k="3")
    assert "Facilities" in saves(app)
    assert "Who goes where" not in saves(app)
    app.selectbox(key="table_format").set_value("csv").run()
    make_allocations(app)
    assert not app.error
    assert "Who goes where" in saves(app)
    made = session.shelves().files
    assert made.get(list(made._kept)[-1]).count(b"\n") == 12_001
    app.select_slider(key="t").set_value(1.0).run()
    assert "Who goes where" not in saves(app), "another plan, another file"
    app.select_slider(key="t").set_value(0.25).run()
    assert "Who goes where" in saves(app), "it is kept for a while"


def endless(text: str) -> tuple[threading.Event, Callable[..., bytes]]:
    """A table that is never made, and what tells when its making was given up."""
    left = threading.Event()

    def waits(*arguments: Any) -> bytes:
        try:
            while True:
                arguments[-1](0.25, text)
                time.sleep(0.05)
        finally:
            left.set()

    return left, waits


def test_a_table_in_the_making_shows_its_place_in_line_and_can_be_stopped(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, waits = endless("waiting in line, 2 jobs before it")
    app = opened(dataset="generated-12k", k="5")
    monkeypatch.setattr(tasks, "table", waits)
    app.button(key="make_allocations").click().run()
    assert (
        app.get("progress")[0].proto.text == "Who goes where at t = 0.25: waiting in line, 2 jobs before it"
    )
    app.select_slider(key="t").set_value(1.0).run()
    assert "t = 1 against" in said(app), "the dial goes on turning"
    app.button(key="stop_errand").click().run()
    assert left.wait(10)
    app.run()
    assert not app.get("progress") and not app.error
    assert app.button(key="make_allocations").label == "Who goes where: make the file"


def test_a_table_nobody_waits_for_is_given_up(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    left, waits = endless("writing")
    app = opened(dataset="generated-12k", k="5")
    monkeypatch.setattr(tasks, "table", waits)
    monkeypatch.setattr(background, "LINGER", 0.2)
    app.button(key="make_allocations").click().run()
    assert not left.is_set()
    monkeypatch.setattr(background.runtime, "exists", lambda: True)
    monkeypatch.setattr(
        background.runtime, "get_instance", lambda: SimpleNamespace(is_active_session=lambda _: False)
    )
    assert left.wait(10)


def test_a_table_that_cannot_be_made_is_a_sentence_beside_its_button(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bytes:
        msg = "There is not enough memory on this server for this much work."
        raise MemoryError(msg)

    app = opened(dataset="generated-12k", k="4")
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "table", full)
        make_allocations(app)
    assert ["not enough memory" in said.value for said in app.error] == [True]
    make_allocations(app)
    assert not app.error and "Who goes where" in saves(app)


def dial(app: AppTest) -> float:
    return float(app.select_slider(key="t").value)


def test_play_turns_the_dial_and_pauses(opened: Opened) -> None:
    app = opened(t="0")
    app.button(key="play").click().run()
    assert app.button(key="play").label == "Pause"
    steps = [dial(app.run()) for _ in range(3)]
    assert 0 < steps[0] < steps[1] < steps[2]
    app.button(key="play").click().run()
    assert dial(app) == steps[2]
    assert dial(app.run()) == steps[2]


def test_play_begins_again_at_the_end_and_stops_there(opened: Opened) -> None:
    app = opened(t="100")
    app.button(key="play").click().run()
    assert dial(app) == 0
    for _ in range(len(DIAL)):
        app.run()
        if app.button(key="play").label == "Play":
            break
    assert dial(app) == 100
    assert app.button(key="play").label == "Play"


def test_play_waits_for_a_browser_that_lags_and_slows_down_once(opened: Opened) -> None:
    app = opened(t="0")
    app.button(key="play").click().run()
    usual = app.session_state["beat"]
    shown, sent = dial(app.run()), dial(app.run())
    for _ in range(3):  # beats that come before the browser has drawn what was sent
        app.select_slider(key="t").set_value(shown).run()
        assert dial(app) == sent
        assert app.button(key="play").label == "Pause"
    assert app.session_state["beat"] == 2 * usual
    assert dial(app.run()) > sent


def test_a_beat_from_before_the_pause_leaves_dial_and_page_agreed(opened: Opened) -> None:
    app = opened(t="0")
    app.button(key="play").click().run()
    shown = dial(app.run())
    app.run()
    app.button(key="play").click().run()
    app.select_slider(key="t").set_value(shown).run()
    assert app.select_slider(key="t").proto.set_value, "the browser has moved on: it has to be told"
    assert any(f"t = {shown:g} against" in block.value for block in app.markdown)
    assert app.button(key="play").label == "Play"


def test_k_beyond_the_places_is_lowered_with_a_notice(opened: Opened) -> None:
    app = opened(dataset="generated-5", k="9")
    assert app.number_input(key="k").value == 5
    assert "only 5 places" in app.warning[0].value
