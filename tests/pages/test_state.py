"""One typed memory of a visitor, and a dial that has the settings of its plan."""

from pathlib import Path

import pytest

from tests.pages.conftest import Opened, live, text, turn_to
from tkm_core.export import plan_json
from tkm_core.planning import make_plan
from tkm_core.residents import load_sample

ROOT = Path(__file__).parents[2]


def test_only_one_module_touches_streamlits_session_state() -> None:
    files = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]
    touching = [str(path.relative_to(ROOT)) for path in files if "session_state" in path.read_text("utf-8")]
    assert touching == ["pages/session/state.py"]


@pytest.mark.parametrize("settings", [[0.0, 0.33, 7.0], [0.0]])
def test_the_dial_has_the_settings_of_the_plan(opened: Opened, settings: list[float]) -> None:
    plan = make_plan(load_sample("generated", n=301), 3, t=settings)
    app = opened("data", dataset="generated-301", k="3")
    app.file_uploader(key="plan_file").upload(
        "p.json", plan_json(plan, len(settings) - 1), "application/json"
    )
    app.run().button(key="show_plan_file").click().run()
    turn_to(app, "plan")
    assert not app.exception and not app.error
    assert live(app).plan["t"] == [f"{t:g}" for t in settings]
    assert live(app).t == settings[-1]


def test_how_many_takes_the_setting_of_the_link_itself(opened: Opened) -> None:
    app = opened("how_many", dataset="generated-120", k="2", t="0.2987")
    assert "the fairness dial at t = 0.2987, compared with" in text(app)
    app = opened("how_many", dataset="generated-120", k="2", t="inf")
    assert "the fairness dial at t = ∞, compared with" in text(app)
