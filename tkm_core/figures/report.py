"""The report of a plan for the council: one HTML file with summary, map, figures and settings."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from html import escape

from tkm_core.evaluation import Evaluation
from tkm_core.figures import drawing, report_map
from tkm_core.figures.legend import distances_words, map_legend, tradeoff_words
from tkm_core.figures.look import Look
from tkm_core.figures.maps import MapGround, colour_scheme
from tkm_core.figures.report_page import figures_table, isolated, page, toned
from tkm_core.measures import MEASURES
from tkm_core.planning import Plan, Row, most_changed, place_names, rounded_row, stands_in
from tkm_core.stories import Part, Story, facilities_text, portfolio_story
from tkm_core.units import METRES, format_length, with_unit, worded
from tkm_core.wording import counted, dial_text, listed, plural, renamed

METHOD = (
    "The facilities stand where the trips of everyone together cost least. A trip costs its length squared, and the "
    "further the fairness dial t is turned up, the more the longest trips count (tilted k-means). At t = 0 this is "
    "ordinary k-means, with the lowest mean squared distance; at t = ∞ the longest trip of all is as short as "
    "the search can make it. t has no unit: coordinates are first divided by the spread of the data."
)
STRAIGHT = "Distances are straight lines, not roads or travel times."
NAMED_AT_MOST = 12  # new facilities that a sentence names; more are in the table alone
SPREAD = "How unequal (standard deviation of the distance)"
ANYWHERE = "A new facility is a point on the map: whether there is land, money and room has not been checked."
AREAS = (
    "The residents are areas: the people of each are counted at one point inside it. The corners of an area are up to "
    "{reach} from that point, so a trip may be up to that much longer, or shorter, than the figures say."
)
CHOICE = "t is a choice between the average and the worst-off; no setting is right in itself."


def html_report(
    plan: Plan,
    i: int,
    story: Story,
    look: Look,
    *,
    title: str,
    author: str = "",
    source: str = "",
    link: str = "",
    standard: float | None = None,
    utility: str = "mean_distance",
    fairness: str = "largest_distance",
    budget: float | None = None,
    today: date | None = None,
) -> str:
    """Write a self-contained page about setting i of a plan: it needs no network and prints well.

    Parameters
    ----------
    plan : Plan
    i : int
        Which t.
    story : Story
        Of that plan, as on screen.
    look : Look
        Units, colours, layers, and what people and facilities are called; the report is always light.
    title : str
        What the data are about: the place.
    author : str
        Who prepared the report, if it should say so.
    source, link : str
        Source of the data, and the address of the plan. All these are shown as text.
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

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> from tkm_core.stories import tell_plan
    >>> plan = make_plan(load_sample("generated", n=300), 3, t=[0, 1])
    >>> look, story = Look(facility="library"), tell_plan(plan, 1)
    >>> report = html_report(plan, 1, story, look, title="Springfield", author="A. Lee")
    >>> "<bdi>Springfield</bdi>: 3 libraries" in report, "prepared by <bdi>A. Lee</bdi>" in report
    (True, True)
    """
    closed_alone = plan.reference.kind == "today"  # then the map crosses out all that the plan does not have
    layers = [one for one in look.layers if one != "baseline" or not closed_alone]
    look = replace(look, theme="light", streets=False, layers=tuple(layers))
    evaluation, before = plan.evaluation(i, standard), plan.reference_evaluation(standard)
    alone = (
        plan.is_today and plan.reference.kind == "today"
    )  # no new facilities, so there is nothing to compare
    if alone:
        before = evaluation
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
    heading, facilities = story.reference.heading, plural(look.facility)
    key, more = (_readable(rows, evaluation, before, look) for rows in (story.rows, story.more))
    body = f"""<p class="lead">{_renamed(story.headline, look)}</p>
{_map(plan, i, evaluation, before, look)}
<p>{_renamed(story.detail, look)}</p>{_new_sites(plan, i, look)}{_closed(plan, look)}
<p class="muted">{escape(renamed(story.context, look.facility))}</p>
<section><h2>Key figures</h2>{figures_table(key, heading, alone=alone)}</section>
{_rules(plan, i, look)}
<div class="pair">{trade}<figure><h2>How near people live</h2>{near}
<figcaption class="muted">{escape(near_words)}</figcaption></figure></div>
{"" if alone else _places(plan, i, look)}
{_portfolio(plan, i, look)}
<section class="long"><h2>{escape(facilities[:1].upper() + facilities[1:])}</h2>{
        _sites(plan, i, look)
    }</section>
<section><h2>Further figures</h2>{figures_table(more, heading, alone=alone)}</section>
<section class="long"><h2>Settings</h2><dl>{
        _settings(plan, i, look, title, source, link, alone=alone)
    }</dl></section>
<section class="long"><h2>{"Method" if plan.k else "Limits"}</h2>{
        f"<p>{escape(renamed(METHOD, look.facility))}</p>" if plan.k else ""
    }<p>{escape(renamed(_limits(plan, look), look.facility))}</p>{_credit(plan)}</section>"""
    about = f"fairness dial at t = {dial_text(plan.t[i])}" if plan.k else ""
    return page(title, _headed(plan, look), body, subtitle=about, author=author, today=today)


def _headed(plan: Plan, look: Look) -> str:
    """What the plan does, for the title: "2 new libraries, 1 closed"."""
    noun = (look.facility, plural(look.facility))
    if plan.is_today:
        return f"{noun[1]} today"
    new = sum(kind != "existing" for kind in plan.kinds)
    if not plan.n_today:
        return counted(new, *noun)
    opened = counted(new, f"new {noun[0]}", f"new {noun[1]}")
    if not plan.closed:
        return opened
    return f"{opened}, {len(plan.closed):,} closed" if new else f"{counted(len(plan.closed), *noun)} closed"


def _renamed(parts: Sequence[Part], look: Look) -> str:
    """A sentence as HTML, with the planner's word for facilities."""
    return toned([replace(part, text=renamed(part.text, look.facility)) for part in parts])


def _readable(rows: Sequence[Row], evaluation: Evaluation, before: Evaluation, look: Look) -> list[Row]:
    """Figures in units that people know: no squares of distances; for the variance, the standard deviation."""
    found = []
    for row in rows:
        if row.key == "overall_variance_of_distance":
            values = [math.sqrt(getattr(side, row.key)) / METRES[look.unit] for side in (evaluation, before)]
            label = with_unit(worded(SPREAD, look.unit), look.unit)
            lengths = [one.decimals for one in rows if MEASURES[one.key].power == 1]
            found.append(rounded_row(row.key, label, *values, decimals=max(lengths, default=1)))
        elif MEASURES[row.key].power <= 1:
            found.append(row)
    return found


def _map(plan: Plan, i: int, evaluation: Evaluation, before: Evaluation, look: Look) -> str:
    """The map with its legend."""
    width, height = report_map.SIZE
    ground = MapGround.of(plan.residents, width=width, height=height, existing_lonlat=plan.existing.lonlat)
    drawn = report_map.report_map(plan, i, evaluation, before, ground, look)
    legend = map_legend(colour_scheme(plan, look), ground, look, plan=plan, more=drawn.items)
    left_out = (
        ""
        if drawn.all_named
        else f'<p class="muted">Names for which there is no room on the map are in the table of '
        f"{escape(plural(look.facility))}.</p>"
    )
    return f"<figure>{drawn.svg}<figcaption>{legend}{left_out}</figcaption></figure>"


def _settings(plan: Plan, i: int, look: Look, title: str, source: str, link: str, *, alone: bool) -> str:
    """What the plan was made from and with, as rows of a list."""
    noun = plural(look.facility)
    told = {
        "Data": f"{isolated(title)}: {len(plan.residents):,} places, {plan.people:,.0f} {escape(look.people)}",
        "Source": escape(source),
        escape(noun[:1].upper() + noun[1:]): escape(renamed(facilities_text(plan), look.facility)),
        "Dial": f"t = {dial_text(plan.t[i])}, random seed {plan.random_state}" if plan.k else "",
        "Compared with": "" if alone else escape(plan.reference.technical),
        "Map": escape(str(plan.residents.report.crs or "")),
        "Data fingerprint": plan.residents.fingerprint,
        "Link": escape(link),
    }
    return "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in told.items() if value)


def _portfolio(plan: Plan, i: int, look: Look) -> str:
    """The few plans along the dial that need discussing, and the one of this report, marked."""
    if not plan.k or len(plan) == 1:
        return ""
    told = portfolio_story(plan, also=i, unit=look.unit, people=look.people)
    body = "".join(
        f"<tr><td>{escape(name)}{' <b>this report</b>' if setting == i else ''}</td>"
        f'<td class="words">{escape(what)}</td></tr>'
        for setting, name, what in zip(told.settings, told.names, told.sentences, strict=True)
    )
    return (
        f"<section><h2>The plans to discuss</h2><p>{escape(told.heading)}</p>"
        f"<table><tbody>{body}</tbody></table></section>"
    )


def _new_sites(plan: Plan, i: int, look: Look) -> str:
    """A sentence on where the new facilities stand, by the names of sites and places; "" if there are too many."""
    named = [
        f"{isolated(name)} ({number})" if name else f"{number} in {isolated(where)}"
        for number, kind, name, where in zip(
            plan.numbers.tolist(), plan.kinds, plan.names_at(i), stands_in(plan, i), strict=True
        )
        if kind == "new" and (name or where)
    ]
    if not named or len(named) > NAMED_AT_MOST:
        return ""
    word = f"New {look.facility if len(named) == 1 else plural(look.facility)}"
    return f"<p>{escape(word)}: {listed(named)}.</p>"


def _closed(plan: Plan, look: Look) -> str:
    """A sentence that names the facilities the plan closes."""
    if not plan.closed:
        return ""
    names = plan.existing.names or ("",) * len(plan.existing)
    shut = [f"{isolated(names[j])} ({j + 1})" if names[j] else f"number {j + 1}" for j in plan.closed]
    word = f"Closed {look.facility if len(shut) == 1 else plural(look.facility)}"
    return f"<p>{escape(word)}: {listed(shut)}.</p>"


def _rules(plan: Plan, i: int, look: Look) -> str:
    """The rules of the plan, what they excluded, and how good the plan is proven to be."""
    told = [*plan.rules.sentences(look.people), *plan.remarks, *filter(None, [plan.proof(i)])]
    if not told:
        return ""
    listed_rules = "".join(f"<li>{escape(renamed(one, look.facility))}</li>" for one in told)
    return f"<section><h2>What the plan had to follow</h2><ul>{listed_rules}</ul></section>"


def _limits(plan: Plan, look: Look) -> str:
    """The limits of the figures, in sentences."""
    areas = ""
    if plan.residents.areas is not None:
        areas = AREAS.format(reach=format_length(plan.corner_reach, look.length_unit))
    said = {
        STRAIGHT: plan.rules.straight,
        areas: areas,
        ANYWHERE: plan.k and plan.rules.sites is None,
        CHOICE: plan.k,
    }
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
            f"<tr><td>{isolated(place.name)}</td><td>{place.people:,.0f}</td>"
            f"<td>{format_length(abs(place.change), look.unit)} {word}</td></tr>"
            for place in places
        )
        head = f"<tr><th>Place</th><th>{escape(look.people.capitalize())}</th><th>On average</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
        nobody = f"<p>No place {verb} compared with {escape(plan.reference.words)}.</p>"
        parts.append(f"<section><h2>{title}</h2>{table if places else nobody}</section>")
    return f'<div class="pair">{"".join(parts)}</div>'


def _sites(plan: Plan, i: int, look: Look) -> str:
    """The table of facilities: where each stands, whom it serves, and its longest trip; closed ones come last."""
    found = plan.evaluation(i, None)
    body = "".join(
        f'<tr><td>{number} ({_known_as(kind, name)})</td><td class="words">{isolated(where)}</td>'
        f"<td>{lat:.5f}</td><td>{lon:.5f}</td>"
        f"<td>{served:,.0f}</td><td>{format_length(far, look.unit)}</td></tr>"
        for number, kind, name, where, (lon, lat), served, far in (
            zip(
                plan.numbers.tolist(),
                plan.kinds,
                plan.names_at(i),
                stands_in(plan, i),
                plan.centers_lonlat(i).tolist(),
                found.population.tolist(),
                found.max_distance.tolist(),
                strict=True,
            )
        )
    )
    names = plan.existing.names or ("",) * len(plan.existing)
    for j in plan.closed:
        lon, lat = plan.existing.lonlat[j].tolist()
        body += (
            f'<tr class="muted"><td><s>{j + 1} ({_known_as("closed", names[j])})</s></td><td class="words"></td>'
            f"<td>{lat:.5f}</td><td>{lon:.5f}</td><td>–</td><td>–</td></tr>"
        )
    place = "In" if place_names(plan.residents, slice(1)) else ""
    noun = look.facility[:1].upper() + look.facility[1:]
    head = (
        f'<tr><th>{escape(noun)}</th><th class="words">{place}</th><th>Latitude</th>'
        f"<th>Longitude</th><th>Serves, {escape(look.people)}</th>"
        "<th>Longest trip</th></tr>"
    )
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _known_as(kind: str, name: str) -> str:
    """What a facility is, and its name if it has one."""
    return f"{kind}: {isolated(name)}" if name else kind
