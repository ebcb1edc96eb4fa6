"""Collect the content of a saved scenario beside its plan file: a name, figures and small maps."""

from dataclasses import replace
from typing import Any, cast

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.store.scenarios import WITHOUT_HOMES
from tkm_core import figures
from tkm_core.figures import SmallGround
from tkm_core.measures import SAVED, shown_in
from tkm_core.planning import Plan
from tkm_core.stories import facilities_text
from tkm_core.wording import dial_text

THEMES = ("light", "dark")
WEIGHT = 50_000  # residents per unit of weight in the cache of results


def saved_figures(plan: Plan, i: int, place: City) -> dict[str, Any]:
    """What is kept of a plan beside its file: its measures in metres, and the curve it lies on."""
    found = plan.evaluation(i)
    return {
        "measures": {key: float(getattr(found, key)) for key in shown_in(SAVED)},
        "curve": {
            key: [float(value) for value in getattr(plan.curve, key)]
            for key in ("mean_distance", "largest_distance")
        },
        "facts": {
            "fingerprint": place.residents.fingerprint,
            "title": place.title,
            "people": place.people,
            "words": name_of(plan, i),
            "unit": plan.rules.unit,
        },
    }


def name_of(plan: Plan, i: int) -> str:
    """What a plan is called unless somebody says otherwise: "6 facilities, t = 0.25"."""
    return f"{facilities_text(plan)}, t = {dial_text(plan.t[i])}" if plan.k else facilities_text(plan)


def pictures(place: City, plan: Plan, i: int, look: figures.Look) -> dict[str, str]:
    """The small map of a plan, by theme; and the same without homes, for those who may see figures only."""
    ground = small_ground(place)
    return {
        before + theme: figures.small_plan_map(
            plan, i, ground, replace(look, theme=theme, streets=False), homes=not before
        )
        for theme in THEMES
        for before in ("", WITHOUT_HOMES)
    }


def small_ground(place: City) -> SmallGround:
    """What the small maps of a city share."""
    found = caches().results.once(
        ("small ground", place.key, place.residents.fingerprint),
        lambda: SmallGround.of(place.residents),
        weight=max(1.0, len(place.residents) / WEIGHT),
    )
    return cast("SmallGround", found)
