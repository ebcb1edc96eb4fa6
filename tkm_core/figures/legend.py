"""The legend of a map, and text alternatives for maps and charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from tkm_core.evaluation import Evaluation
from tkm_core.figures.charts import FAIRNESS, UTILITY
from tkm_core.figures.crowd import Colouring
from tkm_core.figures.look import Look
from tkm_core.figures.maps import MapGround
from tkm_core.figures.markers import shown_one
from tkm_core.figures.palette import to_hex
from tkm_core.planning import AVERAGE, Plan
from tkm_core.units import METRES, format_length
from tkm_core.wording import dial_text, renamed

SIGN = "display:inline-block;vertical-align:middle;margin-right:6px;"


@dataclass(frozen=True)
class LegendItem:
    """A sign on the map and its meaning; the sign is "" for a remark.

    Signs are disc, square, ring, path, dashes and ramp, and in the report also cross, diamond, dotted and dashed.
    """

    sign: str
    text: str


def legend_items(scheme: Colouring, ground: MapGround, look: Look, *, plan: Plan) -> list[LegendItem]:
    """What is on the map, most noticeable first."""
    items = [LegendItem("disc", "new facility" if plan.existing else "facility")] if plan.k else []
    if plan.n_existing:
        kept = dict.fromkeys(kind for kind in plan.kinds if kind != "new")
        items.append(LegendItem("square", f"{' or '.join(kept)} facility"))
    if "baseline" in look.layers and len(plan.reference_lonlat):
        words = "closed" if plan.reference.kind == "today" else plan.reference.words.removeprefix("the ")
        items.append(LegendItem("ring", words))
    if "paths" in look.layers and len(plan) > 1:
        items.append(LegendItem("path", "path of a facility as the dial turns"))
    if "farthest" in look.layers:
        items.append(LegendItem("dashes", f"farthest {shown_one(plan.residents, look)}"))
    items += _colour_items(scheme, plan, look)
    weights = plan.residents.weights
    if ground.cells is None and not ground.shaded and weights.min() < weights.max():
        items.append(LegendItem("", "larger dots: more people"))
    if ground.cells is not None:
        size = format_length(ground.cells.metres, look.length_unit)
        items.append(LegendItem("", f"too many {look.people} for single points: cells of {size}"))
    return items


def map_legend(
    scheme: Colouring, ground: MapGround, look: Look, *, plan: Plan, more: Sequence[LegendItem] = ()
) -> str:
    """The legend as HTML: only what is on the map, most noticeable first, and what else is drawn on it."""
    colors = look.palette
    round_ = f"{SIGN}width:12px;height:12px;border-radius:50%"
    # drawn as borders, which are printed even if backgrounds are not
    styles = {
        "disc": f"{SIGN}width:0;height:0;border-radius:50%;border:6px solid {colors.muted}",
        "square": f"{SIGN}width:0;height:0;border:5px solid {colors.muted};outline:2px solid {colors.ink}",
        "ring": f"{round_};border:2px solid {colors.ink};background:transparent;box-sizing:border-box",
        "dashes": f"{SIGN}width:20px;border-top:2px dashed {colors.ink}",
        "diamond": f"{SIGN}width:5px;height:5px;border:1px solid {colors.ink};transform:rotate(45deg)",
        "dotted": f"{SIGN}width:14px;height:10px;border:1.5px dotted {colors.ink}",
        "dashed": f"{SIGN}width:14px;height:10px;border:1.5px dashed {colors.ink}",
    }
    signs = {name: f'<span style="{style}"></span>' for name, style in styles.items()}
    signs["cross"] = f'<b style="margin-right:6px;color:{colors.worse}">×</b>'
    signs["path"] = _bar([to_hex(color) for color in colors.along_dial(9)], 4, 4)
    signs["ramp"] = _bar([to_hex(color) for color in scheme.colors], 8, 9)
    parts = [
        f'<span style="white-space:nowrap">{signs[item.sign]}{escape(renamed(item.text, look.facility))}</span>'
        if item.sign
        else f"<span>{escape(item.text)}</span>"
        for item in (*legend_items(scheme, ground, look, plan=plan), *more)
    ]
    return (
        f'<div class="er-legend" style="color:{colors.muted};display:flex;flex-wrap:wrap;gap:2px 18px;'
        f'font-size:0.93rem;line-height:1.5">{"".join(parts)}</div>'
    )


def _colour_items(scheme: Colouring, plan: Plan, look: Look) -> list[LegendItem]:
    """What the residents' colours mean."""
    if scheme.mode == "facility":
        return []
    top = f"{scheme.top / METRES[look.unit]:g} {look.unit}"
    if scheme.mode == "distance":
        return [LegendItem("ramp", f"distance, 0 to {top} and more")]
    return [LegendItem("ramp", f"{top} or more farther … {top} or more closer than {plan.reference.than}")]


def _bar(colors: Sequence[str], width: int, height: int) -> str:
    """Colours side by side, drawn as borders, which are printed even if backgrounds are not."""
    return (
        "".join(
            f'<span style="display:inline-block;vertical-align:middle;width:{width}px;'
            f'border-top:{height}px solid {color}"></span>'
            for color in colors
        )
        + '<span style="display:inline-block;width:6px"></span>'
    )


def map_words(plan: Plan, i: int, evaluation: Evaluation, look: Look) -> str:
    """The map in words, as its text alternative."""
    where = "; ".join(
        f"{plan.title(j)[:1].lower()}{plan.title(j)[1:]} "
        f"at {lat:.4f}, {lon:.4f} serves {served:,.0f} {look.people}"
        for j, ((lon, lat), served) in enumerate(
            zip(
                np.asarray(plan.centers_lonlat(i)).tolist(),
                evaluation.population.tolist(),
                strict=True,
            )
        )
    )
    return f"Map of {len(plan.residents):,} {look.people} and the facilities at t = {dial_text(plan.t[i])}: {where}."


def tradeoff_words(plan: Plan, i: int, utility: str, fairness: str, look: Look) -> str:
    """The trade-off chart in a sentence, as its text alternative."""
    across, up = UTILITY[utility], FAIRNESS[fairness]
    before = plan.reference_evaluation()
    points = [(plan.reference.heading, getattr(before, utility), getattr(before, fairness))]
    points += [
        (f"t = {dial_text(plan.t[at])}", getattr(plan.curve, utility)[at], getattr(plan.curve, fairness)[at])
        for at in (i, len(plan) - 1)
    ]
    told = "; ".join(
        f"{name}: {float(across.value(one, look.unit)):.3g} and {float(up.value(two, look.unit)):.3g}"
        for name, one, two in points
    )
    return f"Trade-off as the dial turns: {across.label(look.unit)}, and {up.label(look.unit)}. {told}."


def distances_words(
    evaluation: Evaluation, before: Evaluation, look: Look, *, words: str = AVERAGE.words
) -> str:
    """The chart of distances in a sentence, as its text alternative."""
    alone = evaluation is before
    half, most, last = (
        " against ".join(
            format_length(float(getattr(side, key)), look.unit)
            for side in (evaluation, before)[: 1 if alone else 2]
        )
        for key in ("median_distance", "p95_distance", "largest_distance")
    )
    what = words if alone else f"this plan against {words}"
    return (
        f"Share of {look.people} within a distance, {what}: half are within {half}, "
        f"95 % within {most}, all within {last}."
    )
