"""Backup, restore, moving, migrating: each is one command, and everything is there after it."""

from pathlib import Path

import pytest

from pages.serving.config import Config
from pages.serving.store import Store
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
    assert run(url, "migrate") == (0, "The tables are at version 0002 (before: none).\n")
    assert run(url, "migrate") == (0, "The tables are at version 0002 (before: 0002).\n")
    store = Store(url)
    store.new_token(ANN, "nightly", days=1)
    assert run(url, "withdraw", ANN.person) == (0, "Tokens withdrawn: 1.\n")
    assert store.tokens_of(ANN) == []
    store.close()
    assert "There is no file" in run(url, "restore", "/nowhere/backup.db")[1]
