"""How many facilities: every measure against k, tilted k-means next to k-means++."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tkm_core.evaluation import Evaluation
from tkm_core.planning.plan import Plan, make_plan
from tkm_core.progress import Progress
from tkm_core.residents import Residents
from tkm_core.stories.plan_story import METRES, singular

SAMPLE = 20_000  # residents that stand for more
ENDINGS = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True)
class Count:
    """What k facilities mean: the measures of tilted k-means and of k-means++, in metres."""

    k: int
    tilted: Mapping[str, float]
    baseline: Mapping[str, float]


MEASURES = (
    "mean_distance",
    "p95_distance",
    "largest_distance",
    "overall_variance_of_distance",
    "share_within",
)


def measure(plan: Plan, t: float, standard: float | None = None) -> Count:
    """The measures of one plan at t."""
    i = plan.index(t)
    return Count(
        plan.k,
        _measures(plan.evaluation(i, standard)),
        _measures(plan.baseline_evaluation(standard)),
    )


def _measures(found: Evaluation) -> dict[str, float]:
    return {name: float(getattr(found, name)) for name in MEASURES if getattr(found, name) is not None}


def sampled(residents: Residents, most: int = SAMPLE, seed: int = 0) -> Residents:
    """Residents, or so many of them drawn at random by weight where there are more.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> len(sampled(load_sample("generated", n=500), most=100))
    100
    """
    if len(residents) <= most:
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
    plan_for: Callable[[int, Progress], Plan] | None = None,
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
    plan_for : callable, optional
        Gives the plan for k where it is made or kept elsewhere; by default it is made here.
    progress : callable, optional
        As in `make_plan`.

    Returns
    -------
    list of Count

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> two, three = compare_counts(load_sample("generated", n=300), [2, 3], 0.3)
    >>> two.baseline["mean_distance"] > three.baseline["mean_distance"]
    True
    """
    found = []
    for number, k in enumerate(counts):

        def told(done: float, text: str, number: int = number, k: int = k) -> None:
            if progress is not None:
                progress((number + done) / len(counts), f"k = {k}: {text}")

        if plan_for is None:
            plan = make_plan(residents, k, random_state=random_state, progress=told)
        else:
            plan = plan_for(k, told)
        found.append(measure(plan, t, standard))
    return found


def one_more(counts: Sequence[Count], k: int, *, unit: str, people: str, existing: int = 0) -> str:
    """What one more facility buys beside the existing ones, in a sentence; empty if k + 1 was not measured.

    Examples
    --------
    >>> before = Count(3, {"mean_distance": 5000.0, "largest_distance": 20000.0}, {})
    >>> after = Count(4, {"mean_distance": 4200.0, "largest_distance": 21000.0}, {})
    >>> one_more([before, after], 3, unit="km", people="homes")
    'A 4th facility makes the average trip 0.8 km shorter; the farthest home ends up 1.0 km farther away.'
    """
    by_k = {count.k: count for count in counts}
    if k not in by_k or k + 1 not in by_k:
        return ""
    gain = {
        name: (by_k[k].tilted[name] - by_k[k + 1].tilted[name]) / METRES[unit]
        for name in ("mean_distance", "largest_distance")
    }
    average = f"{abs(gain['mean_distance']):.1f} {unit}"
    farthest = f"{abs(gain['largest_distance']):.1f} {unit}"
    shorter = "shorter" if gain["mean_distance"] >= 0 else "longer"
    closer = (
        f"comes {farthest} closer" if gain["largest_distance"] >= 0 else f"ends up {farthest} farther away"
    )
    new = "new facility" if existing else "facility"
    return (
        f"{_article(k + 1)} {_ordinal(k + 1)} {new} makes the average trip {average} {shorter}; "
        f"the farthest {singular(people)} {closer}."
    )


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ENDINGS.get(number % 10, 'th')}"


def _article(number: int) -> str:
    return "An" if number in (8, 11, 18) or 80 <= number < 90 else "A"


def series(counts: Sequence[Count], side: str, name: str) -> npt.NDArray[np.float64]:
    """One measure along k, of "tilted" or "baseline"."""
    return np.array([getattr(count, side).get(name, np.nan) for count in counts], dtype=float)
