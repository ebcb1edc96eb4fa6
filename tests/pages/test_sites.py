"""The page Sites: rules are made there, travel in the address, and every plan follows them."""

import json
import re
import time
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages import how_many
from pages.live_map import Drawing, Site, Zone
from pages.serving.jobs import files, tasks
from pages.session.rules import Places
from pages.widgets import proofs
from tests.pages.conftest import SENT, Opened, live, turn_to, unfold
from tkm_core.planning import make_plan
from tkm_core.progress import silent
from tkm_core.residents import SAMPLES, Zones, load_sample
from tkm_core.sites import read_travel, site_path
from tkm_core.streets import StreetsError, check_network, load_streets

NAME = "East <script>alert(1)</script>"
PARCELS = f"name,lat,lon,capacity\nNorth,38.70,-121.40,400\n{NAME},38.50,-121.20,\nWest,38.60,-121.50,900\n".encode()
AIRPORT = {
    "type": "Feature",
    "properties": {"name": "Airport"},
    "geometry": {
        "type": "Polygon",
        "coordinates": [[[-121.5, 38.4], [-121.2, 38.4], [-121.2, 38.8], [-121.5, 38.8], [-121.5, 38.4]]],
    },
}
ROAD = b'{"type": "LineString", "coordinates": [[0, 0], [0.004, 0], [0.00898, 0]]}'


def text(app: AppTest) -> str:
    return " ".join(str(element.value) for kind in ("markdown", "title") for element in app.get(kind))


def test_without_rules_it_says_so(opened: Opened) -> None:
    app = opened("sites")
    assert not app.exception
    assert "No rules yet" in text(app)
    assert app.radio(key="by").options == ["Straight lines"]


def test_sites_of_a_file_carry_every_plan_with_a_proof(opened: Opened) -> None:
    app = opened("sites", k="2")
    app.file_uploader(key="sites_file").upload("parcels.csv", PARCELS, "text/csv").run()
    app.button(key="use_sites").click().run()
    assert not app.exception
    assert "Facilities may stand on 3 candidate sites" in text(app)
    assert "2 sites have a capacity of their own" in text(app)
    turn_to(app, "plan")
    assert not app.exception
    stand = {tuple(place) for place in live(app).sites()}
    assert stand <= {(-121.4, 38.7), (-121.2, 38.5), (-121.5, 38.6)}
    assert len(stand) == 2
    assert "city-wide cost" in text(app)


def test_the_same_sites_are_added_once_and_it_can_be_undone(opened: Opened) -> None:
    app = opened("sites", k="2")
    app.file_uploader(key="sites_file").upload("parcels.csv", PARCELS, "text/csv").run()
    app.button(key="use_sites").click().run()
    assert "3 sites added." in text(app)
    assert "use_sites" not in {button.key for button in app.button}, (
        "the file was used: nothing to press twice"
    )
    again = PARCELS + b"Fourth,38.55,-121.45,9\n"
    empty = next(one for one in app.get("file_uploader") if one.key.startswith("sites_file"))
    empty.upload("more.csv", again, "text/csv").run()
    app.button(key="use_sites").click().run()
    assert "1 site added. 3 sites of the file were there already." in text(app)
    assert "Facilities may stand on 4 candidate sites" in text(app)
    app.button(key="undo_places").click().run()
    assert "Facilities may stand on 3 candidate sites" in text(app)
    assert "added" not in text(app)
    app.button(key="no_sites").click().run()
    assert "No rules yet" in text(app) and "All sites removed." in text(app)
    app.button(key="undo_places").click().run()
    assert "2 sites have a capacity of their own" in text(app)


def test_a_zone_keeps_facilities_out(opened: Opened) -> None:
    app = opened("sites", k="2")
    app.file_uploader(key="zones_file").upload("airport.geojson", json.dumps(AIRPORT).encode(), "").run()
    app.button(key="use_zones").click().run()
    assert "No facility may stand in the zone “Airport”" in text(app)
    turn_to(app, "plan")
    assert not app.exception
    for lon, lat in live(app).sites():
        assert not (-121.4999 < lon < -121.2001 and 38.4001 < lat < 38.7999)


def test_the_sample_table_is_the_distance_by_road(opened: Opened) -> None:
    """Truth: `site_path` on the same table, at t = 0."""
    app = opened("plan", dataset="san-francisco", places="sample", table="sample", by="table", k="4", t="0")
    assert not app.exception
    sample = SAMPLES["san-francisco"]
    names, lonlat = sample.sites
    home = load_sample("san-francisco")
    travel = read_travel(sample.table_path, list(home.ids), names, unit="m")
    path = site_path(travel.values, 4, t=[0.0], sample_weight=home.weights, random_state=0)
    best = {tuple(np.round(lonlat[site], 6)) for site in path.sites[0]}
    assert {tuple(np.round(place, 6)) for place in live(app).sites()} == best
    assert "No plan on these sites has a lower city-wide cost" in text(app)


def test_streets_of_the_data_are_the_ground_also_of_straight_lines(opened: Opened) -> None:
    app = opened(dataset="porto-alegre", k="2")
    roads = live(app).map["roads"]
    assert b"OpenStreetMap" in SENT[roads]
    turn_to(app, "sites")
    (editor,) = (json.loads(element.proto.json) for element in app.get("bidi_component"))
    assert SENT[editor["roads"]] == SENT[roads]


def test_limited_room_is_kept(opened: Opened) -> None:
    app = opened("plan", k="3", most="400")
    assert not app.exception
    assert "Each facility serves at most 400 homes" in text(app)
    served = [float(people.replace(",", "")) for people in live(app).plan["served"][live(app).map["at"]]]
    assert max(served) <= 400
    assert sum(served) == len(load_sample("sacramento"))


def test_too_little_room_is_said_with_numbers(opened: Opened) -> None:
    app = opened("plan", k="2", most="100")
    assert not app.exception
    assert "200" in app.error[0].value
    assert "932" in app.error[0].value


def test_the_proof_gets_better_while_the_planner_looks(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins with the setting at which most is open, by the library on the same sites."""
    places = np.random.default_rng(0).normal([-121.35, 38.6], 0.12, (40, 2)).round(5)
    rows = "\n".join(f"S{n},{lat:.5f},{lon:.5f}" for n, (lon, lat) in enumerate(places))
    plan = make_plan(load_sample("sacramento"), 4, sites=places, with_t=tasks.USUAL_T)
    assert plan.open_proof
    app = opened("sites", k="4", t=repr(float(plan.t[plan.gap.argmax()])))
    app.file_uploader(key="sites_file").upload("many.csv", f"name,lat,lon\n{rows}".encode(), "text/csv").run()
    app.button(key="use_sites").click().run()
    begun: list[Any] = []
    monkeypatch.setattr(proofs, "FIRST", 30)  # it ends by itself, well before
    monkeypatch.setattr(proofs, "BackgroundWork", lambda key, label, work: begun.append(work) or Done(key))
    turn_to(app, "plan")
    assert re.search(r"No plan on these sites has a city-wide cost more than [\d.]+ % lower", text(app))
    begun[0](silent)  # what the thread would do
    app.run()
    assert not app.exception
    assert "No plan on these sites has a lower city-wide cost at this setting of the dial." in text(app)


def test_a_setting_that_only_a_link_names_is_proven_too(opened: Opened) -> None:
    """Between two stops nothing but the bound of the one before is known until it is worked on."""
    app = opened("plan", dataset="san-francisco", places="sample", table="sample", by="table", k="4", t="1")
    work = app.session_state["visit"].proof
    assert work is not None
    until = time.monotonic() + 50
    while work.running and time.monotonic() < until:
        time.sleep(0.1)
    app.run()
    assert live(app).t == 1
    assert "No plan on these sites has a lower city-wide cost at this setting of the dial." in text(app)


@dataclass(frozen=True)
class Done:
    """Work beside the page that has ended."""

    key: object
    running: bool = False
    stopped: bool = False


@pytest.mark.nightly
def test_numbers_without_room_are_left_out_of_how_many_and_said(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(how_many, "MOST", 1)
    app = opened("how_many", k="1", most="400")
    assert not app.exception
    assert not app.error
    assert (
        "1 and 2 facilities are not shown: 2 facilities can serve at most 800 people, but there are 932"
        in text(app)
    )
    assert app.dataframe[0].value["Facilities"].min() == 3


def test_how_many_answers_for_the_standard_with_proof(opened: Opened) -> None:
    """Truth: the fewest sites of the sample's road distances, by trying every choice."""
    app = opened(
        "how_many", dataset="san-francisco", places="sample", table="sample", by="table", k="4", standard="8"
    )
    home = load_sample("san-francisco")
    names, _ = SAMPLES["san-francisco"].sites
    roads = read_travel(SAMPLES["san-francisco"].table_path, list(home.ids), names, unit="m").values
    near = roads[home.weights > 0] <= 8000
    truth = next(
        k
        for k in range(1, 17)
        if any(near[:, list(each)].any(axis=1).all() for each in combinations(range(16), k))
    )
    assert f"The fewest facilities on these sites that bring every resident within 8 km: {truth}." in text(
        app
    )
    assert f"It is proven that {truth - 1}" in text(app)
    app.button(key="use_fewest").click().run()
    assert app.session_state["k"] == truth


def test_groups_that_count_the_same_move_the_plan(opened: Opened) -> None:
    """The worker that places the facilities knows groups by number only."""
    app = opened("plan", dataset="generated", k="3", t="0")
    before = live(app).sites()
    unfold(app, "groups_part").toggle(key="equal_here").set_value(True).run()
    assert not app.error
    assert app.query_params["equal"] == "1"
    assert "Every group counts the same in placing" in text(app)
    assert live(app).sites() != before


def test_a_pin_stands_at_the_nearest_place_of_a_table(opened: Opened) -> None:
    app = opened(
        "plan", dataset="san-francisco", places="sample", table="sample", by="table", k="4", t="0",
        pins="-122.42,37.76",
    )  # fmt: skip
    assert not app.error
    _, lonlat = SAMPLES["san-francisco"].sites
    nearest = lonlat[np.hypot(*(lonlat - [-122.42, 37.76]).T).argmin()]
    pinned = live(app).sites("pinned")
    assert len(pinned) == 1
    assert pinned[0] == pytest.approx(nearest, abs=1e-5)
    assert "One facility is pinned: the longest trip is" in text(app)


def test_what_a_link_names_and_is_gone_is_said(opened: Opened) -> None:
    app = opened("plan", places="x" * 30, by="walk")
    assert not app.exception
    told = " ".join(warning.value for warning in app.warning)
    assert "candidate sites and zones of this link are no longer here" in told
    assert not app.get("bidi_component"), "no plan without them stands in for the plan of the link"


def test_zones_that_overlap_themselves_are_mended() -> None:
    bow = Zone("z", "Bow", "not_in", ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0)))
    found = Places(Drawing(zones=(bow,))).zones("not_in")
    assert isinstance(found, Zones)
    assert found.holds(np.array([[0.9, 0.5], [0.5, 0.9]])).tolist() == [True, False]


def test_sites_keep_their_own_room() -> None:
    spots = Drawing(sites=(Site("a", "A", (1.0, 2.0)), Site("b", "B", (1.5, 2.0))))
    found = Places(spots, room=(("b", 50.0), ("gone", 9.0))).sites
    assert found is not None
    assert found.capacity is not None
    assert found.capacity.tolist() == [np.inf, 50.0]


def test_streets_come_from_a_reader_as_they_are() -> None:
    here, there = (
        load_streets(ROAD, mode="walk"),
        files.streets("key", "road.geojson", ROAD, "walk", silent),
    )
    assert there.travel_times([[0, 0]], [[0.00898, 0]]) == here.travel_times([[0, 0]], [[0.00898, 0]])
    with pytest.raises(StreetsError):
        files.streets("other", "road.geojson", b"nonsense", "walk", silent)


@pytest.mark.parametrize("field", ["start", "end", "classes", "shape_starts"])
def test_streets_that_point_outside_of_themselves_are_refused(field: str) -> None:
    found = load_streets(ROAD, mode="walk")
    check_network(found.network, len(found.class_names))
    getattr(found.network, field)[-1] = 30_000
    with pytest.raises(ValueError, match="damaged"):
        check_network(found.network, len(found.class_names))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metres", -1.0),
        ("metres", np.nan),
        ("forward", 0.0),
        ("backward", -3.0),
        ("forward", 1e-300),
        ("lonlat", 900.0),
    ],
)
def test_streets_that_lead_nowhere_are_refused(field: str, value: float) -> None:
    """Negative lengths and the like would keep a search going for ever."""
    found = load_streets(ROAD, mode="walk")
    getattr(found.network, field)[-1] = value
    with pytest.raises(ValueError, match="damaged"):
        check_network(found.network, len(found.class_names))


def test_a_junction_without_a_street_is_refused() -> None:
    network = load_streets(ROAD, mode="walk").network
    network.lonlat = np.concatenate([network.lonlat, [[0.0, 0.0]]])
    with pytest.raises(ValueError, match="damaged"):
        check_network(network, 9)


def test_a_road_file_is_taken_into_use_and_its_columns_can_be_chosen(opened: Opened) -> None:
    """A street to each place around Toulouse, from one that runs past all of them; one is one-way by its own column."""
    home = load_sample("toulouse").lonlat
    spine = [[float(lon), 43.60] for lon in np.sort(home[:, 0])]
    lines = [spine, *([[float(lon), 43.60], [float(lon), float(lat)]] for lon, lat in home)]
    features = [
        {
            "type": "Feature",
            "properties": {"einbahn": "yes" if n == 3 else "no", "tempo": 20 + n % 30},
            "geometry": {
                "type": "LineString",
                "coordinates": line,
            },
        }
        for n, line in enumerate(lines)
    ]
    content = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    app = opened("sites", dataset="toulouse", k="2")
    app.file_uploader(key="road_file").upload("roads.geojson", content, "").run()
    assert not app.exception
    assert app.radio(key="by").value == "walk"
    assert any("Streets of **roads.geojson**" in told.value for told in app.markdown)
    assert any("from home to the facility" in told.value for told in app.markdown)
    app.selectbox(key="roads_oneway").select("einbahn").run()
    assert any("“einbahn” is taken as the direction of a street" in told.value for told in app.markdown)
    turn_to(app, "plan")
    assert not app.exception
    assert live(app).map["catchments"] is None
    app.selectbox(key="catchments").select("all").run()
    reach = json.loads(SENT[live(app).map["catchments"]])
    assert reach["at"] == live(app).map["at"]
    assert [band["minutes"] for band in reach["bands"]] == [20, 15, 10, 5]
    assert "Within 5 min on foot of a facility: " in text(app)
    app.toggle(key="straight_lines").set_value(True).run()
    assert not app.exception
    assert "Planned by straight lines at the same setting" in text(app)
    turn_to(app, "sites")
    app.button(key="no_roads").click().run()
    assert app.radio(key="by").options == ["Straight lines"]


def test_streets_of_another_city_are_refused(opened: Opened) -> None:
    app = opened("sites", dataset="toulouse", k="2")
    app.file_uploader(key="road_file").upload("road.geojson", ROAD, "").run()
    assert not app.exception
    assert "are elsewhere: most residents live around longitude 1." in app.error[0].value
    assert app.radio(key="by").options == ["Straight lines"]


def test_streets_that_cover_little_are_refused_or_the_residents_are_cut(opened: Opened) -> None:
    """Streets of one suburb: the share near them, counted by hand, and a plan for those alone."""
    home = load_sample("toulouse")
    row = np.argmin(np.abs(home.lonlat - [1.44, 43.60]).sum(axis=1))
    lon, lat = home.lonlat[row].tolist()
    lines = [
        [[lon - 0.02, lat], [lon, lat], [lon + 0.02, lat]],
        [[lon, lat - 0.02], [lon, lat], [lon, lat + 0.02]],
    ]
    features = [
        {"type": "Feature", "properties": {}, "geometry": {"type": "LineString", "coordinates": line}}
        for line in lines
    ]
    content = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    app = opened("sites", dataset="toulouse", k="1")
    app.file_uploader(key="road_file").upload("suburb.geojson", content, "").run()
    assert not app.exception
    total = home.weights.sum()
    found = re.search(r"only ([\d,]+) of ([\d,]+) people", app.error[0].value)
    near, whole = (int(number.replace(",", "")) for number in found.groups())
    assert whole == round(total) and home.weights[row] <= near < 0.8 * total
    assert app.radio(key="by").value == "straight" and "roads" not in app.query_params
    app.button(key="cut_to_streets").click().run()
    assert not app.exception
    assert app.radio(key="by").value == "walk" and app.session_state["k"] == 1
    turn_to(app, "plan")
    assert not app.exception and not app.error
    assert f"{near:,}" in text(app)
