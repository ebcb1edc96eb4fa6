"""What cannot be done is said in a sentence: no page says that something went wrong."""

import threading

import numpy as np
import pytest

from pages import how_many
from pages.serving.jobs import tasks
from pages.session.background_work import UNEXPECTED
from tests.pages.conftest import PAGES, Opened, text, turn_to
from tests.waiting import until
from tkm_core.planning import Fewest
from tkm_core.progress import Progress

ON_SITES = {"dataset": "san-francisco", "places": "sample", "k": "2"}
WISHES = {
    "a standard that no site can keep": {**ON_SITES, "standard": "0.1"},
    "the same by the table": {**ON_SITES, "table": "sample", "by": "table", "standard": "0.1"},
    "too little room": {**ON_SITES, "most": "1"},
    "more people each than there are": {**ON_SITES, "least": "999999999"},
    "room that contradicts itself": {**ON_SITES, "most": "10", "least": "20"},
    "more facilities than sites": {**ON_SITES, "k": "40"},
    "streets that are not there": {**ON_SITES, "by": "walk"},
    "a table without sites": {"dataset": "san-francisco", "by": "table", "table": "sample"},
    "groups that are not there": {**ON_SITES, "equal": "1"},
    "a free map, no room": {"dataset": "generated-120", "k": "2", "most": "1"},
    "a free map, a tiny standard": {"dataset": "generated-120", "k": "2", "standard": "0.1"},
}


@pytest.mark.parametrize("wish", WISHES)
def test_what_cannot_be_done_is_said_in_a_sentence(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    monkeypatch.setattr(how_many, "MOST", 2)
    app = opened("plan", **WISHES[wish])
    for page in PAGES:
        turn_to(app, page)
        assert not app.exception, page
        said = [problem.value for problem in app.error]
        assert not any(UNEXPECTED[:25] in one for one in [*said, text(app)]), (page, said)


def test_how_many_says_which_standard_can_be_kept(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(how_many, "MOST", 2)
    app = opened("how_many", **ON_SITES, standard="0.5")
    assert "No number of facilities on these sites can bring every resident within 0.5 km." in text(app)
    assert "With all of them open, the farthest resident still has" in text(app)
    assert len(app.get("plotly_chart")) > 2, "the curves are shown all the same"


def test_the_fewest_are_found_beside_the_page_and_can_be_stopped(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, asked = threading.Event(), []

    def slow(*_: object, progress: Progress, **__: object) -> Fewest:
        asked.append(1)
        while not answer.wait(0.02):
            progress(0.4, "searching")
        return Fewest(8_000.0, 3, 3, np.empty((0, 2)), "these sites")

    monkeypatch.setattr(how_many, "MOST", 2)
    monkeypatch.setattr(tasks, "fewest", slow)
    app = opened("how_many", **ON_SITES, standard="8.125")
    assert "Looking for the fewest facilities within your standard: 40 %" in text(app)
    assert len(app.get("plotly_chart")) > 2, "the curves do not wait for it"
    app.button(key="stop_fewest").click().run()
    app.run()
    assert "Stopped looking for the fewest facilities" in text(app)
    assert len(asked) == 1, "it is not begun again by itself"
    answer.set()
    app.button(key="go_on_fewest").click().run()
    until(lambda: "The fewest facilities on these sites" in text(app.run()))
    assert len(asked) == 2
