"""Compare clustering methods on the same residents with the same measures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from tkm_core.arrays import Floats, Ints
from tkm_core.evaluation import Evaluation, evaluate, neighbourhood_radius
from tkm_core.measures import MEASURES, figure_decimals
from tkm_core.methods import BASELINE, FOR_ANYONE, METHODS, OWN, Solution, describe, estimate, run_method
from tkm_core.planning.allowed import put_where_allowed
from tkm_core.planning.making import PLAN_CRITERION
from tkm_core.planning.plan import Plan
from tkm_core.planning.rows import distance_decimals
from tkm_core.progress import Progress
from tkm_core.residents import Residents, scaled_sites

RADIUS_SECONDS = 10.0  # the neighbourhood measure is left out if it would take longer


@dataclass(frozen=True, eq=False)
class Compared:
    """One method's facilities and their measures.

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


def methods_for(residents: Residents) -> tuple[str, ...]:
    """The methods that apply to these residents: group-based methods only if there are groups.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> set(methods_for(load_sample("generated", n=100))) - set(methods_for(load_sample("sacramento")))
    {'fair-lloyd'}
    """
    return FOR_ANYONE if residents.groups is None else METHODS


def group_numbers(residents: Residents) -> Ints | None:
    """Each resident's group as a number, -1 for those without one; None if there are no groups.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> np.unique(group_numbers(load_sample("generated", n=300))).tolist()
    [0, 1, 2, 3]
    """
    if residents.groups is None:
        return None
    return pd.factorize(pd.Series(residents.groups, dtype=object))[0].astype(np.int64)


def solve(
    residents: Residents,
    name: str,
    k: int,
    *,
    t: float,
    patience: float,
    fixed_lonlat: npt.ArrayLike | None = None,
    groups: Ints | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Solution:
    """Facilities of one method, from a sample if it would take longer than `patience` seconds.

    `fixed_lonlat` are existing facilities, which only some methods can keep (`Method.keeps_existing`). `groups` are
    group numbers, for residents passed without their labels.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> solve(load_sample("generated", n=3000), "mv", 3, t=0.1, patience=0.01).sampled
    1000
    """
    uniform = bool((residents.weights == residents.weights[0]).all())
    method = describe(name)
    # in the residents' scaled coordinates t is a pure number
    wanted = {"t": t, "criterion": PLAN_CRITERION, "scale": 1.0}
    options: dict[str, Any] = {option: value for option, value in wanted.items() if option in method.options}
    if fixed_lonlat is not None:
        options["fixed_centers"] = scaled_sites(residents, fixed_lonlat)
    return run_method(
        name,
        residents.scaled,
        k,
        sample_weight=None if uniform else residents.weights,
        groups=(group_numbers(residents) if groups is None else groups) if method.needs_groups else None,
        random_state=random_state,
        progress=progress,
        sample=None if method.scales else "auto",
        max_seconds=float("inf") if method.scales else patience,
        **options,
    )


def judge(
    residents: Residents,
    solution: Solution,
    *,
    t: float,
    standard: float | None = None,
    neighbourhood: Floats | None = None,
) -> Compared:
    """Measure a solution over all residents, in metres, even if it was computed from a sample."""
    found = evaluate(
        residents.xy,
        residents.to_xy(solution.centers),
        t=t / residents.scale**2,
        sample_weight=residents.weights,
        standard=standard,
        neighbourhood=neighbourhood,
    )
    return Compared(solution.method, t if describe(solution.method).has_dial else None, solution, found)


def judge_by_rules(plan: Plan, solution: Solution, *, t: float, standard: float | None = None) -> Compared:
    """Measure a solution by the rules of a plan, in metres or minutes.

    Tilted k-means has the facilities of the plan itself. The other methods know no rules, so their facilities are moved
    to where the rules allow them: the nearest junctions, or candidate sites.

    Parameters
    ----------
    plan : Plan
        With rules.
    solution : Solution
        New facilities first, then those that stay.
    t : float
        The dial.
    standard : float, optional
        A service standard, in metres or minutes.
    """
    home, method = plan.residents, describe(solution.method)
    if solution.method == OWN:
        there = plan.with_stop(t)
        i = there.index(t)
        return Compared(
            OWN, t, replace(solution, centers=there.path.centers[i]), there.evaluation(i, standard)
        )
    lonlat = home.to_lonlat(home.to_xy(solution.centers))
    new = len(lonlat) - plan.n_existing
    lonlat[:new] = put_where_allowed(lonlat[:new], home, plan.rules)
    found = plan.serving.evaluate(home.lonlat_to_xy(lonlat), t, standard, limited=None)
    centers = scaled_sites(home, lonlat)
    return Compared(
        solution.method, t if method.has_dial else None, replace(solution, centers=centers), found
    )


def neighbourhoods(residents: Residents, k: int, progress: Progress | None = None) -> Floats | None:
    """Each resident's neighbourhood radius in metres, or None if finding it would take too long."""
    if estimate("jkl", len(residents), 2, k).seconds > RADIUS_SECONDS:
        return None
    return neighbourhood_radius(residents.xy, k, residents.weights, progress=progress)


def facility_numbers(reference: Floats, centers: Floats, kept: int = 0) -> Ints:
    """For each centre, the index of the reference site it is paired with, so that colours agree.

    Parameters
    ----------
    reference : ndarray of shape (k + f, 2)
    centers : ndarray of shape (k' + f, 2)
    kept : int
        Number of existing facilities, f. They come last in both, in the same order, and are paired with themselves.

    Examples
    --------
    >>> facility_numbers(np.array([[0.0, 0], [5, 5], [9, 0]]), np.array([[9.0, 1], [0, 1]])).tolist()
    [2, 0]
    >>> facility_numbers(np.array([[0.0, 0], [5, 5], [9, 0]]), np.array([[8.0, 0], [1, 1], [9, 0]]), 1).tolist()
    [1, 0, 2]
    """
    placed, others = len(centers) - kept, len(reference) - kept
    sites, own = linear_sum_assignment(cdist(reference[:others], centers[:placed], "sqeuclidean"))
    numbers = np.full(len(centers), -1, np.int64)
    numbers[placed:] = others + np.arange(kept)
    numbers[own] = sites
    left = np.flatnonzero(numbers < 0)
    numbers[left] = len(reference) + np.arange(len(left))
    return numbers


def decimals(compared: Sequence[Compared], key: str, unit: str, plan: Plan | None = None) -> int:
    """Digits after the point, as the Plan page shows a measure of tilted k-means beside what it is compared with.

    Without a plan, that is k-means++.
    """
    measure = MEASURES[key]
    if measure.decimals is not None:
        return measure.decimals
    sides = [one.evaluation for one in compared if one.name == OWN]
    if plan is not None:
        sides.append(plan.reference_evaluation())
    else:
        sides += [one.evaluation for one in compared if one.name == BASELINE]
    sides = sides or [one.evaluation for one in compared]
    if measure.power == 1:
        return distance_decimals(sides[0], sides[-1], unit)
    values = [measure.of(side, unit) for side in sides]
    return figure_decimals(*(value for value in values if np.isfinite(value)))


def best(compared: Sequence[Compared], key: str, unit: str, plan: Plan | None = None) -> list[bool]:
    """Which methods are best in a measure, judged by the figures as shown."""
    measure, digits = MEASURES[key], decimals(compared, key, unit, plan)
    shown = np.array([round(measure.of(one.evaluation, unit), digits) for one in compared])
    if not np.isfinite(shown).any() or len(compared) < 2:
        return [False] * len(compared)
    top = np.nanmax(shown) if measure.more_is_better else np.nanmin(shown)
    return [bool(value == top) for value in shown]
