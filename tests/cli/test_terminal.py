import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

from tkm_core.cli.terminal import progress_bar, say

ROOT = Path(__file__).parents[2]


class Terminal(io.StringIO):
    """An error stream that people look at."""

    def isatty(self):
        return True


@contextmanager
def shown_bar(prefix=""):
    terminal = Terminal()
    with redirect_stderr(terminal), progress_bar(prefix) as show:
        yield show, terminal.getvalue


def test_the_bar_follows_small_steps_after_a_large_one():
    with shown_bar() as (show, shown):
        show(0.0, "starting")
        time.sleep(0.12)  # tqdm draws ten times a second at most
        show(0.5, "half at once")
        for step in range(1, 4):
            time.sleep(0.12)
            show(0.5 + step / 1000, f"small step {step}")
            assert f"small step {step}" in shown()


def test_the_bar_shows_what_is_done_while_the_fraction_stands_still():
    with shown_bar("monotone: ") as (show, shown):
        show(0.3, "first")
        time.sleep(0.12)
        show(0.3, "second")
        assert " 30 %|" in shown()
        assert "monotone: second" in shown()


def test_the_bar_never_goes_back():
    with shown_bar() as (show, shown):
        for fraction in (0.6, 0.2):
            time.sleep(0.12)
            show(fraction, "work")
        assert " 60 %|" in shown()
        assert " 20 %|" not in shown()


def test_no_bar_where_nobody_looks(capsys):
    with progress_bar() as show:
        show(0.5, "half")
    assert capsys.readouterr().err == ""


def test_what_steers_a_terminal_is_not_said(capsys):
    say("a\x1b[31mb\nc")
    assert capsys.readouterr().out == "a\ufffd[31mb\nc\n"


def watch(arguments, until, timeout=300):
    """Run in a pseudo-terminal; send Ctrl-C when `until` is seen. Returns status and all that was shown."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 100))
    process = subprocess.Popen(
        [sys.executable, "-m", "tkm_core", *arguments],
        cwd=ROOT,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        # a test run started in the background ignores Ctrl-C, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(follower)
    shown, sent, end = b"", False, time.monotonic() + timeout
    while time.monotonic() < end:
        if select.select([leader], [], [], 0.2)[0]:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            shown += piece
        if until and until in shown and not sent:
            process.send_signal(signal.SIGINT)
            sent = True
        if process.poll() is not None and not select.select([leader], [], [], 0.1)[0]:
            break
    try:
        status = process.wait(timeout=30)
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return status, shown.decode(errors="replace")


def test_progress_is_shown_on_a_terminal():
    status, shown = watch(["plan", "generated-500", "-k", "5"], until=None)
    assert status == 0
    assert re.search(r"\d+ %\|", shown)
    assert "The fairness dial is at t = 0.25." in shown


def test_ctrl_c_stops_without_a_traceback(tmp_path):
    out = tmp_path / "out.csv"
    status, shown = watch(["plan", "generated-1m", "-k", "12", "-o", str(out)], until=b" %|")
    assert status == 130
    assert "Stopped." in shown
    assert "Traceback" not in shown
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m tkm_core plan generated-300 -k 2 | head -n 1", shell=True, cwd=ROOT,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.stdout.startswith("Generated city")
