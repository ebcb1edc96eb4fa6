"""Finds PostgreSQL for the tests of the store, or installs it: ``python -m tests.serving.postgres``; runs one."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.serving import free_port
from tests.waiting import until

LEFT_OUT = "PostgreSQL is not installed here: the store was tested with SQLite only (install the package 'postgresql')"


def find() -> Path | None:
    """The folder with PostgreSQL's programs, the newest if there are several."""
    named = shutil.which("initdb")
    there = [Path(named).parent] if named else []
    there += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True
    )
    return next((folder for folder in there if (folder / "initdb").exists()), None)


BACKENDS = ("sqlite", "postgresql") if find() else ("sqlite",)


def install() -> None:
    """Install it from the system's packages, where that is allowed; no database is started by it for good."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], env=env, check=False)
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql"], env=env, check=False
        )


class Postgres:
    """A PostgreSQL of its own, that can be stopped and started."""

    def __init__(self) -> None:
        programs = find()
        assert programs
        self.programs = programs
        self.home = Path(tempfile.mkdtemp(prefix="evenreach-postgres-"))
        self.port = free_port()
        # It refuses to run as root.
        self.user: dict[str, Any] = {"user": "nobody"} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(self.home, "nobody")
        self._run(
            "initdb", "-D", "data", "-U", "evenreach", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"
        )
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self.programs / program, *arguments],
            cwd=self.home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            **self.user,
        )

    def start(self) -> None:
        own = (
            f"-p {self.port} -k {self.home} -c listen_addresses=127.0.0.1 -c max_connections=120 -c fsync=off"
        )
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", own, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """End it as a machine that fails does: every process at once, whatever it was writing."""
        first = int((self.home / "data" / "postmaster.pid").read_text().splitlines()[0])
        told = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(first)], capture_output=True, text=True, check=False
        )
        mine = [first, *map(int, told.stdout.split())]
        for process in mine:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        # where nobody collects dead processes, the next start would take the first one for a running server
        for lock in (self.home / "data" / "postmaster.pid", *self.home.glob(".s.PGSQL*")):
            lock.unlink()

    def new(self, name: str) -> str:
        """The URL of a new, empty database."""
        admin = sa.create_engine(self._url("postgres"), isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(sa.text(f'create database "{name}"'))
        admin.dispose()
        return self._url(name)

    def _url(self, name: str) -> str:
        return f"postgresql+psycopg://evenreach@127.0.0.1:{self.port}/{name}"


@contextmanager
def running() -> Iterator[Postgres]:
    one = Postgres()
    try:
        yield one
    finally:
        one.stop()
        until(lambda: not (one.home / "data" / "postmaster.pid").exists())
        shutil.rmtree(one.home)


if __name__ == "__main__":
    if not find():
        install()
    print(find() or LEFT_OUT)
    sys.exit(0)
