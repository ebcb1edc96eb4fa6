"""The server as a team runs it, with faults made to happen to it: it stays up, and nobody else notices."""

import asyncio
import contextlib
import http.client
import json
import os
import signal
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks import load
from benchmarks.serving import ROOT, Server
from pages.serving.jobs.files import READERS
from tests.another_user import AS_ANOTHER_USER, give_back, give_owner_the_rights_of_others
from tests.waiting import PATIENCE, finish, until
from tkm_core.clustering.compiled.kernel import NOTICE


class Running(Server):
    """A server as a team runs it, with its log at hand."""

    def __init__(self, folder: Path, python: Sequence[str] = (sys.executable,), **settings: str) -> None:
        self.log = folder / "log"
        with self.log.open("w") as log:
            super().__init__(log=log, python=python, **{"EVENREACH_WORKERS": "1"} | settings)

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.health()["status"] == "ok"
        except OSError:
            return False

    def health(self) -> dict[str, object]:
        """What it says of itself, also where it is ill for a moment: a worker that was ended is being replaced."""
        try:
            return dict(load.asked(self.port))
        except urllib.error.HTTPError as ill:
            return dict(json.load(ill))

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        door = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        door.request("GET", path, headers=headers)
        with contextlib.closing(door), door.getresponse() as answer:
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, headers, answer.read()

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The compiled code as another user finds it who may not change it."""
    folder = tmp_path_factory.mktemp("compiled")
    compiling = [sys.executable, "-m", "tkm_core.clustering.compiled"]
    own = {"NUMBA_CACHE_DIR": str(folder / "numba")}
    subprocess.run(compiling, cwd=ROOT, env=os.environ | own, check=True, capture_output=True)
    give_owner_the_rights_of_others(folder / "numba")
    yield folder / "numba"
    give_back(folder)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Iterator[Running]:
    """A server as in the image: one user compiles while it is built, and another without rights serves."""
    folder, home = tmp_path_factory.mktemp("server"), tmp_path_factory.mktemp("home")
    home.chmod(0o555)
    own = {"NUMBA_CACHE_DIR": str(compiled), "HOME": str(home), "TMPDIR": str(folder)}
    own |= {"SECRET_OF_TESTS": "x", "PYTHONDONTWRITEBYTECODE": "1"}
    with Running(folder, AS_ANOTHER_USER, **own) as running:
        yield running
    give_back(home)


def test_what_another_user_compiled_is_used_and_not_written(server: Running, compiled: Path) -> None:
    assert finish(_page(server.port, "dataset=toulouse&k=3")) == 0
    until(lambda: any(line.get("outcome") == "done" for line in server.lines()))
    assert NOTICE not in server.log.read_text(), "it was compiled once more"
    files = [path for path in compiled.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o444}, "others could change it"
    assert not [*server.log.parent.rglob("*.machine*")]


def test_no_process_of_the_server_inherits_the_database_or_a_secret(server: Running) -> None:
    def children() -> list[Path]:
        found = Path(f"/proc/{server.process.pid}/task").glob("*/children")
        return [Path(f"/proc/{pid}/environ") for task in found for pid in task.read_text().split()]

    assert b"EVENREACH_DATABASE=" in Path(f"/proc/{server.process.pid}/environ").read_bytes()
    until(lambda: len(children()) == 1 + READERS)
    for environment in children():
        names = {line.partition(b"=")[0].decode() for line in environment.read_bytes().split(b"\0") if line}
        assert {"PATH", "NUMBA_CACHE_DIR", "EVENREACH_WORKERS", "TMPDIR"} <= names
        assert not names & {"EVENREACH_DATABASE", "EVENREACH_DATABASE_PASSWORD_FILE", "SECRET_OF_TESTS"}


def test_every_answer_carries_the_security_headers(server: Running) -> None:
    for path in ("/", "/compare", "/healthz", "/_stcore/health", "/app/static/public-sans-latin.woff2"):
        status, headers, _ = server.get(path)
        assert status == 200
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "frame-ancestors 'self'" in headers["content-security-policy"]
        assert "object-src 'none'" in headers["content-security-policy"]


def test_a_page_of_another_site_can_neither_connect_nor_upload(server: Running) -> None:
    async def knock(origin: str) -> None:
        from websockets.asyncio.client import connect

        async with connect(f"ws://127.0.0.1:{server.port}/_stcore/stream", origin=origin, proxy=None):
            pass

    with pytest.raises(Exception, match="HTTP 403"):
        finish(knock("https://elsewhere.example"))
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/_stcore/upload_file/session/file", data=b"x", method="PUT"
    )
    with pytest.raises(urllib.error.HTTPError, match=r"40[03]"):
        urllib.request.urlopen(request, timeout=PATIENCE)


def test_a_killed_worker_is_replaced_and_the_health_check_knows(server: Running) -> None:
    (worker,) = server.workers()
    os.kill(worker, signal.SIGKILL)
    until(lambda: server.answers() and server.workers() not in ([], [worker]))
    assert finish(_page(server.port, "dataset=toulouse&k=3")) == 0


async def _page(port: int, query: str) -> int:
    """Open a page as a browser does; returns the errors on it."""
    async with load.visits(port, 1, query) as (one,):
        await asyncio.wait_for(one.run(), PATIENCE)
        return one.errors


async def answers(one: load.Person, wish: ClientState) -> list[ForwardMsg]:
    """Everything the server sends for one wish."""
    await one.socket.send(BackMsg(rerun_script=wish).SerializeToString())
    found = [ForwardMsg.FromString(await one.socket.recv())]
    while found[-1].WhichOneof("type") != "script_finished":
        found.append(ForwardMsg.FromString(await one.socket.recv()))
    return found


def test_no_message_relies_on_what_the_browser_should_have_kept(server: Running) -> None:
    """A browser that lags behind has dropped it by then, and would lose the page for good."""

    async def sent() -> list[ForwardMsg]:
        async with load.visits(server.port, 1) as (one,):
            return await answers(one, ClientState(query_string="dataset=sacramento", page_name="data"))

    messages = finish(asyncio.wait_for(sent(), PATIENCE))
    assert max(message.ByteSize() for message in messages) > 10_000, (
        "Streamlit keeps messages from this size on"
    )
    assert not any(message.metadata.cacheable for message in messages)


def test_the_address_is_right_when_turns_are_quicker_than_it(server: Running) -> None:
    """The dial is turned and turned back before the browser has put the first address up."""

    async def written() -> list[str]:
        found = []
        async with load.visits(server.port, 1, "k=3") as (one,):
            await one.run()
            for turn, t in enumerate(("0.3", "0.25"), start=1):
                wish = ClientState(query_string="k=3", fragment_id=one.part)
                said = {"said": {"seq": turn, "what": "dial", "t": t, "turned": 0}}
                wish.widget_states.widgets.add(id=one.dial).json_value = json.dumps(said)
                found += [
                    message.page_info_changed.query_string
                    for message in await answers(one, wish)
                    if message.WhichOneof("type") == "page_info_changed"
                ]
        return found

    assert finish(written()) == ["k=3&t=0.3", "k=3"]


@pytest.mark.nightly
def test_a_browser_that_goes_away_takes_its_work_with_it(server: Running) -> None:
    async def come_and_go() -> None:
        async with load.visits(server.port, 1, "dataset=generated-1m&k=40") as (one,):
            asked = asyncio.create_task(one.run())
            for _ in range(600):
                if (await asyncio.to_thread(server.health))["running"]:
                    break
                await asyncio.sleep(0.1)
            asked.cancel()
        assert server.health()["running"] == 1

    until(server.answers)  # with a worker, after what the tests before did to it
    finish(come_and_go())
    until(lambda: server.health()["running"] == 0)
    until(lambda: server.lines()[-1]["outcome"] == "cancelled")
    assert finish(_page(server.port, "dataset=toulouse&k=4")) == 0


def test_the_log_says_what_and_how_long_and_never_who(server: Running) -> None:
    finish(_page(server.port, "dataset=san-francisco&k=5"))
    until(lambda: server.lines()[-1].get("residents") == 205)
    line = server.lines()[-1]
    assert line["job"] == "plan"
    assert line["outcome"] == "done"
    # the first small plan of a server may be made before a worker is there, and then has no worker's memory to tell
    assert set(line) - {"worker_peak_mb"} == {"time", "job", "residents", "outcome", "waited_s", "took_s"}


@pytest.mark.nightly
def test_a_signal_ends_it_soon_with_all_its_workers(tmp_path: Path) -> None:
    running = Running(tmp_path)
    workers = running.workers()
    assert len(workers) == 1
    running.process.terminate()
    running.process.wait(PATIENCE)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"EVENREACH_WORKERS": "some"}, "EVENREACH_WORKERS must be a whole number"),
        ({"EVENREACH_WORKER": "2"}, "EVENREACH_WORKER is not a setting"),
        ({"EVENREACH_LOGIN": "yes"}, "there is no [auth] section in .streamlit/secrets.toml"),
    ],
)
def test_a_setting_that_cannot_be_stops_the_start(
    tmp_path: Path, settings: dict[str, str], sentence: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pages.serving.server"],
        cwd=ROOT,
        env=os.environ | {"HOME": str(tmp_path)} | settings,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("EvenReach cannot start. ")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
