"""Describe what a plan means for people, in words and a table, for app, report and command line."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation, compare_trips
from tkm_core.measures import KEY, MORE, Measure, figure_decimals, shown_in
from tkm_core.planning import AVERAGE, Plan, Reference, Row, distance_decimals, rounded_row
from tkm_core.stories.clauses import NOTHING, Part, Teller, farthest_one
from tkm_core.units import METRES, check_unit, format_length, shown_standard
from tkm_core.wording import counted, dial_text, listed, singular


@dataclass(frozen=True)
class Story:
    """A description of a plan compared with its reference.

    Attributes
    ----------
    headline : tuple of Part
        One sentence: the longest trip, the average trip, and how many people travel farther.
    detail : tuple of Part
        Further sentences: how much people lose and gain, every other key figure that gets worse, and whether the
        reference or another setting is simply better. May be empty.
    context : str
        What is compared: "6 facilities for 932 homes, compared with the lowest-average plan (k-means++)."
    rows, more : tuple of Row
        The key figures, and the rest.
    losers, gainers : float
        How many people travel noticeably farther, or less far, than in the reference.
    reference : Reference
        What the plan is compared with.
    """

    headline: tuple[Part, ...]
    detail: tuple[Part, ...]
    context: str
    rows: tuple[Row, ...]
    more: tuple[Row, ...]
    losers: float
    gainers: float
    reference: Reference = AVERAGE

    @property
    def headline_text(self) -> str:
        """The headline without tones."""
        return "".join(part.text for part in self.headline)

    @property
    def detail_text(self) -> str:
        """The detail without tones."""
        return "".join(part.text for part in self.detail)

    @property
    def text(self) -> str:
        """Headline and detail as plain text."""
        return " ".join(text for text in (self.headline_text, self.detail_text) if text)


def tell_plan(
    plan: Plan, i: int, *, unit: str = "km", standard: float | None = None, people: str = "residents"
) -> Story:
    """Describe setting i of a plan, compared with its reference, in words and figures.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    unit : {"km", "mi", "min"}
        If trips cannot be shown in it, the plan's own unit is used.
    standard : float, optional
        A service standard in metres, or in minutes if the plan uses minutes.
    people : str
        Who is served, in the plural: "homes".

    Returns
    -------
    Story

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3, with_t=0.3)
    >>> tell_plan(plan, plan.index(0.3), people="homes").context
    '3 facilities for 300 homes, compared with the lowest-average plan (k-means++). The fairness dial is at t = 0.3.'
    """
    unit = plan.shown_unit(unit)
    served = counted(round(plan.people), singular(people), people)
    rival = plan.reference.technical
    if plan.reference.kind == "average" and plan.n_existing:
        kept = dict.fromkeys(kind for kind in plan.kinds if kind != "new")
        rival = f"{rival} with the same {' and '.join(kept)} ones"
    context = f"{facilities_text(plan)} for {served}, compared with {rival}."
    if plan.k:
        context = f"{context} The fairness dial is at t = {dial_text(plan.t[i])}."
    if plan.rules.travel.sentence:
        context = f"{context} {plan.rules.travel.sentence}"
    if plan.today is not None and plan.reference.kind != "today":
        context = f"{context} {_today(plan.today, plan.n_today, unit)}"
    found, before = plan.evaluation(i, standard), plan.reference_evaluation(standard)
    story = tell(
        found,
        before,
        plan.residents.weights,
        context=context,
        unit=unit,
        standard=standard,
        people=people,
        reference=plan.reference,
        farthest=farthest_one(plan.residents, people),
        only_adds=plan.only_adds,
    )
    teller = Teller(
        people,
        farthest_one(plan.residents, people),
        unit,
        distance_decimals(found, before, unit),
        plan.people,
        plan.reference,
    )
    if plan.is_today and plan.reference.kind != "saved":
        served = counted(round(plan.people), singular(people), people)
        return replace(
            story,
            headline=tuple(teller.state(found, standard)),
            detail=(*_parts([_corners(plan, i, teller)]),),
            context=f"{facilities_text(plan)} for {served}, as things stand today.",
        )
    remarks = _parts([_room(plan), _corners(plan, i, teller), _better_setting(plan, i, teller)])
    if story.detail and remarks:
        remarks = (Part(" "), *remarks)
    return replace(story, detail=(*story.detail, *remarks))


def _parts(sentences: Sequence[str]) -> tuple[Part, ...]:
    """Sentences in a row; empty ones are left out."""
    told = " ".join(filter(None, sentences))
    return (Part(told),) if told else ()


def _room(plan: Plan) -> str:
    """A sentence on today's facilities, or those of the reference, that are too small for the limits of the plan."""
    if plan.reference.kind == "today":
        full = plan.overfull_today()
        those = "the one facility" if plan.n_today == 1 else f"{full} of the {plan.n_today} facilities"
        return f"At these limits, {those} would be over full today." if full else ""
    if plan.reference_fits:
        return ""
    return (
        f"At these limits there is not room for everyone {plan.reference.than}: its people are measured to the nearest "
        "facility."
    )


def _corners(plan: Plan, i: int, teller: Teller) -> str:
    """A sentence on how far it is from the corners of areas, all of whose people are counted at one point."""
    if plan.residents.areas is None:
        return ""
    counted_at = "The people of an area are counted at one point inside it"
    if not plan.rules.straight:
        return f"{counted_at}, and its corners are up to {format_length(plan.corner_reach, 'km')} from there."
    corner = f"{counted_at}: from the farthest corner of an area the trip is"
    size = METRES[teller.unit]
    now, then = (
        teller.length(far / size) for far in (plan.farthest_corner(i), plan.reference_farthest_corner())
    )
    if plan.is_today:
        return f"{corner} {now}."
    if now == then:
        return f"{corner} {now}, as long as {plan.reference.than}."
    return f"{corner} {now}, and {then} {plan.reference.than}."


def facilities_text(plan: Plan) -> str:
    """The number of facilities in words: "4 new and 24 existing facilities", and how many are closed.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> sites = [[-0.1, 51.5], [-0.12, 51.52], [-0.08, 51.49]]
    >>> facilities_text(make_plan(load_sample("generated", n=200), 2, fixed_lonlat=sites, closed=[1]))
    '2 new and 2 existing facilities (1 closed)'
    """
    if not len(plan.existing):
        return counted(plan.k, "facility", "facilities")
    kinds = Counter(plan.kinds)
    noun = "facility" if list(kinds.values())[-1] == 1 else "facilities"
    told = listed([f"{count} {kind}" for kind, count in kinds.items()])
    return f"{told} {noun}" + (f" ({len(plan.closed)} closed)" if plan.closed else "")


def _better_setting(plan: Plan, i: int, teller: "Teller") -> str:
    """A sentence if another setting has the same longest trip and a shorter average; otherwise ""."""
    j = plan.dominated(i)
    if j is None:
        return ""
    saved = round(
        (plan.curve.mean_distance[i] - plan.curve.mean_distance[j]) / METRES[teller.unit], teller.decimals
    )
    if saved <= 0:
        return ""
    more = (plan.curve.largest_distance[j] - plan.curve.largest_distance[i]) / METRES[teller.unit]
    longest = "no longer" if more < NOTHING[teller.unit] else "practically as long"
    return (
        f"Take t = {dial_text(plan.t[j])} instead: there the longest trip is {longest}, and the average trip is "
        f"{teller.length(saved)} shorter."
    )


def tell(
    plan: Evaluation,
    before: Evaluation,
    weights: Floats,
    *,
    context: str,
    unit: str = "km",
    standard: float | None = None,
    people: str = "residents",
    reference: Reference = AVERAGE,
    farthest: str = "",
    only_adds: bool = False,
) -> Story:
    """Describe the difference between two evaluations of the same residents, in words and rows.

    Parameters
    ----------
    plan, before : Evaluation
        In metres, computed with `standard` if there should be a row for it.
    weights : ndarray of shape (n,)
        People at each point.
    context : str
        What is compared with what.
    unit : {"km", "mi"}
        Unit of what is shown.
    standard : float, optional
        The service standard in metres.
    people : str
        Who is served, in the plural.
    reference : Reference
        What `before` is.
    farthest : str
        Whose trip is the farthest; by default one of the people.
    only_adds : bool
        Whether the plan has all facilities of `before` and no limits, so that nobody can travel farther.

    Returns
    -------
    Story
    """
    check_unit(unit)
    decimals = distance_decimals(plan, before, unit)
    limit = f"{shown_standard(standard or 0, unit):g} {unit}"
    one = farthest or singular(people)
    words = {"one": one.rstrip(","), "many": people.capitalize(), "people": people, "standard": limit}
    rows, more = (
        tuple(
            _row(measure, words, plan, before, unit, decimals)
            for key, measure in shown_in(place).items()
            if getattr(plan, key) is not None and getattr(before, key) is not None
        )
        for place in (KEY, MORE)
    )
    by_key = {row.key: row for row in rows}
    longest, average = by_key["largest_distance"], by_key["mean_distance"]
    others = tuple(row for row in rows if row not in (longest, average))
    found = compare_trips(before.trips(weights), plan.trips(weights))
    trips = found.people > 0
    change, crowd = found.gain[trips] / METRES[unit], found.people[trips]
    teller = Teller(people, one, unit, decimals, float(weights.sum()), reference)
    losing, gaining = change <= -teller.step, change >= teller.step
    losers, gainers = float(crowd[losing].sum()), float(crowd[gaining].sum())
    hidden = (np.abs(change) >= NOTHING[unit]) & ~losing & ~gaining
    still = not losers and not gainers and longest.tone == average.tone == "same"
    if still:
        certain = "Nothing changes noticeably" if hidden.any() else "Nothing changes"
        about = "about as far as" if hidden.any() else "as far as"
        headline = [Part(certain, "same"), Part(f": {teller.every_trip(about)} {reference.than}.")]
    else:
        most = float(-change.min(initial=0.0))
        headline = [
            *teller.farthest(longest),
            Part("; "),
            *teller.average(average),
            *teller.who_pays(losers, gainers, most, only_adds=only_adds),
            Part("."),
        ]
    sentences = [
        teller.how_much("lose", -change[losing], crowd[losing]),
        teller.how_much("gain", change[gaining], crowd[gaining]),
        teller.uncounted() if hidden.any() and (losers or gainers) else [],
        teller.also_worse(others, words),
        [] if still else teller.verdict(rows),
    ]
    told = [sentence for sentence in sentences if sentence]
    detail = [part for sentence in told for part in (Part(" "), *sentence)][1:]
    return Story(tuple(headline), tuple(detail), context, rows, more, losers, gainers, reference)


def _today(found: Evaluation, count: int, unit: str) -> str:
    """A sentence on the existing facilities alone, without new ones."""
    length = Teller("", "", unit, distance_decimals(found, found, unit), 0.0, AVERAGE).length
    mean, most = (length(metres / METRES[unit]) for metres in (found.mean_distance, found.largest_distance))
    subject = (
        "Today, with the one facility that exists" if count == 1 else f"Today, with the {count} that exist"
    )
    return f"{subject}, the average trip is {mean} and the longest {most}."


def _row(
    measure: Measure, words: dict[str, str], plan: Evaluation, before: Evaluation, unit: str, decimals: int
) -> Row:
    """A row of the table: a measure in its unit, with label and decimals."""
    values = [measure.of(side, unit) for side in (plan, before)]
    if measure.decimals is not None:
        decimals = measure.decimals
    elif measure.power != 1:
        decimals = figure_decimals(*values)
    return rounded_row(measure.key, measure.row_label(unit, words), *values, decimals=decimals)
