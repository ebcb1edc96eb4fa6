"""The service standard and the units it is shown in; and the settings that each city has for itself."""

import pytest

from tests.pages.conftest import Opened, live
from tkm_core.units import METRES


def test_units_change_what_is_shown_and_never_the_standard(opened: Opened) -> None:
    app = opened(standard="4")

    def share_within() -> str:
        table = app.table[0].value.to_numpy().tolist()
        return str(next(row for row in table if "4 km" in row[0] or "2.49 mi" in row[0])[1])

    before = share_within()
    app.button_group(key="units").set_value("mi").run()
    assert app.number_input(key="standard").value == 2.49, "4 km"
    assert app.query_params["standard"] == "4km"
    assert share_within() == before
    assert "miles" in live(app).text
    linked = opened(units="mi", standard="4km")
    assert linked.session_state["standard_metres"] == 4000.0
    app.button_group(key="units").set_value("km").run()
    assert app.number_input(key="standard").value == 4.0 and app.query_params["standard"] == "4"
    assert opened(units="mi", standard="3").session_state["standard_metres"] == pytest.approx(
        3 * METRES["mi"]
    ), "older links have a bare number in their own units"
    app.button_group(key="units").set_value("mi").run()
    app.number_input(key="standard").set_value(2.5).run()
    assert app.session_state["standard_metres"] == pytest.approx(2.5 * METRES["mi"])
    assert app.query_params["standard"] == "2.5"


def test_each_city_has_its_own_settings(opened: Opened) -> None:
    app = opened(dataset="sacramento", k="4", t="1", units="mi", standard="3")
    app.selectbox(key="dataset").set_value("san-francisco").run()
    told = app.query_params
    assert not {"k", "t", "units", "standard"} & set(told), "a new city begins afresh"
    app.number_input(key="k").set_value(3).run()
    app.selectbox(key="dataset").set_value("sacramento").run()
    assert [app.query_params[name] for name in ("k", "t", "units", "standard")] == ["4", "1", "mi", "3"]
    app.selectbox(key="dataset").set_value("san-francisco").run()
    assert app.number_input(key="k").value == 3
    linked = opened(dataset="san-francisco", k="5", units="mi")
    assert (linked.number_input(key="k").value, linked.session_state["units"]) == (5, "mi"), (
        "a link says it all"
    )


def test_the_standard_begins_with_one_that_fits_the_city(opened: Opened) -> None:
    app = opened(dataset="san-francisco")
    assert app.number_input(key="standard").value == 2.0 and "standard" not in app.query_params
    app.button_group(key="units").set_value("mi").run()
    assert app.number_input(key="standard").value == 1.24, "the same distance"
    assert opened(dataset="san-francisco", units="mi").number_input(key="standard").value == 1.5, (
        "round miles"
    )
    app.button_group(key="units").set_value("km").run()
    app.selectbox(key="dataset").set_value("sacramento").run()
    assert app.number_input(key="standard").value == 10.0, "another city, another standard"
    app.number_input(key="k").set_value(30).run()
    assert app.number_input(key="standard").value == 10.0, "it stays while facilities are added"
    assert app.query_params["standard"] == "10", "who opens the link sees the same"
    app.number_input(key="standard").set_value(7.0).run()
    app.selectbox(key="dataset").set_value("san-francisco").run()
    assert app.number_input(key="standard").value == 2.0, "each city has its own"
    app.selectbox(key="dataset").set_value("sacramento").run()
    assert app.number_input(key="standard").value == 7.0, "what somebody chose stays"
    assert opened(dataset="san-francisco", standard="5").number_input(key="standard").value == 5.0
