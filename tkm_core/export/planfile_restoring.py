"""Restore plans from their files: as they were for the same data, made again for others."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tkm_core.clustering import Problem, TiltedPath, descend
from tkm_core.evaluation import evaluate
from tkm_core.export.planfile_grounds import OUTSIDE, check_places, restored_grounds
from tkm_core.export.planfile_reading import PlanFile, PlanFileError, size
from tkm_core.export.planfile_rules import restored_rules
from tkm_core.planning import FREE, NONE_EXISTING, Plan, Rules, Travel, make_plan
from tkm_core.progress import Progress, never_falling
from tkm_core.residents import Existing, Report, Residents, scaled_sites
from tkm_core.version import VERSION

ROOM = 0.01  # how far outside the residents' extent a facility may be, as a share of it, for rounding
CHANGED = "The sites in this plan file do not give its figures: it was changed after it was saved."
MOVED = "The existing facilities of this plan file are not where it says they are: it was changed."


@dataclass(frozen=True, eq=False)
class Restored:
    """A plan restored from a file: the plan, the setting of the dial, and whether the data are the same."""

    plan: Plan
    i: int
    same_data: bool
    message: str

    @classmethod
    def of(cls, saved: PlanFile, plan: Plan, *, same_data: bool) -> "Restored":
        """Add the sentence that says whether the data are the same."""
        message = "These are the data the plan was made with: it is the same plan."
        if not same_data:
            then = size(saved.name, saved.points, saved.people)
            now = size(plan.residents.name, len(plan.residents), plan.people)
            message = (
                f"The data differ from those the plan was made with: {then} then, {now} now. "
                "The plan was made again with the same settings."
            )
        elif saved.version != VERSION:
            message = f"{message} It was saved by version {saved.version}; this is version {VERSION}."
        return cls(plan, plan.index(saved.t), same_data=same_data, message=message)


def restore_plan(
    saved: PlanFile,
    residents: Residents | None = None,
    *,
    travel: Travel | None = None,
    proven: bool = False,
    progress: Progress | None = None,
) -> Restored:
    """Restore a saved plan for residents; with other data, it is made again with the same settings.

    Parameters
    ----------
    saved : PlanFile
    residents : Residents, optional
        By default those that the file carries.
    travel : AlongStreets or ByTable, optional
        The streets or the table by which the plan was measured: a plan file names them but does not contain them.
    proven : bool, default=False
        Whether to believe the proof in the file, as where nobody else can have written it. Every other figure is
        computed again.
    progress : callable, optional
        As in `make_plan`.

    Returns
    -------
    Restored
        `message` says in a sentence whether the data are the same.
    """
    residents = saved.residents if residents is None else residents
    if residents is None:
        raise PlanFileError(saved.needs)
    same_data = saved.fingerprint == residents.fingerprint
    rules = FREE if saved.rules is None else _rules(saved.rules, travel)
    # older files do not say where a plan under rules stands: the same rules, seed and settings give the same plan
    if same_data and (rules.plain or saved.grounds is not None):
        plan = _as_it_was(saved, residents, rules, proven=proven, progress=progress)
    else:
        plan = make_plan(
            residents, saved.k, t=saved.path.t, criterion=saved.criterion, fixed_lonlat=saved.fixed_lonlat,
            fixed_names=saved.fixed_names, closed=saved.closed, pinned=saved.pinned, rules=rules,
            random_state=saved.random_state, progress=progress,
        ).against(saved.reference)  # fmt: skip
    return Restored.of(saved, plan, same_data=same_data)


def _as_it_was(
    saved: PlanFile, residents: Residents, rules: Rules, *, proven: bool, progress: Progress | None
) -> Plan:
    """The plan of a file for its own residents: nothing is solved, every cost is computed again."""
    existing = NONE_EXISTING
    if len(saved.fixed_lonlat):
        existing = Existing(saved.fixed_lonlat, saved.fixed_names, Report(), saved.pinned)
    try:
        grounds = None if saved.grounds is None else restored_grounds(saved.grounds, residents, rules)
        plan = Plan(
            residents,
            saved.k,
            saved.random_state,
            saved.criterion,
            _checked_path(saved, residents, rules) if grounds is None else saved.path,
            saved.baseline,
            existing,
            saved.closed,
            saved.reference,
            rules,
            grounds,
        )
        if grounds is not None:
            plan = _measured_again(plan, progress, proven=proven)
        mean = plan.evaluation(plan.index(saved.t)).mean_distance
    except PlanFileError:
        raise
    except ValueError as problem:
        raise PlanFileError(str(problem)) from None
    # with limited room, several ways to share out residents are equally good
    if not np.isclose(mean, saved.mean_distance, rtol=0.01 if rules.limited else 1e-6, atol=1e-3):
        raise PlanFileError(CHANGED)
    return plan


def _measured_again(plan: Plan, progress: Progress | None, *, proven: bool) -> Plan:
    """Compute every cost of a plan under rules again, and check that its facilities stand where they may."""
    home, rules, path, k = plan.residents, plan.rules, plan.path, plan.k
    report, grounds = never_falling(progress), plan.grounds
    assert grounds is not None  # noqa: S101 - a plan under rules has them
    fixed = scaled_sites(home, plan.existing.lonlat)[plan.kept]
    if not all(
        np.allclose(sites[..., k:, :], fixed, rtol=0, atol=1e-6) for sites in (path.centers, plan.baseline)
    ):
        raise PlanFileError(MOVED)
    check_places(home.to_lonlat(home.to_xy(path.centers[:, :k])), home, rules)
    if grounds.known is not None and grounds.places is not None:
        stand = scaled_sites(home, grounds.known.lonlat)[grounds.places]
        on_sites = rules.sites is None or (grounds.known.number[grounds.places[:, :k]] >= 0).all()
        if not on_sites or not np.allclose(path.centers, stand, rtol=0, atol=1e-6):
            raise PlanFileError(CHANGED)
    elif rules.sites is not None or not rules.straight:
        raise PlanFileError(CHANGED)
    costs = np.empty((len(plan), 3))
    for i in range(len(plan)):
        report(i / len(plan), "Measuring the plan as it was saved")
        found = plan.evaluation(i)
        costs[i] = found.tilted_sse, found.sse, found.city_cost
    tilted_sse, sse, cost = costs.T / grounds.scale**2
    if not proven and grounds.cost is not None:
        grounds = replace(grounds, cost=cost, bound=np.zeros(len(cost)))
    return replace(plan, path=replace(path, tilted_sse=tilted_sse, sse=sse, city_cost=cost), grounds=grounds)


def same_rules(saved: PlanFile, rules: Rules) -> bool:
    """Whether a saved plan had exactly these rules.

    Examples
    --------
    >>> from tkm_core.export import plan_json, read_plan_file
    >>> from tkm_core.residents.samples import load_sample
    >>> saved = read_plan_file(plan_json(make_plan(load_sample("generated", n=60), 2, t=[0, 1]), 0))
    >>> same_rules(saved, FREE)
    True
    """
    if saved.rules is None or rules == FREE:
        return saved.rules is None and rules == FREE
    try:
        return restored_rules(saved.rules, rules.travel) == rules
    except ValueError:
        return False


def _rules(stored: dict[str, Any], travel: Travel | None) -> Rules:
    """The rules of the file; what is wrong with them is an error of the plan file."""
    try:
        return restored_rules(stored, travel)
    except ValueError as problem:
        raise PlanFileError(str(problem)) from None


def _checked_path(saved: PlanFile, residents: Residents, rules: Rules) -> TiltedPath:
    """Check the path of a file: facilities must be near the residents, and every cost is computed again."""
    points, path = residents.scaled, saved.path
    stay = [number for number in range(len(saved.fixed_lonlat)) if number not in saved.closed]
    fixed = scaled_sites(residents, saved.fixed_lonlat)[stay]
    low, high = points.min(axis=0), points.max(axis=0)
    room = ROOM * max(float((high - low).max()), 1.0)
    for sites in (path.centers, saved.baseline):
        new, kept = sites[..., : saved.k, :], sites[..., saved.k :, :]
        if ((new < low - room) | (new > high + room)).any():
            raise PlanFileError(OUTSIDE)
        if not np.allclose(kept, fixed, rtol=0, atol=1e-6):
            raise PlanFileError(MOVED)
    if saved.k == 0:
        sse = evaluate(points, fixed, sample_weight=residents.weights).sse
        if len(path.t) != 1 or path.t[0] or not np.allclose(path.sse, sse, rtol=1e-4, atol=1e-6):
            raise PlanFileError(CHANGED)
        return replace(path, tilted_sse=path.sse, city_cost=path.sse, error=np.zeros(1))
    problem = Problem.of(points, rules.people(residents), saved.k)
    again = np.array([_measured(problem, path, i) for i in range(len(path.t))])
    if not np.allclose(
        again[:, :3], np.column_stack([path.city_cost, path.tilted_sse, path.sse]), rtol=1e-4, atol=1e-6
    ):
        raise PlanFileError(CHANGED)
    return replace(path, error=again[:, 3])


def _measured(problem: Problem, path: TiltedPath, i: int) -> tuple[float, float, float, float]:
    """City-wide cost, tilted SSE, SSE and the remaining error at setting i."""
    found = descend(problem, path.centers[i], float(path.t[i]), max_iter=0)
    return found.city_cost, found.tilted_sse, found.sse, found.left
