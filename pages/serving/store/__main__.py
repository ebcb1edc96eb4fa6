"""Look after the store: ``python -m pages.serving.store backup FILE``, restore, move, migrate, withdraw, rename."""

import argparse
import sys
from contextlib import closing
from pathlib import Path

from pages.serving.config import ConfigError, config
from pages.serving.store.copying import copy_all
from pages.serving.store.engine import Database
from pages.serving.store.problems import StoreError
from pages.serving.store.whole import Store


def main(arguments: list[str] | None = None) -> int:
    """Do what was asked; 0 if it was done."""
    parser = argparse.ArgumentParser(prog="python -m pages.serving.store", description=__doc__)
    parser.add_argument("work", choices=("migrate", "backup", "restore", "move", "withdraw", "rename"))
    parser.add_argument(
        "where",
        nargs="?",
        help="a file to back up or restore; the URL to move from; whose tokens to withdraw; who to rename",
    )
    parser.add_argument("to", nargs="?", help="with rename: what the person is known by now")
    asked = parser.parse_args(arguments)
    if (asked.where is None) != (asked.work == "migrate"):
        parser.error(
            "backup, restore, move, withdraw and rename need a file, a URL or a person; migrate needs none"
        )
    if (asked.to is None) == (asked.work == "rename"):
        parser.error("rename, and nothing else, needs two people: as they were and as they are known")
    try:
        with closing(Database(config().database_url)) as here:
            print(_done(asked.work, here, asked.where or "", asked.to or ""))  # noqa: T201  a command prints
    except (StoreError, ConfigError, ValueError) as problem:
        print(problem, file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _done(work: str, here: Database, where: str, to: str) -> str:
    if work == "migrate":
        before = here.version()
        here.prepare()
        return f"The tables are at version {here.version()} (before: {before or 'none'})."
    if work == "withdraw":
        with closing(Store(config().database_url)) as kept:
            return f"Tokens withdrawn: {kept.withdraw_all(where)}."
    if work == "rename":
        with closing(Store(config().database_url)) as kept:
            return f"Projects handed over: {kept.rename_person(where, to)}."
    if work == "backup" and Path(where).exists():
        msg = f"{where} already exists: give another name."
        raise StoreError(msg)
    if work == "restore" and not Path(where).exists():
        msg = f"There is no file {where}."
        raise StoreError(msg)
    url = where if work == "move" else f"sqlite:///{Path(where).absolute()}"
    with closing(Database(url, reserve=False)) as other:
        counts = copy_all(here, other) if work == "backup" else copy_all(other, here)
    return f"{counts['project']} projects, {counts['scenario']} scenarios and {counts['dataset']} data sets copied."


if __name__ == "__main__":
    sys.exit(main())
