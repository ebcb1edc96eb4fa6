"""Data, How many? and Help."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import APP, PAGES, Opened, text, turn_to, upload
from tkm_core.measures import COUNTED, shown_in
from tkm_core.version import VERSION

SMALL = {"dataset": "generated-120", "k": "2"}
TABLE = b"name;lon;lat;population\n" + b"".join(
    f"p{i};{13 + i / 100:.2f};{52 + (i * 7 % 11) / 100:.2f};{i + 1}\n".encode() for i in range(30)
)


def test_data_page_shows_what_is_in_use(opened: Opened) -> None:
    app = opened("data")
    assert "Sacramento homes" in text(app)
    assert len(app.get("deck_gl_json_chart")) == 1


def test_upload_is_understood_and_used_only_when_asked(opened: Opened) -> None:
    app = upload(opened, "town.csv", TABLE)
    assert "30 rows read, 30 kept, 0 left out" in app.success[0].value
    assert "upload" not in app.query_params
    app.text_input(key="people").set_value("pupils").run()
    app.button(key="use_upload").click().run()
    assert not app.exception
    assert len(app.query_params["upload"]) >= 30
    assert "465 pupils" in text(app)


def test_corrections_are_taken(opened: Opened) -> None:
    app = upload(opened, "town.csv", TABLE)
    app.selectbox(key="fix_weight").set_value("none: every row counts as one").run()
    assert "30 residents, each counted once" in text(app)


def test_upload_without_coordinates_asks(opened: Opened) -> None:
    app = upload(opened, "notes.csv", b"a,b\nhello,world\nfoo,bar\n")
    assert app.error
    assert not app.success
    assert not [button for button in app.button if button.key == "use_upload"]


def test_uploads_of_two_visitors_stay_apart(opened: Opened) -> None:
    mine = upload(opened, "town.csv", TABLE)
    mine.button(key="use_upload").click().run()
    token = mine.query_params["upload"]
    other = opened()
    assert "932 homes" in text(other)
    guessed = opened(dataset="upload", upload="B" * len(token))
    assert "no longer here" in guessed.warning[0].value
    shared = opened(dataset="upload", upload=token)
    assert "465 residents" in text(shared)


def test_removed_upload_is_gone(opened: Opened) -> None:
    mine = upload(opened, "town.csv", TABLE)
    mine.button(key="use_upload").click().run()
    token = mine.query_params["upload"]
    guest = opened("data", dataset="upload", upload=token)
    assert "465 residents" in text(guest)
    assert not [button for button in guest.button if button.key == "forget"], "it is not theirs to remove"
    turn_to(mine, "data")
    mine.button(key="forget").click().run()
    mine.button(key="remove_yes").click().run()
    assert "no longer here" in opened(dataset="upload", upload=token).warning[0].value


def test_how_many_tells_what_one_more_buys(opened: Opened) -> None:
    app = opened("how_many", **SMALL)
    assert "A 3rd facility makes the average trip" in app.title[0].value
    assert len(app.get("plotly_chart")) == len(shown_in(COUNTED))
    assert len(app.dataframe[0].value) == 12


def test_help_has_its_parts(opened: Opened) -> None:
    app = opened("guide")
    assert [tab.label for tab in app.tabs] == [
        "The method",
        "Glossary",
        "Limits and privacy",
        "How to cite",
        "For researchers",
    ]
    texts = text(app)
    assert "straight lines" in texts
    assert f"EvenReach {VERSION}" in texts


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_for_any_city(opened: Opened, page: str) -> None:
    app = opened(page, **SMALL)
    assert not app.exception and not app.error
    assert any(app.get(kind) for kind in ("markdown", "title")), "something is said"


def test_every_file_in_pages_is_a_page() -> None:
    files = {path.stem for path in (Path(APP).parent / "pages").glob("[a-z]*.py")}
    assert files == set(PAGES)


@pytest.mark.parametrize("page", sorted(path.stem for path in (Path(APP).parent / "pages").glob("[a-z]*.py")))
def test_a_page_run_by_itself_hands_over_to_the_frame(page: str) -> None:
    app = AppTest.from_file(str(Path(APP).parent / "pages" / f"{page}.py"), default_timeout=60)
    app.run()
    assert not app.exception
    assert "932 homes" in text(app), "the frame opens its landing page"
