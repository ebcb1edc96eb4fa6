"""The report: one HTML file with the map, the figures, the sentence and the settings, for a council's folder."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from html import escape

from tkm_core.figures import drawing
from tkm_core.figures.legend import distances_words, map_legend, tradeoff_words
from tkm_core.figures.look import Look
from tkm_core.figures.maps import MapGround, colour_scheme
from tkm_core.planning import Plan, Row
from tkm_core.stories import Part, Story
from tkm_core.units import format_length

CITATION = (
    "Efficient k-means with Individual Fairness via Exponential Tilting: the method; "
    "EvenReach: this implementation."
)
METHOD = (
    "Tilted k-means places k facilities so that the tilted cost of the squared straight-line distances is least: "
    "every resident is served by the nearest facility, and each facility stands where long trips weigh more the "
    "further the dial t is turned up. At t = 0 it is ordinary k-means (the lowest mean squared distance); as t "
    "grows it approaches the plan in which the longest trip of each service area is as short as possible. t has no "
    "unit: coordinates are divided by the spread of the data first. The comparison is k-means++ with ten restarts "
    "on the same residents."
)
LIMITS = (
    "Distances are straight lines, not roads or travel times. Sites are points on the map, not checked against "
    "land, cost or capacity. t expresses a choice between the average and the worst-off; no number of it is right "
    "in itself."
)
STYLE = """
:root { color-scheme: light; }
body { font: 14px/1.5 "Public Sans", system-ui, -apple-system, "Segoe UI", sans-serif; color: #16242A;
  max-width: 780px; margin: 32px auto; padding: 0 24px; background: #fff; }
h1 { font-size: 23px; line-height: 1.25; margin: 0 0 6px; } h2 { font-size: 15px; margin: 26px 0 6px; }
.better { color: #0B6B4F; } .worse { color: #9C4A00; } .same, .muted, footer { color: #55656B; }
svg { width: 100%; height: auto; display: block; } figure { margin: 14px 0; break-inside: avoid; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 20px; break-inside: avoid; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; break-inside: avoid; }
th, td { padding: 4px 10px 4px 0; border-bottom: 1px solid #DCE3E1; text-align: right; }
th:first-child, td:first-child { text-align: left; } thead th { font-weight: 500; color: #55656B; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; } dt { color: #55656B; } dd { margin: 0; }
footer { border-top: 1px solid #DCE3E1; margin-top: 28px; padding-top: 8px; font-size: 12px; }
@media (max-width: 560px) { .pair { grid-template-columns: 1fr; } }
@media print { body { margin: 0; max-width: none; padding: 0; font-size: 11pt; } @page { margin: 15mm; } }
"""


def html_report(
    plan: Plan,
    i: int,
    story: Story,
    look: Look,
    *,
    title: str,
    source: str = "",
    link: str = "",
    standard: float | None = None,
    utility: str = "mean_distance",
    fairness: str = "largest_distance",
    budget: float | None = None,
    today: date | None = None,
) -> str:
    """A self-contained page about plan number i: it needs no network and prints well.

    Parameters
    ----------
    plan : Plan
    i : int
        Which t.
    story : Story
        Of that plan, as on screen.
    look : Look
        Units, colours and layers; the report is always light.
    title, source, link : str
        Name and source of the data, and the address of the plan; all shown as text.
    standard : float, optional
        The service standard in metres.
    utility, fairness, budget
        Of the trade-off chart.
    today : date, optional
        The date on the report.

    Returns
    -------
    str
        HTML.
    """
    look = replace(look, theme="light", streets=False)
    evaluation, baseline = plan.evaluation(i, standard), plan.baseline_evaluation(standard)
    ground = MapGround.of(
        plan.residents, width=drawing.WIDTH, height=drawing.HEIGHT, existing=plan.baseline_lonlat[plan.k :]
    )
    legend = map_legend(colour_scheme(plan, look), ground, look, existing=plan.existing)
    picture = drawing.map_svg(plan, i, evaluation, baseline, ground, look)
    trade = drawing.tradeoff_svg(plan, i, look, utility=utility, fairness=fairness, budget=budget)
    near = drawing.distances_svg(evaluation, baseline, plan.residents.weights, look)
    settings = {
        "Data": f"{title}: {len(plan.residents):,} places, {plan.people:,.0f} {look.people}",
        "Source": source,
        "Facilities": f"{plan.k} new" + (f", {plan.existing} existing" if plan.existing else ""),
        "Dial": f"t = {plan.t[i]:g}",
        "Reference": f"k-means++, 10 restarts, random seed {plan.random_state}",
        "Map": str(plan.residents.report.crs or ""),
        "Data fingerprint": plan.residents.fingerprint,
        "Link": link,
    }
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in settings.items() if value
    )
    made = (today or date.today()).isoformat()
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}: {plan.k} facilities, t = {plan.t[i]:g}</title><style>{STYLE}</style></head><body>
<p class="muted">EvenReach · {escape(title)} · {made}</p>
<h1>{_toned(story.headline)}</h1>
<p>{_toned(story.detail)}</p><p class="muted">{escape(story.context)}</p>
<figure>{picture}<figcaption>{legend}</figcaption></figure>
<h2>Key figures</h2>{_figures(story.rows)}
<div class="pair"><figure><h2>Trade-off as the dial turns</h2>{trade}
<figcaption class="muted">{escape(tradeoff_words(plan, i, utility, fairness, look))}</figcaption></figure>
<figure><h2>Who lives how near</h2>{near}
<figcaption class="muted">{escape(distances_words(evaluation, baseline, look))}</figcaption></figure></div>
<h2>Sites</h2>{_sites(plan, i, look)}
<h2>Further figures</h2>{_figures(story.more)}
<h2>Settings</h2><dl>{listed}</dl>
<h2>Method</h2><p>{escape(METHOD)}</p><p>{escape(LIMITS)}</p>
<footer>{escape(CITATION)}</footer></body></html>"""


def _toned(parts: Sequence[Part]) -> str:
    return "".join(
        f'<span class="{part.tone}">{escape(part.text)}</span>' if part.tone else escape(part.text)
        for part in parts
    )


def _figures(rows: Sequence[Row]) -> str:
    body = "".join(
        f"<tr><td>{escape(row.label)}</td><td><b>{row.plan_text}</b></td><td>{row.baseline_text}</td>"
        f'<td class="{row.tone}">{row.change_text}</td></tr>'
        for row in rows
    )
    head = "<tr><th>Figure</th><th>This plan</th><th>k-means++</th><th>Change</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _sites(plan: Plan, i: int, look: Look) -> str:
    found = plan.evaluation(i, None)
    body = "".join(
        f"<tr><td>{j + 1} ({escape(f'{kind}: {name}' if name else kind)})</td><td>{lat:.5f}</td><td>{lon:.5f}</td>"
        f"<td>{served:,.0f}</td><td>{format_length(far, look.unit)}</td></tr>"
        for j, (kind, name, (lon, lat), served, far) in enumerate(
            zip(
                plan.kinds,
                plan.names,
                plan.centers_lonlat(i).tolist(),
                found.population.tolist(),
                found.max_distance.tolist(),
                strict=True,
            )
        )
    )
    head = (
        f"<tr><th>Facility</th><th>Latitude</th><th>Longitude</th><th>Serves, {escape(look.people)}</th>"
        "<th>Longest trip</th></tr>"
    )
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
