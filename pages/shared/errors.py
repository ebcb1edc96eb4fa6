"""What goes wrong is said in a sentence: no traceback reaches the screen."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from pages.serving.jobs import JobError
from pages.shared import gone_data, kept_data, long_work, notices
from pages.shared.markdown import escaped

P = ParamSpec("P")
LOG = logging.getLogger(__name__)
UNEXPECTED = (
    "Something went wrong that should not have. The server's log has the details, and your settings are kept. "
    "Try again, or choose another number of facilities or another data set."
)


def told(draw: Callable[P, None]) -> Callable[P, None]:
    """Draw a page or a part of one; a problem becomes a sentence in its place."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            draw(*args, **kwargs)
        except long_work.StoppedError:
            notices.show()
        except kept_data.GoneError as gone:
            gone_data.show(gone)
        except (ValueError, JobError, MemoryError) as problem:
            notices.show()
            st.error(escaped(str(problem)) or UNEXPECTED, icon=":material/error:")
        except (
            Exception
        ):  # the last resort: whatever it is, a planner gets a sentence and the log gets the rest
            LOG.exception("a page could not be drawn")
            notices.show()
            st.error(UNEXPECTED, icon=":material/error:")

    return drawn
