"""The report: one HTML file with the map, the figures, the sentence and the settings, for a council's folder."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from html import escape

from tkm_core.figures import drawing
from tkm_core.figures.legend import distances_words, map_legend, tradeoff_words
from tkm_core.figures.look import Look
from tkm_core.figures.maps import MapGround, colour_scheme
from tkm_core.planning import Plan, Row, most_changed, place_names, stands_in
from tkm_core.stories import Part, Story, facilities_text, portfolio_story
from tkm_core.units import format_length
from tkm_core.wording import dial_text, listed

CITATION = (
    "Made with EvenReach. The method: S. Zhu et al., Efficient k-means with Individual Fairness via Exponential "
    "Tilting, 2024."
)
METHOD = (
    "The facilities stand where the trips of everyone together cost least. A trip costs its length squared, and the "
    "further the fairness dial t is turned up, the more the longest trips count (tilted k-means). At t = 0 this is "
    "ordinary k-means, with the lowest mean squared distance; at t = ∞ the longest trip of all is as short as can "
    "be. t has no unit: coordinates are first divided by the spread of the data."
)
STRAIGHT = "Distances are straight lines, not roads or travel times."
ANYWHERE = "Where a new facility stands is a point on the map: land, cost and room have not been checked."
CHOICE = "t is a choice between the average and the worst-off; no setting is right in itself."
STYLE = """
:root { color-scheme: light; }
body { font: 14px/1.5 "Public Sans", system-ui, -apple-system, "Segoe UI", sans-serif; color: #16242A;
  max-width: 780px; margin: 32px auto; padding: 0 24px; background: #fff; }
h1 { font-size: 23px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 15px; margin: 26px 0 6px; break-after: avoid; }
.better { color: #0B6B4F; } .worse { color: #9C4A00; } .same, .muted, footer { color: #55656B; }
svg { width: 100%; height: auto; display: block; } figure { margin: 14px 0; break-inside: avoid; }
section { break-inside: avoid; } section.long { break-inside: auto; } tr { break-inside: avoid; }
h2 + table, thead { break-before: avoid; } thead, thead + tbody tr:first-child { break-after: avoid; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 20px; break-inside: avoid; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
thead { display: table-header-group; }
th, td { padding: 4px 10px 4px 0; border-bottom: 1px solid #DCE3E1; text-align: right; }
th:first-child, td:first-child, .words { text-align: left; } td { overflow-wrap: break-word; }
td:not(:first-child, .words) { white-space: nowrap; } dd, p { overflow-wrap: anywhere; }
thead th { font-weight: 500; color: #55656B; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; } dt { color: #55656B; } dd { margin: 0; }
footer { break-before: avoid; }
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
    utility, fairness : str
        Axes of the trade-off chart, as for `tradeoff`.
    budget : float, optional
        Accepted increase of the average distance in percent, drawn there as a band.
    today : date, optional
        The date on the report.

    Returns
    -------
    str
        HTML.
    """
    look = replace(look, theme="light", streets=False)
    evaluation, before = plan.evaluation(i, standard), plan.reference_evaluation(standard)
    alone = plan.is_today and plan.reference.kind == "today"  # nothing is placed, so nothing is compared
    if alone:
        before = evaluation
    ground = MapGround.of(
        plan.residents, width=drawing.WIDTH, height=drawing.HEIGHT, existing_lonlat=plan.existing.lonlat
    )
    legend = map_legend(colour_scheme(plan, look), ground, look, plan=plan)
    picture = drawing.map_svg(plan, i, evaluation, before, ground, look)
    trade = ""
    if plan.k:
        words = escape(tradeoff_words(plan, i, utility, fairness, look))
        trade = drawing.tradeoff_svg(plan, i, look, utility=utility, fairness=fairness, budget=budget)
        trade = f"""<figure><h2>Trade-off as the dial turns</h2>{trade}
<figcaption class="muted">{words}</figcaption></figure>"""
    near = drawing.distances_svg(
        evaluation, before, plan.residents.weights, look, heading=plan.reference.heading
    )
    near_words = distances_words(evaluation, before, look, words=plan.reference.words)
    settings = {
        "Data": f"{title}: {len(plan.residents):,} places, {plan.people:,.0f} {look.people}",
        "Source": source,
        "Facilities": facilities_text(plan),
        "Dial": f"t = {dial_text(plan.t[i])}, random seed {plan.random_state}" if plan.k else "",
        "Compared with": "" if alone else plan.reference.technical,
        "Map": str(plan.residents.report.crs or ""),
        "Data fingerprint": plan.residents.fingerprint,
        "Link": link,
    }
    told = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in settings.items() if value
    )
    made = (today or date.today()).isoformat()
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}: {escape(_named(plan, i))}</title><style>{STYLE}</style></head><body>
<p class="muted">EvenReach · {escape(title)} · {made}</p>
<h1>{_toned(story.headline)}</h1>
<p>{_toned(story.detail)}</p><p class="muted">{escape(story.context)}</p>
{_new_sites(plan, i)}{_rules(plan, i, look)}<figure>{picture}<figcaption>{legend}</figcaption></figure>
<section><h2>Key figures</h2>{_figures(story.rows, story.reference.heading, alone=alone)}</section>
<div class="pair">{trade}<figure><h2>Who lives how near</h2>{near}
<figcaption class="muted">{escape(near_words)}</figcaption></figure></div>
{"" if alone else _places(plan, i, look)}
{_portfolio(plan, i, look)}
<section class="long"><h2>Facilities</h2>{_sites(plan, i, look)}</section>
<section><h2>Further figures</h2>{_figures(story.more, story.reference.heading, alone=alone)}</section>
<section><h2>Settings</h2><dl>{told}</dl></section>
<section><h2>{"Method" if plan.k else "Limits"}</h2>{f"<p>{escape(METHOD)}</p>" if plan.k else ""}<p>{
        escape(_limits(plan))
    }</p>{_credit(plan)}</section>
<footer>{escape(CITATION)}</footer></body></html>"""


def _portfolio(plan: Plan, i: int, look: Look) -> str:
    """The few plans along the dial that need discussing; the one of this report says so."""
    if not plan.k or len(plan) == 1:
        return ""
    told = portfolio_story(plan, unit=look.unit, people=look.people)
    body = "".join(
        f"<tr><td>{escape(name)}{' <b>this report</b>' if setting == i else ''}</td>"
        f'<td class="words">{escape(what)}</td></tr>'
        for setting, name, what in zip(told.settings, told.names, told.sentences, strict=True)
    )
    return (
        f"<section><h2>The plans to discuss</h2><p>{escape(told.heading)}</p>"
        f"<table><tbody>{body}</tbody></table></section>"
    )


def _named(plan: Plan, i: int) -> str:
    return f"{facilities_text(plan)}, t = {dial_text(plan.t[i])}" if plan.k else facilities_text(plan)


def _toned(parts: Sequence[Part]) -> str:
    return "".join(
        f'<span class="{part.tone}">{escape(part.text)}</span>' if part.tone else escape(part.text)
        for part in parts
    )


def _figures(rows: Sequence[Row], heading: str, *, alone: bool = False) -> str:
    """The figures of the plan and of what it is compared with; `alone`: of how things stand."""
    if alone:
        body = "".join(
            f"<tr><td>{escape(row.label)}</td><td><b>{row.plan_text}</b></td></tr>" for row in rows
        )
        return f"<table><thead><tr><th>Figure</th><th>{escape(heading)}</th></tr></thead><tbody>{body}</tbody></table>"
    body = "".join(
        f"<tr><td>{escape(row.label)}</td><td><b>{row.plan_text}</b></td><td>{row.reference_text}</td>"
        f'<td class="{row.tone}">{row.change_text}</td></tr>'
        for row in rows
    )
    head = f"<tr><th>Figure</th><th>This plan</th><th>{escape(heading)}</th><th>Change</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _new_sites(plan: Plan, i: int) -> str:
    """Where the new facilities stand, by the names people know."""
    named = [
        f"{number} in {where}"
        for number, kind, where in zip(plan.numbers.tolist(), plan.kinds, stands_in(plan, i), strict=True)
        if kind == "new" and where
    ]
    word = "New facility" if len(named) == 1 else "New facilities"
    return f"<p>{word}: {escape(listed(named))}.</p>" if named else ""


def _rules(plan: Plan, i: int, look: Look) -> str:
    """What the plan had to follow, what was left out because of it, and how good it is proven to be."""
    told = [*plan.rules.sentences(look.people), *plan.remarks, *filter(None, [plan.proof(i)])]
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in told)}</ul>" if told else ""


def _limits(plan: Plan) -> str:
    """What the figures do not know."""
    said = {STRAIGHT: plan.rules.straight, ANYWHERE: plan.k and plan.rules.sites is None, CHOICE: plan.k}
    return " ".join(sentence for sentence, true in said.items() if true)


def _credit(plan: Plan) -> str:
    """Whose streets the trips were measured along."""
    words = plan.rules.travel.attribution
    return f"<p>Streets: {escape(words)}.</p>" if words else ""


def _places(plan: Plan, i: int, look: Look) -> str:
    """The places that gain and lose most, where places have names."""
    changed = most_changed(plan, i)
    if not any(changed):
        return ""
    parts = []
    for title, places, word, verb in zip(
        ("Places that gain most", "Places that lose most"),
        changed,
        ("closer", "farther"),
        ("gains", "loses"),
        strict=True,
    ):
        body = "".join(
            f"<tr><td>{escape(place.name)}</td><td>{place.people:,.0f}</td>"
            f"<td>{format_length(abs(place.change), look.unit)} {word}</td></tr>"
            for place in places
        )
        head = f"<tr><th>Place</th><th>{escape(look.people.capitalize())}</th><th>On average</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
        nobody = f"<p>No place {verb} against {escape(plan.reference.words)}.</p>"
        parts.append(f"<section><h2>{title}</h2>{table if places else nobody}</section>")
    return f'<div class="pair">{"".join(parts)}</div>'


def _sites(plan: Plan, i: int, look: Look) -> str:
    found = plan.evaluation(i, None)
    body = "".join(
        f'<tr><td>{number} ({escape(f"{kind}: {name}" if name else kind)})</td><td class="words">{escape(where)}</td>'
        f"<td>{lat:.5f}</td><td>{lon:.5f}</td>"
        f"<td>{served:,.0f}</td><td>{format_length(far, look.unit)}</td></tr>"
        for number, kind, name, where, (lon, lat), served, far in (
            zip(
                plan.numbers.tolist(),
                plan.kinds,
                plan.names,
                stands_in(plan, i),
                plan.centers_lonlat(i).tolist(),
                found.population.tolist(),
                found.max_distance.tolist(),
                strict=True,
            )
        )
    )
    head = (
        f'<tr><th>Facility</th><th class="words">{"In" if place_names(plan.residents) else ""}</th><th>Latitude</th>'
        f"<th>Longitude</th><th>Serves, {escape(look.people)}</th>"
        "<th>Longest trip</th></tr>"
    )
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
