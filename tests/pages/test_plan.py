"""The Plan page and every control on it."""

import json
import threading
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit import runtime
from streamlit.testing.v1 import AppTest

from pages.serving.cache import caches
from pages.serving.jobs import documents
from pages.session import background_work
from pages.widgets import downloads as page_downloads
from tests.pages.conftest import SENT, Opened, live, text, turn_dial
from tkm_core.planning import make_plan
from tkm_core.residents import load_sample
from tkm_core.stories import tell_budget, tell_plan
from tkm_core.units import METRES


def said(app: AppTest) -> str:
    """The sentence and what stands below it."""
    return live(app).text


def test_first_look(opened: Opened) -> None:
    app = opened()
    assert "The farthest home comes" in said(app)
    assert "932 homes" in said(app)
    assert len(app.get("plotly_chart")) == 2
    assert len(live(app).sites()) == 6
    assert live(app).plan["crowd"] == {"cell": 0.0, "count": 932}
    assert not app.warning
    assert app.query_params == {}


def test_link_sets_every_control(opened: Opened) -> None:
    app = opened(dataset="toulouse", k="4", t="0.5", units="mi", colour="distance", show="areas", budget="12")
    assert app.selectbox(key="dataset").value == "toulouse"
    assert app.number_input(key="k").value == 4
    assert live(app).t == 0.5
    assert app.slider(key="budget").value == 12
    assert "miles" in said(app)
    assert live(app).map["layers"] == ["areas"]


def test_link_off_the_dial_is_a_stop_of_its_own(opened: Opened) -> None:
    assert live(opened(t="0.3456")).t == 0.3456, "a link holds exactly"
    assert live(opened(t="5000")).t == 5000


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"dataset": "atlantis"}, "no data set"),
        ({"k": "0"}, "at least one has to be opened"),
        ({"k": "1e3"}, "from 0 to 60"),
        ({"closed": "a"}, "given by their numbers"),
        ({"against": "tomorrow"}, "kept plan is damaged"),
        ({"against": "today"}, "No facility exists here today"),
        ({"against": "C" * 32}, "kept plan of this link is no longer here"),
        ({"present": "yes"}, "the presentation can only be 1"),
        ({"t": "nan"}, "from 0 upwards, or inf"),
        ({"t": "-1"}, "from 0 upwards, or inf"),
        ({"units": "furlongs"}, "the unit of length must be one of km, mi"),
        ({"show": "everything"}, "the map can show"),
        ({"standard": "inf"}, "service standard"),
        ({"dataset": "generated-20m"}, "no data set"),
    ],
)
def test_broken_link_falls_back_with_a_notice(opened: Opened, query: dict[str, str], told: str) -> None:
    app = opened(**query)
    assert told in app.warning[0].value
    assert "932 homes" in said(app)


def test_turning_the_dial_changes_sentence_map_and_address(opened: Opened) -> None:
    app = opened()
    before, sites, plan = said(app), live(app).sites(), live(app).map["plan"]
    turn_dial(app, 2.0)
    assert said(app) != before
    assert live(app).sites() != sites
    assert app.query_params["t"] == "2"
    assert live(app).map["plan"] == plan, "the browser has it already"


def test_k_changes_the_number_of_sites(opened: Opened) -> None:
    app = opened()
    app.number_input(key="k").set_value(3).run()
    assert len(live(app).sites()) == 3
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
    assert "within the 5 % you accept" in said(app)
    within, turned = live(app).t, live(app).map["turned"]
    app.button(key="suggest").click().run()
    assert live(app).t != within
    assert live(app).map["turned"] == turned + 1, "the browser follows even while it plays"


@pytest.mark.parametrize(
    ("colour", "legend"),
    [("distance", "distance, 0 to"), ("change", "closer than in the lowest-average plan")],
)
def test_colours(opened: Opened, colour: str, legend: str) -> None:
    app = opened()
    app.selectbox(key="colour").set_value(colour).run()
    assert any(legend in text for _, text in live(app).map["legend"])


def test_streets_only_when_asked_for(opened: Opened) -> None:
    assert live(opened()).map["streets"] is None
    assert "carto" in live(opened(ground="streets")).map["streets"]["dark"]


def test_axes_of_the_trade_off(opened: Opened) -> None:
    app = opened(x="sse", y="overall_variance")
    figure = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert "SSE" in figure["layout"]["xaxis"]["title"]["text"]
    assert "variance" in figure["layout"]["yaxis"]["title"]["text"]


def test_every_figure_has_words(opened: Opened) -> None:
    app = opened()
    assert all(chart.proto.alt for chart in app.get("plotly_chart"))
    assert "facility 1 at" in live(app).map["label"]


def test_many_residents_become_cells(opened: Opened) -> None:
    app = opened(dataset="generated-60k", k="3")
    assert live(app).plan["crowd"]["cell"] > 0
    assert len(SENT[live(app).map["residents"]]) == 4 * 7 * live(app).plan["crowd"]["count"] < 60_000 * 28
    assert any("too many residents for single points" in text for _, text in live(app).map["legend"])


def downloads(app: AppTest) -> AppTest:
    """Open the downloads as a click does."""
    return app.button(key="download").click().run()


def saves(app: AppTest) -> list[str]:
    """Which files can be saved at once."""
    return [button.proto.label for button in downloads(app).get("download_button")]


def make_allocations(app: AppTest) -> None:
    """Ask for the file, and wait until it is made or a sentence says why not."""
    downloads(app).button(key="make_allocations").click().run()
    end = time.monotonic() + 60
    while downloads(app).get("progress") and time.monotonic() < end:
        time.sleep(0.1)
    assert not app.exception


def test_a_table_of_many_residents_is_made_first_and_then_saved(opened: Opened) -> None:
    app = opened(dataset="generated-12k", k="3")
    assert "Facilities" in saves(app)
    assert "Who goes where" not in saves(app)
    downloads(app).selectbox(key="table_format").set_value("csv").run()
    first, other = (float(live(app).plan["values"][at]) for at in (10, 30))
    turn_dial(app, first)
    make_allocations(app)
    assert not app.error
    assert "Who goes where" in saves(app)
    made = caches().files
    assert made.get(list(made._kept)[-1]).count(b"\n") == 12_001
    turn_dial(app, other)
    assert "Who goes where" not in saves(app), "another plan, another file"
    turn_dial(app, first)
    assert "Who goes where" in saves(app), "it is kept for a while"


def test_a_report_on_very_many_residents_is_made_first_and_then_saved(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = "Report (HTML, prints well)"
    app = opened(dataset="generated-12k", k="3")
    assert report in saves(app)
    monkeypatch.setattr(page_downloads, "REPORT_AT_ONCE", 10_000)
    assert report not in saves(app)
    downloads(app).button(key="make_report").click().run()
    end = time.monotonic() + 60
    while report not in saves(app) and time.monotonic() < end:
        time.sleep(0.1)
    assert not app.exception and not app.error
    assert report in saves(app)
    made = caches().files
    assert made.get(list(made._kept)[-1]).startswith(b"<!doctype html>")


def endless(text: str) -> tuple[threading.Event, Callable[..., bytes]]:
    """A table that is never made, and what tells when its making was given up."""
    left = threading.Event()

    def waits(*arguments: Any, **_: Any) -> bytes:
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
    monkeypatch.setattr(documents, "table", waits)
    downloads(app).button(key="make_allocations").click().run()
    assert (
        downloads(app).get("progress")[0].proto.text
        == "Who goes where at t = 0.25: waiting in line, 2 jobs before it"
    )
    turn_dial(app, 1.0)
    assert "dial is at t = 1." in said(app), "the dial goes on turning"
    downloads(app).button(key="stop_background").click().run()
    assert left.wait(10)
    assert not downloads(app).get("progress") and not app.error
    assert app.button(key="make_allocations").label == "Who goes where: make the file"


def test_a_stopped_report_is_given_up_where_it_is_made(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, waits = endless("drawing")
    app = opened(dataset="generated-12k", k="5")
    monkeypatch.setattr(documents, "report", waits)
    monkeypatch.setattr(page_downloads, "REPORT_AT_ONCE", 10_000)
    downloads(app).button(key="make_report").click().run()
    assert downloads(app).get("progress")[0].proto.text.endswith("at t = 0.25: drawing")
    downloads(app).button(key="stop_background").click().run()
    assert left.wait(10), "nothing goes on in the server"
    assert downloads(app).button(key="make_report").label.endswith("make the file")


def test_a_table_of_very_many_rows_comes_as_a_zip_file(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_downloads, "ZIPPED_FROM", 10_000)
    app = opened(dataset="generated-12k", k="4")
    downloads(app).selectbox(key="table_format").set_value("csv").run()
    make_allocations(app)
    (button,) = [one for one in downloads(app).get("download_button") if "ZIP" in one.proto.label]
    assert button.proto.label == "Who goes where, as a ZIP file"
    made = caches().files
    with zipfile.ZipFile(BytesIO(made.get(list(made._kept)[-1]))) as archive:
        assert archive.namelist() == ["plan.csv"]
        assert archive.read("plan.csv").count(b"\n") == 12_001
    downloads(app).selectbox(key="table_format").set_value("parquet").run()
    make_allocations(app)
    assert "Who goes where" in saves(app), "Parquet is compressed already"


def test_a_table_nobody_waits_for_is_given_up(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    left, waits = endless("writing")
    app = opened(dataset="generated-12k", k="5")
    monkeypatch.setattr(documents, "table", waits)
    monkeypatch.setattr(background_work, "LINGER", 0.2)
    downloads(app).button(key="make_allocations").click().run()
    assert not left.is_set()
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(is_active_session=lambda _: False))
    assert left.wait(10)


def test_a_table_that_cannot_be_made_is_a_sentence_beside_its_button(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bytes:
        msg = "There is not enough memory on this server for this much work."
        raise MemoryError(msg)

    app = opened(dataset="generated-12k", k="4")
    with monkeypatch.context() as patch:
        patch.setattr(documents, "table", full)
        make_allocations(app)
    assert ["not enough memory" in said.value for said in app.error] == [True]
    make_allocations(app)
    assert not app.error and "Who goes where" in saves(app)


def test_every_setting_is_told_in_the_words_of_its_plan(opened: Opened) -> None:
    app = opened(dataset="generated-300", k="3", units="mi", standard="4")
    sent, plan = live(app), make_plan(load_sample("generated", n=300), 3, with_t=0.25)
    told = json.loads(SENT[sent.sentence["told"]])
    assert [float(t) for t in told["t"]] == plan.t.tolist()
    for i, (headline, detail, context) in enumerate(told["settings"]):
        story = tell_plan(plan, i, unit="mi", standard=4 * METRES["mi"], people="residents")
        assert "".join(text for text, _ in headline) == story.headline_text
        assert "".join(text for text, _ in detail) == story.detail_text
        assert context.startswith(story.context)
        assert context == f"{story.context} {tell_budget(plan, i, 10)}"
        percent = f"{abs(plan.cost_percent(i)):.1f}"
        assert f" {percent} % " in context or percent == "0.0"
    np.testing.assert_allclose(sent.plan["lonlat"], plan.path_lonlat, atol=1e-6)


def test_a_pinned_facility_stays_and_counts_as_one_of_k(opened: Opened) -> None:
    app = opened(k="4", pins="-121.2,38.6")
    assert live(app).sites("pinned") == [[-121.2, 38.6]] and len(live(app).sites()) == 3
    free = make_plan(load_sample("sacramento"), 4, with_t=0.25)
    pinned = make_plan(load_sample("sacramento"), 3, fixed_lonlat=[[-121.2, 38.6]], with_t=0.25)
    longest = [round(plan.evaluation(plan.index(0.25)).largest_distance / 1000, 1) for plan in (pinned, free)]
    cost = longest[0] - longest[1]
    told = text(app)
    assert (
        f"One facility is pinned: the longest trip is {abs(cost):.1f} km {'longer' if cost > 0 else 'shorter'}"
        in told
    )
    assert "3 new and 1 pinned facility for 932 homes" in said(app) and "existing" not in said(app)
    assert "compared with the lowest-average plan (k-means++) with the same pinned ones" in said(app)
    assert ["square", "pinned facility"] in live(app).map["legend"]
    assert live(app).plan["titles"][3] == "Pinned facility 1"
    assert app.query_params["pins"] == "-121.20000,38.60000"
    app.button(key="unpin").click().run()
    assert not live(app).sites("pinned") and len(live(app).sites()) == 4
    assert "pins" not in app.query_params


@pytest.mark.parametrize("pins", ["x", "1", "200,3", "nan,2", "1,2,3"])
def test_a_broken_pin_is_told(opened: Opened, pins: str) -> None:
    assert "longitude and latitude" in opened(pins=pins).warning[0].value


def test_k_beyond_the_places_is_lowered_with_a_notice(opened: Opened) -> None:
    app = opened(dataset="generated-5", k="9")
    assert app.number_input(key="k").value == 5
    assert "only 5 places" in app.warning[0].value


def test_the_plans_that_need_discussing_turn_the_dial(opened: Opened) -> None:
    app = opened(dataset="toulouse", k="4")
    assert not any("all you need to discuss" in part.value for part in app.markdown), "only where asked for"
    app.button(key="shortlist").click().run()
    assert any("all you need to discuss" in part.value for part in app.markdown)
    shown = [
        button for button in app.button if str(button.key).startswith("portfolio_") and not button.disabled
    ]
    before = live(app).t
    shown[-1].click().run()
    assert live(app).t != before
    app.button(key="shortlist").click().run()
    assert app.button(key=str(shown[-1].key)).disabled, "it is the one on the map"
