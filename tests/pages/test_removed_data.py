"""Data that were removed: after a question, with a way back, and no other city stands in for them."""

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from pages.serving import browser
from pages.serving.store import Actor, Draft, store
from pages.session import stored_data
from tests.pages.conftest import PAGES, Opened, text, turn_to, upload

TABLE = b"lon,lat,people\n" + b"".join(
    f"{13 + i / 100:.2f},{52 + i * 7 % 30 / 100:.2f},{i + 1}\n".encode() for i in range(30)
)


@pytest.fixture(autouse=True)
def asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_data, "TRUST", 0.0)


@pytest.fixture
def same_browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every visit comes with the cookie of one browser."""
    monkeypatch.setattr(browser, "of", lambda _cookies: "A" * 32)
    yield


def in_use(opened: Opened) -> tuple[AppTest, str]:
    """The Data page with an upload in use, and its token."""
    app = upload(opened, "town.csv", TABLE)
    app.button(key="use_upload").click().run()
    token = app.query_params["upload"]
    turn_to(app, "data")
    return app, token[0] if isinstance(token, list) else token


def keys(app: AppTest) -> set[str]:
    return {one.key for one in app.button if one.key}


def test_removing_asks_first_and_can_be_undone(opened: Opened) -> None:
    app, token = in_use(opened)
    app.button(key="forget").click().run()
    assert store().dataset(Actor(), token), "nothing happens before the answer"
    assert "restore them on this page for 30 days" in text(app)
    app.button(key="remove_no").click().run()
    assert store().dataset(Actor(), token)
    app.button(key="forget").click().run()
    app.button(key="remove_yes").click().run()
    assert store().dataset(Actor(), token) is None
    (back,) = [key for key in keys(app) if key.startswith("restore_")]
    app.button(key=back).click().run()
    assert store().dataset(Actor(), token) and app.query_params["upload"] in (token, [token])
    assert not [key for key in keys(app) if key.startswith("restore_")]


def test_a_page_whose_data_have_gone_shows_nothing_else(opened: Opened) -> None:
    """Others had the link open, or open it now: on no page do they see another city."""
    mine, token = in_use(opened)
    other = opened(dataset="upload", upload=token)
    assert "465 residents" in text(other)
    mine.button(key="forget").click().run()
    mine.button(key="remove_yes").click().run()
    for guest in (other, opened(dataset="upload", upload=token)):
        for page in [page for page in PAGES if page not in ("guide", "scenarios")]:
            turn_to(guest, page)
            assert "no longer here" in guest.warning[0].value, page
            shown = " ".join(str(getattr(part, "proto", "")) for part in [*guest.main, *guest.sidebar])
            assert "Sacramento" not in shown and "homes" not in shown, page
            charts = (
                "bidi_component",
                "plotly_chart",
                "deck_gl_json_chart",
                "metric",
                "table",
                "arrow_data_frame",
            )
            assert not [kind for kind in charts if guest.get(kind)], page
    turn_to(guest, "plan")
    guest.button(key="leave_gone").click().run()
    assert not guest.warning and "932 homes" in text(guest)


def test_existing_facilities_that_have_gone_are_not_left_out_silently(opened: Opened) -> None:
    guest = opened(dataset="generated-61", k="2", existing="E" * 32)
    assert "existing facilities of this link are no longer here" in guest.warning[0].value
    assert not guest.get("bidi_component")
    guest.button(key="leave_gone").click().run()
    assert not guest.warning and guest.get("bidi_component")


@pytest.mark.usefixtures("same_browser")
def test_a_browser_owns_its_uploads_at_a_later_visit(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    _, token = in_use(opened)
    later = opened("data", dataset="upload", upload=token)
    assert "forget" in keys(later)
    monkeypatch.setattr(browser, "of", lambda _cookies: "")
    assert "forget" not in keys(opened("data", dataset="upload", upload=token)), (
        "whoever has the link may look"
    )


def test_with_a_link_to_figures_the_scenarios_are_shown_and_no_homes(opened: Opened) -> None:
    ann = Actor("ann@figures.example", "Ann")
    _, token = in_use(opened)
    pictures = {"light": "<svg>homes</svg>", "figures light": "<svg>facilities</svg>"}
    told = {"measures": {"mean_distance": 1500.0}}
    draft = Draft("Amber", {"dataset": "upload", "upload": token, "k": "2"}, told, b"{}", pictures=pictures)
    one, _ = store().save_scenario(ann, draft, title="Velvet")
    link = store().share(ann, one.project_id, "figures")[1]
    app = opened("scenarios", project=link)
    assert "Amber" in text(app) and "1.50 km" in text(app)
    assert not {key for key in keys(app) if key.startswith(("open_", "delete_", "share_"))}
    assert "not where people live" in app.info[0].value
    plan = opened(project=link, scenario=one.id, **one.settings)
    assert "not where people live" in plan.warning[0].value and not plan.get("bidi_component")
    store().delete_project(ann, one.project_id)
