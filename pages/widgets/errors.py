"""Show problems of a page as a sentence: no traceback reaches the screen."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from pages.serving.jobs import JobError
from pages.session import notices, stored_data
from pages.session.background_work import UNEXPECTED, StoppedError
from pages.session.markdown import escaped
from pages.widgets import gone_data

P = ParamSpec("P")
LOG = logging.getLogger(__name__)


def show_problems(draw: Callable[P, None]) -> Callable[P, None]:
    """Draw a page or a part of one; a problem becomes a sentence in its place."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            draw(*args, **kwargs)
        except StoppedError:
            notices.show()
        except stored_data.GoneError as gone:
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
