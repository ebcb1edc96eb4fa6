"""Streets, water and parks on SVG maps, with their credit, and routes along them."""

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Floats, Ints
from tkm_core.figures.live_place import rank_of
from tkm_core.figures.svg import Sheet, line, text
from tkm_core.planning import Plan
from tkm_core.streets import Areas, Lines

WIDTHS = (1.8, 1.2, 0.6)  # pixels: main roads, roads, streets; paths are not drawn


def street_parts(plan: Plan, sheet: Sheet) -> list[str]:
    """Water, parks and streets, drawn below everything else; empty if the plan has no streets.

    Parameters
    ----------
    plan : Plan
    sheet : Sheet

    Returns
    -------
    list of str
        SVG.
    """
    streets, colors = plan.rules.travel.drawn_streets, sheet.look.palette
    if streets is None:
        return []
    parts = []
    if streets.areas is not None:
        for kind, fill in (("park", colors.park), ("water", colors.water)):
            way = _rings(streets.areas, kind, sheet)
            parts += [f'<path d="{way}" fill="{fill}" fill-rule="evenodd"/>'] if way else []
    drawn = streets.lines(simplify=sheet.view.metres_wide / sheet.width / 2)
    ranks = np.array([rank_of(name) for name in drawn.class_names], np.int64)[drawn.classes]
    for rank, width in reversed(list(enumerate(WIDTHS))):
        way = _lines(drawn, np.flatnonzero(ranks == rank), sheet)
        ink = colors.road if rank < 2 else colors.street
        parts += [f'<path d="{way}" stroke="{ink}" stroke-width="{width}" fill="none"/>'] if way else []
    return parts


def credit_parts(plan: Plan, sheet: Sheet) -> list[str]:
    """The credit for the streets, in the corner of the map."""
    words = plan.rules.travel.attribution
    return [text(8, sheet.height - 8, words, sheet.look.palette.muted, anchor="start")] if words else []


def way_along(plan: Plan, home: Floats, site: Floats, sheet: Sheet, width: float) -> str:
    """The line between a home and its facility: along the streets, or straight if there are none."""
    way = plan.rules.travel.route(home, site)
    ends: Floats = np.array([site, home]) if way is None else way
    return line(sheet.at(ends), sheet.look.palette.ink, width, dash="5 4")


def _lines(lines: Lines, which: Ints, sheet: Sheet) -> str:
    """Some of the lines as one path, without those out of view."""
    spots = sheet.at(lines.lonlat.astype(np.float64) + lines.origin)
    return "".join(
        _path(spots[lines.starts[n] : lines.starts[n + 1]])
        for n in which.tolist()
        if _seen(spots, lines.starts, n, sheet)
    )


def _rings(areas: Areas, kind: str, sheet: Sheet) -> str:
    """The rings of a kind of area as one path."""
    if kind not in areas.kind_names:
        return ""
    spots = sheet.at(areas.lonlat.astype(np.float64) + areas.origin)
    own = areas.kinds[areas.polygon] == areas.kind_names.index(kind)
    return "".join(
        _path(spots[areas.starts[n] : areas.starts[n + 1]]) + "Z"
        for n in np.flatnonzero(own).tolist()
        if _seen(spots, areas.starts, n, sheet)
    )


def _seen(spots: Floats, starts: npt.NDArray[np.int64], n: int, sheet: Sheet) -> bool:
    """Whether a line may be in view."""
    own = spots[starts[n] : starts[n + 1]]
    size = np.array([sheet.width, sheet.height])
    return bool(len(own) > 1 and (own.max(axis=0) >= 0).all() and (own.min(axis=0) <= size).all())


def _path(spots: Floats) -> str:
    """An open line of an SVG path."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in spots.tolist())
