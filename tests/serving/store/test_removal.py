"""What is removed: by its owner only, not while it is used, with a way back for a while, and with all copies."""

import pytest

from pages.serving.store import Actor, DeniedError, Draft, InUseError, Store
from tests.serving.store.conftest import ANN, BEN, EVE, saved, swept
from tests.serving.store.test_store import rows

HOMES = b"where people live"


def project_with_data(store: Store) -> tuple[str, str]:
    """A project of Ann's that is shared with an editor, Ben, and a viewer, Eve; and the token of its data."""
    one = saved(store, settings={"upload": store.add_dataset(ANN, "residents", HOMES, title="Town").token})
    store.set_member(ANN, one.project_id, BEN.person, "editor")
    store.set_member(ANN, one.project_id, EVE.person, "viewer")
    return one.project_id, one.settings["upload"]


def copied(store: Store, actor: Actor, token: str) -> tuple[str, str]:
    """Somebody's own project with a copy of data, and the token of the copy."""
    one, _ = store.save_scenario(actor, Draft("Copy", {"upload": token}, {}, b"{}"), title=f"Of {actor.name}")
    return one.project_id, one.settings["upload"]


def test_a_viewer_cannot_copy_residents_out_of_a_project(store: Store) -> None:
    project, token = project_with_data(store)
    assert store.content(EVE, token) == HOMES
    with pytest.raises(DeniedError, match="not copy them into another project"):
        copied(store, EVE, token)
    assert [one.id for one in store.projects_of(EVE)] == [project], "and nothing is half saved"


def test_copies_go_with_the_project_they_were_made_from(store: Store) -> None:
    project, token = project_with_data(store)
    of_ben, copy = copied(store, BEN, token)
    store.set_member(BEN, of_ben, EVE.person, "editor")
    _, second = copied(store, EVE, copy)
    assert store.content(EVE, second) == HOMES
    store.end_membership(ANN, project, BEN.person)
    store.delete_project(ANN, project)
    assert store.dataset(BEN, copy) is None and store.dataset(EVE, second) is None
    assert rows(store)["dataset"] == 0 and rows(store)["chunk"] == 1, "only the plans are left"
    assert store.history(BEN, of_ben)[0].what == "removed data that were copied here"
    assert len(store.scenarios_of(BEN, of_ben)) == 1, "figures and plan stay"


def test_copies_of_an_upload_go_with_it_and_come_back_with_it(store: Store) -> None:
    upload = store.add_dataset(ANN, "residents", HOMES, title="Town")
    mine = saved(store, settings={"upload": upload.token}).settings["upload"]
    of_ben, copy = copied(store, BEN, upload.token)
    store.remove_dataset(ANN, upload.token)
    assert store.dataset(BEN, copy) is None and store.dataset(BEN, upload.token) is None
    assert store.content(ANN, mine) == HOMES, "what its owner saved stays until the owner deletes the project"
    assert store.bin_of(BEN, of_ben) == [], "it is not Ben's to restore"
    with pytest.raises(DeniedError):
        store.restore_dataset(BEN, copy)
    assert [one.title for one in store.bin_of(ANN)] == ["Town"]
    store.restore_dataset(ANN, upload.token)
    assert store.content(BEN, copy) == store.content(EVE, upload.token) == HOMES
    store.erase_dataset(ANN, upload.token)
    assert store.dataset(BEN, copy) is None and store.bin_of(ANN) == []


def test_an_upload_that_somebody_copied_does_not_expire_behind_its_owners_back(store: Store) -> None:
    upload = store.add_dataset(ANN, "residents", HOMES)
    of_ben, copy = copied(store, BEN, upload.token)
    swept(store, 400, upload_days=30)
    assert store.content(BEN, copy) == HOMES
    store.erase_dataset(ANN, upload.token)
    assert store.dataset(BEN, copy) is None
    store.delete_project(BEN, of_ben)
    assert rows(store)["blob"] == 0


def test_data_of_a_project_are_removed_by_owners_once_no_scenario_uses_them(store: Store) -> None:
    project, token = project_with_data(store)
    one = store.scenarios_of(ANN, project)[0]
    with pytest.raises(DeniedError, match="Only an owner"):
        store.remove_dataset(BEN, token)
    for remove in (store.remove_dataset, store.erase_dataset):
        with pytest.raises(InUseError, match="in use: delete “A” first"):
            remove(ANN, token)
    store.delete_scenario(BEN, one.id)
    store.remove_dataset(ANN, token)
    assert store.dataset(ANN, token) is None
    told = [(event.author, event.what, event.detail) for event in store.history(ANN, project)]
    assert told[0] == ("Ann", "put data in the bin", "Town")
    store.restore_scenario(BEN, one.id)
    assert store.content(EVE, token) == HOMES, "the scenario comes back with its data"


def test_the_bin_is_emptied_after_thirty_days(store: Store) -> None:
    upload = store.add_dataset(ANN, "residents", HOMES)
    store.remove_dataset(ANN, upload.token)
    swept(store, 28, upload_days=365)
    assert store.bin_of(ANN)
    swept(store, 62, upload_days=365)
    assert store.bin_of(ANN) == [] and rows(store)["blob"] == 0


def test_where_nobody_signs_in_an_upload_is_the_browsers_that_brought_it(store: Store) -> None:
    mine, other = Actor(browser="A" * 32), Actor(browser="B" * 32)
    upload = store.add_dataset(mine, "residents", HOMES)
    for stranger in (other, Actor(), BEN, Actor(keys=(upload.token,)), Actor(person=upload.person)):
        if stranger.person != upload.person:
            assert not store.owns_dataset(stranger, upload.token)
            with pytest.raises(DeniedError, match="Only whoever uploaded"):
                store.remove_dataset(stranger, upload.token)
    assert "A" * 32 not in str(upload), "a copy of the database makes nobody that browser"
    store.remove_dataset(mine, upload.token)
    assert [one.token for one in store.bin_of(mine)] == [upload.token] and store.bin_of(
        other
    ) == store.bin_of(Actor()) == []


def test_own_data_read_anew_keep_their_token_and_nobody_elses_are_replaced(store: Store) -> None:
    upload = store.add_dataset(ANN, "residents", HOMES)
    with pytest.raises(DeniedError):
        store.add_dataset(BEN, "residents", b"mine now", token=upload.token)
    again = store.add_dataset(ANN, "residents", b"other columns", token=upload.token)
    assert (again.id, store.content(BEN, upload.token)) == (upload.id, b"other columns")
    assert rows(store)["blob"] == 1
    inside = saved(store, settings={"upload": upload.token}).settings["upload"]
    with pytest.raises(DeniedError):
        store.add_dataset(ANN, "residents", b"x", token=inside)


def test_a_clock_that_jumps_ahead_deletes_nothing(store: Store) -> None:
    import time

    upload = store.add_dataset(ANN, "residents", HOMES)
    saved(store)
    link = store.share(ANN, store.projects_of(ANN)[0].id, "viewer", days=30)[0]
    now, year = time.time(), 365 * 86_400
    for moment in (now, now + year, now + year + 3600, now + year + 80_000, now, now + 3600):
        store.sweep(upload_days=30, project_days=30, now=moment)
    assert store.dataset(ANN, upload.token) and link in store.shares_of(ANN, link.project_id)
    store.sweep(upload_days=30, project_days=30, now=now + year)
    store.sweep(upload_days=30, project_days=30, now=now + year + 90_000)
    assert store.dataset(ANN, upload.token) is None, "it was that late after all"


def test_only_editors_see_the_addresses_of_others(store: Store) -> None:
    nameless = Actor("ann@example.org")
    one, _ = store.save_scenario(nameless, Draft("A", {}, {}, b"{}"))
    for person, role in ((BEN, "viewer"), (EVE, "editor")):
        store.set_member(nameless, one.project_id, person.person, role)
    link = Actor(keys=(store.share(nameless, one.project_id, "figures")[1],))
    for actor, sees in ((BEN, False), (link, False), (EVE, True), (nameless, True)):
        told = str((store.history(actor, one.project_id), store.scenarios_of(actor, one.project_id),
                    store.open_scenario(actor, one.id)))  # fmt: skip
        assert ("@example.org" in told) == sees


def test_figures_only_means_no_picture_with_homes(store: Store) -> None:
    drawn = {"light": "homes", "dark": "homes", "figures light": "facilities", "figures dark": "facilities"}
    one, _ = store.save_scenario(ANN, Draft("A", {}, {}, b"{}", pictures=drawn))
    double = store.duplicate_scenario(ANN, one.id, "B")
    link = Actor(keys=(store.share(ANN, one.project_id, "figures")[1],))
    for scenario in (one.id, double.id):
        assert store.open_scenario(link, scenario)[0].pictures == {
            "light": "facilities",
            "dark": "facilities",
        }
        assert store.open_scenario(ANN, scenario)[0].pictures == {"light": "homes", "dark": "homes"}
    assert "homes" not in str(store.scenarios_of(link, one.project_id))
    with pytest.raises(DeniedError, match="not where people live"):
        store.plan_of(link, one.id)
