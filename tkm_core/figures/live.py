"""Data for the live map in the browser: the whole path of a plan, its residents, texts and colours.

The browser turns the dial by itself, so everything that depends on a setting is computed here for all settings, in the
same words and decimals as everywhere else. How a facility, a path or a colour looks is decided by the modules that
draw the other maps; this one only passes it on.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import shapely

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation
from tkm_core.figures import crowd, markers
from tkm_core.figures.geometry import mercator
from tkm_core.figures.legend import legend_items
from tkm_core.figures.live_place import THEMES, existing_parts, place_parts, theme_parts, view_centre
from tkm_core.figures.live_service import farthest_ways, jumps, rule_parts, rule_signs, titles_on_sites
from tkm_core.figures.look import Look
from tkm_core.figures.maps import STREETS, MapGround, colour_scheme
from tkm_core.figures.palette import palette, to_hex
from tkm_core.planning import AREAS_MARGIN, Plan
from tkm_core.stories import Part, Story, tell_plan, tell_setting
from tkm_core.units import METRES, format_length
from tkm_core.wording import dial_text

FINENESS = 1_000  # details of the outline smaller than 1/1,000 of the city's extent are left out
# Up to this many residents every setting has a full story, which takes about half a second.
TOLD_AT_MOST = 20_000


def live_plan(plan: Plan, ground: MapGround, look: Look, standard: float | None = None) -> bytes:
    """A plan at every setting of its dial as JSON for the live map: positions, texts and colours.

    Parameters
    ----------
    plan : Plan
    ground : MapGround
        From `live_ground`.
    look : Look
        Only its unit and people matter: the map contains all themes, colours and layers.
    standard : float, optional
        The service standard of the stories, so that their measurements are used again.

    Returns
    -------
    bytes
    """
    origin = plan.residents.origin
    settings = range(len(plan))
    few = len(plan.residents) <= TOLD_AT_MOST
    farthest = [
        _farthest(plan, plan.evaluation(i, standard), look) if few else _how_far(plan, i, look)
        for i in settings
    ]
    body = place_parts(plan.residents, ground, look) | {
        "t": [dial_text(t) for t in plan.t],
        "values": [repr(float(t)) for t in plan.t],
        "jumps": jumps(plan),
        "k": plan.k,
        "kinds": plan.kinds,
        "numbers": plan.numbers.tolist(),
        "titles": [plan.title(j) for j in range(len(plan.kinds))],
        "titled": titles_on_sites(plan),
        "xy": [_rounded(plan.centers_xy(i) - origin, 3) for i in settings],
        "lonlat": [_rounded(plan.centers_lonlat(i), 6) for i in settings],
        "reference": {
            "xy": _rounded(plan.reference_xy - origin, 3),
            "lonlat": _rounded(plan.reference_lonlat, 6),
            "tips": markers.reference_tips(plan),
            "than": plan.reference.than,
        },
        "served": [_served(plan.evaluation(i, standard)) for i in settings] if few else None,
        "reach": [_reach(plan.evaluation(i, standard), look) for i in settings] if few else None,
        "farthest": farthest,
        "ways": farthest_ways(plan, farthest),
        "unit": {"name": look.unit, "size": METRES[look.unit]},
        "outline": _rounded(_outline(plan) - origin, 1),
        "margin": AREAS_MARGIN,
        "city": _city(plan, ground),
        "existing": existing_parts(plan.existing, plan.kept),
        **rule_parts(plan),
        "tops": {
            mode: colour_scheme(plan, _look(look, "light", mode)).top for mode in ("distance", "change")
        },
        "steps": crowd.STEPS,
        "themes": {theme: _theme(plan, look, theme) for theme in THEMES},
    }
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def live_stories(plan: Plan, look: Look, standard: float | None) -> list[Story]:
    """The story of every setting; for very many residents only the longest and the average trip."""
    tell = tell_plan if len(plan.residents) <= TOLD_AT_MOST else tell_setting
    return [tell(plan, i, unit=look.unit, standard=standard, people=look.people) for i in range(len(plan))]


def live_words(headline: Sequence[Part], detail: Sequence[Part], context: str) -> list[Any]:
    """A story for the live sentence: parts of text with their tone."""
    return [_parts(headline), _parts(detail), context]


def live_legend(plan: Plan, ground: MapGround, look: Look) -> list[tuple[str, str]]:
    """The signs on the map and their meanings."""
    items = legend_items(colour_scheme(plan, look), ground, look, plan=plan)
    return [(item.sign, item.text) for item in items] + rule_signs(plan)


def live_streets(look: Look) -> dict[str, str] | None:
    """The street map of each theme, if wanted."""
    return STREETS if look.streets else None


def _parts(parts: Sequence[Part]) -> list[list[str]]:
    """Parts of a sentence as pairs of text and tone; neighbours of one tone are joined."""
    runs = itertools.groupby(parts, key=lambda part: part.tone)
    return [["".join(part.text for part in run), tone] for tone, run in runs]


def _rounded(values: Floats, digits: int) -> list[Any]:
    """Rounded values as lists."""
    return np.round(values, digits).tolist()


def _look(look: Look, theme: str, colour: str) -> Look:
    """The look in another theme and colour mode."""
    return replace(look, theme=theme, colour=colour)


def _theme(plan: Plan, look: Look, theme: str) -> dict[str, Any]:
    """The colours of a theme, by what they are for."""
    colors = palette(theme)
    sites = [colors.facility(colour) for colour in plan.colours]
    return theme_parts(theme) | {
        "sites": [to_hex(color) for color in sites],
        "numbers": [colors.text_on(color) for color in sites],
        "path": [to_hex(color) for color in colors.along_dial(len(plan))],
        "modes": {
            mode: [list(color) for color in colour_scheme(plan, _look(look, theme, mode)).colors]
            for mode in crowd.COLOURS
        },
    }


def _served(found: Evaluation) -> list[str]:
    """How many people each facility serves, as text."""
    return [f"{people:,.0f}" for people in found.population]


def _reach(found: Evaluation, look: Look) -> list[str]:
    """The longest trip to each facility, as text."""
    return [format_length(float(far), look.unit) for far in found.max_distance]


def _farthest(plan: Plan, evaluation: Evaluation, look: Look) -> list[Any]:
    """The farthest resident's position and facility, and the label beside it."""
    trips = evaluation.trips(plan.residents.weights)
    who = trips.farthest
    home = np.round(plan.residents.lonlat[trips.resident[who]], 6).tolist()
    told = markers.farthest_words(plan.residents, float(trips.distance[who]), look)
    return [home, int(trips.facility[who]), told]


def _how_far(plan: Plan, i: int, look: Look) -> list[Any]:
    """The same for very many residents: the browser finds the cell, while the distance is exact."""
    far = float(plan.curve.largest_distance[i])
    return [None, None, markers.farthest_words(plan.residents, far, look)]


def _outline(plan: Plan) -> Floats:
    """Corners of the convex hull of all residents, in metres."""
    return np.asarray(shapely.get_coordinates(plan.residents.hull))


def _city(plan: Plan, ground: MapGround) -> list[Any] | None:
    """Outline of the residents' areas on the map, where service areas end."""
    outline = plan.residents.outline
    if outline is None or outline.is_empty:
        return None
    west, south, east, north = outline.bounds
    rings = shapely.get_rings(shapely.simplify(outline, max(east - west, north - south) / FINENESS))
    middle = view_centre(ground.view)
    return [
        np.round(
            mercator(plan.residents.to_lonlat(shapely.get_coordinates(ring))) * [1, -1] - middle, 9
        ).tolist()
        for ring in rings
    ]
