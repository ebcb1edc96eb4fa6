"""The methods side by side: the same residents, measured in the same way, told in the same words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from tkm_core.evaluation import Evaluation, evaluate, neighbourhood_radius
from tkm_core.methods import Solution, describe, estimate, run_method
from tkm_core.planning.plan import PLAN_CRITERION
from tkm_core.progress import Progress
from tkm_core.residents import Residents
from tkm_core.residents.existing import scaled_sites
from tkm_core.stories.plan_story import METRES, POWERS, Part

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Their time grows no faster than the residents: they always serve everyone, as on the Plan page.
FOR_EVERYONE = ("tkm", "kmeans++")
RADIUS_SECONDS = 10.0  # the neighbourhood measure is left out where it would take longer than this
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven")
RANKS = ("", "", "second", "third", "fourth", "fifth", "sixth", "seventh")


@dataclass(frozen=True)
class Measure:
    """A column of the comparison: less is better, but for a share."""

    key: str
    words: str
    power: int
    more_is_better: bool = False

    def label(self, unit: str, standard: float | None = None) -> str:
        """With its unit: "Farthest, km"."""
        if self.key == "share_within":
            return f"Within {(standard or 0) / METRES[unit]:g} {unit}, %"
        return f"{self.words}, {unit}{POWERS[self.power]}" if self.power else self.words

    def value(self, found: Evaluation, unit: str) -> float:
        """In the unit of the label; NaN where it was not measured."""
        measured = getattr(found, self.key)
        if measured is None:
            return float("nan")
        return (
            float(measured) * 100
            if self.key == "share_within"
            else float(measured) / METRES[unit] ** self.power
        )


MEASURES: Mapping[str, Measure] = {
    measure.key: measure
    for measure in (
        Measure("mean_distance", "Average", 1),
        Measure("p95_distance", "95th percentile", 1),
        Measure("largest_distance", "Farthest", 1),
        Measure("share_within", "Within the standard", 0, more_is_better=True),
        Measure("overall_variance_of_distance", "Variance", 2),
        Measure("sse", "SSE", 2),
        Measure("fairness_ratio", "Neighbourhood ratio", 0),
    )
}


@dataclass(frozen=True, eq=False)
class Compared:
    """One method's facilities for some residents, and what they mean for them.

    Attributes
    ----------
    name : str
        One of ``METHODS``.
    t : float or None
        The dial, for TKM.
    solution : Solution
        In scaled coordinates.
    evaluation : Evaluation
        In metres, always over all residents.
    """

    name: str
    t: float | None
    solution: Solution
    evaluation: Evaluation

    @property
    def title(self) -> str:
        """The method's name; TKM with its t."""
        title = describe(self.name).title
        return title if self.t is None else f"{title}, t = {self.t:g}"

    @property
    def short(self) -> str:
        """The method's name alone."""
        return describe(self.name).title


def solve(
    residents: Residents,
    name: str,
    k: int,
    *,
    t: float,
    patience: float,
    fixed_lonlat: Floats | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Solution:
    """Facilities of one method; where it would take longer than `patience` seconds, from a sample.

    `fixed_lonlat` are existing facilities, which only some methods can keep (`keeps_existing`).

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> solve(load_sample("generated", n=3000), "mv", 3, t=0.1, patience=0.01).sampled
    1000
    """
    uniform = bool((residents.weights == residents.weights[0]).all())
    options: dict[str, Any] = {"t": t, "criterion": PLAN_CRITERION} if name == "tkm" else {}
    if fixed_lonlat is not None:
        options["fixed_centers"] = scaled_sites(residents, fixed_lonlat)
    return run_method(
        name,
        residents.scaled,
        k,
        sample_weight=None if uniform else residents.weights,
        random_state=random_state,
        progress=progress,
        sample=None if name in FOR_EVERYONE else "auto",
        max_seconds=float("inf") if name in FOR_EVERYONE else patience,
        **options,
    )


def keeps_existing(name: str) -> bool:
    """Whether a method can keep facilities where they are.

    Examples
    --------
    >>> from tkm_core.methods import METHODS
    >>> [name for name in METHODS if keeps_existing(name)]
    ['tkm', 'kmeans++', 'nf']
    """
    return "fixed_centers" in describe(name).options


def judge(
    residents: Residents,
    solution: Solution,
    *,
    t: float,
    standard: float | None = None,
    neighbourhood: Floats | None = None,
) -> Compared:
    """Measure a solution over all residents, in metres, whatever it was computed from."""
    found = evaluate(
        residents.xy,
        residents.to_xy(solution.centers),
        t=t / residents.scale**2,
        sample_weight=residents.weights,
        standard=standard,
        neighbourhood=neighbourhood,
    )
    return Compared(solution.method, t if solution.method == "tkm" else None, solution, found)


def neighbourhoods(residents: Residents, k: int, progress: Progress | None = None) -> Floats | None:
    """Everyone's neighbourhood radius in metres, or None where finding it would take too long."""
    if estimate("jkl", len(residents), 2, k).seconds > RADIUS_SECONDS:
        return None
    return neighbourhood_radius(residents.xy, k, residents.weights, progress=progress)


def facility_numbers(reference: Floats, centers: Floats) -> Ints:
    """A number for each centre: that of the reference site it is paired with, so that colours agree.

    Examples
    --------
    >>> facility_numbers(np.array([[0.0, 0], [5, 5], [9, 0]]), np.array([[9.0, 1], [0, 1]])).tolist()
    [2, 0]
    """
    sites, own = linear_sum_assignment(cdist(reference, centers, "sqeuclidean"))
    numbers = np.full(len(centers), -1, np.int64)
    numbers[own] = sites
    left = np.flatnonzero(numbers < 0)
    numbers[left] = len(reference) + np.arange(len(left))
    return numbers


def decimals(compared: Sequence[Compared], key: str, unit: str) -> int:
    """Digits after the point that tell the methods apart: two below 10, else one."""
    values = [MEASURES[key].value(one.evaluation, unit) for one in compared]
    return 2 if max((value for value in values if np.isfinite(value)), default=0.0) < 10 else 1


def best(compared: Sequence[Compared], key: str, unit: str) -> list[bool]:
    """Which methods are best in a measure, as far as the figures shown can tell."""
    measure, digits = MEASURES[key], decimals(compared, key, unit)
    shown = np.array([round(measure.value(one.evaluation, unit), digits) for one in compared])
    if not np.isfinite(shown).any() or len(compared) < 2:
        return [False] * len(compared)
    top = np.nanmax(shown) if measure.more_is_better else np.nanmin(shown)
    return [bool(value == top) for value in shown]


def verdict(compared: Sequence[Compared], unit: str) -> tuple[Part, ...]:
    """Where tilted k-means stands among the methods, in one sentence; it names what it is behind in.

    Parameters
    ----------
    compared : sequence of Compared
    unit : {"km", "mi"}

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
        Part(f"Of {NUMBERS[len(compared)]} methods, tilted k-means has "),
        *_place(_standing(own, others, "largest_distance", unit), " longest trip", unit),
        Part("; its average trip is "),
        *_place(_standing(own, others, "mean_distance", unit), "", unit),
        Part("."),
    )


@dataclass(frozen=True)
class _Standing:
    """A figure of TKM beside the best of the others, both rounded as shown."""

    own: float
    rival: float
    names: str
    rank: int
    digits: int


def _standing(own: Compared, others: Sequence[Compared], key: str, unit: str) -> _Standing:
    measure = MEASURES[key]
    digits = decimals([own, *others], key, unit)
    mine = round(measure.value(own.evaluation, unit), digits)
    theirs = [round(measure.value(one.evaluation, unit), digits) for one in others]
    names = listed([one.short for one, value in zip(others, theirs, strict=True) if value == min(theirs)])
    return _Standing(mine, min(theirs), names, 1 + sum(value < mine for value in theirs), digits)


def _place(found: _Standing, what: str, unit: str) -> list[Part]:
    """How TKM ranks, its figure, and the next best, or who is ahead and by how much."""
    own, rival, behind = (
        f"{value:,.{found.digits}f}" for value in (found.own, found.rival, found.own - found.rival)
    )
    if found.rank == 1:
        shared = f", with {found.names}" if found.own == found.rival else ""
        following = f" (next: {found.names}, {rival})" if found.own < found.rival else ""
        return [Part(f"the shortest{what}{shared}", "better"), Part(f": {own} {unit}{following}")]
    return [
        Part(f"the {RANKS[found.rank]} shortest{what}", "worse"),
        Part(f": {own} {unit}, {behind} {unit} more than {found.names}"),
    ]


def freedom(compared: Sequence[Compared], people: str) -> str:
    """Which methods may build only where a resident lives: part of any difference is that freedom."""
    bound = [one.short for one in compared if one.solution.centers_are_points]
    free = [one.short for one in compared if not one.solution.centers_are_points]
    if not bound or not free:
        return ""
    verb = "places" if len(free) == 1 else "place"
    return (
        f"{listed(bound)} may build only where one of the {people} stands; {listed(free)} {verb} facilities "
        "anywhere. Part of the difference is that freedom, not the idea of fairness."
    )


def sampling(compared: Sequence[Compared], n: int, people: str) -> str:
    """Which methods did not see everyone, and why."""
    drawn = [one for one in compared if one.solution.sampled]
    if not drawn:
        return f"Every method ran on all {n:,} places." if len(compared) > 1 else ""
    size = drawn[0].solution.sampled
    return (
        f"{listed([one.short for one in drawn])} ran on a sample of {size:,} of the {n:,} places, because "
        f"everyone would take too long; all figures are measured on all {people}."
    )


def other_arrangement(compared: Sequence[Compared], on_the_dial: Evaluation, unit: str) -> str:
    """A sentence where TKM, run by itself, ends elsewhere than the plan's path over t; empty where it does not."""
    own = next((one for one in compared if one.name == "tkm"), None)
    if own is None:
        return ""
    change = own.evaluation.city_cost / on_the_dial.city_cost - 1 if on_the_dial.city_cost else 0.0
    if abs(change) < 5e-4:
        return ""
    way = "lower" if change < 0 else "higher"
    mine, there = (f"{found.largest_distance / METRES[unit]:,.1f}" for found in (own.evaluation, on_the_dial))
    trip = f", its longest trip {mine} instead of {there} {unit}" if mine != there else ""
    return (
        f"Run by itself, TKM ends in another arrangement than the Plan page shows at this t: its tilted cost is "
        f"{100 * abs(change):.1f} % {way}{trip}."
    )


def ratio_words(compared: Sequence[Compared]) -> str:
    """What the neighbourhood ratio is, or why there is none."""
    ratios = [one.evaluation.fairness_ratio for one in compared]
    if any(ratio is None for ratio in ratios):
        return "The neighbourhood ratio is left out: for so many it would take too long."
    endless = np.isinf(np.array(ratios, dtype=float))
    why = "one place alone holds as many people as a facility serves on average, so the radius around it is 0"
    if endless.all():
        return f"There is no neighbourhood ratio: {why}, and no distance can be divided by it."
    return (
        "Neighbourhood ratio: the largest distance divided by the radius in which as many people live as a facility "
        "serves on average; JKL promises at most 2." + (f" ∞: {why}." if endless.any() else "")
    )


def left_out(names: Sequence[str], existing: int) -> str:
    """Which methods cannot keep existing facilities and are left out; empty if all can.

    Examples
    --------
    >>> left_out(["tkm", "jkl", "mv"], 3)
    'JKL and MV place every facility anew and cannot keep your 3 existing ones: they are left out here.'
    """
    unable = [describe(name).title for name in names if not keeps_existing(name)]
    if not unable or not existing:
        return ""
    many = len(unable) > 1
    ones = "existing one" if existing == 1 else f"{existing} existing ones"
    return (
        f"{listed(unable)} {'place' if many else 'places'} every facility anew and cannot keep your {ones}: "
        f"{'they are' if many else 'it is'} left out here."
    )


def remarks(compared: Sequence[Compared]) -> list[str]:
    """What else a reader should know about these runs, sampling apart."""
    return [
        note
        for one in compared
        for note in one.solution.notes
        if not (one.solution.sampled and " ran on a sample of " in note)
    ]


def listed(names: Sequence[str]) -> str:
    """Names as in a sentence.

    >>> listed(["JKL", "MV", "FR"])
    'JKL, MV and FR'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
