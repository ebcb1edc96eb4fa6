"""The live map: a component of our own in which dial, map and sentence change together, without asking the server.

`show_map` draws the map with its dial, `show_sentence` the sentence that follows it; both belong to a `group`, and all
of a group move in step. `show_editor` draws a map on which sites and zones are edited. README.md in this folder says
how it works.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
import streamlit as st

from pages.live_map import assets
from pages.serving.drawing import Drawing, Site, Zone, follow_edits

__all__ = [
    "Canvas",
    "Drawing",
    "Scene",
    "Site",
    "Zone",
    "follow_edits",
    "show_editor",
    "show_map",
    "show_sentence",
    "told_json",
]

STUB = (
    "export default async (it) => (await import(new URL(it.data.module, location.origin).href)).default(it);"
)


@dataclass(frozen=True)
class Scene:
    """What a live map shows; see tkm_core/figures/live.py for how the parts are made.

    Attributes
    ----------
    plan, residents : bytes
        From `live_plan` and `live_residents`.
    colour : str
        What the residents' colour tells: "facility", "distance" or "change".
    layers : collection of str
        Which of `LAYERS` are shown.
    legend : sequence of (str, str)
        From `live_legend`.
    label : str
        What the map shows, for those who do not see it.
    streets : dict or None
        From `live_streets`.
    areas, service, roads, catchments : bytes or None
        From `live_areas`, `live_service`, `live_roads` and `live_catchments`, where there are any.
    touch : bool
        Whether facilities can be dragged.
    pin : bool
        Whether a facility can be kept where it was put.
    trial : dict or None
        What is known about a facility that was dragged: its number ``j``, ``lonlat``, and ``rows`` of figures.
    """

    plan: bytes
    residents: bytes
    colour: str
    layers: Collection[str]
    legend: Sequence[tuple[str, str]]
    label: str
    streets: dict[str, str] | None = None
    areas: bytes | None = None
    service: bytes | None = None
    roads: bytes | None = None
    catchments: bytes | None = None
    touch: bool = True
    pin: bool = False
    trial: dict[str, Any] | None = field(default=None)


@dataclass(frozen=True)
class Canvas:
    """The ground on which sites and zones are drawn.

    Attributes
    ----------
    place, residents : bytes
        From `live_place` and `live_residents`.
    label : str
        What the map shows, for those who do not see it.
    areas, roads : bytes or None
        From `live_areas` and `live_roads`, where there are any.
    streets : dict or None
        From `live_streets`.
    """

    place: bytes
    residents: bytes
    label: str
    areas: bytes | None = None
    roads: bytes | None = None
    streets: dict[str, str] | None = None


def show_map(
    scene: Scene,
    *,
    at: int,
    seen: int,
    turned: int = 0,
    height: int,
    key: str,
    group: str,
    on_said: Callable[[], None],
    on_theme: Callable[[], None] = lambda: None,
) -> None:
    """Draw the dial and the map.

    Parameters
    ----------
    scene : Scene
    at : int
        The setting that the dial stands at.
    seen : int
        The number (``seq``) of the last thing the planner did that `at` takes into account. The browser does not
        follow what is older than its last turn, so a slow answer never pulls the dial back.
    turned : int
        How often the page itself turned the dial: when it does, the browser follows, whatever it is doing.
    height : int
        Of the map, in pixels.
    key : str
        The widget's value has ``said``, what the planner did last: a dict with ``seq``, ``what`` ("dial",
        "move", "back" or "keep"), ``t``, ``turned`` as the browser knew it then, and where a place is meant ``j`` and
        ``lonlat``.
    group : str
        Who moves in step.
    on_said : callable
        Called when the planner did something.
    on_theme : callable
        Called when light was changed to dark or back: the map has followed, the rest of the page has to be drawn.
    """
    data = {
        "kind": "map",
        "name": key,
        **_ground(scene, key),
        "plan": assets.address_of(scene.plan, f"{key}-plan.json"),
        "service": _address(scene.service, f"{key}-service.bin"),
        "catchments": _address(scene.catchments, f"{key}-catchments.json"),
        "colour": scene.colour,
        "layers": list(scene.layers),
        "legend": [list(item) for item in scene.legend],
        "touch": scene.touch,
        "pin": scene.pin,
        "trial": scene.trial,
        "at": at,
        "seen": seen,
        "turned": turned,
        "height": height,
        "group": group,
    }
    _component("live_map", isolated=True)(
        key=key, data=data, on_said_change=on_said, on_theme_change=on_theme
    )


def show_editor(
    canvas: Canvas,
    drawing: Drawing,
    *,
    seen: int,
    height: int,
    key: str,
    on_said: Callable[[], None],
    group: str = "",
) -> None:
    """Draw a map on which a planner adds, moves, names and deletes sites and zones.

    Parameters
    ----------
    canvas : Canvas
    drawing : Drawing
        What is drawn so far.
    seen : int
        The number of the last edit that `drawing` contains, as `follow_edits` gave it; 0 before the first. The browser
        does not follow a drawing that is older than its last edit.
    height : int
        Of the map, in pixels.
    key : str
        The widget's value goes to `follow_edits`.
    on_said : callable
        Called for every finished edit.
    group : str
        Maps that move in step; by default it stands alone.
    """
    data = {
        "kind": "editor",
        "name": key,
        **_ground(canvas, key),
        "place": assets.address_of(canvas.place, f"{key}-place.json"),
        "hint": "Map: arrow keys move it, plus and minus zoom, Enter draws at its centre",
        "drawing": asdict(drawing),
        "seen": seen,
        "height": height,
        "group": group or key,
    }
    _component("live_map", isolated=True)(key=key, data=data, on_said_change=on_said)


def show_sentence(
    told: bytes,
    now: Sequence[Any],
    *,
    at: int,
    seen: int,
    key: str,
    group: str,
    figures: bytes | None = None,
) -> None:
    """Draw the sentence about the setting the dial stands at.

    Parameters
    ----------
    told : bytes
        From `told_json`.
    now : sequence
        From `live_words`: the same for the setting `at`, so that it can be read before the rest has arrived.
    at, seen, key, group
        As for `show_map`.
    figures : bytes, optional
        JSON with, for every setting, the ``rows`` of the table of key figures and what changes in the ``charts``, by
        their keys. Without it they fade while the dial is elsewhere.
    """
    data = {
        "kind": "sentence",
        "module": assets.entry(),
        "sheets": [assets.sheet("sentence.css")],
        "told": assets.address_of(told, f"{key}-told.json"),
        "figures": _address(figures, f"{key}-figures.json"),
        "now": list(now),
        "at": at,
        "seen": seen,
        "group": group,
    }
    _component("live_sentence", isolated=False)(key=key, data=data)


def told_json(t: Iterable[float], settings: Sequence[Sequence[Any]]) -> bytes:
    """The words of every setting, each from `live_words`."""
    return orjson.dumps(
        {"t": [repr(float(one)) for one in t], "settings": settings}, option=orjson.OPT_SERIALIZE_NUMPY
    )


def _ground(shown: Scene | Canvas, key: str) -> dict[str, Any]:
    """What every map is given: its code, its residents, and the ground they live on."""
    return {
        "module": assets.entry(),
        "sheets": assets.map_sheets(),
        "library": assets.library(),
        "residents": assets.address_of(shown.residents, f"{key}-residents.bin"),
        "areas": _address(shown.areas, f"{key}-areas.bin"),
        "roads": _address(shown.roads, f"{key}-roads.bin"),
        "streets": shown.streets,
        "label": shown.label,
    }


def _address(content: bytes | None, name: str) -> str | None:
    return None if content is None else assets.address_of(content, name)


@st.cache_resource(show_spinner=False)
def _component(name: str, *, isolated: bool) -> Callable[..., Any]:
    """Register a component, once per process; an isolated one has styles of its own, and text apart from the page's."""
    return st.components.v2.component(f"evenreach_{name}", js=STUB, isolate_styles=isolated)
