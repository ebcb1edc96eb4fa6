"""Catchments of a plan: who lives within some minutes of its facilities, on a grid whose times are known."""

import itertools
import json

import numpy as np
import pytest
import shapely

import tkm_core as tkm
from tests.streets.cities import STEP, as_xml, grid
from tkm_core import export
from tkm_core.figures import Look, html_report, live_catchments
from tkm_core.planning import MINUTES, AlongStreets, Plan, catchments, make_plan
from tkm_core.stories import tell_catchments, tell_plan

BLOCK = np.array([111.3195, 110.5743])  # metres of a block from west to east, and from south to north
SIDE = 15


@pytest.fixture(scope="module")
def town() -> tkm.Residents:
    corners = [(c * STEP, r * STEP) for r in range(0, SIDE, 2) for c in range(0, SIDE, 2)]
    return tkm.Residents.from_lonlat(np.array(corners), np.arange(1.0, len(corners) + 1), keep_suspect=True)


@pytest.fixture(scope="module", params=["minutes", "metres"])
def plan(request: pytest.FixtureRequest, town: tkm.Residents) -> Plan:
    streets = tkm.load_streets(as_xml(*grid(SIDE, SIDE)))
    return make_plan(town, 2, streets=AlongStreets(streets, request.param), t=[0.0, 5.0])


def slow_minutes(town: tkm.Residents, sites: np.ndarray) -> np.ndarray:
    """To the nearest of some corners of a chessboard on foot, at 80 metres a minute."""
    apart = np.abs(town.lonlat[:, None] - sites[None]) / STEP * BLOCK
    return (apart.sum(axis=2) / 80).min(axis=1)


@pytest.mark.parametrize("facility", [None, 0, 1])
def test_people_within_some_minutes_are_those_of_the_chessboard(plan: Plan, facility: int | None) -> None:
    town = plan.residents
    sites = plan.centers_lonlat(1)
    minutes = slow_minutes(town, sites if facility is None else sites[[facility]])
    found = catchments(plan, 1, facility)
    assert [one.minutes for one in found] == list(MINUTES)
    for one in found:
        assert not (np.abs(minutes - one.minutes) < 0.01).any()  # nobody stands on the very edge
        assert one.people == pytest.approx(town.weights[minutes < one.minutes].sum())
        assert one.share == pytest.approx(one.people / town.weights.sum())
        inside = shapely.contains_xy(one.shape, *town.lonlat.T)
        assert inside[minutes < one.minutes].all()
        assert not inside[minutes > one.minutes + 1].any()  # the ground reaches 60 m beyond the streets
    for inner, outer in itertools.pairwise(found):
        assert outer.km >= inner.km
        assert outer.shape.buffer(1e-9).contains(inner.shape.buffer(-2e-4))  # simplified to ten metres


def test_the_map_gets_the_widest_first_for_one_setting(plan: Plan) -> None:
    sent = json.loads(live_catchments(catchments(plan, 1), 1))
    assert sent["at"] == 1
    assert [band["minutes"] for band in sent["bands"]] == [20, 15, 10, 5]
    ring = np.array(sent["bands"][0]["rings"][0])
    assert ring.ndim == 2
    assert ring.min() > -0.001
    assert ring.max() < SIDE * STEP


def test_it_is_told_in_a_sentence(plan: Plan) -> None:
    told = tell_catchments(catchments(plan, 1, minutes=(5, 10)), of="a facility", people="homes")
    assert told.startswith("Within 5 min on foot of a facility: ")
    assert told.count(" homes ") == 1


def test_who_goes_straight_has_no_catchments(town: tkm.Residents, plan: Plan) -> None:
    with pytest.raises(ValueError, match="not measured along any"):
        catchments(make_plan(town, 1, t=[0]), 0)
    with pytest.raises(ValueError, match="There is no facility 2"):
        catchments(plan, 0, 2)


def test_exports_and_report_say_how_trips_were_measured_and_whose_streets_they_are(plan: Plan) -> None:
    layers = export.all_layers(plan, 1)
    assert list(layers) == ["facilities", "who_goes_where", "service_areas", "catchments"]
    for frame in layers.values():
        assert set(frame["measured"]) == {"on foot along the streets"}
        assert set(frame["attribution"]) == {"© OpenStreetMap contributors"}
    assert layers["catchments"]["within_min"].tolist() == list(MINUTES)
    unit = plan.units[0]
    page = html_report(plan, 1, tell_plan(plan, 1, unit=unit), Look(unit=unit), title="Town")
    assert page.count("© OpenStreetMap contributors") == 2  # on the map, and below
    assert "Distances are straight lines" not in page
    assert f'stroke="{Look().palette.street}"' in page
    straight = make_plan(plan.residents, 1, t=[0.0])
    assert "attribution" not in export.facilities(straight, 0)
    assert "OpenStreetMap" not in html_report(straight, 0, tell_plan(straight, 0), Look(), title="Town")
