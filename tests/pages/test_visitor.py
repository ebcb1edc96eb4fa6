"""The job pool knows which visitor asked for work, wherever in a page it was asked for."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.serving import visitor
from pages.serving.jobs import JobPool, asker, documents, files, tasks
from pages.serving.jobs.asker import NOBODY, Asker
from tests.pages.conftest import Opened


class Noting(JobPool):
    """Does everything at once, and notes who asked for what."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked: list[tuple[str, Asker]] = []

    def run(self, *arguments: Any, about: Any, **options: Any) -> Any:
        self.asked.append((about["job"], asker.current()))
        return super().run(*arguments, about=about, **options)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Asker]]:
    pool = Noting()
    monkeypatch.setattr(tasks, "pool", lambda: pool)
    monkeypatch.setattr(documents, "pool", lambda: pool)
    monkeypatch.setattr(files, "readers", lambda: pool)
    monkeypatch.setattr(visitor, "network", lambda _address: "203.0.113.7")
    return pool.asked


def test_plans_files_and_work_beside_a_page_are_asked_for_by_their_visitor(
    opened: Opened, noted: list[tuple[str, Asker]]
) -> None:
    app: AppTest = opened(dataset="generated-12k", k="7")
    app.button(key="download").click().run()
    app.button(key="make_allocations").click().run()  # a callback, and then a thread beside the page
    data = opened("data")
    data.file_uploader(key="upload").upload("t.csv", b"lon,lat\n1.4,43.6\n1.5,43.7\n", "text/csv").run()
    found = dict(noted)
    assert {"plan", "table", "read"} <= set(found)
    assert all(who.visitor and who.address == "203.0.113.7" for who in found.values())
    assert found["plan"] == found["table"]


def test_outside_of_a_page_nobody_asks() -> None:
    assert visitor.asker() == NOBODY
