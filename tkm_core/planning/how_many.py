"""How many facilities: every measure against k, the plan next to what it is compared with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tkm_core.evaluation import Evaluation
from tkm_core.measures import COUNTED, shown_in
from tkm_core.planning.making import make_plan
from tkm_core.planning.plan import Plan
from tkm_core.planning.reference import AVERAGE, Reference
from tkm_core.planning.rules import FREE, Rules
from tkm_core.planning.travel import ByTable
from tkm_core.progress import Progress
from tkm_core.residents import Residents

SAMPLE = 20_000  # residents that stand for more


@dataclass(frozen=True)
class Count:
    """What k new facilities mean: the measures of the plan and of what it is compared with, in metres."""

    k: int
    tilted: Mapping[str, float]
    reference: Mapping[str, float]
    against: Reference = AVERAGE


def measure(plan: Plan, t: float, standard: float | None = None) -> Count:
    """The measures of one plan at t, or where residents are very many at the setting nearest to it."""
    plan = plan.with_stop(t)
    i = plan.index(t)
    return Count(
        plan.k,
        _measures(plan.evaluation(i, standard)),
        _measures(plan.reference_evaluation(standard)),
        plan.reference,
    )


def _measures(found: Evaluation) -> dict[str, float]:
    return {
        name: float(getattr(found, name)) for name in shown_in(COUNTED) if getattr(found, name) is not None
    }


def sampled(residents: Residents, most: int = SAMPLE, seed: int = 0, *, rules: Rules = FREE) -> Residents:
    """Residents, or so many of them drawn at random by weight where there are more.

    All of them where a rule is about each of them: a travel table, limited room, groups that count the same.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> len(sampled(load_sample("generated", n=500), most=100))
    100
    """
    if len(residents) <= most or rules.limited or rules.equal_groups or isinstance(rules.travel, ByTable):
        return residents
    chance = residents.weights / residents.weights.sum()
    drawn = np.random.default_rng(seed).choice(len(residents), most, p=chance)
    return Residents.from_lonlat(residents.lonlat[drawn], name=residents.name, keep_suspect=True)


def compare_counts(
    residents: Residents,
    counts: Sequence[int],
    t: float,
    *,
    standard: float | None = None,
    random_state: int = 0,
    rules: Rules = FREE,
    plan_for: Callable[[int, Progress], Plan] | None = None,
    left_out: dict[int, str] | None = None,
    progress: Progress | None = None,
) -> list[Count]:
    """Solve for every k, and measure.

    Parameters
    ----------
    residents : Residents
    counts : sequence of int
        Numbers of facilities.
    t : float
        The dial.
    standard : float, optional
        Service standard in metres.
    random_state : int
    rules : Rules
        What the plans have to follow.
    plan_for : callable, optional
        Gives the plan for k where it is made or kept elsewhere; by default it is made here.
    left_out : dict, optional
        Takes up the numbers that the rules do not allow, and why. Without it, the first of them is an error.
    progress : callable, optional
        As in `make_plan`.

    Returns
    -------
    list of Count

    Raises
    ------
    ValueError
        If no number is possible, with the sentence for the last one.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> two, three = compare_counts(load_sample("generated", n=300), [2, 3], 0.3)
    >>> two.reference["mean_distance"] > three.reference["mean_distance"]
    True
    """
    found: list[Count] = []
    for number, k in enumerate(counts):

        def told(done: float, text: str, number: int = number, k: int = k) -> None:
            if progress is not None:
                progress((number + done) / len(counts), f"k = {k}: {text}")

        try:
            if plan_for is None:
                plan = make_plan(
                    residents, k, with_t=t, rules=rules, random_state=random_state, progress=told
                )
            else:
                plan = plan_for(k, told)
        except ValueError as problem:
            if left_out is None or (not found and number == len(counts) - 1):
                raise
            left_out[k] = str(problem)
            continue
        found.append(measure(plan, t, standard))
    return found


def series(counts: Sequence[Count], side: str, name: str) -> npt.NDArray[np.float64]:
    """One measure along k, of "tilted" (the plan) or "reference"."""
    return np.array([getattr(count, side).get(name, np.nan) for count in counts], dtype=float)
