"""References of plans, closed facilities, plans without new facilities, and kept plans."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.serving.cache import caches
from tests.pages.conftest import Opened, live, turn_to, unfold
from tkm_core.planning import AVERAGE, Reference, make_plan
from tkm_core.residents import load_sample
from tkm_core.stories import tell_plan

SITES = b"name,lat,lon\nNorth clinic,38.70,-121.40\nSouth clinic,38.50,-121.20\nWest desk,38.58,-121.48\n"
LONLAT = [[-121.40, 38.70], [-121.20, 38.50], [-121.48, 38.58]]


@pytest.fixture
def planner(opened: Opened) -> AppTest:
    """A visitor with three existing facilities, on the Plan page."""
    app = opened("data", k="2", t="0.25")
    app.file_uploader(key="existing_file").upload("clinics.csv", SITES, "text/csv").run()
    app.button(key="use_existing").click().run()
    turn_to(app, "plan")
    assert not app.exception
    return app


def headings(app: AppTest) -> list[str]:
    return list(app.table[0].value.columns)


def test_today_is_the_reference_and_everything_follows_another_choice(planner: AppTest) -> None:
    assert planner.selectbox(key="against").options == ["Today", "Lowest average (k-means++)"]
    assert headings(planner) == ["Key figure", "This plan", "Today", "Change"]
    assert "against" not in planner.query_params
    planner.selectbox(key="against").set_value("average").run()
    assert planner.query_params["against"] == "average"
    assert headings(planner)[2] == "Lowest average"
    assert (
        "compared with the lowest-average plan (k-means++) with the same existing ones" in live(planner).text
    )
    assert any("lowest-average plan" in words for _, words in live(planner).map["legend"])
    truth = make_plan(load_sample("sacramento"), 2, fixed_lonlat=LONLAT, with_t=0.25).against(AVERAGE)
    told = tell_plan(truth, truth.index(0.25), standard=10_000, people="homes")
    assert live(planner).text.startswith(told.headline_text)


def test_no_new_facility_tells_how_things_stand(planner: AppTest) -> None:
    planner.number_input(key="k").set_value(0).run()
    assert not planner.exception
    assert live(planner).text.startswith("Today the average trip is ")
    assert "3 existing facilities for 932 homes, as things stand today." in live(planner).text
    assert "budget" not in live(planner).text
    assert headings(planner) == ["Key figure", "Today"]
    assert len(planner.get("plotly_chart")) == 1, "there is no trade-off"
    assert planner.query_params["k"] == "0"
    for page in ("compare", "data"):
        turn_to(planner, page)
        assert not planner.exception


def test_closing_a_facility(planner: AppTest) -> None:
    closing = planner.multiselect(key="closed")
    assert closing.options == ["1 North clinic", "2 South clinic", "3 West desk"]
    closing.set_value([2]).run()
    assert planner.query_params["closed"] == "2"
    assert "2 new and 2 existing facilities (1 closed)" in live(planner).text
    assert "compared with today" in live(planner).text
    truth = make_plan(load_sample("sacramento"), 2, fixed_lonlat=LONLAT, closed=[1], with_t=0.25)
    np.testing.assert_allclose(live(planner).sites(), truth.centers_lonlat(truth.index(0.25))[:2], atol=1e-5)
    assert live(planner).plan["titles"][2:] == [
        "Existing facility 1, North clinic",
        "Existing facility 3, West desk",
    ]
    planner.number_input(key="k").set_value(0).run()
    assert "2 existing facilities (1 closed)" in live(planner).text
    planner.multiselect(key="closed").set_value([1, 2, 3]).run()
    assert "closes every facility and opens none" in planner.error[0].value


def test_a_link_to_a_facility_that_does_not_exist(planner: AppTest, opened: Opened) -> None:
    other = opened(k="2", existing=planner.query_params["existing"], closed="1.9")
    assert "3 existing facilities: number 9 cannot be closed" in other.warning[0].value
    assert other.query_params["closed"] == "1"


def test_a_kept_plan_is_a_reference_also_for_who_has_the_link(opened: Opened) -> None:
    app = opened(dataset="generated-300", k="3")
    app.button(key="keep_plan").click().run()
    assert "Kept as Plan A: 3 facilities, t = 0.25." in app.toast[0].value
    app.number_input(key="k").set_value(4).run()
    token = next(iter(app.session_state["visit"].kept_plans))
    assert "Plan A: 3 facilities, t = 0.25" in app.selectbox(key="against").options
    app.selectbox(key="against").set_value(token).run()
    assert "compared with “Plan A”" in live(app).text
    assert headings(app)[2] == "Plan A"
    city = load_sample("generated", n=300)
    three, four = (make_plan(city, k, with_t=0.25) for k in (3, 4))
    saved = Reference("saved", "Plan A", three.centers_lonlat(three.index(0.25)))
    truth = tell_plan(four.against(saved), four.index(0.25), standard=10_000)
    assert live(app).text.startswith(truth.headline_text)
    guest = opened(**{name: app.query_params[name] for name in ("dataset", "k", "against")})
    assert not guest.warning
    assert live(guest).text == live(app).text
    other = opened(dataset="sacramento", against=token)
    assert "no longer here, or it was made for other data" in other.warning[0].value


def test_a_kept_plan_goes_with_its_data(opened: Opened) -> None:
    app = opened("data", dataset="sacramento", k="2")
    table = b"lat,lon\n" + b"".join(b"%f,%f\n" % (48 + i / 100, 11 + (i * 7 % 10) / 100) for i in range(30))
    app.file_uploader(key="upload").upload("town.csv", table, "text/csv").run()
    app.button(key="use_upload").click().run()
    turn_to(app, "plan")
    app.button(key="keep_plan").click().run()
    token = app.session_state["visit"].kept_plans[0]
    assert len(caches().kept_plans.about(token)) == 1
    turn_to(app, "data")
    app.button(key="forget").click().run()
    app.button(key="remove_yes").click().run()
    assert caches().kept_plans.about(token) == []


def test_suggest_says_so_where_the_dial_is_already(opened: Opened) -> None:
    app = opened(dataset="generated-300", k="3")
    app.button(key="suggest").click().run()
    assert not app.toast
    app.button(key="suggest").click().run()
    assert "The dial is already at the suggested plan" in app.toast[0].value


def test_presentation_shows_sentence_dial_map_and_figures_alone(opened: Opened) -> None:
    app = opened(present="1", k="3", dataset="generated-300")
    assert "average trip" in live(app).text and len(app.table) == 1
    assert not app.sidebar.children and not app.get("plotly_chart")
    app.button(key="present_button").click().run()
    assert app.number_input(key="k").value == 3 and "present" not in app.query_params
    assert app.button(key="present_button").label == "Present"


def test_groups_are_told(opened: Opened) -> None:
    app = opened(dataset="generated-300", k="3")
    assert not app.dataframe, "sent when it is looked at, not at every turn of the dial"
    table = unfold(app, "groups_part").dataframe[0].value
    assert table["Group"][0] == "farm"
    assert table["Average distance, km (this plan)"].is_monotonic_decreasing
    assert "Farthest, km (Lowest average)" in table.columns
    assert not unfold(opened(k="3"), "groups_part").dataframe, "no groups, no table"
