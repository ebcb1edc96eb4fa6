"""Work beside a page: it is done while the planner goes on turning the dial.

Long work in a run of a page holds up the parts that redraw alone: their clicks wait for its end, even one on Stop.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable

import streamlit as st
from streamlit import runtime

from pages.serving.jobs import JobError
from pages.serving.jobs.asker import asking
from pages.serving.visitor import asker
from pages.shared import address
from pages.shared.errors import UNEXPECTED
from pages.shared.markdown import escaped
from pages.shared.session import PATIENCE, StoppedError
from tkm_core.progress import Progress

LOG = logging.getLogger(__name__)
BEAT = 0.7  # seconds between two looks at it
LINGER = (
    3.0  # seconds it goes on when its browser has gone: it may only have lost the connection for a moment
)


class Errand:
    """One piece of work for one visitor, in a thread that waits for the job pool; it ends when the browser goes away.

    Parameters
    ----------
    key : hashable
        What it is about.
    label : str
        What is being done, for the planner.
    work : callable
        As for `session.long_work`; it puts its result on a shelf.
    """

    def __init__(self, key: Hashable, label: str, work: Callable[[Progress], object]) -> None:
        self.key, self.label, self._work = key, label, work
        self.fraction, self.text, self.problem = 0.0, "starting", ""
        self._stopped, self._ended = threading.Event(), threading.Event()
        self._asker, self._seen = asker(), time.monotonic()
        threading.Thread(target=self._run, name="errand", daemon=True).start()
        self._ended.wait(PATIENCE)  # what is done at once needs no bar

    @property
    def running(self) -> bool:
        """Whether it is neither done nor stopped."""
        return not (self._ended.is_set() or self._stopped.is_set())

    def stop(self) -> None:
        """Give it up."""
        self._stopped.set()

    def _run(self) -> None:
        try:
            with asking(self._asker):
                self._work(self._progress)
        except StoppedError:
            pass
        except (ValueError, JobError, MemoryError) as problem:
            self.problem = str(problem) or UNEXPECTED
        except Exception:
            LOG.exception("an errand failed")
            self.problem = UNEXPECTED
        finally:
            self._ended.set()

    def _progress(self, fraction: float, text: str) -> None:
        self.fraction, self.text = min(max(fraction, 0.0), 1.0), text
        if not runtime.exists() or runtime.get_instance().is_active_session(self._asker.visitor):
            self._seen = time.monotonic()
        if self._stopped.is_set() or time.monotonic() - self._seen > LINGER:
            raise StoppedError(self.label)


def begin(key: Hashable, label: str, work: Callable[[Progress], object]) -> None:
    """Begin an errand in place of the last one; a callback."""
    last = current()
    if last is not None:
        last.stop()
    st.session_state["errand"] = Errand(key, label, work)


def current() -> Errand | None:
    """The visitor's errand, running or done."""
    found = st.session_state.get("errand")
    return found if isinstance(found, Errand) else None


def watch(errand: Errand) -> None:
    """A bar that shows how far an errand is, and a button that stops it; then the whole page is drawn anew."""
    st.fragment(_watch, run_every=BEAT)(errand)


def _watch(errand: Errand) -> None:
    if not errand.running and address.settled():
        st.rerun()
    with st.container(border=True, key="errand_bar"):
        text = errand.text
        st.progress(errand.fraction, text=escaped(f"{errand.label}: {text[:1].lower()}{text[1:]}"))
        st.button("Stop", icon=":material/stop:", key="stop_errand", on_click=errand.stop)
