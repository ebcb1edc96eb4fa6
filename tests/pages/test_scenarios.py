"""Scenarios: saved in one click, opened exactly as they were, on any server; only for those who may see them."""

import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.live_map import Drawing, Site
from pages.serving import people
from pages.serving.cache import caches
from pages.serving.rule_data import Places, places_bytes
from pages.serving.store import Actor, Draft, StoreError, store
from pages.serving.store import scenarios as store_scenarios
from pages.session import stored_data
from pages.widgets import scenarios
from tests.pages.conftest import Opened, live, text, turn_dial, turn_to, upload
from tests.pages.test_pages import TABLE

CITY = {"dataset": "generated-301", "k": "3", "t": "0.3"}


def forget() -> None:
    """As if the server had been started anew: nothing is in memory."""
    for cache in vars(caches()).values():
        for key in list(cache._kept):
            cache.remove(key)


def saved(opened: Opened, **query: str) -> AppTest:
    app = opened(**(CITY | query))
    app.button(key="save_scenario").click().run()
    assert not app.exception and not app.warning
    return app


def test_saving_says_so_while_it_lasts_and_how_it_ended(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, usual, inside = opened(**CITY), scenarios.save, []
    told: list[str] = []

    @contextmanager
    def spinner(words: str, **_: object) -> Iterator[None]:
        inside.append(words)
        yield
        inside.pop()

    monkeypatch.setattr(st, "spinner", spinner)
    monkeypatch.setattr(scenarios, "save", lambda *plan: told.extend(inside) or usual(*plan))
    app.button(key="save_scenario").click().run()
    assert told == ["Saving the scenario, with its figures and its picture"]
    assert app.toast[0].value.startswith("Saved as “3 facilities")

    def refuse(*_: object) -> None:
        msg = "The database does not answer."
        raise StoreError(msg)

    monkeypatch.setattr(scenarios, "save", refuse)
    app.button(key="save_scenario").click().run()
    assert [one.value for one in app.warning] == ["The database does not answer."]
    assert not app.toast


def button(app: AppTest, start: str) -> Any:
    """The first button of a scenario whose key begins so."""
    return next(
        one for one in app.button if (one.key or "").startswith(start) and not one.key.endswith("_project")
    )


def cards(app: AppTest) -> int:
    return sum(bool(one.key and one.key.startswith("open_")) for one in app.button)


def test_an_upload_and_its_facilities_outlive_a_restart(opened: Opened) -> None:
    mine = upload(opened, "town.csv", TABLE)
    mine.button(key="use_upload").click().run()
    token = (
        mine.query_params["upload"][0]
        if isinstance(mine.query_params["upload"], list)
        else mine.query_params["upload"]
    )
    before = live(mine).sites()
    forget()
    again = opened(dataset="upload", upload=token)
    assert not again.warning
    assert "465 residents" in text(again)
    np.testing.assert_array_equal(live(again).sites(), before)
    turn_to(mine, "data")
    mine.button(key="forget").click().run()
    mine.button(key="remove_yes").click().run()
    forget()
    assert "no longer here" in opened(dataset="upload", upload=token).warning[0].value


def test_a_scenario_is_saved_in_one_click_and_opens_exactly_as_it_was(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = saved(opened)
    before, key = live(app).sites(), app.query_params["project"]
    key = key[0] if isinstance(key, list) else key
    forget()
    later = opened("scenarios", project=key)
    assert cards(later) == 1
    assert "Nobody signs in on this server" in later.info[0].value
    # a later version whose solver places facilities elsewhere
    monkeypatch.setattr("pages.serving.jobs.tasks.plan", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("pages.widgets.scenarios.VERSION", "99.0")
    button(later, "open_").click().run()
    turn_to(later, "plan")
    assert not later.exception and not later.error
    assert live(later).t == 0.3
    np.testing.assert_allclose(live(later).sites(), before, atol=1e-9)
    assert "is shown as it was; this is version 99.0" in text(later)


def test_planning_goes_on_from_a_scenario(opened: Opened) -> None:
    app = saved(opened)
    turn_to(app, "scenarios")
    button(app, "open_").click().run()
    turn_to(app, "plan")
    app.number_input(key="k").set_value(2).run()
    assert len(live(app).sites()) == 2
    app.button(key="save_scenario").click().run()
    turn_to(app, "scenarios")
    assert cards(app) == 2
    for box in app.checkbox:
        box.check()
    app.run()
    assert not app.exception and not app.error
    assert "**From 3 facilities, t = 0.3 to 2 facilities, t = 0.3**" in text(app).replace("\\", "")
    assert len(app.get("plotly_chart")) == 1
    assert "farther" in text(app) or "closer" in text(app)
    maps = [json.loads(element.proto.json) for element in app.get("bidi_component")]
    assert len({one["group"] for one in maps}) == 1 and len(maps) == 2, "two maps that move in step"


def test_of_three_scenarios_any_two_are_held_against_each_other(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    # random ids have two underscores now and then, which Streamlit forbids in the key of a map
    monkeypatch.setattr(store_scenarios, "new_id", lambda: f"__{secrets.token_urlsafe(9)}__")
    app = saved(opened)
    turn_to(app, "scenarios")
    button(app, "double_").click().run()
    button(app, "double_").click().run()
    for box in app.checkbox:
        box.check()
    app.run()
    assert "**From 3 facilities, t = 0.3 to 3 facilities, t = 0.3, copy, copy**" in text(app).replace(
        "\\", ""
    )
    chosen = next(one for one in app.selectbox if one.key.startswith("gains_to_"))
    chosen.set_value(1).run()
    assert "**From 3 facilities, t = 0.3 to 3 facilities, t = 0.3, copy**" in text(app).replace("\\", "")
    assert not app.exception


def test_a_deleted_project_is_gone_and_its_link_says_so(opened: Opened) -> None:
    app = saved(opened)
    key = app.query_params["project"]
    turn_to(app, "scenarios")
    app.checkbox(key="sure").check().run()
    app.button(key="delete_project").click().run()
    assert "Nothing is saved yet" in text(app) and not app.warning
    assert "project" not in app.query_params
    later = opened("scenarios", project=key[0] if isinstance(key, list) else key)
    assert "This link does not work" in later.warning[0].value


def test_scenarios_are_compared_without_opening_them(opened: Opened) -> None:
    """Their own residents are looked at, whatever city is on screen."""
    app = saved(opened)
    key = app.query_params["project"]
    key = key[0] if isinstance(key, list) else key
    saved(opened, k="5", project=key)
    forget()
    later = opened("scenarios", project=key, dataset="toulouse")
    for box in later.checkbox:
        box.check()
    later.run()
    assert not later.exception and not later.error and not later.warning
    shown = text(later).replace("\\", "")
    assert "**From 3 facilities, t = 0.3 to 5 facilities, t = 0.3**" in shown
    assert "residents travel" in shown or "closer" in shown
    table = later.table[0].value
    truth = {
        name: store().scenarios_of(Actor(keys=(key,)), later_project(key))[at].figures["measures"]
        for at, name in enumerate(("five", "three"))
    }
    cells = table.iloc[1]
    assert cells["Measure"] == "Average, km"
    plain = [re.sub(r"[^\d.,]", "", str(cell)) for cell in cells[1:]]
    digits = [len(cell.partition(".")[2]) for cell in plain]
    assert plain == [
        f"{truth[name]['mean_distance'] / 1000:,.{shown}f}"
        for name, shown in zip(("three", "five"), digits, strict=True)
    ]
    assert str(cells.iloc[2]).startswith(":green["), "five facilities are nearer than three"


def later_project(key: str) -> str:
    return store().projects_of(Actor(keys=(key,)))[0].id


def test_rename_note_duplicate_delete_and_undo(opened: Opened) -> None:
    app = saved(opened)
    turn_to(app, "scenarios")
    name = next(one for one in app.text_input if one.key.startswith("name_"))
    name.set_value("<b>Five</b> *clinics*")
    button(app, "rename_").click().run()
    assert "\\<b\\>Five\\</b\\> \\*clinics\\*" in text(app)
    button(app, "double_").click().run()
    assert cards(app) == 2
    button(app, "delete_").click().run()
    assert cards(app) == 1 and "was deleted" in text(app)
    app.button(key="undo_delete").click().run()
    assert cards(app) == 2
    assert "brought back" in text(app) and "duplicated" in text(app)


def test_data_of_a_project_are_only_for_those_who_may_see_it(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_data, "TRUST", 0.0)
    mine = upload(opened, "town.csv", TABLE)
    mine.button(key="use_upload").click().run()
    turn_to(mine, "")
    mine.button(key="save_scenario").click().run()
    turn_to(mine, "scenarios")
    mine.selectbox(key="share_role").set_value("viewer")
    mine.button(key="share_project").click().run()
    key = mine.code[0].value.rpartition("=")[2]
    guest = opened("scenarios", project=key)
    assert cards(guest) == 1 and not [one for one in guest.button if one.key == "delete_project"]
    button(guest, "open_").click().run()
    turn_to(guest, "plan")
    assert "465 residents" in text(guest)
    token = guest.query_params["upload"]
    token = token[0] if isinstance(token, list) else token
    stranger = opened(dataset="upload", upload=token)
    assert "no longer here" in stranger.warning[0].value, "its address alone opens nothing"
    # the private link comes first, the new one last
    [one for one in mine.button if one.key and one.key.startswith("revoke_")][-1].click().run()
    turn_dial(guest, 1.0)
    assert "no longer here" in guest.warning[0].value, "a withdrawn link opens nothing, whatever is in memory"
    turn_to(guest, "scenarios")
    assert any("This link does not work" in one.value for one in guest.warning) and not cards(guest)


def test_the_person_at_this_machine_finds_everything_again(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "_for_many", False)
    assert "project" in saved(opened).query_params, "somebody at another machine is not that person"
    monkeypatch.setattr(people, "LOOPBACK", (ANY,))
    app = saved(opened)
    assert "project" not in app.query_params
    again = opened("scenarios")
    assert cards(again) >= 1 and not again.info


def test_a_database_that_is_away_is_said_and_planning_goes_on(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pages.serving.store.problems import AWAY, AwayError

    def away(*_: object, **__: object) -> None:
        raise AwayError(AWAY)

    for name in ("reading", "writing"):
        monkeypatch.setattr(store().database, name, away)
    app = opened(**CITY)
    app.button(key="save_scenario").click().run()
    assert "does not answer right now" in app.warning[0].value
    assert len(live(app).sites()) == 3
    turn_to(app, "scenarios")
    assert "does not answer right now" in app.error[0].value


def test_projects_of_others_are_not_listed(opened: Opened) -> None:
    store().save_scenario(Actor("eve@example.org"), Draft("Eve's", {}, {}, b"{}"), title="Eve's project")
    app = opened("scenarios", project="A" * 32)
    assert "Nothing is saved yet" in text(app)
    assert "This link does not work" in app.warning[0].value
    assert "Eve" not in text(app)


def test_a_person_makes_and_withdraws_tokens_for_programs(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = Actor("tokens@example.org", "Ann")
    nobody = opened("scenarios")
    assert not [one for one in nobody.button if one.key == "make_token"], "tokens are for people with a name"
    monkeypatch.setattr(people, "visitor", lambda keys, browser: ann)
    app = opened("scenarios")
    app.text_input(key="token_label").set_value("*nightly*")
    app.button(key="make_token").click().run()
    secret = app.code[0].value
    assert store().person_with(secret) == ann
    assert "\\*nightly\\*: until" in text(app)
    button(app, "withdraw_").click().run()
    assert store().person_with(secret) is None
    assert secret not in str(app.code)
    again = opened("scenarios")
    assert not again.code and "nightly" not in text(again)


def test_a_plan_by_a_table_outlives_a_restart_and_is_not_solved_again(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = opened(dataset="san-francisco", k="3", t="0.3", places="sample", by="table", table="sample")
    app.button(key="save_scenario").click().run()
    assert not app.exception and not app.warning
    before, key = live(app).sites(), app.query_params["project"]
    key = key[0] if isinstance(key, list) else key
    forget()
    # a later version whose solver places facilities elsewhere
    monkeypatch.setattr("pages.serving.jobs.tasks.plan", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("tkm_core.export.planfile_restoring.make_plan", lambda *_, **__: 1 / 0)
    later = opened("scenarios", project=key)
    button(later, "double_").click().run()
    assert cards(later) == 2
    for box in later.checkbox:
        box.check()
    later.run()
    assert not later.exception and not later.error
    maps = [json.loads(element.proto.json) for element in later.get("bidi_component")]
    assert len(maps) == 2, "both are drawn by their own table, while another city is on screen"
    button(later, "open_").click().run()
    turn_to(later, "plan")
    assert not later.exception and not later.warning
    assert live(later).t == 0.3
    assert "It is shown as it was saved" in text(later)
    np.testing.assert_allclose(live(later).sites(), before, atol=1e-9)
    assert {"places": "sample", "by": "table"}.items() <= {
        name: value[0] if isinstance(value, list) else value for name, value in later.query_params.items()
    }.items()


def test_own_sites_of_a_project_are_only_for_those_who_may_see_it(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_data, "TRUST", 0.0)
    spots = [(-122.40 - 0.01 * n, 37.70 + 0.01 * n) for n in range(6)]
    drawn = Places(Drawing(tuple(Site(f"s{n}", f"Hall {n}", spot) for n, spot in enumerate(spots))))
    token = "S" * 32
    store().add_dataset(Actor(), "places", places_bytes(drawn), token=token)
    app = opened(dataset="san-francisco", k="2", t="0.3", places=token)
    app.button(key="save_scenario").click().run()
    assert not app.exception and not app.warning
    before = live(app).sites()
    assert all(min(np.hypot(*(np.array(site) - spot)) for spot in spots) < 1e-4 for site in before)
    key = app.query_params["project"]
    key = key[0] if isinstance(key, list) else key
    forget()
    holder = opened("scenarios", project=key)
    button(holder, "open_").click().run()
    turn_to(holder, "plan")
    assert not holder.warning
    np.testing.assert_allclose(live(holder).sites(), before, atol=1e-9)
    copy = holder.query_params["places"]
    copy = copy[0] if isinstance(copy, list) else copy
    assert copy != token
    stranger = opened(dataset="san-francisco", k="2", places=copy)
    assert "candidate sites and zones of this link are no longer here" in stranger.warning[0].value
