"""What follows from what a planner does on the live map."""

from typing import Any

import pytest

from pages.session import address, dial, state
from pages.widgets import live_plan


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The address of a visit; what is put into it stands here."""
    visit, found = state.Visit(), {}
    monkeypatch.setattr(state, "visit", lambda: visit)
    monkeypatch.setattr(address, "put", found.__setitem__)
    return found


def test_the_page_has_the_last_word_where_it_turned_the_dial_meanwhile(put: dict[str, Any]) -> None:
    released = {"seq": 7, "what": "dial", "t": 0.1, "turned": 0}
    live_plan._follow(released)
    assert put["t"] == 0.1
    dial.turn_to(0.5)  # Suggest, pressed in the same moment as the dial was let go: either may come first
    live_plan._follow(released | {"seq": 8})
    assert put["t"] == 0.5
    assert state.visit().live_map.seen == 8
    live_plan._follow({"seq": 9, "what": "dial", "t": 0.2, "turned": 1})
    assert put["t"] == 0.2


@pytest.mark.parametrize("t", ["nan", -1.0])
def test_a_setting_that_is_none_is_not_followed(put: dict[str, Any], t: Any) -> None:
    live_plan._follow({"seq": 1, "what": "dial", "t": t, "turned": 0})
    assert "t" not in put
