"""How many facilities to open: every measure against k, for the plan and its reference."""

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
from tkm_core.progress import Progress
from tkm_core.residents import Residents
from tkm_core.wording import counted

SAMPLE = 20_000  # the most residents; a random sample stands for more


@dataclass(frozen=True)
class Count:
    """Measures of a plan with k new facilities, and of its reference, in metres or minutes.

    `limited` says whether facilities have limited room, so that not everyone goes to the nearest.
    """

    k: int
    tilted: Mapping[str, float]
    reference: Mapping[str, float]
    against: Reference = AVERAGE
    limited: bool = False


def measure(plan: Plan, t: float, standard: float | None = None) -> Count:
    """The measures of one plan at t, or at the nearest setting if there are very many residents."""
    plan = plan.with_stop(t)
    i = plan.index(t)
    return Count(
        plan.k,
        _measures(plan.evaluation(i, standard)),
        _measures(plan.reference_evaluation(standard)),
        plan.reference,
        plan.rules.limited,
    )


def _measures(found: Evaluation) -> dict[str, float]:
    """The measures that are shown against k."""
    return {
        name: float(getattr(found, name)) for name in shown_in(COUNTED) if getattr(found, name) is not None
    }


def sampled(residents: Residents, most: int = SAMPLE, seed: int = 0, *, rules: Rules = FREE) -> Residents:
    """The residents, or a random sample of `most` of them drawn by weight if there are more.

    No sample is drawn if a rule concerns every resident: a travel table, limited room, groups that count the same.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> len(sampled(load_sample("generated", n=500), most=100))
    100
    """
    if len(residents) <= most or rules.limited or rules.equal_groups or not rules.travel.any_origin:
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
    """Make and measure a plan for every k.

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
        Rules of the plans.
    plan_for : callable, optional
        Returns the plan for k, if it is made or kept elsewhere; by default it is made here.
    left_out : dict, optional
        Collects the numbers that the rules do not allow, and why. Without it, the first of them is an error.
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
            """Progress of one k as progress of all."""
            if progress is not None:
                progress(
                    (number + done) / len(counts),
                    f"{counted(k, 'facility', 'facilities')}, {text[:1].lower()}{text[1:]}",
                )

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
