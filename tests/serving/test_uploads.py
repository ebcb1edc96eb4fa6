"""Uploads: a total, shares, time-outs and room; and they are gone when their visitor is."""

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.serving.config import Config
from pages.serving.shares import UPLOADS_OF_PAGE, Refusal
from pages.serving.uploads import LEAST, Ledger
from tests.serving.test_faults import held_files
from tests.serving.test_server import Running
from tests.serving.visitors import MB, Visitor, ask, form, token, uploads_mb
from tests.waiting import until

# what the server's Python imports at its start: a disk that is as full as a file says
DISK = """
import errno, pathlib, shutil, tempfile
state, real_usage, real_write = pathlib.Path({file!r}), shutil.disk_usage, tempfile.SpooledTemporaryFile.write
def usage(path):
    real = real_usage(path)
    return real._replace(free=0) if state.read_text() == "full" else real
def write(self, data):
    if state.read_text() == "fills":
        raise OSError(errno.ENOSPC, "No space left on device")
    return real_write(self, data)
shutil.disk_usage, tempfile.SpooledTemporaryFile.write = usage, write
"""
FILE = 4 * MB - 1000  # just what may be uploaded
PATIENCE = 2


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Says "full", "fills" or nothing about the server's disk."""
    file = tmp_path_factory.mktemp("disk") / "state"
    file.write_text("")
    (file.parent / "sitecustomize.py").write_text(DISK.format(file=str(file)))
    return file


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, disk: Path) -> Iterator[Running]:
    settings = {
        "PYTHONPATH": str(disk.parent),
        "EVENREACH_UPLOAD_MB": "4",
        "EVENREACH_UPLOADS_MB": "16",
        "EVENREACH_PATIENCE_S": str(PATIENCE),
    }
    with Running(tmp_path_factory.mktemp("server"), **settings) as server:
        yield server


@pytest.fixture
def server(running: Running) -> Running:
    """A server that holds nothing."""
    until(lambda: uploads_mb(running) == 0)
    return running


@pytest.mark.nightly
def test_a_visitor_has_a_share_and_is_told_on_the_page(server: Running) -> None:
    with Visitor(server) as one:
        assert [one.upload(name, FILE)[0] for name in "ab"] == [204, 204]
        status, said = one.upload("c", FILE)
        assert status == 429
        assert "a visitor may have 8 MB on this server" in said
        assert one.warned() == said.strip()
        assert one.remove("a")[0] == 204
        assert one.upload("c", FILE)[0] == 204


def test_an_address_has_a_share_and_so_has_everyone_together(server: Running) -> None:
    with (
        Visitor(server, "127.0.0.3") as one,
        Visitor(server, "127.0.0.3") as neighbour,
        Visitor(server, "127.0.0.4") as other,
    ):
        assert [one.upload(name, FILE)[0] for name in "ab"] == [204, 204]
        status, said = neighbour.upload("a", FILE)
        assert status == 429
        assert "your address fill half" in said
        assert [other.upload(name, FILE)[0] for name in "ab"] == [204, 204]
        with Visitor(server, "127.0.0.5") as late:
            status, said = late.upload("a", FILE)
            assert status == 429
            assert "no room for more uploads now" in said
            other.leave()
            until(lambda: late.upload("a", FILE)[0] == 204)


def test_what_was_read_counts_until_its_visitor_has_left(server: Running) -> None:
    with Visitor(server) as one:
        assert one.upload("a", FILE)[0] == 204
        assert one.remove("a")[0] == 204
        assert uploads_mb(server) == 4
    until(lambda: uploads_mb(server) == 0)


def test_many_tiny_files_count(server: Running) -> None:
    with Visitor(server) as one:
        for number in range(16):
            assert one.upload(str(number), 200)[0] == 204
        assert uploads_mb(server) == 16 * LEAST // MB


def test_an_upload_says_how_long_it_is_and_whose(server: Running) -> None:
    known = token(server) | {"Content_Type": "multipart/form-data; boundary=b"}
    with Visitor(server) as one:
        status, said = ask(server, "PUT", one.path("a"), iter([form(1000)]), **known)
        assert (status, "Content-Length" in said) == (411, True)
        status, said = one.upload("a", 6 * MB)
        assert (status, "at most 4 MB" in said) == (413, True)
    status, said = one.upload("a", 1000)
    assert (status, "Reload it" in said) == (400, True)


def begin(one: Visitor, size: int, part: int) -> socket.socket:
    """Send the beginning of an upload."""
    line = socket.create_connection(("127.0.0.1", one.server.port), timeout=180)
    known = token(one.server)
    line.sendall(
        f"PUT {one.path('a')} HTTP/1.1\r\nHost: localhost\r\nCookie: {known['Cookie']}\r\n"
        f"X-Xsrftoken: {known['X_Xsrftoken']}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        f"Content-Length: {size}\r\n\r\n".encode()
        + form(size)[:part]
    )
    return line


def status_of(line: socket.socket) -> int:
    answer = http.client.HTTPResponse(line)
    answer.begin()
    return answer.status


def test_an_upload_that_stalls_ends_and_leaves_nothing(server: Running) -> None:
    with Visitor(server) as one:
        with begin(one, FILE, 3 * MB) as line:
            until(lambda: bool(held_files(server)))
            assert uploads_mb(server) == 4
            assert status_of(line) == 408
        until(lambda: not held_files(server))
        assert uploads_mb(server) == 0
        assert "stalled" in one.warned()


def test_an_upload_that_trickles_ends(server: Running) -> None:
    with Visitor(server) as one, begin(one, FILE, 1000) as line:
        line.settimeout(0.1)
        for _ in range(200 * PATIENCE):
            line.send(b"1")
            try:
                assert b" 408 " in line.recv(100).splitlines()[0]
                return
            except TimeoutError:
                continue
        pytest.fail("it was let go on")


def test_only_so_many_uploads_are_on_their_way_at_once(server: Running) -> None:
    with Visitor(server) as one:
        lines = [begin(one, 100_000, 1000) for _ in range(UPLOADS_OF_PAGE)]
        status, said = one.upload("b", 1000)
        assert (status, "Too many uploads at once" in said) == (429, True)
        assert [status_of(line) for line in lines] == [408] * UPLOADS_OF_PAGE
        for line in lines:
            line.close()
        assert one.upload("b", 1000)[0] == 204


@pytest.mark.parametrize("state", ["full", "fills"])
def test_a_full_disk_is_called_a_full_disk(server: Running, disk: Path, state: str) -> None:
    with Visitor(server) as one:
        disk.write_text(state)
        try:
            status, said = one.upload("a", FILE)
            assert (status, "disk is full" in said) == (507, True)
            if state == "full":
                status, body = ask(server, "GET", "/healthz")
                assert (status, json.loads(body)["status"]) == (503, "disk full")
        finally:
            disk.write_text("")
        assert one.upload("a", FILE)[0] == 204
        until(server.answers)  # the database on the same disk is tried every few seconds


def book(files: MemoryUploadedFileManager, active: set[str], clock: list[float]) -> Ledger:
    """A ledger of a server whose visitors and clock are ours."""
    streamlit = SimpleNamespace(
        uploaded_file_mgr=files,
        is_active_session=active.__contains__,
        close_session=files.remove_session_files,
    )
    return Ledger(Config(patience_s=30), lambda: streamlit, lambda: clock[0])


def test_files_are_gone_from_streamlits_memory_when_their_visitor_is() -> None:
    files, active, clock = MemoryUploadedFileManager("/x"), {"one", "other"}, [0.0]
    ledger = book(files, active, clock)
    for session in ("one", "other"):
        with ledger.flight(session, "10.0.0.1", MB):
            files.add_file(session, UploadedFileRec("f", "t.csv", "text/csv", MB * b"1"))
    assert ledger.taken() == ledger.taken("10.0.0.1") == 2 * MB
    active.remove("one")
    for clock[0] in (10.0, 39.0):  # a connection that broke may come back
        ledger.sweep()
        assert set(files.file_storage) == {"one", "other"}
    clock[0] = 40.0
    ledger.sweep()
    assert set(files.file_storage) == {"other"}
    assert ledger.taken() == MB


@pytest.mark.parametrize("session", ["api 0123", "gone"])
def test_an_upload_on_its_way_counts_though_no_page_waits_for_it(session: str) -> None:
    """A program's upload has no page, and a page may lose its connection in the middle of one."""
    clock = [0.0]
    ledger = book(MemoryUploadedFileManager("/x"), set(), clock)
    with ledger.flight(session, "10.0.0.1", MB):
        for clock[0] in (1.0, 100.0, 200.0):
            ledger.sweep()
            assert ledger.taken() == ledger.taken("10.0.0.1") == MB
    assert not (ledger.taken() or ledger.addresses or ledger.peaks)


def test_why_an_upload_was_refused_is_said_through_the_runs_that_follow() -> None:
    clock = [100.0]
    ledger = book(MemoryUploadedFileManager("/x"), {"one"}, clock)
    runs: list[None] = []
    ledger.server().get_app_session = lambda _: SimpleNamespace(request_rerun=runs.append)
    assert ledger.told("one") == []
    for _ in range(3):
        ledger.tell("one", "Too much.")
    assert len(runs) == 1, "a flood of refused uploads is not a flood of runs"
    for clock[0] in (100.0, 101.0, 119.0):  # other files of the same drop arrive
        assert ledger.told("one") == ["Too much."]
        assert ledger.told("other") == []
    clock[0] = 120.0
    assert ledger.told("one") == [] and not ledger.said


def test_an_upload_that_comes_to_nothing_leaves_no_trace() -> None:
    ledger = book(MemoryUploadedFileManager("/x"), {"one"}, [0.0])
    for size in (MB, 10_000 * MB):
        try:
            with ledger.flight("one", "10.0.0.1", size):
                assert ledger.taken() == MB
        except Refusal as refusal:
            assert refusal.status == 413
    assert not ledger.taken()
    assert not (ledger.flights or ledger.addresses or ledger.peaks)
