import io
import time
from contextlib import contextmanager, redirect_stderr

from tkm_core.terminal import progress_bar, say


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
