"""Another person's project, data, scenario and files cannot be reached over HTTP: every route is tried by everyone."""

import time
from collections.abc import Callable
from io import BytesIO

import httpx
import pytest
from fastapi import FastAPI

from pages.serving.jobs import files, tasks
from pages.serving.store import Actor, Scenario, StoreError, store
from pages.serving.store.packing import residents_bytes, residents_from
from tests.serving.api.conftest import ANN, CITY, TOWN, Call, token_of
from tkm_core import load_residents

RANK = {"viewer": 1, "editor": 2, "owner": 3}
WISH = {"dataset": CITY, "k": 2}
TOWN_BYTES = residents_bytes(load_residents(BytesIO(TOWN.encode()), name="town.csv"))
# the least role for each route, and the call; 0: for everyone who has signed in
Deed = Callable[[Call, dict[str, str], Scenario], httpx.Response]
DEEDS: dict[tuple[str, str], tuple[int, Deed]] = {
    ("GET", "/me"): (0, lambda c, w, s: c("GET", "/me", **w)),
    ("GET", "/samples"): (0, lambda c, w, s: c("GET", "/samples", **w)),
    ("POST", "/datasets"): (0, lambda c, w, s: c("POST", "/datasets", files={"file": ("t.csv", TOWN)}, **w)),
    ("GET", "/datasets/{token}"): (1, lambda c, w, s: c("GET", f"/datasets/{s.settings['upload']}", **w)),
    ("DELETE", "/datasets/{token}"): (
        2,
        lambda c, w, s: c("DELETE", f"/datasets/{s.settings['upload']}", **w),
    ),
    ("POST", "/plans"): (
        1,
        lambda c, w, s: c("POST", "/plans", json={"dataset": s.settings["upload"], "k": 2}, **w),
    ),
    ("GET", "/projects"): (0, lambda c, w, s: c("GET", "/projects", **w)),
    ("POST", "/projects"): (0, lambda c, w, s: c("POST", "/projects", json={"name": "X"}, **w)),
    ("GET", "/projects/{project}"): (1, lambda c, w, s: c("GET", f"/projects/{s.project_id}", **w)),
    ("PATCH", "/projects/{project}"): (
        2,
        lambda c, w, s: c("PATCH", f"/projects/{s.project_id}", json={"version": 1, "name": "X"}, **w),
    ),
    ("DELETE", "/projects/{project}"): (3, lambda c, w, s: c("DELETE", f"/projects/{s.project_id}", **w)),
    ("GET", "/projects/{project}/history"): (
        1,
        lambda c, w, s: c("GET", f"/projects/{s.project_id}/history", **w),
    ),
    ("GET", "/scenarios"): (1, lambda c, w, s: c("GET", "/scenarios", params={"project": s.project_id}, **w)),
    ("POST", "/scenarios"): (
        2,
        lambda c, w, s: c("POST", "/scenarios", json={"plan": WISH, "project": s.project_id}, **w),
    ),
    ("GET", "/scenarios/{scenario}"): (1, lambda c, w, s: c("GET", f"/scenarios/{s.id}", **w)),
    ("PATCH", "/scenarios/{scenario}"): (
        2,
        lambda c, w, s: c("PATCH", f"/scenarios/{s.id}", json={"version": 1, "note": "X"}, **w),
    ),
    ("DELETE", "/scenarios/{scenario}"): (2, lambda c, w, s: c("DELETE", f"/scenarios/{s.id}", **w)),
    ("POST", "/scenarios/{scenario}/restore"): (
        2,
        lambda c, w, s: (store().delete_scenario(ANN, s.id), c("POST", f"/scenarios/{s.id}/restore", **w))[1],
    ),
    ("GET", "/scenarios/{scenario}/files/{file}"): (
        1,
        lambda c, w, s: c("GET", f"/scenarios/{s.id}/files/facilities.csv", **w),
    ),
}


def test_every_route_is_tried(app: FastAPI) -> None:
    found = {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}
    assert found == set(DEEDS)


@pytest.fixture
def case(call: Call) -> Scenario:
    """A scenario of Ann's, made of her own upload."""
    ann = token_of(ANN)
    town = store().add_dataset(ANN, "residents", TOWN_BYTES, title="Town", people="homes")
    wish = {"plan": {"dataset": town.token, "k": 2}, "title": "Ann's"}
    made = call("POST", "/scenarios", token=ann, json=wish).json()
    return store().open_scenario(ANN, made["id"])[0]


def callers(case: Scenario) -> dict[str, tuple[int, dict[str, str]]]:
    """Somebody for each role: what they may do, and what they bring along."""
    for role in RANK:
        store().set_member(ANN, case.project_id, f"{role}@example.org", role)
    link = store().share(ANN, case.project_id, "viewer")[1]
    gone, withdrawn = store().share(ANN, case.project_id, "owner")
    store().revoke(ANN, case.project_id, gone.id)
    stranger = token_of(Actor("eve@example.org", "Eve"))
    people = {role: (rank, {"token": token_of(Actor(f"{role}@example.org"))}) for role, rank in RANK.items()}
    return {
        "stranger": (0, {"token": stranger}),
        "stranger with guesses": (0, {"token": stranger, "key": case.project_id}),
        "stranger with a withdrawn link": (0, {"token": stranger, "key": withdrawn}),
        **people,
        "stranger with a link": (1, {"token": stranger, "key": link}),
    }


@pytest.mark.usefixtures("sign_in")
@pytest.mark.parametrize("route", DEEDS, ids=" ".join)
def test_everyone_can_do_over_http_what_their_role_says_and_nothing_else(
    route: tuple[str, str], call: Call, case: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    least, deed = DEEDS[route]
    # who may upload is tried here; each file is read in a process of its own, which takes a second
    monkeypatch.setattr(files, "residents", lambda *_: residents_from(TOWN_BYTES))
    for nobody in ({}, {"token": "evenreach_" + "A" * 32}, {"key": case.project_id}):
        answer = deed(call, nobody, case)
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        put_back(case)
    tried = callers(case)
    for who, (rank, brought) in sorted(tried.items(), key=lambda one: one[1][0]):
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
        store().history(ANN, case.project_id),
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
