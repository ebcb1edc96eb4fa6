"""A chart that follows the dial in the browser becomes the chart that Python draws."""

import copy

import numpy as np
import pytest

from tkm_core.figures import DrawnFigure, Look, distances, followed, tradeoff
from tkm_core.planning import Plan, make_plan
from tkm_core.residents import load_sample


@pytest.fixture(scope="module")
def plan() -> Plan:
    city = load_sample("sacramento")
    return make_plan(city, 5, t=[0, 0.1, 1, 10, np.inf], fixed_lonlat=city.lonlat[:2])


def charts(plan: Plan, kind: str) -> list[DrawnFigure]:
    if kind == "tradeoff":
        return [tradeoff(plan, i, Look(), budget=10, height=222) for i in range(len(plan))]
    before, weights = plan.reference_evaluation(8000), plan.residents.weights
    return [
        distances(plan.evaluation(i, 8000), before, weights, Look(), heading="Today", standard=8000)
        for i in range(len(plan))
    ]


@pytest.mark.parametrize("kind", ["tradeoff", "distances"])
def test_any_setting_can_be_made_into_any_other(plan: Plan, kind: str) -> None:
    drawn = charts(plan, kind)
    changes = followed(drawn)
    assert changes is not None
    for chart in drawn:
        for change, wanted in zip(changes, drawn, strict=True):
            content = copy.deepcopy(chart.to_dict())
            for number, parts in change["traces"].items():
                content["data"][int(number)] |= parts
            content["layout"] |= change["layout"]
            for side in [*content["data"], content["layout"]]:  # a part that is None is left out by Plotly
                for key in [key for key, value in side.items() if value is None]:
                    del side[key]
            assert content == wanted.to_dict()


def test_little_is_sent(plan: Plan) -> None:
    """The curve itself and its axes stay: only where this plan stands on it is sent."""
    changes = followed(charts(plan, "tradeoff"))
    assert changes is not None
    assert set(changes[0]["layout"]) <= {"annotations"} and len(changes[0]["traces"]) == 1


def test_charts_of_other_parts_are_not_followed() -> None:
    assert followed([DrawnFigure([{"x": [1]}], {}), DrawnFigure([], {})]) is None
