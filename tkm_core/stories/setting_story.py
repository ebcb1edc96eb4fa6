"""Short descriptions: a setting, the accepted average, a moved facility, pinned facilities, catchments, two plans."""

from collections.abc import Sequence
from dataclasses import replace

from tkm_core.planning import (
    BY_STRAIGHT_LINES,
    ByStraightLines,
    Move,
    Plan,
    Reached,
    Row,
    moved,
    same_facilities,
)
from tkm_core.stories.clauses import Part, farthest_one
from tkm_core.stories.plan_story import Story, tell
from tkm_core.units import check_unit, format_length
from tkm_core.wording import counted, dial_text, listed, singular


def tell_setting(
    plan: Plan, i: int, *, unit: str = "km", standard: float | None = None, people: str = "residents"
) -> Story:
    """The farthest and the average trip at setting i, from the trade-off curve; arguments as in `tell_plan`.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3, with_t=0.3)
    >>> tell_setting(plan, plan.index(0.3), people="homes").headline_text
    'The farthest home is 30.2 km away; the average trip is 8.6 km.'
    """
    unit = plan.shown_unit(check_unit(unit))
    curve = plan.trade_off(standard)
    far, mean = (
        format_length(float(values[i]), unit) for values in (curve.largest_distance, curve.mean_distance)
    )
    headline = Part(
        f"The farthest {farthest_one(plan.residents, people)} is {far} away; the average trip is {mean}."
    )
    return Story((headline,), (), f"The fairness dial is at t = {dial_text(plan.t[i])}.", (), (), 0.0, 0.0)


def tell_budget(plan: Plan, i: int, percent: float) -> str:
    """Whether the average trip at setting i is at most `percent` % longer than at its lowest, and by how much.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3, with_t=0.3)
    >>> tell_budget(plan, plan.index(0.3), 5)
    'The average trip is 40.7 % longer than in the lowest-average plan, more than the 5 % you accept.'
    >>> tell_budget(plan, len(plan) - 1, 5)
    'The average trip is 143.7 % longer than in the lowest-average plan, more than the 5 % you accept.'
    """
    kept = "within" if plan.meets_budget(i, percent) else "more than"
    cost = round(plan.cost_percent(i), 1)
    more = f"{abs(cost):.1f} % {'longer' if cost > 0 else 'shorter'} than" if cost else "as long as"
    return f"The average trip is {more} in the lowest-average plan, {kept} the {percent:g} % you accept."


def tell_move(
    plan: Plan,
    i: int,
    j: int,
    lonlat: Sequence[float],
    *,
    unit: str = "km",
    standard: float | None = None,
    people: str = "residents",
) -> tuple[Row, ...]:
    """The key figures at setting i if facility j stood elsewhere, compared with the plan.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3)
    >>> {row.change_text for row in tell_move(plan, 0, 1, plan.centers_lonlat(0)[1])}
    {'='}
    """
    return tell(
        moved(plan, i, j, lonlat, standard),
        plan.evaluation(i, standard),
        plan.residents.weights,
        context="",
        unit=plan.shown_unit(unit),
        standard=standard,
        people=people,
    ).rows


def tell_pins(
    pinned: Plan, free: Plan, t: float, count: int, *, unit: str = "km", people: str = "residents"
) -> str:
    """What pinned facilities cost: longest and average trip, compared with the plan without pins.

    Parameters
    ----------
    pinned, free : Plan
        With and without the pins, for the same number of facilities.
    t : float
        Setting of the dial.
    count : int
        How many are pinned.
    unit, people
        As in `tell_plan`.
    """
    unit = pinned.shown_unit(unit)
    with_pins, without = (plan.evaluation(plan.index(t)) for plan in (pinned, free))
    told = tell(with_pins, without, pinned.residents.weights, context="", unit=unit, people=people)
    rows = {row.key: row for row in told.rows}

    def cost(key: str) -> str:
        """How much longer or shorter a trip is with the pins."""
        row = rows[key]
        return (
            "the same"
            if row.change == 0
            else f"{row.size_text} {unit} {'longer' if row.change > 0 else 'shorter'}"
        )

    subject = "One facility is pinned" if count == 1 else f"{count} facilities are pinned"
    return (
        f"{subject}: the longest trip is {cost('largest_distance')} and the average trip {cost('mean_distance')} "
        f"{'than' if 'same' not in cost('mean_distance') else 'as'} if all were free."
    )


def tell_straight_lines(
    other: ByStraightLines,
    i: int,
    *,
    unit: str = "km",
    standard: float | None = None,
    people: str = "residents",
) -> Story:
    """What planning by straight lines would mean at setting i, measured by the rules of the plan.

    Parameters
    ----------
    other : ByStraightLines
        The plan and its counterpart by straight lines.
    i : int
        Setting of the plan's dial.
    unit, standard, people
        As in `tell_plan`.

    Returns
    -------
    Story
        Its headline is one sentence; its rows compare the plan with straight lines.
    """
    plan = other.plan
    unit = plan.shown_unit(unit)
    told = tell(
        plan.evaluation(i, standard),
        other.evaluation(i, standard),
        plan.residents.weights,
        context=f"The fairness dial is at t = {dial_text(plan.t[i])}.",
        unit=unit,
        standard=standard,
        people=people,
        reference=BY_STRAIGHT_LINES,
    )
    farthest = farthest_one(plan.residents, people)
    rows = {row.key: row for row in told.rows}
    far, mean = rows["largest_distance"], rows["mean_distance"]
    headline = (
        Part(f"Planned by straight lines at the same setting, the farthest {farthest} would be "),
        Part(f"{far.reference_text} {unit}", "worse" if far.tone == "better" else ""),
        Part(f" away instead of {far.plan_text}, and the average trip would be "),
        Part(f"{mean.reference_text} {unit}", "worse" if mean.tone == "better" else ""),
        Part(f" instead of {mean.plan_text}, {plan.rules.travel.words}."),
    )
    return replace(told, headline=headline)


def tell_catchments(
    reached: Sequence[Reached], *, of: str, by: str = "on foot", people: str = "residents"
) -> str:
    """How many people live within each travel time, in a sentence.

    Parameters
    ----------
    reached : sequence of Reached
    of : str
        "a facility", or the name of one.
    by : str
        How they travel.
    people : str
        Who is served, in the plural.

    Examples
    --------
    >>> near = [Reached(5.0, 70.0, 0.07, 1.0, None), Reached(10.0, 250.0, 0.25, 3.0, None)]
    >>> tell_catchments(near, of="a facility", by="by car", people="homes")
    'Within 5 min by car of a facility: 70 homes (7 %). Within 10 min: 250 (25 %).'
    """
    told = []
    for place, one in enumerate(reached):
        count = f"{round(one.people):,}"
        share = f"({100 * one.share:.0f} %)" if one.share >= 0.01 or not one.people else "(under 1 %)"
        told.append(
            f"Within {one.minutes:g} min {by} of {of}: {count} {people} {share}."
            if place == 0
            else f"Within {one.minutes:g} min: {count} {share}."
        )
    return " ".join(told)


def tell_moves(moves: Sequence[Move], total: float, *, before: str, after: str, people: str) -> str:
    """How many people are served by different facilities in two plans, in a sentence.

    Parameters
    ----------
    moves : sequence of Move
    total : float
        How many people are served.
    before, after : str
        What the plans are called.
    people : str
        Who is served, in the plural.

    Examples
    --------
    >>> tell_moves([Move("Facility 1", "Facility 2", 30.0, -900.0)], 120.0, before="A", after="B", people="homes")
    'From A to B, 30 homes of 120 (25 %) change to another facility. All others keep theirs, wherever it stands.'
    """
    moving = sum(move.people for move in moves)
    if round(moving) == 0:
        return f"From {before} to {after}, everyone keeps their facility, wherever it stands."
    who = counted(round(moving), singular(people), people)
    verb = "changes" if round(moving) == 1 else "change"
    share = 100 * moving / total
    rest = "" if share > 99.95 else " All others keep theirs, wherever it stands."
    shown = f"{share:.0f} %" if share >= 1 else "under 1 %"
    return f"From {before} to {after}, {who} of {round(total):,} ({shown}) {verb} to another facility.{rest}"


def tell_numbers(before: Plan, after: Plan, *, first: str, second: str) -> str:
    """Which new facilities of two plans are the same under different numbers, in a sentence; "" if none are.

    Parameters
    ----------
    before, after : Plan
        For the same residents; the first setting of each counts.
    first, second : str
        What the plans are called.
    """
    same = [
        (int(before.numbers[one]), int(after.numbers[other]))
        for other, one in enumerate(same_facilities(before, after).tolist())
        if one >= 0 and before.numbers[one] != after.numbers[other]
    ]
    if not same:
        return ""
    (one, other), *rest = sorted(same)
    told = [f"{one} in {first} is {other} in {second}", *(f"{one} is {other}" for one, other in rest)]
    return f"New facilities are numbered separately in every plan: {listed(told)}."
