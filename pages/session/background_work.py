"""Do long work in a thread beside a page; it can be stopped, and stops when its browser goes away."""

import logging
import threading
import time
from collections.abc import Callable, Hashable

from streamlit import runtime

from pages.serving.jobs import JobError
from pages.serving.jobs.asker import asking
from pages.serving.visitor import asker
from tkm_core.progress import Progress

LOG = logging.getLogger(__name__)
PATIENCE = 0.4  # seconds of work before a progress bar appears: shorter ones would only flicker
LINGER = (
    3.0  # seconds it goes on when its browser has gone: it may only have lost the connection for a moment
)
UNEXPECTED = (
    "Something went wrong that should not have. The server's log has the details, and your settings are kept. "
    "Try again, or choose another number of facilities or another data set."
)


class StoppedError(Exception):
    """Long work was stopped by the planner."""


class BackgroundWork:
    """One piece of work for one visitor, in a thread that waits for the job pool; it ends when the browser goes away.

    Parameters
    ----------
    key : hashable
        What it is about.
    label : str
        What is being done, for the planner.
    work : callable
        As for `long_work.result`; it puts its result into a cache.
    """

    def __init__(self, key: Hashable, label: str, work: Callable[[Progress], object]) -> None:
        self.key, self.label, self._work = key, label, work
        self.fraction, self.text, self.problem = 0.0, "starting", ""
        self._stopped, self._ended = threading.Event(), threading.Event()
        self._asker, self._seen = asker(), time.monotonic()
        threading.Thread(target=self._run, name="background work", daemon=True).start()
        self._ended.wait(PATIENCE)  # what is done at once needs no bar

    @property
    def stopped(self) -> bool:
        """Whether it was given up."""
        return self._stopped.is_set()

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
            LOG.exception("work beside a page failed")
            self.problem = UNEXPECTED
        finally:
            self._ended.set()

    def _progress(self, fraction: float, text: str) -> None:
        self.fraction, self.text = min(max(fraction, 0.0), 1.0), text
        if not runtime.exists() or runtime.get_instance().is_active_session(self._asker.visitor):
            self._seen = time.monotonic()
        if self._stopped.is_set() or time.monotonic() - self._seen > LINGER:
            raise StoppedError(self.label)
