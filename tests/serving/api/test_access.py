"""Another person's project, data, scenario and files cannot be reached over HTTP: every route is tried by everyone."""

import inspect
import time
from collections.abc import Callable
from io import BytesIO

import httpx
import numpy as np
import pytest
from fastapi import FastAPI

from pages.serving.api.messages import NewScenario, PlanWish
from pages.serving.api.uploads import said
from pages.serving.jobs import tasks
from pages.serving.rule_data import NOTHING, places_bytes
from pages.serving.store import Actor, Draft, Scenario, StoreError, store
from pages.serving.store.packing import existing_bytes, residents_bytes
from tests.serving.api.conftest import ANN, CITY, TOWN, Call, token_of
from tests.serving.api.test_rules import ROADS, SITES, TABLE
from tkm_core import load_residents
from tkm_core.residents import Existing, Report, Sites

RANK = {"figures": 1, "viewer": 2, "editor": 3, "owner": 4}
FIGURES, VIEWER, EDITOR, OWNER = RANK.values()
WISH = {"dataset": CITY, "k": 2}
TOWN_BYTES = residents_bytes(load_residents(BytesIO(TOWN.encode()), name="town.csv"))
UNUSED: dict[str, str] = {}  # by scenario, data of its project that no scenario uses
CITY_OF_ALL = "a town that opens for whoever has its token"
EVE = Actor("eve@example.org", "Eve")
CLINIC = Existing(np.array([[1.02, 43.03]]), ("North",), Report())
HALLS = NOTHING.with_sites(
    Sites(
        np.array([[1.005 + n % 4 * 0.03, 43.005 + n // 4 * 0.04] for n in range(12)]),
        tuple(f"Hall {n}" for n in range(12)),
    ),
    "halls",
)
# the least role for each route, and the call; 0: for everyone who has signed in
Deed = Callable[[Call, dict[str, str], Scenario], httpx.Response]
DEEDS: dict[tuple[str, str], tuple[int, Deed]] = {
    ("GET", "/me"): (0, lambda c, w, s: c("GET", "/me", **w)),
    ("GET", "/samples"): (0, lambda c, w, s: c("GET", "/samples", **w)),
    ("POST", "/datasets"): (0, lambda c, w, s: c("POST", "/datasets", files={"file": ("t.csv", TOWN)}, **w)),
    ("GET", "/datasets/{token}"): (
        VIEWER,
        lambda c, w, s: c("GET", f"/datasets/{s.settings['upload']}", **w),
    ),
    ("DELETE", "/datasets/{token}"): (OWNER, lambda c, w, s: c("DELETE", f"/datasets/{unused(s)}", **w)),
    ("POST", "/datasets/{token}/restore"): (
        OWNER,
        lambda c, w, s: c("POST", f"/datasets/{unused(s, binned=True)}/restore", **w),
    ),
    ("POST", "/plans"): (
        VIEWER,
        lambda c, w, s: c("POST", "/plans", json={"dataset": s.settings["upload"], "k": 2}, **w),
    ),
    ("GET", "/projects"): (0, lambda c, w, s: c("GET", "/projects", **w)),
    ("POST", "/projects"): (0, lambda c, w, s: c("POST", "/projects", json={"name": "X"}, **w)),
    ("GET", "/projects/{project}"): (FIGURES, lambda c, w, s: c("GET", f"/projects/{s.project_id}", **w)),
    ("PATCH", "/projects/{project}"): (
        EDITOR,
        lambda c, w, s: c("PATCH", f"/projects/{s.project_id}", json={"version": 1, "name": "X"}, **w),
    ),
    ("DELETE", "/projects/{project}"): (OWNER, lambda c, w, s: c("DELETE", f"/projects/{s.project_id}", **w)),
    ("GET", "/projects/{project}/history"): (
        FIGURES,
        lambda c, w, s: c("GET", f"/projects/{s.project_id}/history", **w),
    ),
    ("GET", "/scenarios"): (
        FIGURES,
        lambda c, w, s: c("GET", "/scenarios", params={"project": s.project_id}, **w),
    ),
    ("POST", "/scenarios"): (
        EDITOR,
        lambda c, w, s: c("POST", "/scenarios", json={"plan": WISH, "project": s.project_id}, **w),
    ),
    ("GET", "/scenarios/{scenario}"): (FIGURES, lambda c, w, s: c("GET", f"/scenarios/{s.id}", **w)),
    ("PATCH", "/scenarios/{scenario}"): (
        EDITOR,
        lambda c, w, s: c("PATCH", f"/scenarios/{s.id}", json={"version": 1, "note": "X"}, **w),
    ),
    ("DELETE", "/scenarios/{scenario}"): (EDITOR, lambda c, w, s: c("DELETE", f"/scenarios/{s.id}", **w)),
    ("POST", "/scenarios/{scenario}/restore"): (
        EDITOR,
        lambda c, w, s: (store().delete_scenario(ANN, s.id), c("POST", f"/scenarios/{s.id}/restore", **w))[1],
    ),
    ("GET", "/scenarios/{scenario}/files/{file}"): (
        VIEWER,
        lambda c, w, s: c("GET", f"/scenarios/{s.id}/files/facilities.csv", **w),
    ),
}


def unused(case: Scenario, *, binned: bool = False) -> str:
    """The token of data of Ann's project that no scenario uses; in the bin or not."""
    token, mine = UNUSED[case.id], store().dataset(ANN, UNUSED[case.id]) is None
    if mine != binned:
        (store().remove_dataset if binned else store().restore_dataset)(ANN, token)
    return token


def with_data_of(field: str, **more: object) -> Deed:
    """Plan for a town that is everybody's with something of the project: facilities, sites, streets, a table."""

    def deed(call: Call, brought: dict[str, str], case: Scenario) -> httpx.Response:
        town = store().add_dataset(EVE, "residents", TOWN_BYTES).token
        wish = {"dataset": town, "k": 2, field: case.settings[field], **more}
        if field == "table":
            wish["places"] = store().add_dataset(EVE, "places", places_bytes(HALLS)).token
        return call("POST", "/plans", json=wish, **brought)

    return deed


# what else a call may name: each field is tried by everyone
FIELDS: dict[tuple[str, str], tuple[int, Deed]] = {
    ("plan with", "existing"): (VIEWER, with_data_of("existing")),
    ("plan with", "places"): (VIEWER, with_data_of("places")),
    ("plan with", "roads"): (VIEWER, with_data_of("roads", by="walk")),
    ("plan with", "table"): (VIEWER, with_data_of("table", by="table")),
    ("upload", "of"): (VIEWER, lambda c, w, s: send(c, w, kind="sites", of=s.settings["upload"])),
    ("upload", "add_to"): (
        VIEWER,
        lambda c, w, s: send(c, w, kind="sites", of=CITY_OF_ALL, add_to=s.settings["places"]),
    ),
    ("scenario of", "dataset"): (
        EDITOR,
        lambda c, w, s: c(
            "POST", "/scenarios", json={"plan": {"dataset": s.settings["upload"], "k": 2}}, **w
        ),
    ),
    ("scenario with", "places"): (
        EDITOR,
        lambda c, w, s: c(
            "POST",
            "/scenarios",
            json={"plan": WISH | {"dataset": town_of_all(), "places": s.settings["places"]}},
            **w,
        ),
    ),
}


def send(call: Call, brought: dict[str, str], **about: str) -> httpx.Response:
    if about.get("of") == CITY_OF_ALL:
        about["of"] = town_of_all()
    return call("POST", "/datasets", files={"file": ("halls.csv", SITES)}, data=about, **brought)


def town_of_all() -> str:
    """The token of a town that opens for whoever has it."""
    return store().add_dataset(EVE, "residents", TOWN_BYTES).token


def test_every_route_is_tried(app: FastAPI) -> None:
    found = {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}
    assert found == set(DEEDS)


def test_every_field_that_names_data_is_tried() -> None:
    """Whatever has the form of a token in what a call sends."""
    named = {
        name
        for model in (PlanWish, NewScenario)
        for name, field in model.model_fields.items()
        if "pattern" in str(field)
    }
    assert named == {"dataset", "existing", "places", "roads", "table", "project", "parent"}
    asked = {
        name for name, one in inspect.signature(said).parameters.items() if "pattern" in str(one.annotation)
    }
    assert asked == {"of", "add_to"}


@pytest.fixture
def case(call: Call) -> Scenario:
    """A scenario of Ann's, made of her own upload."""
    ann = token_of(ANN)
    own = {
        "dataset": store().add_dataset(ANN, "residents", TOWN_BYTES, title="Town", people="homes"),
        "existing": store().add_dataset(ANN, "existing", existing_bytes(CLINIC)),
        "places": store().add_dataset(ANN, "places", places_bytes(HALLS)),
        "roads": store().add_dataset(ANN, "roads", ROADS.encode(), title="roads.geojson"),
        "table": store().add_dataset(ANN, "table", TABLE.encode(), title="walks.csv", people="min"),
    }
    wish = {"plan": {name: one.token for name, one in own.items()} | {"k": 2}, "title": "Ann's"}
    made = call("POST", "/scenarios", token=ann, json=wish).json()
    other = store().add_dataset(ANN, "residents", TOWN_BYTES, title="Not used").token
    spare = Draft("Spare", {"upload": other}, {}, b"{}")
    more, _ = store().save_scenario(ANN, spare, made["project"])
    store().delete_scenario(ANN, more.id)
    store().erase_scenario(ANN, more.id)
    UNUSED[made["id"]] = more.settings["upload"]
    return store().open_scenario(ANN, made["id"])[0]


def callers(case: Scenario) -> dict[str, tuple[int, dict[str, str]]]:
    """Somebody for each role: what they may do, and what they bring along."""
    for role in RANK:
        store().set_member(ANN, case.project_id, f"{role}@example.org", role)
    link, figures = (store().share(ANN, case.project_id, role)[1] for role in ("viewer", "figures"))
    gone, withdrawn = store().share(ANN, case.project_id, "owner")
    store().revoke(ANN, case.project_id, gone.id)
    stranger = token_of(EVE)
    people = {role: (rank, {"token": token_of(Actor(f"{role}@example.org"))}) for role, rank in RANK.items()}
    return {
        "stranger": (0, {"token": stranger}),
        "stranger with guesses": (0, {"token": stranger, "key": case.project_id}),
        "stranger with a withdrawn link": (0, {"token": stranger, "key": withdrawn}),
        **people,
        "stranger with a link": (VIEWER, {"token": stranger, "key": link}),
        "stranger with a link to figures": (FIGURES, {"token": stranger, "key": figures}),
    }


@pytest.mark.usefixtures("sign_in", "read_here")
@pytest.mark.parametrize("route", DEEDS | FIELDS, ids=" ".join)
def test_everyone_can_do_over_http_what_their_role_says_and_nothing_else(
    route: tuple[str, str], call: Call, case: Scenario
) -> None:
    least, deed = (DEEDS | FIELDS)[route]
    for nobody in ({}, {"token": "evenreach_" + "A" * 32}, {"key": case.project_id}):
        answer = deed(call, nobody, case)
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        put_back(case)
    tried = callers(case)
    order = sorted(tried.items(), key=lambda one: one[1][0])
    # those who may not once more when others have been there: by then, what they asked for is in memory
    for who, (rank, brought) in [*order, *(one for one in order if one[1][0] < least)]:
        before = everything(case)
        answer = deed(call, brought, case)
        if rank >= least:
            assert answer.status_code < 300, (who, answer.text)
            if route == ("GET", "/projects"):
                assert (case.project_id in {one["id"] for one in answer.json()}) == (rank > 0)
            if answer.status_code == 204 or route[0] == "PATCH":
                return  # done: there is nothing left to try
        else:
            assert answer.status_code in ((403, 404) if rank else (404,)), (who, answer.text)
            assert case.name not in answer.text
            if not put_back(case):
                assert everything(case) == before, "nothing was changed"


@pytest.mark.usefixtures("sign_in", "read_here")
def test_a_link_to_figures_opens_no_plan_of_a_sample_that_others_have_opened(call: Call) -> None:
    ann = token_of(ANN)
    made = call("POST", "/scenarios", token=ann, json={"plan": {"dataset": "san-francisco", "k": 2}}).json()
    key = store().share(ANN, made["project"], "figures")[1]
    path = f"/scenarios/{made['id']}/files/facilities.csv"
    assert call("GET", path, token=ann).status_code == 200
    assert call("GET", path, token=token_of(EVE), key=key).status_code in (403, 404)


def put_back(case: Scenario) -> bool:
    """Bring the scenario back that a deed began with deleting."""
    gone = bool(store().scenarios_of(ANN, case.project_id, deleted=True))
    if gone:
        store().restore_scenario(ANN, case.id)
    return gone


def everything(case: Scenario) -> tuple[object, ...]:
    return (
        store().project(ANN, case.project_id),
        store().scenarios_of(ANN, case.project_id),
        [event for event in store().history(ANN, case.project_id) if event.author != ANN.name],
        store().content(ANN, case.settings["upload"]),
    )


def test_a_token_works_until_it_expires_or_is_withdrawn(call: Call) -> None:
    ben = Actor("ben@example.org", "Ben")
    one, secret = store().new_token(ben, "nightly", days=1)
    assert call("GET", "/me", token=secret).json()["person"] == ben.person
    assert [(found.label, found.used is not None) for found in store().tokens_of(ben)] == [("nightly", True)]
    with pytest.raises(StoreError):
        store().withdraw_token(ANN, one.id)
    store().withdraw_token(ben, one.id)
    assert call("GET", "/me", token=secret).status_code == 401
    short = store().new_token(ben, "short", days=1e-9)[1]
    time.sleep(0.001)
    assert call("GET", "/me", token=short).status_code == 401
    with store().database.reading() as connection:
        kept = str(connection.exec_driver_sql("select * from token").all())
    assert secret not in kept and short not in kept, "a copy of the database hands out no token"


def test_where_nobody_signs_in_a_project_is_for_whoever_has_its_key(call: Call) -> None:
    made = call("POST", "/projects", json={"name": "Mine"}).json()
    path = f"/projects/{made['id']}"
    assert call("GET", path).status_code == 404
    assert call("GET", path, key="x" * 32).status_code == 404
    assert call("GET", path, key=made["project_key"]).json()["role"] == "owner"
    assert call("GET", "/projects").json() == []


def test_programs_wait_in_the_same_line_as_visitors(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks is the person, at the address of the call: the pool's shares go by that."""
    from pages.serving.jobs import asker

    seen = []
    real = tasks.plan

    def plan(*arguments: object, **options: object) -> object:
        seen.append(asker.current())
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tasks, "plan", plan)
    wish = {"dataset": "generated-77", "k": 2}
    assert call("POST", "/plans", token=token_of(ANN), json=wish).status_code == 200
    assert call("POST", "/plans", json=wish | {"k": 3}).status_code == 200
    assert seen == [asker.Asker(ANN.person, "127.0.0.1"), asker.Asker("program at 127.0.0.1", "127.0.0.1")]
