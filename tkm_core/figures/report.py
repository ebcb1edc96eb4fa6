"""The report of a plan for the council: one HTML file with summary, map, figures and settings."""

from dataclasses import replace
from datetime import date
from html import escape

from tkm_core.figures import drawing
from tkm_core.figures.legend import distances_words, map_legend, tradeoff_words
from tkm_core.figures.look import Look
from tkm_core.figures.maps import MapGround, colour_scheme
from tkm_core.figures.report_page import figures_table, page, toned
from tkm_core.planning import Plan, most_changed, place_names, stands_in
from tkm_core.stories import Story, facilities_text, portfolio_story
from tkm_core.units import format_length
from tkm_core.wording import dial_text, listed

METHOD = (
    "The facilities stand where the trips of everyone together cost least. A trip costs its length squared, and the "
    "further the fairness dial t is turned up, the more the longest trips count (tilted k-means). At t = 0 this is "
    "ordinary k-means, with the lowest mean squared distance; at t = ∞ the longest trip of all is as short as "
    "the search can make it. t has no unit: coordinates are first divided by the spread of the data."
)
STRAIGHT = "Distances are straight lines, not roads or travel times."
ANYWHERE = "A new facility is a point on the map: whether there is land, money and room has not been checked."
CHOICE = "t is a choice between the average and the worst-off; no setting is right in itself."


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
    """A self-contained page about setting i of a plan: it needs no network and prints well.

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
    alone = (
        plan.is_today and plan.reference.kind == "today"
    )  # no new facilities, so there is nothing to compare
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
    body = f"""<h1>{toned(story.headline)}</h1>
<p>{toned(story.detail)}</p><p class="muted">{escape(story.context)}</p>
{_new_sites(plan, i)}{_rules(plan, i, look)}<figure>{picture}<figcaption>{legend}</figcaption></figure>
<section><h2>Key figures</h2>{figures_table(story.rows, story.reference.heading, alone=alone)}</section>
<div class="pair">{trade}<figure><h2>How near people live</h2>{near}
<figcaption class="muted">{escape(near_words)}</figcaption></figure></div>
{"" if alone else _places(plan, i, look)}
{_portfolio(plan, i, look)}
<section class="long"><h2>Facilities</h2>{_sites(plan, i, look)}</section>
<section><h2>Further figures</h2>{figures_table(story.more, story.reference.heading, alone=alone)}</section>
<section><h2>Settings</h2><dl>{told}</dl></section>
<section><h2>{"Method" if plan.k else "Limits"}</h2>{f"<p>{escape(METHOD)}</p>" if plan.k else ""}<p>{
        escape(_limits(plan))
    }</p>{_credit(plan)}</section>"""
    return page(title, _named(plan, i), body, today=today)


def _portfolio(plan: Plan, i: int, look: Look) -> str:
    """The few plans along the dial that need discussing, with the one of this report marked."""
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
    """The plan in a few words."""
    return f"{facilities_text(plan)}, t = {dial_text(plan.t[i])}" if plan.k else facilities_text(plan)


def _new_sites(plan: Plan, i: int) -> str:
    """A sentence on where the new facilities stand, by place names."""
    named = [
        f"{number} in {where}"
        for number, kind, where in zip(plan.numbers.tolist(), plan.kinds, stands_in(plan, i), strict=True)
        if kind == "new" and where
    ]
    word = "New facility" if len(named) == 1 else "New facilities"
    return f"<p>{word}: {escape(listed(named))}.</p>" if named else ""


def _rules(plan: Plan, i: int, look: Look) -> str:
    """The rules of the plan, what they excluded, and how good the plan is proven to be."""
    told = [*plan.rules.sentences(look.people), *plan.remarks, *filter(None, [plan.proof(i)])]
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in told)}</ul>" if told else ""


def _limits(plan: Plan) -> str:
    """The limits of the figures, in sentences."""
    said = {STRAIGHT: plan.rules.straight, ANYWHERE: plan.k and plan.rules.sites is None, CHOICE: plan.k}
    return " ".join(sentence for sentence, true in said.items() if true)


def _credit(plan: Plan) -> str:
    """The credit for the streets."""
    words = plan.rules.travel.attribution
    return f"<p>Streets: {escape(words)}.</p>" if words else ""


def _places(plan: Plan, i: int, look: Look) -> str:
    """The places that gain and lose most, if places have names."""
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
        nobody = f"<p>No place {verb} compared with {escape(plan.reference.words)}.</p>"
        parts.append(f"<section><h2>{title}</h2>{table if places else nobody}</section>")
    return f'<div class="pair">{"".join(parts)}</div>'


def _sites(plan: Plan, i: int, look: Look) -> str:
    """The table of facilities: where each stands, whom it serves, and its longest trip."""
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
    place = "In" if place_names(plan.residents, slice(1)) else ""
    head = (
        f'<tr><th>Facility</th><th class="words">{place}</th><th>Latitude</th>'
        f"<th>Longitude</th><th>Serves, {escape(look.people)}</th>"
        "<th>Longest trip</th></tr>"
    )
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
