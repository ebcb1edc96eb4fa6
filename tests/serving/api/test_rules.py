"""Plans that follow rules, through the API: each is what the library makes of the same files."""

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely

import tkm_core as tkm
from pages.serving.jobs import tasks
from pages.serving.store import Actor, store
from tests.serving.api.conftest import ANN, TOWN, Call, token_of
from tkm_core.export import read_plan_file, restore_plan
from tkm_core.planning import ByTable, Plan, make_plan
from tkm_core.residents import load_sites, load_zones
from tkm_core.sites import read_travel

pytestmark = pytest.mark.usefixtures("read_here")
SITES = "name,lon,lat,capacity\n" + "".join(
    f"Hall {n},{1.005 + n % 4 * 0.03},{43.005 + n // 4 * 0.04},{90 + 40 * n}\n" for n in range(12)
)
WEST = shapely.box(0.9, 42.9, 1.055, 43.2)
LAKE = shapely.box(1.0, 43.0, 1.02, 43.02)
ROADS = shapely.to_geojson(
    shapely.MultiLineString(
        [[(1 + 0.01 * i, 43 + 0.01 * j) for j in range(10)] for i in range(10)]
        + [[(1 + 0.01 * i, 43 + 0.01 * j) for i in range(10)] for j in range(10)]
    )
)
TABLE = "from,to,minutes\n" + "".join(
    f"{home},Hall {site},{(home * 7 + site * 13) % 29 + 1}\n" for home in range(100) for site in range(12)
)


def geojson(shape: shapely.Geometry, name: str) -> bytes:
    feature = {
        "type": "Feature",
        "properties": {"name": name},
        "geometry": json.loads(shapely.to_geojson(shape)),
    }
    return json.dumps({"type": "FeatureCollection", "features": [feature]}).encode()


def town() -> tkm.Residents:
    return tkm.load_residents(io.BytesIO(TOWN.encode()), name="town.csv")


@pytest.fixture
def send(call: Call) -> Any:
    """Uploads a file as Ann; returns the answer."""
    ann = token_of(ANN)

    def one(name: str, content: str | bytes, **about: str) -> dict[str, Any]:
        answer = call("POST", "/datasets", token=ann, files={"file": (name, content)}, data=about)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    one.token = ann  # type: ignore[attr-defined]
    return one


def same(told: dict[str, Any], truth: Plan, t: float) -> None:
    """The answer is the plan that the library makes."""
    truth = truth.with_stop(t)
    i = truth.index(t)
    places = [(one["lon"], one["lat"]) for one in told["facilities"]]
    np.testing.assert_allclose(places, truth.centers_lonlat(i), atol=1e-6)
    for key, value in told["measures"].items():
        assert value == pytest.approx(getattr(truth.evaluation(i), key), rel=1e-6), key
    assert told["unit"] == truth.rules.unit
    assert told["rules"] == list(truth.rules.sentences("residents"))
    assert (told["remarks"], told["proof"]) == (list(truth.remarks), truth.proof(i))


def test_sites_zones_and_limits(call: Call, send: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    home = send("town.csv", TOWN)["token"]
    halls = send("halls.csv", SITES, kind="sites", of=home)
    assert (halls["kind"], halls["rows"]) == ("places", 12)
    west = send("west.geojson", geojson(WEST, "West"), kind="only_in", add_to=halls["token"])
    both = send("lake.geojson", geojson(LAKE, "Lake"), kind="not_in", add_to=west["token"])["token"]
    wish = {"dataset": home, "k": 3, "t": 0.3, "places": both, "most": 300}
    answer = call("POST", "/plans", token=send.token, json=wish)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    people = town()
    rules = {
        "sites": replace(load_sites(SITES.encode(), people), name=""),
        "only_in": load_zones(geojson(WEST, "West")),
        "not_in": load_zones(geojson(LAKE, "Lake")),
        "capacity": 300.0,
    }
    same(told, make_plan(people, 3, with_t=0.25, **rules), 0.3)
    assert {one["kind"] for one in told["facilities"]} == {"new"}
    assert {one["name"] for one in told["facilities"]} <= {f"Hall {n}" for n in range(12)}
    # saved, and taken along as files without being solved again
    made = call("POST", "/scenarios", token=send.token, json={"plan": wish, "title": "Halls"})
    assert made.status_code == 201, made.text
    one = made.json()
    assert one["measures"] == told["measures"] and one["settings"]["most"] == "300"
    assert one["settings"]["places"] != both, "a copy of the project's own"
    monkeypatch.setattr(tasks, "plan", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("tkm_core.export.planfile_restoring.make_plan", lambda *_, **__: 1 / 0)
    rows = call("GET", f"/scenarios/{one['id']}/files/facilities.csv", token=send.token)
    assert rows.status_code == 200, rows.text
    frame = pd.read_csv(io.BytesIO(rows.content))
    assert sorted(frame["name"]) == sorted(found["name"] for found in told["facilities"])
    again = restore_plan(read_plan_file(store().plan_of(ANN, one["id"])), people).plan
    assert again.rules.sites is not None and again.rules.limited and again.rules.zoned


def test_along_streets_with_existing_pinned_and_closed_facilities(call: Call, send: Any) -> None:
    home = send("town.csv", TOWN)["token"]
    roads = send("roads.geojson", ROADS, kind="roads", of=home)
    assert roads["kind"] == "roads" and roads["rows"] > 0 and roads["remarks"]
    clinics = "lon,lat,name\n1.02,43.03,North\n1.07,43.08,South\n"
    there = send("clinics.csv", clinics, kind="existing", of=home)["token"]
    wish = {
        "dataset": home, "k": 3, "t": 0.5, "existing": there, "closed": [2], "pins": [{"lon": 1.051234, "lat": 43.05}],
        "by": "walk", "roads": roads["token"], "direction": "back",
    }  # fmt: skip
    answer = call("POST", "/plans", token=send.token, json=wish)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    truth = make_plan(
        town(), 2, with_t=0.25, fixed_lonlat=[[1.02, 43.03], [1.07, 43.08], [1.05123, 43.05]],
        fixed_names=["North", "South", ""], closed=[1], pinned=1,
        streets=tkm.AlongStreets(tkm.load_streets(ROADS.encode()), direction="back"),
    )  # fmt: skip
    assert [one["kind"] for one in told["facilities"]] == ["new", "new", "existing", "pinned"]
    assert (told["k"], told["unit"]) == (3, "min")
    places = [(one["lon"], one["lat"]) for one in told["facilities"]]
    truth = truth.with_stop(0.5)
    np.testing.assert_allclose(places, truth.centers_lonlat(truth.index(0.5)), atol=1e-6)
    assert told["measures"]["mean_distance"] == pytest.approx(
        truth.evaluation(truth.index(0.5)).mean_distance
    )
    assert "pins=1.05123%2C43.05000" in told["link"] and "by=walk" in told["link"]


def test_by_a_travel_table(call: Call, send: Any) -> None:
    home = send("town.csv", TOWN)["token"]
    halls = send("halls.csv", SITES.replace(",capacity", "", 1).replace(",90", ""), kind="sites", of=home)
    table = send("walks.csv", TABLE, kind="table", unit="min")
    assert (table["kind"], table["rows"], table["people"]) == ("table", 1200, "min")
    wish = {"dataset": home, "k": 2, "t": 1, "places": halls["token"], "by": "table", "table": table["token"]}
    answer = call("POST", "/plans", token=send.token, json=wish)
    assert answer.status_code == 200, answer.text
    people = town()
    names = [f"Hall {n}" for n in range(12)]
    made = read_travel(io.BytesIO(TABLE.encode()), list(range(100)), names, unit="min")
    sites = load_sites(SITES.encode(), people, capacity=False)
    rules = tkm.Rules(ByTable.of(made, sites.lonlat, "walks.csv"), sites)
    truth = make_plan(people, 2, with_t=0.25, rules=rules).with_stop(1.0)
    told = answer.json()
    assert told["measures"]["mean_distance"] == pytest.approx(
        truth.evaluation(truth.index(1.0)).mean_distance
    )
    assert told["proof"].startswith("No plan on these sites")


def test_the_criterion_and_equal_groups(call: Call) -> None:
    wish = {"dataset": "generated-301", "k": 3, "t": 3}
    sample = tkm.load_sample("generated-301")
    for more, options in (
        ({"criterion": "cluster"}, {"criterion": "cluster"}),
        ({"equal_groups": True}, {"equal_groups": True}),
    ):
        told = call("POST", "/plans", json=wish | more).json()
        truth = make_plan(sample, 3, with_t=0.25, **options).with_stop(3.0)
        assert told["measures"]["mean_distance"] == pytest.approx(
            truth.evaluation(truth.index(3.0)).mean_distance
        )
        assert bool(told["link"]) == ("criterion" not in more), "no page plans by clusters"
    one = call("POST", "/scenarios", json={"plan": wish | {"equal_groups": True}}).json()
    holder = Actor(keys=(one["project_key"],))
    assert read_plan_file(store().plan_of(holder, one["id"])).rules["equal_groups"] is True  # type: ignore[index]
    answer = call("GET", f"/scenarios/{one['id']}/files/facilities.csv", key=one["project_key"])
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"by": "walk"}, "no streets"),
        ({"by": "table"}, "needs candidate sites"),
        ({"places": "sample"}, "comes without candidate sites"),
        ({"pins": [{"lon": 1, "lat": 43}] * 3}, "leave at least one to place"),
        ({"pins": [{"lon": 999, "lat": 43}]}, "less than or equal to 180"),
        ({"most": 5, "least": 9}, ""),
        ({"most": 500, "equal_groups": True}, "limited room"),
        ({"criterion": "cluster", "most": 500}, "criterion"),
        ({"most": 2}, ""),
        ({"places": "T" * 32}, "does not exist"),
        ({"roads": "T" * 32, "by": "car"}, "does not exist"),
    ],
)
def test_rules_that_cannot_be_followed_get_a_sentence(
    call: Call, wish: dict[str, Any], sentence: str
) -> None:
    answer = call("POST", "/plans", json={"dataset": "generated-301", "k": 3} | wish)
    assert answer.status_code in (404, 422), answer.text
    assert sentence in answer.json()["detail"] and answer.json()["detail"]


@pytest.mark.parametrize(
    ("about", "sentence"),
    [
        ({"kind": "sites"}, "Say in `of`"),
        ({"kind": "not_in", "crs": "EPSG:4326"}, "have no setting crs"),
        ({"kind": "residents", "capacity": "people"}, "have no setting capacity"),
        ({"kind": "not_in", "add_to": "T" * 32}, "does not exist"),
        ({"kind": "magic"}, "Input should be"),
        ({"kind": "sites", "of": "san-francisco"}, "near the residents"),
    ],
)
def test_what_is_said_about_a_file_must_fit_its_kind(
    call: Call, about: dict[str, str], sentence: str
) -> None:
    content = geojson(WEST, "West") if about["kind"] == "not_in" else TOWN
    name = "west.geojson" if about["kind"] == "not_in" else "town.csv"
    answer = call("POST", "/datasets", files={"file": (name, content)}, data=about)
    assert answer.status_code in (404, 422), answer.text
    assert sentence in answer.json()["detail"]
