"""The legend of a map as a line of text with small signs, and what the map shows in words."""

from html import escape

import numpy as np

from tkm_core.evaluation import Evaluation
from tkm_core.figures.charts import FAIRNESS, UTILITY
from tkm_core.figures.crowd import Colouring
from tkm_core.figures.look import Look
from tkm_core.figures.maps import MapGround
from tkm_core.figures.palette import to_hex
from tkm_core.planning import Plan
from tkm_core.units import METRES, format_length
from tkm_core.wording import singular

SIGN = "display:inline-block;vertical-align:middle;margin-right:6px;"


def map_legend(scheme: Colouring, ground: MapGround, look: Look, *, existing: int = 0) -> str:
    """The legend as HTML: only what is on the map, in the order it catches the eye."""
    colors = look.palette
    ring = f"{SIGN}width:12px;height:12px;border-radius:50%;border:2px solid {colors.ink}"
    disc = f"{SIGN}width:12px;height:12px;border-radius:50%;background:{colors.muted}"
    items = [(disc, "new facility" if existing else "facility, this plan")]
    if existing:
        square = f"{SIGN}width:12px;height:12px;box-sizing:border-box;border:2px solid {colors.ink}"
        items.append((f"{square};background:{colors.muted}", "existing facility"))
    if "baseline" in look.layers:
        items.append((f"{ring};background:transparent;box-sizing:border-box", "k-means++"))
    if "paths" in look.layers:
        stops = ",".join(colors.path)
        items.append(
            (
                f"{SIGN}width:34px;height:4px;border-radius:2px;background:linear-gradient(90deg,{stops})",
                "a facility’s way as the dial turns up",
            )
        )
    if "farthest" in look.layers:
        items.append(
            (f"{SIGN}width:20px;border-top:2px dashed {colors.ink}", f"farthest {singular(look.people)}")
        )
    items += _colour_items(scheme, look)
    parts = [
        f'<span style="white-space:nowrap"><span style="{style}"></span>{escape(text)}</span>'
        for style, text in items
    ]
    notes = []
    if ground.cells is not None:
        size = format_length(ground.cells.metres, look.unit)
        notes.append(f"too many {look.people} for single points: cells of {size}")
    parts += [f"<span>{escape(note)}</span>" for note in notes]
    return (
        f'<div class="er-legend" style="color:{colors.muted};display:flex;flex-wrap:wrap;gap:2px 18px;'
        f'font-size:0.93rem;line-height:1.5">{"".join(parts)}</div>'
    )


def _colour_items(scheme: Colouring, look: Look) -> list[tuple[str, str]]:
    if scheme.mode == "facility":
        return []
    stops = ",".join(to_hex(color) for color in scheme.colors)
    bar = f"{SIGN}width:64px;height:9px;border-radius:2px;background:linear-gradient(90deg,{stops})"
    top = scheme.top / METRES[look.unit]
    if scheme.mode == "distance":
        return [(bar, f"distance, 0 to {top:g} {look.unit} and more")]
    return [(bar, f"{top:g} {look.unit} farther … {top:g} {look.unit} closer than k-means++")]


def map_words(plan: Plan, i: int, evaluation: Evaluation, look: Look) -> str:
    """What the map shows, for those who do not see it."""
    where = "; ".join(
        f"{'existing ' if kind == 'existing' else ''}facility {j + 1}{f' ({name})' if name else ''} "
        f"at {lat:.4f}, {lon:.4f} serves {served:,.0f} {look.people}"
        for j, (kind, name, (lon, lat), served) in enumerate(
            zip(
                plan.kinds,
                plan.names,
                np.asarray(plan.centers_lonlat(i)).tolist(),
                evaluation.population.tolist(),
                strict=True,
            )
        )
    )
    return f"Map of {len(plan.residents):,} {look.people} and the facilities at t = {plan.t[i]:g}: {where}."


def tradeoff_words(plan: Plan, i: int, utility: str, fairness: str, look: Look) -> str:
    """What the trade-off chart shows, in a sentence."""
    across, up = UTILITY[utility], FAIRNESS[fairness]
    points = [("k-means++", plan.curve.baseline[utility], plan.curve.baseline[fairness])]
    points += [
        (f"t = {plan.t[at]:g}", getattr(plan.curve, utility)[at], getattr(plan.curve, fairness)[at])
        for at in (i, len(plan) - 1)
    ]
    told = "; ".join(
        f"{name}: {float(across.value(one, look.unit)):.3g} against {float(up.value(two, look.unit)):.3g}"
        for name, one, two in points
    )
    return f"Trade-off of {across.label(look.unit)} against {up.label(look.unit)} as the dial turns. {told}."


def distances_words(evaluation: Evaluation, baseline: Evaluation, look: Look) -> str:
    """What the chart of distances shows, in a sentence."""
    half, most, last = (
        " against ".join(
            format_length(float(getattr(side, key)), look.unit) for side in (evaluation, baseline)
        )
        for key in ("median_distance", "p95_distance", "largest_distance")
    )
    return (
        f"Share of {look.people} within a distance, this plan against k-means++: half are within {half}, "
        f"95 % within {most}, all within {last}."
    )
