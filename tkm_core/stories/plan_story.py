"""Describe what a plan means for people, in words and a table, for app, report and command line."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation
from tkm_core.measures import KEY, MEASURES, MORE, Measure, figure_decimals, shown_in
from tkm_core.planning import AVERAGE, Plan, Reference, Row, Tone, distance_decimals, rounded_row
from tkm_core.units import METRES, ONE, WORDS, check_unit, worded
from tkm_core.wording import counted, dial_text, listed, singular


@dataclass(frozen=True)
class Part:
    """Part of a sentence; `tone` says whether it is good or bad news."""

    text: str
    tone: Tone = ""


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
    )
    teller = _Teller(people, unit, distance_decimals(found, before, unit), plan.people, plan.reference)
    if plan.is_today and plan.reference.kind != "saved":
        served = counted(round(plan.people), singular(people), people)
        return replace(
            story,
            headline=tuple(teller.state(found, standard)),
            detail=(),
            context=f"{facilities_text(plan)} for {served}, as things stand today.",
        )
    remark = _better_setting(plan, i, teller)
    return (
        replace(story, detail=(*story.detail, Part(f" {remark}" if story.detail else remark)))
        if remark
        else story
    )


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


def _better_setting(plan: Plan, i: int, teller: "_Teller") -> str:
    """A sentence if another setting has the same longest trip and a shorter average; otherwise ""."""
    j = plan.dominated(i)
    if j is None:
        return ""
    saved = round(
        (plan.curve.mean_distance[i] - plan.curve.mean_distance[j]) / METRES[teller.unit], teller.decimals
    )
    if saved <= 0:
        return ""
    return (
        f"With the dial at t = {dial_text(plan.t[j])} the longest trip is no longer than here, and the average trip is "
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

    Returns
    -------
    Story
    """
    check_unit(unit)
    decimals = distance_decimals(plan, before, unit)
    limit = f"{(standard or 0) / METRES[unit]:g} {unit}"
    words = {"one": singular(people), "many": people.capitalize(), "people": people, "standard": limit}
    rows, more = (
        tuple(
            _row(measure, words, plan, before, unit, decimals)
            for key, measure in shown_in(place).items()
            if getattr(plan, key) is not None and getattr(before, key) is not None
        )
        for place in (KEY, MORE)
    )
    by_key = {row.key: row for row in rows}
    farthest, average = by_key["largest_distance"], by_key["mean_distance"]
    others = tuple(row for row in rows if row not in (farthest, average))
    change = (before.distance - plan.distance) / METRES[unit]
    step = 0.5 * 10.0**-decimals  # a change that rounds to zero counts as none
    losing, gaining = change <= -step, change >= step
    teller = _Teller(people, unit, decimals, float(weights.sum()), reference)
    losers, gainers = float(weights[losing].sum()), float(weights[gaining].sum())
    still = not losers and not gainers and farthest.tone == average.tone == "same"
    if still:
        certain = (
            "Nothing changes" if all(row.tone == "same" for row in rows) else "Nothing changes noticeably"
        )
        headline = [Part(certain, "same"), Part(f": {teller.every_trip()} {reference.than}.")]
    else:
        headline = [
            *teller.farthest(farthest),
            Part("; "),
            *teller.average(average),
            *teller.who_pays(losers, gainers),
            Part("."),
        ]
    sentences = [
        teller.how_much("lose", -change[losing], weights[losing]),
        teller.how_much("gain", change[gaining], weights[gaining]),
        teller.also_worse(others, words),
        [] if still else teller.verdict(rows),
    ]
    told = [sentence for sentence in sentences if sentence]
    detail = [part for sentence in told for part in (Part(" "), *sentence)][1:]
    return Story(tuple(headline), tuple(detail), context, rows, more, losers, gainers, reference)


def _today(found: Evaluation, count: int, unit: str) -> str:
    """A sentence on the existing facilities alone, without new ones."""
    length = _Teller("", unit, distance_decimals(found, found, unit), 0.0, AVERAGE).length
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


@dataclass(frozen=True)
class _Teller:
    """Writes the clauses of a story, for given units, people and reference."""

    people: str
    unit: str
    decimals: int
    total: float
    reference: Reference

    def state(self, found: Evaluation, standard: float | None) -> list[Part]:
        """Today's figures, without a comparison."""
        mean, most = (found.mean_distance / METRES[self.unit], found.largest_distance / METRES[self.unit])
        parts = [
            Part("Today the average trip is "),
            Part(self.length(mean), "same"),
            Part(f" and the farthest {singular(self.people)} is "),
            Part(f"{self.length(most)} away", "same"),
        ]
        if standard is not None and found.share_within is not None:
            limit = f"{standard / METRES[self.unit]:g} {WORDS[self.unit]}"
            parts.append(Part(f"; {100 * found.share_within:.1f} % of {self.people} are within {limit}"))
        return [*parts, Part(".")]

    def length(self, value: float) -> str:
        """A distance in words: "3.1 km", "1 mile"."""
        text = f"{abs(value):,.{self.decimals}f}"
        word = (ONE if text == "1" else WORDS)[self.unit]
        return f"{text} {word}"

    def every_trip(self) -> str:
        """The clause for a plan that changes nothing."""
        if round(self.total) == 1:
            return f"the only {singular(self.people)} travels as far as"
        return f"all {self.people} travel as far as"

    def farthest(self, row: Row) -> list[Part]:
        """The clause on the longest trip."""
        subject = f"The {'only' if round(self.total) == 1 else 'farthest'} {singular(self.people)}"
        if row.tone == "same":
            return [Part(f"{subject} stays at "), Part(self.length(row.plan), "same")]
        if row.tone == "better":
            return [Part(f"{subject} comes "), Part(f"{self.length(row.change)} closer", "better")]
        return [Part(f"{subject} ends up "), Part(f"{self.length(row.change)} farther away", "worse")]

    def average(self, row: Row) -> list[Part]:
        """The clause on the average trip."""
        if row.tone == "same":
            return [Part("the average trip stays at "), Part(self.length(row.plan), "same")]
        word = "shorter" if row.tone == "better" else "longer"
        return [Part("the average trip gets "), Part(f"{self.length(row.change)} {word}", row.tone)]

    def crowd(self, count: float) -> tuple[str, bool]:
        """A number of people as a phrase, and whether its verb is singular."""
        share = count / self.total
        if share > 1 - 1e-12:
            return f"every {singular(self.people)}", True
        if share >= 0.995:
            return f"over 99 % of {self.people}", False
        if share >= 0.01:
            return f"{100 * share:.0f} % of {self.people}", False
        whole = round(count)
        if whole == 0:
            return f"under 1 % of {self.people}", False
        return (f"1 {singular(self.people)}", True) if whole == 1 else (f"{whole:,} {self.people}", False)

    def who_pays(self, losers: float, gainers: float) -> list[Part]:
        """The clause on how many travel farther than in the reference, or that nobody does."""
        if round(self.total) == 1:
            return []
        if losers:
            phrase, one = self.crowd(losers)
            return [
                Part(", and "),
                Part(f"{phrase} {'travels' if one else 'travel'} farther", "worse"),
                Part(f" than {self.reference.than}"),
            ]
        if gainers:
            return [
                Part(", and "),
                Part(f"no {singular(self.people)} travels farther", "better"),
                Part(f" than {self.reference.than}"),
            ]
        return []

    def how_much(self, verb: Literal["lose", "gain"], lengths: Floats, weights: Floats) -> list[Part]:
        """The sentence on how much longer or shorter the changed trips are."""
        if round(self.total) == 1 or weights.sum() <= 0:
            return []
        subject = "Those who travel farther lose"
        if verb == "gain":
            phrase, one = self.crowd(float(weights.sum()))
            subject = f"{phrase[:1].upper()}{phrase[1:]} {'gains' if one else 'gain'}"
        mean = self.length(float(np.average(lengths, weights=weights)))
        most = self.length(float(lengths[weights > 0].max()))
        return [
            Part(f"{subject} "),
            Part(mean, "worse" if verb == "lose" else "better"),
            Part("." if mean == most else f" on average, {most} at most."),
        ]

    def also_worse(self, rows: tuple[Row, ...], words: dict[str, str]) -> list[Part]:
        """The sentence that names every other key figure that gets worse."""
        told = [
            worded(MEASURES[row.key].worse, self.unit).format(
                length=self.length(row.change), size=row.size_text, **words
            )
            for row in rows
            if row.tone == "worse"
        ]
        return [Part("Also worse: "), Part(listed(told), "worse"), Part(".")] if told else []

    def verdict(self, rows: tuple[Row, ...]) -> list[Part]:
        """The sentence for a plan that is better on no figure."""
        tones = {row.tone for row in rows}
        if "better" in tones or "worse" not in tones:
            return []
        return [Part(f"None of these figures is better than {self.reference.than}.", "worse")]
