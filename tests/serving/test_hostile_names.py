"""Names and values of an upload are data wherever they are shown or written."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.session.markdown import JOINER
from tests.pages.conftest import APP, PAGES, turn_to

NAME = "<script>alert(1)</script>![x](https:__e.example_p)=cmd|\u202egnp.exe.csv"
PEOPLE = "<b>![x](www.e.example)"
ABOUT_THE_CITY = ("plan", "data", "compare", "how_many", "lab")  # it is shown on these
MARKDOWN = ("markdown", "title", "header", "warning", "error", "info", "success", "caption")


@pytest.fixture(scope="module")
def app() -> AppTest:
    """A visitor who uploaded a file with every hostile name in it and uses it."""
    rows = "".join(
        f'"=cmd()|{i}<script>",{-121.5 + i / 200},{38.5 + (i * 7 % 50) / 200}\n' for i in range(60)
    )
    app = AppTest.from_file(APP, default_timeout=60).run()
    turn_to(app, "data")
    app.file_uploader(key="upload").upload(
        NAME, f"name <img src=x>,lon,lat\n{rows}".encode(), "text/csv"
    ).run()
    app.text_input(key="people").set_value(PEOPLE).run()
    app.button(key="use_upload").click().run()
    turn_to(app, "plan")
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    """All text that the page shows as Markdown or HTML, tooltips and figures included."""
    parts = [element.value for kind in MARKDOWN for element in app.get(kind)]
    parts += [element.proto.body for element in app.get("html")]
    parts += [element.proto.spec for element in app.get("plotly_chart")]
    parts += [element.proto.json + element.proto.tooltip for element in app.get("deck_gl_json_chart")]
    return "\n".join(map(str, parts))


@pytest.mark.parametrize("page", PAGES)
def test_no_mark_up_of_an_upload_reaches_a_page(app: AppTest, page: str) -> None:
    app.session_state["solvers_n_iter"], app.session_state["solvers_starts"] = 20, 1
    turn_to(app, page)
    assert not app.exception
    text = shown(app)
    assert "60" in text or page not in ABOUT_THE_CITY
    for hostile in ("<script", "![x]", "<img src=x", "<b>!", "\u202e"):
        assert hostile not in text


@pytest.mark.parametrize("page", PAGES)
def test_nothing_of_an_upload_is_taken_for_a_link(app: AppTest, page: str) -> None:
    app.session_state["solvers_n_iter"], app.session_state["solvers_starts"] = 20, 1
    turn_to(app, page)
    told = [str(element.value) for kind in MARKDOWN for element in app.get(kind)]
    told += [str(table.value) for table in app.table]
    shown_there = any(f"www{JOINER}.e.example" in text for text in told)
    assert shown_there or page not in ABOUT_THE_CITY
    assert not [text for text in told if "www.e.example" in text]


def test_an_experiment_on_an_upload_draws_plain_words(app: AppTest) -> None:
    app.session_state["experiment"] = "trajectory"
    turn_to(app, "lab")
    app.button(key="run_experiment").click().run()
    assert not app.exception
    spec = app.get("plotly_chart")[0].proto.spec
    assert "script alert 1 script" in spec and "<script" not in spec


def test_the_upload_keeps_a_readable_name(app: AppTest) -> None:
    turn_to(app, "data")
    assert "script alert 1 script x https \\_\\_e.example\\_p cmd gnp.exe.csv" in shown(app)


def test_a_refused_file_is_named_without_its_mark_up() -> None:
    app = AppTest.from_file(APP, default_timeout=60).run()
    turn_to(app, "data")
    app.file_uploader(key="upload").upload(NAME, b"<html></html>", "text/csv").run()
    (said,) = app.error
    assert "is a web page" in said.value
    assert "![x]" not in said.value
    assert "<script>" not in said.value
