"""Backup, restore, moving, migrating: each is one command, and everything is there after it."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from pages.serving.config import Config
from pages.serving.store import Actor, Store, engine
from pages.serving.store import __main__ as commands
from tests.serving.store.conftest import ANN, NewUrl, saved


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def go(url: str, *words: str) -> tuple[int, str]:
        monkeypatch.setattr(commands, "config", lambda: Config(database=url))
        code = commands.main(list(words))
        told = capsys.readouterr()
        return code, told.out + told.err

    return go


def everything(store: Store) -> list[object]:
    found: list[object] = []
    for project in store.projects_of(ANN):
        found.append((project, store.history(ANN, project.id), store.members_of(ANN, project.id)))
        found += [
            (one, store.plan_of(ANN, one.id), store.content(ANN, one.settings["upload"]))
            for one in store.scenarios_of(ANN, project.id)
        ]
    return found


def test_backup_restore_and_move(new_url: NewUrl, tmp_path: Path, run) -> None:  # type: ignore[no-untyped-def]
    url, file = new_url(), tmp_path / "backup.db"
    store = Store(url)
    for number in range(3):
        upload = store.add_dataset(ANN, "residents", bytes(1_500_000) + bytes([number]))
        saved(store, name=f"S{number}", settings={"upload": upload.token})
    before = everything(store)
    assert len(before) == 6
    assert run(url, "backup", str(file)) == (0, "3 projects, 3 scenarios and 6 data sets copied.\n")
    assert "already exists" in run(url, "backup", str(file))[1]
    assert run(url, "restore", str(file))[0] == 1, "nothing is overwritten"
    for words in (("restore", str(file)), ("move", url)):
        target = new_url()
        assert run(target, *words)[0] == 0
        other = Store(target)
        assert everything(other) == before
        other.close()
    store.close()


def test_migrate(new_url: NewUrl, run) -> None:  # type: ignore[no-untyped-def]
    url = new_url()
    assert run(url, "migrate") == (0, "The tables are at version 0003 (before: none).\n")
    assert run(url, "migrate") == (0, "The tables are at version 0003 (before: 0003).\n")
    store = Store(url)
    store.new_token(ANN, "nightly", days=1)
    assert run(url, "withdraw", ANN.person) == (0, "Tokens withdrawn: 1.\n")
    assert store.tokens_of(ANN) == []
    saved(store)
    assert run(url, "rename", ANN.person, "id-1") == (0, "Projects handed over: 1.\n")
    assert [one.name for one in store.projects_of(Actor("id-1"))] == ["Clinics"] and store.projects_of(
        ANN
    ) == []
    store.close()
    assert "There is no file" in run(url, "restore", "/nowhere/backup.db")[1]


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_only_its_user_can_read_the_store_and_its_backups(tmp_path: Path, run, mask: int) -> None:  # type: ignore[no-untyped-def]
    url, backup = f"sqlite:///{tmp_path}/store/evenreach.db", tmp_path / "backups" / "one.db"
    before = os.umask(mask)
    try:
        store = Store(url)
        saved(store)
        assert run(url, "backup", str(backup))[0] == 0
        beside = dict.fromkeys((f"evenreach.db{end}" for end in ("", "-wal", "-shm", "-reserve")), 0o600)
        assert modes(tmp_path / "store") == {"store": 0o700} | beside
        assert modes(backup.parent) == {"backups": 0o700, "one.db": 0o600}
        store.close()
    finally:
        os.umask(before)


def test_what_an_earlier_version_left_open_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "evenreach" / "evenreach.db"
    file.parent.mkdir(mode=0o755)
    sqlite3.connect(file).execute("pragma journal_mode=wal").close()
    tmp_path.chmod(0o755)
    for name in ("", "-wal", "-shm"):
        path = file.with_name(file.name + name)
        path.touch()
        path.chmod(0o644)
    monkeypatch.setattr(engine, "usual_url", lambda: f"sqlite:///{file}")
    with closing(Store()) as store:
        saved(store)
        assert set(modes(file.parent).values()) == {0o700, 0o600}
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755, "not a folder of ours"


def test_a_folder_that_is_not_ours_keeps_its_rights(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with closing(Store(f"sqlite:///{tmp_path}/evenreach.db")) as store:
        saved(store)
    beside = dict.fromkeys(("evenreach.db", "evenreach.db-reserve"), 0o600)
    assert modes(tmp_path) == {tmp_path.name: 0o755} | beside
