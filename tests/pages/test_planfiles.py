"""A plan opened from a file is visible to its visitor and to those who get the link, and to nobody else."""

import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import shapely
from streamlit.testing.v1 import AppTest

from pages.serving.cache import caches
from pages.serving.jobs import files
from pages.serving.samples import sample
from pages.session import plans
from pages.session.markdown import JOINER
from tests.pages.conftest import PAGES, Opened, live, text, turn_to
from tests.pages.test_scenarios import forget
from tkm_core.clustering.descent import Problem, descend
from tkm_core.clustering.path import TiltedPath
from tkm_core.export import PlanFileError, Shown, plan_json
from tkm_core.planning import Plan, Reference, make_plan
from tkm_core.progress import silent
from tkm_core.residents import SAMPLES, Sites, Zones, load_residents
from tkm_core.residents.samples import load_sample
from tkm_core.sites import Capacity, read_travel

CITY = {"dataset": "generated-301", "k": "3"}


@pytest.fixture(scope="module")
def honest() -> Plan:
    return make_plan(load_sample("generated", n=301), 3)


def forged(plan: Plan, centers: np.ndarray, baseline: np.ndarray) -> bytes:
    """A plan file with other sites, all of its figures made to fit them."""
    home = plan.residents
    problem = Problem.of(home.scaled, home.weights, plan.k)
    ends = [descend(problem, start, float(t), max_iter=0) for start, t in zip(centers, plan.t, strict=True)]
    path = TiltedPath(
        t=plan.t,
        centers=centers,
        tilted_sse=np.array([end.tilted_sse for end in ends]),
        sse=np.array([end.sse for end in ends]),
        city_cost=np.array([end.city_cost for end in ends]),
        error=np.array([end.left for end in ends]),
        arrangement=plan.path.arrangement,
    )
    return plan_json(replace(plan, path=path, baseline=baseline, _curves={}), 5)


def forgeries(plan: Plan) -> dict[str, bytes]:
    """Everything a file can claim about a city that is here."""
    centers, baseline = plan.path.centers, plan.baseline
    off = np.array([120_000 / plan.residents.scale, 0.0])
    middle = np.array([0.5, 0.5])
    return {
        "every site 120 km off": forged(plan, centers + off, baseline + off),
        "another baseline": forged(plan, centers, baseline * 0.2),
        "other sites": forged(plan, centers * middle, baseline),
        "other sites at one setting": forged(
            plan, np.concatenate([centers[:5] * middle, centers[5:]]), baseline
        ),
    }


def shown(app: AppTest) -> list[str]:
    """All that is on the page."""
    kinds = ("markdown", "title", "header", "warning", "error", "info", "dataframe", "table")
    parts = [f"{kind}: {element.value}" for kind in kinds for element in app.get(kind)]
    parts += [element.proto.body for element in app.get("html")]
    parts += [element.proto.spec for element in app.get("plotly_chart")]
    parts += [element.proto.json for element in app.get("deck_gl_json_chart")]
    parts += [element.proto.json for element in app.get("bidi_component")]
    return parts


def visit_all(app: AppTest) -> dict[str, list[str]]:
    found = {}
    for page in PAGES:
        app.session_state["solvers_n_iter"], app.session_state["solvers_starts"] = 20, 1
        turn_to(app, page)
        assert not app.exception
        found[page] = shown(app)
    return found


def give(opened: Opened, content: bytes, **query: str) -> AppTest:
    """A visitor who gives a plan file on the Data page."""
    app = opened("data", **query)
    app.file_uploader(key="plan_file").upload("p.evenreach.json", content, "application/json").run()
    assert not app.exception
    return app


def show(app: AppTest) -> str:
    """Press the button; the token of the plan."""
    app.button(key="show_plan_file").click().run()
    turn_to(app, "plan")
    assert not app.exception
    return app.query_params["upload"]


def sites(app: AppTest) -> list[list[float]]:
    return live(app).sites()


@pytest.mark.nightly
def test_a_forged_plan_file_changes_no_page_of_anybody_else(opened: Opened, honest: Plan) -> None:
    before = visit_all(opened(**CITY))
    accepted = 0
    for what, content in forgeries(honest).items():
        attacker = give(opened, content, **CITY)
        if what == "every site 120 km off":
            assert "far outside the area where people live" in attacker.error[0].value
            continue
        show(attacker)
        visit_all(attacker)
        accepted += 1
    assert accepted == 3
    after = visit_all(opened(**CITY))
    for page in PAGES:
        assert after[page] == before[page], page


def test_what_is_shared_is_what_this_server_computed(opened: Opened, honest: Plan) -> None:
    show(give(opened, forged(honest, honest.path.centers * 0.5, honest.baseline), **CITY))
    found = plans.part_of_other_work(sample("generated-301"), 3, silent)
    np.testing.assert_array_equal(found.path.centers, honest.path.centers)
    np.testing.assert_array_equal(found.baseline, honest.baseline)


def test_an_opened_plan_is_shown_to_who_has_its_link_and_stays(opened: Opened, honest: Plan) -> None:
    content = forged(honest, honest.path.centers * 0.5, honest.baseline)
    owner = give(opened, content, **CITY)
    token = show(owner)
    assert owner.selectbox(key="dataset").format_func("upload") == "Opened plan: Generated city, 301"
    theirs = sites(owner)
    assert theirs != honest.centers_lonlat(5).round(6).tolist()
    for cache in (caches().plans, caches().results, caches().figures):
        cache.remove_about(token)
    guest = opened(**{name: owner.query_params[name] for name in owner.query_params})
    assert sites(guest) == theirs, "it is not computed anew when there is no room for plans"
    turn_to(guest, "data")
    assert not [button for button in guest.button if button.key == "forget"], "it is not theirs to remove"
    turn_to(owner, "data")
    owner.button(key="forget").click().run()
    owner.button(key="remove_yes").click().run()
    assert "no longer here" in opened(dataset="upload", upload=token).warning[0].value


def test_another_number_of_facilities_is_computed(opened: Opened, honest: Plan) -> None:
    app = give(opened, forged(honest, honest.path.centers * 0.5, honest.baseline), **CITY)
    show(app)
    app.number_input(key="k").set_value(2).run()
    t = live(app).t
    fresh = make_plan(honest.residents, 2).with_stop(t)
    np.testing.assert_allclose(sites(app), fresh.centers_lonlat(fresh.index(t)), atol=1e-6)


def test_an_upload_that_is_removed_takes_the_plans_opened_for_it_along(opened: Opened) -> None:
    owner = opened("data")
    rows = "".join(f"{13 + i / 99:.4f},{52 + i * 7 % 20 / 99:.4f}\n" for i in range(60))
    owner.file_uploader(key="upload").upload("homes.csv", f"lon,lat\n{rows}".encode(), "text/csv").run()
    owner.button(key="use_upload").click().run()
    turn_to(owner, "plan")
    upload = owner.query_params["upload"]
    residents = caches().uploads.get(upload).residents
    guest = give(opened, plan_json(make_plan(residents, 2), 3), dataset="upload", upload=upload)
    token = show(guest)
    assert token != upload
    turn_to(owner, "data")
    owner.button(key="forget").click().run()
    owner.button(key="remove_yes").click().run()
    for word in (upload, token):
        kept = [key for cache in vars(caches()).values() for key in cache._kept if word in repr(key)]
        assert not kept


def test_a_plan_file_obeys_the_limit_on_facilities(opened: Opened) -> None:
    many = make_plan(load_sample("generated", n=301), 61, t=[0.0])
    app = give(opened, plan_json(many, 0), **CITY)
    assert "61 new facilities; this server plans for at most 60" in app.error[0].value
    assert not [button for button in app.button if button.key == "show_plan_file"]


@pytest.mark.parametrize("where", ["version", "name", "error"])
def test_words_of_a_plan_file_are_text(
    opened: Opened, honest: Plan, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    hostile = "[Log in](//e.example) www.e.example"
    document: dict[str, Any] = json.loads(plan_json(honest, 5))
    if where == "version":
        document["version"] = hostile
    elif where == "name":
        document["data"] |= {"name": hostile, "fingerprint": "other"}
        document["path"] |= {part.name: document["path"][part.name][:1] for part in fields(TiltedPath)}
    else:

        def refused(*_: object) -> None:
            raise PlanFileError(hostile)

        monkeypatch.setattr(files, "plan_file", refused)
    app = give(opened, json.dumps(document).encode(), **CITY)
    said = (app.info if where == "version" else app.error)[0].value
    assert r"\[Log in\](//e.example)" in said and f"www{JOINER}.e.example"[:20] in said


def test_a_plan_file_with_its_data_opens_anywhere_as_it_was(opened: Opened) -> None:
    rows = "".join(f"Part {i},{13 + i / 99:.4f},{52 + i * 7 % 20 / 99:.4f},{i + 3}\n" for i in range(60))
    residents = load_residents(f"name,lon,lat,population\n{rows}".encode(), name="town.csv")
    plan = make_plan(residents, 2, fixed_lonlat=[[13.3, 52.1]], fixed_names=["Library"])
    plan = plan.against(Reference("saved", "Last year's plan", plan.centers_lonlat(0)))
    shown_then = Shown("My town", "people", "mi", 2500.0)
    app = give(opened, plan_json(plan, 3, residents=True, shown=shown_then))
    assert "it is the same plan" in app.info[0].value
    show(app)
    assert app.selectbox(key="dataset").format_func("upload") == "Opened plan: My town"
    assert app.session_state["units"] == "mi" and app.session_state["standard_metres"] == 2500.0
    assert "Last year's plan" in app.selectbox(key="against").options[0]
    np.testing.assert_allclose(sites(app), plan.centers_lonlat(3)[:2], atol=1e-6)
    token = app.query_params["upload"]
    again = caches().uploads.get(token).residents
    assert again.places.tolist() == residents.places.tolist()
    assert list(again.attributes) == ["name", "lon", "lat", "population"]


def test_a_plan_from_a_file_is_saved_with_its_data_and_rules(opened: Opened) -> None:
    rows = "".join(f"Part {i},{13 + i / 99:.4f},{52 + i * 7 % 20 / 99:.4f},{i + 3}\n" for i in range(60))
    residents = load_residents(f"name,lon,lat,population\n{rows}".encode(), name="town.csv")
    spots = [[13.1 + n / 20, 52.02 + n % 4 / 25] for n in range(9)]
    lake = shapely.box(13.123456789, 52.01, 13.2, 52.2).difference(shapely.box(13.15, 52.05, 13.16, 52.06))
    park = shapely.box(13.41, 52.01, 13.42, 52.02)
    plan = make_plan(
        residents,
        3,
        sites=Sites(np.array(spots), tuple(f"Hall {n}" for n in range(9)), np.full(9, 1500.0)),
        not_in=Zones((lake, park), ("Lake", "Park")),
        capacity=Capacity(1200, 10),
        fixed_lonlat=[[13.3, 52.1]],
        fixed_names=["Library"],
    )
    app = give(opened, plan_json(plan, 2, residents=True, shown=Shown("My town", "people", "km", 2500.0)))
    show(app)
    before = sites(app)
    app.button(key="save_scenario").click().run()
    assert not app.exception and not app.warning
    key = app.query_params["project"]
    forget()
    later = opened("scenarios", project=key[0] if isinstance(key, list) else key)
    next(one for one in later.button if (one.key or "").startswith("open_")).click().run()
    turn_to(later, "plan")
    assert not later.exception and not later.warning
    assert "It is shown as it was saved" in text(later)
    np.testing.assert_allclose(sites(later), before, atol=1e-9)
    turn_to(later, "sites")
    assert "Hall 3" in str(shown(later)) and "Lake" in str(shown(later)), "its rules can be edited"


def test_a_plan_file_without_its_data_says_which_it_needs_and_shows_nothing(opened: Opened) -> None:
    residents = load_sample("generated", n=233)
    app = give(opened, plan_json(make_plan(residents, 2), 1))
    assert "It needs the data it was made with" in app.error[0].value and "233 points" in app.error[0].value
    assert not app.info and "show_plan_file" not in {button.key for button in app.button}


def test_a_plan_by_a_travel_table_opens_where_the_table_is_in_use(opened: Opened) -> None:
    home, sample = load_sample("san-francisco"), SAMPLES["san-francisco"]
    names, lonlat = sample.sites
    roads = read_travel(sample.table_path, list(home.ids), names, unit="m")
    plan = make_plan(home, 3, t=[0, 1], sites=lonlat, travel=roads)
    content = plan_json(plan, 1, shown=Shown("San Francisco", "people", "mi", 1609.344))
    app = give(opened, content, dataset="san-francisco")
    assert "needs the streets or the table its plan was measured by" in app.error[0].value
    app = give(opened, content, dataset="san-francisco", places="sample", table="sample", by="table")
    show(app)
    assert app.session_state["units"] == "mi" and app.session_state["standard_metres"] == 1609.344
    np.testing.assert_allclose(sites(app), plan.centers_lonlat(1), atol=1e-6)
