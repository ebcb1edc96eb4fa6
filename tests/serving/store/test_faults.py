"""A database that stops, a disk that fills, a server that is killed, fifty people at once: nothing is half written."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa

from pages.serving.store import Actor, AwayError, Draft, Store, StoreError, problems
from pages.serving.store.blobs import hashed
from pages.serving.store.engine import HEAD
from pages.serving.store.problems import AWAY
from pages.serving.store.records import digest
from pages.serving.store.schema import METADATA
from tests.serving import postgres
from tests.serving.store.conftest import ANN, NewUrl, saved
from tests.waiting import until

ROOT = Path(__file__).parents[3]
SECONDS = float(os.environ.get("STORE_SECONDS", "5"))  # a minute: STORE_SECONDS=60
PEOPLE = 50


def test_a_database_that_stops_for_a_while_gets_a_sentence_and_is_found_again() -> None:
    if "postgresql" not in postgres.BACKENDS:  # a file cannot stop
        return
    with postgres.running() as server:
        store = Store(server.new("kept"))
        one = saved(store)
        server.stop()
        for attempt in (lambda: store.open_scenario(ANN, one.id), lambda: saved(store)):
            with pytest.raises(AwayError, match="does not answer right now"):
                attempt()
        assert not store.answers()
        server.start()
        until(store.answers)
        assert store.open_scenario(ANN, one.id)[0] == one
        assert saved(store, project=one.project_id).name == "A"
        store.close()


def test_a_full_disk_gets_a_sentence_and_leaves_what_was_there(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'kept.db'}")
    one = saved(store)

    def small(connection: object, _entry: object) -> None:
        connection.execute("PRAGMA max_page_count = 60")  # type: ignore[attr-defined]

    sa.event.listen(store.database.engine, "connect", small)
    store.close()
    with pytest.raises(AwayError, match="disk of the database is full"):
        store.add_dataset(ANN, "residents", os.urandom(1_000_000))
    with pytest.raises(AwayError, match="disk of the database is full"):
        saved(store, project=one.project_id, plan=os.urandom(1_000_000))
    assert [found.id for found in store.scenarios_of(ANN, one.project_id)] == [one.id]
    assert [event.what for event in store.history(ANN, one.project_id)] == ["saved", "made the project"]
    store.close()


def test_a_folder_that_cannot_be_written_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Store(f"sqlite:///{tmp_path / 'file' / 'kept.db'}")
    with pytest.raises(AwayError):
        store.projects_of(ANN)
    assert not store.answers()


def test_a_database_of_a_newer_version_is_left_alone(new_url: NewUrl) -> None:
    url = new_url()
    store = Store(url)
    saved(store)
    with store.database.writing() as connection:
        connection.execute(sa.text("update alembic_version set version_num = '9999'"))
    store.close()
    later = Store(url)
    with pytest.raises(StoreError, match="newer version"):
        later.projects_of(ANN)
    later.close()


def test_data_of_the_first_version_are_there_after_every_migration(new_url: NewUrl) -> None:
    """Rows as the first version wrote them, in its own tables; today's version reads them all."""
    url = new_url()
    old = Store(url)
    old.database.migrate("0001")
    first = sa.MetaData()
    with old.database.engine.connect() as connection, connection.begin():
        first.reflect(connection)
        assert set(first.tables) == {"alembic_version", *OF_FIRST}
        for name, row in OF_FIRST.items():
            connection.execute(sa.insert(first.tables[name]).values(row))
    old.close()
    now = Store(url)
    (project,) = now.projects_of(ANN)
    assert (project.name, project.role, project.scenarios, project.rules) == ("Clinics", "owner", 1, {})
    (one,) = now.scenarios_of(ANN, project.id)
    assert (one.name, one.settings, one.figures, one.author) == (
        "Six",
        {"k": "6", "upload": "t" * 32},
        {"measures": {"mean_distance": 1.5}},
        "Ann",
    )
    assert now.plan_of(ANN, one.id) == now.content(ANN, "t" * 32) == WHOLE
    assert [event.what for event in now.history(ANN, project.id)] == ["saved"]
    assert now.open_scenario(Actor(keys=("a link",)), one.id)[1].role == "viewer"
    assert now.database.version() == HEAD
    now.close()


WHOLE = b"plan and data"
OF_FIRST: dict[str, dict[str, object]] = {
    "blob": {"hash": hashed(WHOLE), "size": len(WHOLE)},
    "chunk": {"hash": hashed(WHOLE), "number": 0, "content": WHOLE},
    "project": {
        "id": "p", "name": "Clinics", "note": "", "rules": {}, "version": 1, "created": 1.0, "updated": 2.0,
    },
    "dataset": {
        "id": "d", "token": "t" * 32, "hash": hashed(WHOLE), "kind": "residents", "title": "Town", "people": "homes",
        "size": len(WHOLE), "project_id": "p", "origin": "", "person": ANN.person, "created": 1.0, "used": 9e9,
    },
    "scenario": {
        "id": "s", "project_id": "p", "name": "Six", "note": "", "settings": {"k": "6", "upload": "t" * 32},
        "figures": {"measures": {"mean_distance": 1.5}}, "pictures": {"light": "<svg/>"}, "plan": hashed(WHOLE),
        "parent": "", "author": "Ann", "made_with": "0.1.0", "version": 1, "created": 1.0, "updated": 1.0,
        "deleted": None,
    },
    "member": {"project_id": "p", "person": ANN.person, "role": "owner", "added": 1.0},
    "share": {
        "id": "l", "project_id": "p", "digest": digest("a link"), "role": "viewer", "label": "", "created": 1.0,
        "expires": None,
    },
    "event": {
        "id": "e", "project_id": "p", "scenario": "Six", "author": "Ann", "what": "saved", "detail": "", "at": 1.0,
    },
}  # fmt: skip


def test_the_tables_are_what_the_migrations_make(url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    store = Store(url)
    assert store.answers()
    with store.database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    folder = ROOT / "pages" / "serving" / "store" / "migrations"
    assert ScriptDirectory(str(folder)).get_current_head() == HEAD == store.database.version()
    store.close()


def test_servers_that_start_at_once_on_an_empty_database_wait_for_each_other(new_url: NewUrl) -> None:
    url = new_url()
    stores, wrong = [Store(url) for _ in range(4)], []

    def begin(store: Store) -> None:
        try:
            saved(store)
        except StoreError as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=begin, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(stores[0].projects_of(ANN)) == 4
    for store in stores:
        store.close()


WORKER = """
import json, random, sys, threading, time
from pages.serving.store import Actor, ConflictError, Draft, Store, StoreError
url, project, people, first = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store, lock, end = Store(url), threading.Lock(), threading.Event()
def work(number):
    person, dice = Actor(f"p{number}@example.org", f"P{number}"), random.Random(number)
    count = 0
    while not end.is_set():
        count += 1
        name = f"{number}-{count}"
        try:
            made, _ = store.save_scenario(person, Draft(name, {"k": "3"}, {"n": count}, name.encode() * 50), project)
            with lock:
                print(json.dumps(["saved", made.id, name]), flush=True)
            one = dice.choice(store.scenarios_of(person, project, pictures=False)[:20])
            store.plan_of(person, one.id)
            store.change_scenario(person, one.id, one.version, note=name)
            with lock:
                print(json.dumps(["noted", one.id, one.version + 1]), flush=True)
        except ConflictError:
            with lock:
                print(json.dumps(["told", "", ""]), flush=True)
        except StoreError as problem:
            with lock:
                print(json.dumps(["refused", "", str(problem)]), flush=True)
        time.sleep(dice.random() * 0.2)
threads = [threading.Thread(target=work, args=(number,)) for number in range(first, first + people)]
[thread.start() for thread in threads]
sys.stdin.read()  # until the test closes it
end.set()
[thread.join() for thread in threads]
"""


@pytest.mark.nightly
def test_fifty_people_at_once_and_a_server_killed_in_the_middle(
    url: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Whatever a server said was saved is there afterwards, whole; the checker counts.

    A database that can be stopped is away for a while.
    """
    database = None if url.startswith("sqlite") else request.getfixturevalue("server")
    monkeypatch.setattr("pages.serving.store.scenarios.MOST_SCENARIOS", 10**6)
    store = Store(url)
    project, _ = store.new_project(ANN, "Together")
    for number in range(PEOPLE):
        store.set_member(ANN, project.id, f"p{number}@example.org", "editor")
    code = "import pages.serving.store.scenarios as s; s.MOST_SCENARIOS = 10**6\n" + WORKER

    def begin(first: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, url, project.id, str(PEOPLE // 2), str(first)]
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    servers = [begin(0), begin(PEOPLE // 2)]
    lines: list[list[str]] = [[], []]
    readers = [
        threading.Thread(target=lambda one=one, mine=mine: mine.extend(one.stdout))
        for one, mine in zip(servers, lines, strict=True)
    ]
    for reader in readers:
        reader.start()
    until(lambda: all(len(mine) > 20 for mine in lines))
    time.sleep(SECONDS / 3)
    servers[0].kill()
    before = len(lines[1])
    if database is not None:
        database.stop()
        until(lambda: any('"refused"' in line for line in lines[1][before:]))
        database.start()
        before = len(lines[1])
    # people go on without the other server, and when the database is back
    until(lambda: sum('"saved"' in line for line in lines[1][before:]) > 10)
    time.sleep(SECONDS / 2)
    for one, reader in zip(servers, readers, strict=True):
        one.stdin.close()
        one.wait(120)
        reader.join()
        one.stdout.close()
    told = [json.loads(line) for mine in lines for line in mine if line.endswith("\n")]
    counts = Counter(what for what, _, _ in told)
    there = {found.id: found for found in store.scenarios_of(ANN, project.id)}
    acknowledged = {name: words for what, name, words in told if what == "saved"}
    assert len(acknowledged) > 40
    for number, (name, words) in enumerate(acknowledged.items()):
        assert there[name].name == words
        if number % 10 == 0:
            assert store.plan_of(ANN, name) == words.encode() * 50
    for what, name, version in told:
        if what == "noted":
            assert there[name].version >= version, "a change that was acknowledged is not lost"
    # each change adds one to the version: nobody's was overwritten unseen
    changes = sum(found.version - 1 for found in there.values())
    assert 0 <= changes - counts["noted"] <= PEOPLE // 2, (
        "only what the killed server had not said yet is more"
    )
    assert 0 <= len(there) - len(acknowledged) <= PEOPLE // 2
    refused = {words for what, _, words in told if what == "refused"}
    if database is None:
        assert counts["refused"] <= len(told) // 50, refused
    else:
        assert refused == {AWAY}
    saves = sum(event.what == "saved" for event in store.history(ANN, project.id, most=10**6))
    assert saves == len(there), "scenario and history are one transaction"
    print(f"{len(there)} scenarios, {counts}")
    store.close()


def test_every_error_of_a_driver_has_a_sentence() -> None:
    for problem in (
        OSError(28, "No space left on device"),
        OSError(5, "Input/output error"),
        RuntimeError("?"),
    ):
        assert str(problems.spoken(problem)).endswith(".")


def test_an_upload_larger_than_may_be_kept_is_refused_with_its_size(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.serving.store.scenarios.LARGEST_PLAN", 1_000)
    with pytest.raises(StoreError, match="more than the"):
        store.save_scenario(ANN, Draft("A", {}, {}, random.Random(1).randbytes(1_001)))
    assert store.projects_of(ANN) == []


def test_the_house_of_one_person_is_private(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'evenreach' / 'kept.db'}")
    assert store.projects_of(Actor()) == []
    assert (tmp_path / "evenreach").stat().st_mode & 0o077 == 0
    store.close()
