"""Room in the database: nobody takes more than a share, all no more than there is, and deleting always works."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from pages.serving.store import LOCAL, Actor, AwayError, Draft, FullError, Limits, Store, StoreError
from pages.serving.store import room as limits_of_room
from pages.serving.store.room import LOW, MB, RESERVE, Reserve, taken
from tests.serving.store.conftest import ANN, BEN, EVE, NewUrl, saved
from tests.serving.store.test_store import rows

SMALL = Limits(store_mb=5, store_entries=60, person_mb=2, person_entries=30)
HERE, THERE = Actor(address="203.0.113.7"), Actor(address="203.0.113.8")


@pytest.fixture
def small(url: str) -> Iterator[Store]:
    """A store with little room."""
    kept = Store(url, SMALL)
    yield kept
    kept.close()


def megabyte() -> bytes:
    return os.urandom(MB)


@pytest.mark.parametrize("who", [ANN, HERE])
def test_a_person_or_an_address_has_a_share_of_the_bytes(small: Store, who: Actor) -> None:
    other = BEN if who.person else THERE
    kept = [small.add_dataset(who, "residents", megabyte()) for _ in range(2)]
    before = rows(small)
    with pytest.raises(FullError, match="share of this server: 2 MB and 30 entries"):
        small.add_dataset(who, "residents", b"one more")
    with pytest.raises(FullError):
        small.save_scenario(who, Draft("A", {}, {}, b"plan"))
    assert rows(small) == before
    assert small.add_dataset(other, "residents", megabyte()), "others have theirs"
    if who.person:
        small.erase_dataset(who, kept[0].token)
        assert small.add_dataset(who, "residents", b"one more")


def test_the_same_content_counts_once(small: Store) -> None:
    content = megabyte()
    upload = small.add_dataset(ANN, "residents", content)
    saved(small, settings={"upload": upload.token})
    small.add_dataset(ANN, "residents", content[:-5000])
    with small.database.reading() as connection:
        size, _ = taken(connection, ANN.person)
    assert 2 * MB - 5000 < size < 2 * MB


def test_all_together_have_no_more_than_there_is(small: Store) -> None:
    people = [replace(ANN, person=f"{number}@example.org") for number in range(6)]
    for person in people[:5]:
        small.add_dataset(person, "residents", os.urandom(MB - 1000))
    with pytest.raises(FullError, match="no room for more"):
        small.add_dataset(people[5], "residents", megabyte())
    small.database.limits = replace(SMALL, store_entries=5)
    with pytest.raises(FullError, match="no room for more"):
        small.new_project(people[5], "P")


def test_projects_scenarios_and_lines_of_history_count(small: Store) -> None:
    """3,000 projects in 25 s would fill the lists of everybody, though they have few bytes."""
    made = 0
    with pytest.raises(FullError):
        for made in range(1000):
            small.new_project(ANN, f"P{made}")
    assert made == 15, "a project and the line about it are two entries"
    one = small.projects_of(BEN)
    assert one == []
    scenario = saved(small, BEN)
    with pytest.raises(FullError):
        for version in range(1, 100):
            small.change_scenario(BEN, scenario.id, version, note=str(version))


def test_pictures_and_figures_of_scenarios_count(small: Store) -> None:
    with pytest.raises(FullError):
        for number in range(5):
            saved(small, name=str(number), pictures={"light": "x" * 600_000})
    with small.database.reading() as connection:
        assert taken(connection)[0] < 2 * MB


def test_the_person_at_this_machine_may_use_all(small: Store) -> None:
    local = Actor(LOCAL)
    for _ in range(4):
        small.add_dataset(local, "residents", megabyte())
    with pytest.raises(FullError):
        small.add_dataset(local, "residents", os.urandom(2 * MB))


def test_an_address_is_kept_only_as_a_hash(small: Store) -> None:
    small.add_dataset(HERE, "residents", b"1")
    with small.database.reading() as connection:
        assert HERE.address not in str(connection.execute(sa.text("select * from dataset")).all())


DEEDS: dict[str, Callable[[Store, str, str], object]] = {
    "add_dataset": lambda s, p, o: s.add_dataset(ANN, "residents", b"x"),
    "new_project": lambda s, p, o: s.new_project(ANN, "X"),
    "change_project": lambda s, p, o: s.change_project(ANN, p, s.project(ANN, p).version, note="x"),
    "share": lambda s, p, o: s.share(ANN, p, "figures"),
    "set_member": lambda s, p, o: s.set_member(ANN, p, EVE.person, "viewer"),
    "save_scenario": lambda s, p, o: s.save_scenario(ANN, Draft("X", {}, {}, b"x"), p),
    "change_scenario": lambda s, p, o: s.change_scenario(ANN, o, 1, note="x"),
    "duplicate_scenario": lambda s, p, o: s.duplicate_scenario(ANN, o, "X"),
}


def test_whoever_is_full_can_delete_everything_and_add_nothing(url: str) -> None:
    store = Store(url)
    one, gone = saved(store), saved(store)
    unused = saved(
        store, project=one.project_id, settings={"upload": store.add_dataset(ANN, "residents", b"1").token}
    )
    store.delete_scenario(ANN, gone.id)
    link = store.share(ANN, one.project_id, "viewer")[0]
    store.set_member(ANN, one.project_id, BEN.person, "viewer")
    upload = store.add_dataset(ANN, "residents", b"2")
    store.database.limits = replace(SMALL, person_entries=1)
    for name, deed in DEEDS.items():
        before = rows(store)
        with pytest.raises(FullError):
            deed(store, one.project_id, one.id)
        assert rows(store) == before, name
    with pytest.raises(FullError):
        store.restore_scenario(ANN, gone.id)
    store.erase_scenario(ANN, gone.id)
    store.revoke(ANN, one.project_id, link.id)
    store.end_membership(ANN, one.project_id, BEN.person)
    store.remove_dataset(ANN, upload.token)
    with pytest.raises(FullError):
        store.restore_dataset(ANN, upload.token)
    store.erase_dataset(ANN, upload.token)
    store.delete_scenario(ANN, unused.id)
    store.remove_dataset(ANN, unused.settings["upload"])
    for project in store.projects_of(ANN):
        store.delete_project(ANN, project.id)
    assert rows(store)["blob"] == rows(store)["event"] == 0
    store.close()


def test_two_who_would_fit_one_by_one_do_not_both_come_in(new_url: NewUrl) -> None:
    url = new_url()
    stores = [Store(url, Limits(5, 60, 2, 30)) for _ in range(2)]
    assert stores[0].answers()
    told: list[object] = []

    def add(store: Store) -> None:
        for _ in range(4):
            try:
                told.append(store.add_dataset(ANN, "residents", os.urandom(900_000)))
            except StoreError as problem:
                told.append(problem)

    threads = [threading.Thread(target=add, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [isinstance(one, FullError) for one in told].count(False) == 2
    assert rows(stores[0])["dataset"] == 2
    for store in stores:
        store.close()


def test_with_a_full_disk_health_says_so_and_deleting_needs_no_more_room_than_is_set_aside(
    tmp_path: Path,
) -> None:
    """The journal is looked at after every step: SQLite writes there whatever it wipes."""
    file = tmp_path / "kept.db"
    store = Store(f"sqlite:///{file}")
    upload = store.add_dataset(ANN, "residents", os.urandom(20 * MB))
    reserve = store.database.reserve
    assert reserve is not None and store.state() == ""
    assert reserve.path.stat().st_size == RESERVE and reserve.path.stat().st_mode & 0o077 == 0
    store.database.give_back()
    reserve.free = lambda: 0
    store.database._state = -99.0, ""
    assert store.state() == "full"
    with pytest.raises(AwayError, match="disk of the database is full"):
        store.add_dataset(ANN, "residents", b"x")
    reserve.free = lambda: LOW + 10
    with pytest.raises(AwayError, match="disk of the database is full"):
        store.add_dataset(ANN, "residents", b"more than there is room for")
    reserve.free = lambda: 0
    journal, sizes = file.with_name("kept.db-wal"), []

    def look(_connection: object) -> None:
        sizes.append(journal.stat().st_size if journal.exists() else 0)
        assert not reserve.path.exists(), "it is given up before anything is deleted"

    sa.event.listen(store.database.engine, "commit", look)
    store.erase_dataset(ANN, upload.token)
    sa.event.remove(store.database.engine, "commit", look)
    assert len(sizes) > 15, "piece by piece"
    assert max(sizes) < RESERVE - MB
    assert file.stat().st_size < MB, "the room is given back"
    reserve.free = lambda: LOW + RESERVE + 1
    store.database.give_back()
    assert reserve.path.exists(), "and set aside again"
    store.close()


def test_a_reserve_that_cannot_be_made_stops_nothing(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path / "nowhere" / "kept.db")
    reserve.keep()
    reserve.give_up()
    assert not reserve.low() and not reserve.path.exists()
    full = Reserve(tmp_path / "kept.db", free=lambda: limits_of_room.LOW)
    full.keep()
    assert not full.path.exists(), "what is nearly full is not filled"


def test_health_says_that_the_database_is_away(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Store(f"sqlite:///{tmp_path / 'file' / 'kept.db'}")
    assert store.state() in ("away", "full")
