"""The app in memory, without a browser."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

APP = str(Path(__file__).parents[2] / "app.py")
Opened = Callable[..., AppTest]


def turn_to(app: AppTest, page: str) -> None:
    """Go to a page: switch_page() knows only pages that are scripts, ours are functions."""
    app._page_hash = calc_hash(page)
    app.run()


@pytest.fixture
def opened() -> Opened:
    """Opens a page with an address and runs it."""

    def go(page: str = "plan", **query: str) -> AppTest:
        app = AppTest.from_file(APP, default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        app.run()
        if page != "plan":
            turn_to(app, page)
        assert not app.exception, app.exception
        return app

    return go
