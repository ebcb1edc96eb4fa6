"""Describe a comparison of methods in words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tkm_core.measures import MEASURES
from tkm_core.methods import BASELINE, OWN, describe
from tkm_core.planning import Compared, Plan, Rules, decimals
from tkm_core.residents import Residents
from tkm_core.stories.clauses import Part
from tkm_core.units import WORDS, shown_standard
from tkm_core.wording import listed, number_word, rank_word, singular


def verdict(compared: Sequence[Compared], unit: str, plan: Plan | None = None) -> tuple[Part, ...]:
    """How tilted k-means ranks among the methods, in one sentence that also says where it is behind.

    Parameters
    ----------
    compared : sequence of Compared
    unit : {"km", "mi"}
    plan : Plan, optional
        Whose page shows the same figures: they have as many digits here.

    Returns
    -------
    tuple of Part
        Empty without TKM or without another method.
    """
    own = next((one for one in compared if one.name == "tkm"), None)
    others = [one for one in compared if one.name != "tkm"]
    if own is None or not others:
        return ()
    return (
        Part(f"Of {number_word(len(compared))} methods, tilted k-means has "),
        *_place(_standing(own, others, "largest_distance", unit, plan), " longest trip", unit),
        Part("; its average trip is "),
        *_place(_standing(own, others, "mean_distance", unit, plan), "", unit),
        Part("."),
    )


def beyond_standard(
    compared: Sequence[Compared], residents: Residents, standard: float, *, unit: str, people: str
) -> tuple[Part, ...]:
    """How many people the usual method leaves beyond the service standard, and how many this plan does.

    Parameters
    ----------
    compared : sequence of Compared
        Measured with that standard.
    residents : Residents
    standard : float
        In metres or minutes.
    unit : {"km", "mi", "min"}
    people : str
        Who they are, in the plural.

    Returns
    -------
    tuple of Part
        Empty without tilted k-means or without k-means++.

    Examples
    --------
    >>> from tkm_core.planning import compare_methods
    >>> from tkm_core.residents.samples import load_sample
    >>> town = load_sample("generated", n=400)
    >>> both = compare_methods(town, 3, t=0.1, methods=["tkm", "kmeans++"], standard=15_000)
    >>> "".join(part.text for part in beyond_standard(both, town, 15_000, unit="km", people="residents"))
    'The usual method (k-means++) leaves 25 residents beyond 15 km; this plan leaves 20.'
    """
    found = {one.name: one.evaluation.share_within for one in compared}
    own, usual = found.get(OWN), found.get(BASELINE)
    if own is None or usual is None:
        return ()
    total = float(residents.weights.sum())
    mine, theirs = (round(total * (1 - share)) for share in (own, usual))
    limit = f"{shown_standard(standard, unit):g} {WORDS[unit]}"
    many = f"{theirs:,} {people if theirs != 1 else singular(people)}" if theirs else f"none of the {people}"
    this = "as many" if mine == theirs else f"{mine:,}" if mine else "none"
    return (
        Part(
            f"The usual method ({describe(BASELINE).title}) leaves {many} beyond {limit}; this plan leaves "
        ),
        Part(this, "better" if mine < theirs else "worse" if mine > theirs else "same"),
        Part("."),
    )


@dataclass(frozen=True)
class _Standing:
    """A figure of TKM and the best of the others, both rounded as shown."""

    own: float
    rival: float
    names: str
    rank: int
    digits: int


def _standing(own: Compared, others: Sequence[Compared], key: str, unit: str, plan: Plan | None) -> _Standing:
    """The rank of TKM in a measure."""
    measure = MEASURES[key]
    digits = decimals([own, *others], key, unit, plan)
    mine = round(measure.of(own.evaluation, unit), digits)
    theirs = [round(measure.of(one.evaluation, unit), digits) for one in others]
    names = listed([one.short for one, value in zip(others, theirs, strict=True) if value == min(theirs)])
    return _Standing(mine, min(theirs), names, 1 + sum(value < mine for value in theirs), digits)


def _place(found: _Standing, what: str, unit: str) -> list[Part]:
    """The rank of TKM, its figure, and the next best method, or the one ahead and by how much."""
    own, rival, behind = (
        f"{value:,.{found.digits}f}" for value in (found.own, found.rival, found.own - found.rival)
    )
    if found.rank == 1:
        shared = f", with {found.names}" if found.own == found.rival else ""
        following = f" (next: {found.names}, {rival})" if found.own < found.rival else ""
        return [Part(f"the shortest{what}{shared}", "better"), Part(f": {own} {unit}{following}")]
    return [
        Part(f"the {rank_word(found.rank)}-shortest{what}", "worse"),
        Part(f": {own} {unit}, {behind} {unit} more than {found.names}"),
    ]


def freedom(compared: Sequence[Compared], people: str) -> str:
    """Say which methods may build only where a resident lives, since that explains part of the differences."""
    bound = [one.short for one in compared if one.solution.centers_are_points]
    free = [one.short for one in compared if not one.solution.centers_are_points]
    if not bound or not free:
        return ""
    verb = "places" if len(free) == 1 else "place"
    return (
        f"{listed(bound)} may build only where one of the {people} is; {listed(free)} {verb} facilities "
        "anywhere. Part of the difference comes from that freedom, not from fairness."
    )


def rules_apply(compared: Sequence[Compared], rules: Rules) -> str:
    """Say how methods are compared under rules that only tilted k-means follows.

    Examples
    --------
    >>> from tkm_core.planning import compare_methods
    >>> from tkm_core.residents import Sites
    >>> from tkm_core.residents.samples import load_sample
    >>> town = load_sample("generated", n=100)
    >>> rules = Rules(sites=Sites(town.lonlat[:20]))
    >>> rules_apply(compare_methods(town, 2, methods=["tkm", "kmeans++"], rules=rules), rules)
    'TKM is the plan under your rules. k-means++ plans by straight lines and without your rules: its facilities are \
moved to candidate sites, and all are measured by the rules, in a straight line.'
    """
    others = [one.short for one in compared if one.name != OWN]
    own = "TKM is the plan under your rules. " if len(others) < len(compared) else ""
    if not others:
        return own.strip()
    plans, whose = ("plans", "its") if len(others) == 1 else ("plan", "their")
    where = "candidate sites" if rules.sites is not None else "the nearest junctions of the streets"
    stay = rules.sites is None and rules.straight
    move = f"{whose} facilities stay where they are" if stay else f"{whose} facilities are moved to {where}"
    return (
        f"{own}{listed(others)} {plans} by straight lines and without your rules: {move}, and all are measured by "
        f"the rules, {rules.travel.words}."
    )


def sampling(compared: Sequence[Compared], n: int, people: str) -> str:
    """Say which methods ran on a sample, and why."""
    drawn = [one for one in compared if one.solution.sampled]
    if not drawn:
        return f"Every method ran on all {n:,} places." if len(compared) > 1 else ""
    size = drawn[0].solution.sampled
    return (
        f"{listed([one.short for one in drawn])} ran on a sample of {size:,} of the {n:,} places, because "
        f"all of them would take too long; every figure is measured for all {people}."
    )


RATIO = (
    "a person's distance divided by the radius around their home in which as many people live as a facility serves on "
    "average; the worst of all"
)
"""What the neighbourhood ratio is; the glossary says the same."""


def ratio_words(compared: Sequence[Compared]) -> str:
    """Explain the neighbourhood ratio, or why there is none."""
    ratios = [one.evaluation.fairness_ratio for one in compared]
    if any(ratio is None for ratio in ratios):
        return (
            "The neighbourhood ratio, which compares everyone with their neighbours, is left out: "
            "for so many it would take too long."
        )
    endless = np.isinf(np.array(ratios, dtype=float))
    why = "one place alone holds as many people as a facility serves on average, so the radius around it is 0"
    if endless.all():
        return f"There is no neighbourhood ratio: {why}, and no distance can be divided by it."
    return f"Neighbourhood ratio: {RATIO}; JKL promises at most 2." + (f" ∞: {why}." if endless.any() else "")


def left_out(names: Sequence[str], n_existing: int) -> str:
    """Say which methods are left out because they cannot keep existing facilities; empty if all can.

    Examples
    --------
    >>> left_out(["tkm", "jkl", "mv"], 3)
    'JKL and MV place every facility anew and cannot keep your 3 existing ones: they are left out here.'
    """
    unable = [describe(name).title for name in names if not describe(name).keeps_existing]
    if not unable or not n_existing:
        return ""
    many = len(unable) > 1
    ones = "existing one" if n_existing == 1 else f"{n_existing} existing ones"
    return (
        f"{listed(unable)} {'place' if many else 'places'} every facility anew and cannot keep your {ones}: "
        f"{'they are' if many else 'it is'} left out here."
    )


def remarks(compared: Sequence[Compared]) -> list[str]:
    """Other notes on these runs, except on sampling."""
    return [
        note
        for one in compared
        for note in one.solution.notes
        if not (one.solution.sampled and " ran on a sample of " in note)
    ]
