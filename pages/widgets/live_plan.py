"""The live map of the Plan page: what it is given, and what follows from what a planner does on it."""

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
import streamlit as st

from pages.live_map import Scene, show_map, show_sentence, told_json
from pages.serving.city import City
from pages.session import address, dial, markdown, plans, rules, screen, state
from pages.widgets import catchments
from tkm_core import figures
from tkm_core.figures import DrawnFigure, Look, MapGround
from tkm_core.planning import Plan
from tkm_core.stories import Story, tell_budget, tell_move, tell_pins

KEY, GROUP = "live_map", "plan"
MAP_HEIGHT, PHONE_HEIGHT, BESIDE_HEIGHT = 580, 400, 460


def pinned(place: City, k: int) -> tuple[City, int]:
    """The city with the facilities that were pinned by hand, which stay where they are, and how many are left to place.

    At least one is always placed: pins beyond that are let go.
    """
    pins = address.get("pins")[: max(0, k - 1)]
    if place.saved is not None:
        return place, k
    return place.with_pins(pins), k - len(pins)


@dataclass(frozen=True)
class Prepared:
    """What the browser needs to turn the dial by itself: made once for all who look at the same plan."""

    ground: MapGround
    plan: bytes
    residents: bytes
    areas: bytes | None
    service: bytes | None
    roads: bytes | None
    stories: list[Story]


def prepared(place: City, plan: Plan, look: Look, standard: float) -> Prepared:
    """Work out every setting of a plan for the live map, or take it from the cache."""

    def make() -> Prepared:
        existing = None if place.existing is None else place.existing.lonlat
        ground = figures.live_ground(place.residents, existing_lonlat=existing)
        stories = figures.live_stories(plan, look, standard)
        return Prepared(
            ground,
            figures.live_plan(plan, ground, look, standard),
            figures.live_residents(plan.residents, ground),
            figures.live_areas(plan.residents, ground),
            figures.live_service(plan, ground),
            figures.street_ground(plan, ground),
            stories,
        )

    return plans.kept(place, plan, ("live", look.unit, standard), make)


@dataclass(frozen=True)
class Charts:
    """The charts beside the map.

    Attributes
    ----------
    drawn : mapping
        By the key of each chart, how it is drawn at a setting.
    depend_on : hashable
        What else they depend on.
    following : tuple of str
        Which of them follow the dial while it turns; the others fade.
    """

    drawn: Mapping[str, Callable[[int], DrawnFigure]]
    depend_on: Hashable
    following: tuple[str, ...] = ()


def sentence(
    place: City,
    plan: Plan,
    i: int,
    story: Story,
    look: Look,
    standard: float,
    charts: Charts | None = None,
) -> None:
    """The sentence about this setting, and about all others while the dial turns; table and charts follow it."""
    budget = address.get("budget")
    stories = prepared(place, plan, look, standard).stories

    def told() -> bytes:
        return told_json(plan.t, [_words(one, plan, number, budget) for number, one in enumerate(stories)])

    show_sentence(
        plans.kept(place, plan, ("told", look.unit, standard, budget), told),
        _words(story, plan, i, budget),
        at=i,
        seen=state.visit().live_map.seen,
        key="live_sentence",
        group=GROUP,
        figures=_figures(place, plan, stories, look, standard, charts or Charts({}, ())),
    )


def _figures(
    place: City, plan: Plan, stories: Sequence[Story], look: Look, standard: float, charts: Charts
) -> bytes | None:
    """The table and the charts at every setting; None where there is one setting, or too many people to measure."""
    if len(plan) == 1 or len(plan.residents) > figures.TOLD_AT_MOST:
        return None
    what = ("figures", look, standard, charts.following, charts.depend_on)
    return plans.kept(place, plan, what, lambda: _figures_json(stories, charts))


def _figures_json(stories: Sequence[Story], charts: Charts) -> bytes:
    changes = {
        key: figures.followed([charts.drawn[key](i) for i in range(len(stories))]) for key in charts.following
    }
    settings = [
        {
            "rows": markdown.figures_cells(story),
            "charts": {key: change[i] for key, change in changes.items() if change is not None},
        }
        for i, story in enumerate(stories)
    ]
    return orjson.dumps(settings, option=orjson.OPT_SERIALIZE_NUMPY)


def _words(story: Story, plan: Plan, i: int, budget: float) -> list[Any]:
    """A story with the small print below it: what is compared, and the budget."""
    if not plan.k:  # nothing is placed, so nothing costs anything
        return figures.live_words(story.headline, story.detail, story.context)
    context = f"{story.context} {tell_budget(plan, i, budget)}"
    return figures.live_words(story.headline, story.detail, context)


def _scene(place: City, plan: Plan, i: int, look: Look, standard: float) -> Scene:
    """A plan on its ground, as every live map shows it."""
    parts = prepared(place, plan, look, standard)
    return Scene(
        parts.plan,
        parts.residents,
        look.colour,
        look.layers,
        figures.live_legend(plan, parts.ground, look),
        figures.map_words(plan, i, plan.evaluation(i, standard), look),
        streets=figures.live_streets(look),
        areas=parts.areas,
        service=parts.service,
        roads=parts.roads or (rules.drawn_streets() if place.saved is None else None),
    )


def dial_and_map(place: City, plan: Plan, i: int, look: Look, standard: float) -> None:
    """The dial, and the map below it."""
    scene, reached = _scene(place, plan, i, look, standard), catchments.shown(place, plan, i)
    scene = replace(
        scene,
        legend=[*scene.legend, *([catchments.SIGN] if reached else [])],
        catchments=catchments.on_map(reached, i),
        pin=place.saved is None and plan.k > 1,
        trial=_trial(plan, i, look, standard),
    )
    with st.container(key="t"):
        show_map(
            scene,
            at=i,
            seen=state.visit().live_map.seen,
            turned=state.visit().live_map.turned,
            height=PHONE_HEIGHT if screen.on_phone() else MAP_HEIGHT,
            key=KEY,
            group=GROUP,
            on_said=_said,
            on_theme=replan,
        )
    catchments.sentence(place, plan, reached)


def pins(place: City, pinned_plan: Plan, k: int, look: Look) -> None:
    """What pinned facilities cost, and the way to let them go."""
    count = k - pinned_plan.k
    if not count:
        return
    with st.spinner("Working out what the pins cost"):
        free = plans.part_of_other_work(place, k, state.still_here)
    told = tell_pins(pinned_plan, free, dial.setting(pinned_plan), count, unit=look.unit, people=look.people)
    with st.container(horizontal=True, vertical_alignment="center", key="pins_row"):
        st.markdown(told, width="content")
        st.button("Set free", key="unpin", icon=":material/keep_off:", type="tertiary", on_click=_set_free)


def replan() -> None:
    """Ask for the whole page to be drawn anew; in a callback of a part that redraws alone."""
    state.visit().live_map.replan = True


def replan_if_asked() -> None:
    """Draw the whole page if a facility was pinned or set free: the plan is another one."""
    live = state.visit().live_map
    if live.replan:
        live.replan = False
        address.hold()
        st.rerun()


def _set_free() -> None:
    address.put("pins", [])
    state.visit().live_map.replan = True


def _trial(plan: Plan, i: int, look: Look, standard: float) -> dict[str, Any] | None:
    """The figures of a facility that was dragged, next to those of the plan."""
    asked = state.visit().live_map.trial
    if asked is None or asked[0] >= plan.k:
        return None
    j, *lonlat = asked
    rows = tell_move(plan, i, j, lonlat, unit=look.unit, standard=standard, people=look.people)
    shown = [[row.label, row.plan_text, row.reference_text, row.change_text, row.tone] for row in rows]
    return {"j": j, "lonlat": lonlat, "rows": shown}


def _said() -> None:
    """Follow what the planner did on the map."""
    with contextlib.suppress(KeyError, TypeError, ValueError, OverflowError):  # our own code never sends this
        _follow(state.widget(KEY)["said"])


def _follow(told: Any) -> None:
    live = state.visit().live_map
    live.seen, live.trial = int(told["seq"]), None
    t = float(told["t"])
    # not NaN either, and not said before the page itself turned the dial: both may come in one run, in any order
    if t >= 0 and int(told["turned"]) >= live.turned:
        address.put("t", t)
    if told["what"] not in ("move", "keep"):
        return
    lon, lat = (float(value) for value in told["lonlat"])
    if not (-180 <= lon <= 180 and -85 <= lat <= 85):
        return
    if told["what"] == "move":
        live.trial = (max(0, int(told["j"])), lon, lat)
    else:
        address.put("pins", [*address.get("pins"), (round(lon, 5), round(lat, 5))])
        live.replan = True


def beside(place: City, plan: Plan, look: Look, standard: float, *, key: str, group: str) -> None:
    """The map of a plan at its one setting, to be looked at beside another; all of a group move in step."""
    scene = replace(_scene(place, plan, 0, look, standard), touch=False)
    height = PHONE_HEIGHT if screen.on_phone() else BESIDE_HEIGHT
    show_map(scene, at=0, seen=0, height=height, key=key, group=group, on_said=lambda: None)
