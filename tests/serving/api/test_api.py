"""The way of a program through the API: upload, plan, scenario, figures, export."""

import io
import json
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest

from pages.serving.store import Actor, store
from tests.serving.api.conftest import ANN, CITY, TOWN, Call, token_of
from tkm_core import load_sample, make_plan
from tkm_core.export import read_plan_file, restore_plan


def test_a_plan_is_what_the_library_makes(call: Call) -> None:
    answer = call("POST", "/plans", json={"dataset": CITY, "k": 3, "t": 0.3})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    truth = make_plan(load_sample(CITY), 3, with_t=0.25, random_state=0).with_stop(0.3)
    i = truth.index(0.3)
    places = [(one["lon"], one["lat"]) for one in told["facilities"]]
    np.testing.assert_allclose(places, truth.centers_lonlat(i), atol=1e-6)
    assert told["measures"]["mean_distance"] == pytest.approx(truth.evaluation(i).mean_distance)
    assert sum(one["people"] for one in told["facilities"]) == 301
    assert (told["t"], told["dial"][-1]) == (0.3, "inf")
    assert told["link"] == f"/?dataset={CITY}&k=3&t=0.3"
    assert "average trip" in told["sentence"]


def test_from_an_upload_to_files(call: Call, tmp_path: Path) -> None:
    ann = token_of(ANN)
    up = call("POST", "/datasets", token=ann, files={"file": ("town.csv", TOWN)}, data={"title": "Town"})
    assert up.status_code == 201, up.text
    town = up.json()
    assert (town["rows"], town["total_people"], town["title"]) == (100, 395.0, "Town")
    clinic = ("clinics.csv", "lon,lat,name\n1.02,43.03,North\n1.07,43.08,South\n")
    known = call(
        "POST", "/datasets", token=ann, files={"file": clinic}, data={"kind": "existing", "of": town["token"]}
    ).json()
    assert known["rows"] == 2
    wish = {"dataset": town["token"], "k": 2, "t": 0.3, "existing": known["token"], "closed": [2]}
    made = call("POST", "/scenarios", token=ann, json={"plan": wish, "title": "Clinics", "note": "first"})
    assert made.status_code == 201, made.text
    one = made.json()
    assert one["project_key"] == "", "it belongs to Ann"
    assert one["settings"]["closed"] == "2"
    listed = call("GET", "/scenarios", token=ann, params={"project": one["project"]}).json()
    assert [(found["id"], found["note"]) for found in listed] == [(one["id"], "first")]

    def file(name: str) -> bytes:
        answer = call("GET", f"/scenarios/{one['id']}/files/{name}", token=ann)
        assert answer.status_code == 200, answer.text
        assert f'filename="{name}"' in answer.headers["content-disposition"]
        return answer.content

    saved = read_plan_file(file("plan.json"))
    assert (saved.k, saved.t, saved.closed, saved.fixed_names) == (2, 0.3, (1,), ("North", "South"))
    frame = gpd.read_file(io.BytesIO(file("facilities.geojson")))
    new = frame[frame["kind"] == "new"] if "kind" in frame else frame[:2]
    np.testing.assert_allclose(
        np.column_stack([new.geometry.x, new.geometry.y]), saved.facilities_lonlat[:2], atol=1e-6
    )
    table = pd.read_csv(io.BytesIO(file("allocations.csv")))
    assert np.average(table["distance_m"], weights=table["people"]) == pytest.approx(
        one["measures"]["mean_distance"], rel=1e-3
    )
    assert b"Town" in file("report.html")
    (tmp_path / "all.gpkg").write_bytes(file("all.gpkg"))
    assert len(gpd.list_layers(tmp_path / "all.gpkg")) >= 3
    events = call("GET", f"/projects/{one['project']}/history", token=ann).json()
    assert [(event["author"], event["what"]) for event in events] == [
        ("Ann", "saved"),
        ("Ann", "made the project"),
    ]
    assert call("DELETE", f"/projects/{one['project']}", token=ann).status_code == 204
    assert call("GET", f"/datasets/{town['token']}", token=ann).status_code == 404, "its data go with it"


def test_a_scenario_of_the_api_opens_in_the_app_as_it_was_saved(call: Call) -> None:
    one = call("POST", "/scenarios", json={"plan": {"dataset": CITY, "k": 4}, "title": "Mine"}).json()
    holder = Actor(keys=(one["project_key"],))
    found, project = store().open_scenario(holder, one["id"])
    assert (project.name, found.name, set(found.pictures)) == (
        "Mine",
        "4 facilities, t = 0.25",
        {"light", "dark"},
    )
    restored = restore_plan(read_plan_file(store().plan_of(holder, one["id"])), load_sample(CITY))
    assert restored.same_data and restored.plan.k == 4


def test_the_second_of_two_who_rename_is_told(call: Call) -> None:
    ann = token_of(ANN)
    one = call("POST", "/projects", token=ann, json={"name": "Clinics"}).json()
    for status in (200, 409):
        answer = call("PATCH", f"/projects/{one['id']}", token=ann, json={"version": 1, "name": "Schools"})
        assert answer.status_code == status
    assert "Somebody else changed this" in answer.json()["detail"]


def test_a_scenario_is_deleted_and_brought_back(call: Call) -> None:
    made = call("POST", "/scenarios", json={"plan": {"dataset": CITY, "k": 2}}).json()
    path, key = f"/scenarios/{made['id']}", made["project_key"]
    told = call("PATCH", path, key=key, json={"version": 1, "name": "Five", "note": "n"}).json()
    assert (told["name"], told["note"], told["version"]) == ("Five", "n", 2)
    assert call("DELETE", path, key=key).status_code == 204
    assert call("GET", path, key=key).status_code == 404
    assert call("POST", f"{path}/restore", key=key).status_code == 204
    assert call("GET", path, key=key).json()["name"] == "Five"


@pytest.mark.parametrize(
    ("path", "wish", "sentence"),
    [
        ("/plans", {"dataset": CITY, "k": "x"}, "body.k: Input should be a valid integer"),
        ("/plans", {"dataset": CITY, "k": 3, "kk": 4}, "body.kk: Extra inputs are not permitted"),
        ("/plans", {"dataset": CITY, "k": 61}, "less than or equal to 60"),
        ("/plans", {"dataset": CITY, "k": 3, "t": -1}, "greater than or equal to 0"),
        ("/plans", {"dataset": CITY, "k": 3, "closed": [1]}, "number 1 cannot be closed"),
        ("/plans", {"dataset": CITY, "k": 0}, ""),
        ("/plans", {"dataset": "generated-20m", "k": 3}, ""),
        ("/projects", {"name": "x" * 121}, "at most 120 characters"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence(call: Call, path: str, wish: object, sentence: str) -> None:
    answer = call("POST", path, json=wish)
    assert answer.status_code in (404, 422), answer.text
    assert sentence in answer.json()["detail"]
    assert answer.json()["detail"]


def test_a_file_that_cannot_be_read_gets_the_sentence_of_the_data_page(call: Call) -> None:
    answer = call("POST", "/datasets", files={"file": ("town.csv", b"name,colour\nx,red\n")})
    assert answer.status_code == 422
    assert "coordinate" in answer.json()["detail"].lower()
    alone = call("POST", "/datasets", files={"file": ("c.csv", TOWN)}, data={"kind": "existing"})
    assert "Say in `of`" in alone.json()["detail"]


def test_a_page_of_another_site_cannot_call(call: Call) -> None:
    """A form needs no permission to be sent elsewhere; browsers say where it comes from."""
    before = len(store().projects_of(ANN))
    for origin in ("https://evil.example", "null", "http://localhost:9"):
        answer = call("POST", "/datasets", files={"file": ("t.csv", TOWN)}, headers={"Origin": origin})
        assert (answer.status_code, "other sites" in answer.json()["detail"]) == (403, True)
    assert call("GET", "/me", headers={"Origin": "http://localhost"}).status_code == 200
    assert len(store().projects_of(ANN)) == before


def test_a_database_that_is_away_is_said(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from pages.serving.store.problems import AWAY, AwayError

    def away(*_: object, **__: object) -> None:
        raise AwayError(AWAY)

    for name in ("reading", "writing"):
        monkeypatch.setattr(store().database, name, away)
    answer = call("GET", "/projects", token="x")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
    assert "does not answer right now" in answer.json()["detail"]
    assert call("POST", "/plans", json={"dataset": CITY, "k": 3}).status_code == 200, "planning goes on"


def test_what_should_not_happen_is_not_told_to_the_caller(
    call: Call, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        "pages.serving.api.cities.planned", lambda *_: dict[str, str]()["secret of the house"]
    )
    with pytest.raises(KeyError):  # the server logs it; the caller has its answer by then
        call("POST", "/plans", json={"dataset": CITY, "k": 3})
    assert "could not be answered" in caplog.text


def test_the_document_describes_every_route(call: Call) -> None:
    told = call("GET", "/openapi.json").json()
    assert told["info"]["title"] == "EvenReach"
    for path, methods in told["paths"].items():
        for method, one in methods.items():
            assert one["description"], f"{method} {path} says nothing about itself"
            assert {"401", "404", "422", "503"} <= set(one["responses"])
            assert one["security"], f"{method} {path} asks nobody who calls"
    assert len(json.dumps(told)) > 10_000
