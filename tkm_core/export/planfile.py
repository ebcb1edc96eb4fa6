"""The plan file: settings, seed, version, the data's fingerprint and results, in JSON that restores it."""

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from tkm_core.clustering import Problem, TiltedPath, descend
from tkm_core.evaluation import Evaluation, evaluate
from tkm_core.export.carried import packed
from tkm_core.export.formats import write_whole
from tkm_core.export.planfile_reading import (
    FORMAT,
    FORMAT_VERSION,
    LARGEST,
    WITH_RULES,
    PlanFile,
    PlanFileError,
    Shown,
    size,
)
from tkm_core.export.planfile_rules import restored_rules, written_rules
from tkm_core.measures import SAVED, shown_in
from tkm_core.planning import FREE, NONE_EXISTING, Plan, Rules, Travel, make_plan
from tkm_core.progress import Progress
from tkm_core.residents import Existing, Report, Residents, crs_name, scaled_sites
from tkm_core.version import VERSION

ROOM = 0.01  # of the residents' extent: how far outside it a site may be, for rounding
CHANGED = "The sites in this plan file do not give its figures: it was changed after it was saved."


@dataclass(frozen=True, eq=False)
class Restored:
    """A plan brought back from a file: the plan, the dial as it stood, and whether the data are the same."""

    plan: Plan
    i: int
    same_data: bool
    message: str

    @classmethod
    def of(cls, saved: PlanFile, plan: Plan, *, same_data: bool) -> "Restored":
        """With the sentence that says whether the data are the same."""
        message = "These are the data the plan was made with: it is the same plan."
        if not same_data:
            then = size(saved.name, saved.points, saved.people)
            now = size(plan.residents.name, len(plan.residents), plan.people)
            message = (
                f"The data differ from those the plan was made with: {then} then, {now} now. "
                "The plan was made anew with the same settings."
            )
        elif saved.version != VERSION:
            message = f"{message} It was saved by version {saved.version}; this is version {VERSION}."
        return cls(plan, plan.index(saved.t), same_data=same_data, message=message)


def plan_document(
    plan: Plan, i: int, *, residents: bool = False, shown: Shown | None = None
) -> dict[str, Any]:
    """The plan file's content as plain types; equal for equal plans."""
    home = plan.residents
    carried: dict[str, Any] = {"residents": packed(home)} if residents else {}
    if shown is not None:
        carried["shown"] = asdict(shown)
    if plan.rules != FREE:
        carried["rules"] = written_rules(plan.rules)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION if plan.rules == FREE else WITH_RULES,
        "version": VERSION,
        "data": {
            "name": home.name,
            "fingerprint": home.fingerprint,
            "points": len(home),
            "people": float(home.weights.sum()),
            "crs": crs_name(home.crs),
            "source_crs": None if home.source_crs is None else crs_name(home.source_crs),
        },
        "settings": {
            "k": int(plan.k),
            "t": _written(plan.t[i]),
            "criterion": plan.criterion,
            "random_state": int(plan.random_state),
            "fixed_lonlat": plan.existing.lonlat.tolist(),
            "fixed_names": list(plan.existing.names),
            **({"pinned": plan.existing.pinned} if plan.rules != FREE else {}),
            "closed": list(plan.closed),
            "compared_with": {
                "kind": plan.reference.kind,
                "title": plan.reference.title,
                "lonlat": plan.reference.lonlat.tolist(),
            },
        },
        "facilities_lonlat": plan.centers_lonlat(i).round(9).tolist(),
        f"figures_in_{'metres' if plan.rules.unit == 'm' else 'minutes'}": {
            "plan": _figures(plan.evaluation(i)),
            "kmeans++": _figures(plan.baseline_evaluation()),
            "compared_with": _figures(plan.reference_evaluation()),
        },
        "path": {
            part.name: [_written(t) for t in plan.t]
            if part.name == "t"
            else np.asarray(getattr(plan.path, part.name)).tolist()
            for part in fields(plan.path)
        },
        "baseline": plan.baseline.tolist(),
        **carried,
    }


def plan_json(plan: Plan, i: int, *, residents: bool = False, shown: Shown | None = None) -> bytes:
    """The plan file as bytes, for a download.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    residents : bool, default=False
        Whether the file carries its residents, compressed, so that it opens anywhere.
    shown : Shown, optional
        How the plan was looked at: its title, units and service standard.

    Returns
    -------
    bytes

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> city = load_sample("generated", n=200)
    >>> plan = make_plan(city, 3, t=[0, 0.1, 1])
    >>> from tkm_core.export import read_plan_file
    >>> restore_plan(read_plan_file(plan_json(plan, 1)), city).message
    'These are the data the plan was made with: it is the same plan.'
    """
    text = json.dumps(
        plan_document(plan, i, residents=residents, shown=shown),
        ensure_ascii=True,
        allow_nan=False,
        separators=(",", ":"),
    )
    if len(text) >= LARGEST:
        msg = "With its residents this plan file would be too large to be opened again: save it without them."
        raise ValueError(msg)
    return text.encode("ascii") + b"\n"


def write_plan_file(plan: Plan, i: int, path: str | Path, *, residents: bool = False) -> Path:
    """Write the plan file. An older file is replaced only by a complete new one.

    Parameters
    ----------
    plan : Plan
    i : int
        Setting of the dial.
    path : str or Path
        Where to.
    residents : bool, default=False
        As in `plan_json`.

    Returns
    -------
    Path
    """
    content = plan_json(plan, i, residents=residents)
    return write_whole(Path(path), lambda file: _fill(file, content))


def restore_plan(
    saved: PlanFile,
    residents: Residents | None = None,
    *,
    travel: Travel | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Bring a saved plan back for residents; with other data it is made anew with the same settings.

    Parameters
    ----------
    saved : PlanFile
    residents : Residents, optional
        By default those that the file carries.
    travel : AlongStreets or ByTable, optional
        The streets or the table by which the plan was measured: a plan file names them, and does not carry them.
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
    if saved.rules is not None:
        # a plan under rules is made again: the same rules, seed and settings give the same plan
        plan = make_plan(
            residents, saved.k, t=saved.path.t, fixed_lonlat=saved.fixed_lonlat, fixed_names=saved.fixed_names,
            closed=saved.closed, pinned=saved.pinned, rules=_rules(saved.rules, travel),
            random_state=saved.random_state, progress=progress,
        ).against(saved.reference)  # fmt: skip
        return Restored.of(saved, plan, same_data=same_data)
    if same_data:
        plan = Plan(
            residents,
            saved.k,
            saved.random_state,
            saved.criterion,
            _checked_path(saved, residents),
            saved.baseline,
            Existing(saved.fixed_lonlat, saved.fixed_names, Report())
            if len(saved.fixed_lonlat)
            else NONE_EXISTING,
            saved.closed,
            saved.reference,
        )
        i = plan.index(saved.t)
        if not np.isclose(plan.evaluation(i).mean_distance, saved.mean_distance, rtol=1e-6, atol=1e-3):
            raise PlanFileError(CHANGED)
        return Restored.of(saved, plan, same_data=True)
    plan = make_plan(
        residents,
        saved.k,
        t=saved.path.t,
        criterion=saved.criterion,
        fixed_lonlat=saved.fixed_lonlat,
        fixed_names=saved.fixed_names,
        closed=saved.closed,
        random_state=saved.random_state,
        progress=progress,
    ).against(saved.reference)
    return Restored.of(saved, plan, same_data=False)


def same_rules(saved: PlanFile, rules: Rules) -> bool:
    """Whether a saved plan followed just these rules.

    Examples
    --------
    >>> from tkm_core.export import read_plan_file
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
    try:
        return restored_rules(stored, travel)
    except ValueError as problem:
        raise PlanFileError(str(problem)) from None


def _checked_path(saved: PlanFile, residents: Residents) -> TiltedPath:
    """Believe no figure of a file: sites must be where plans have them, and every cost is computed again."""
    points, path = residents.scaled, saved.path
    stay = [number for number in range(len(saved.fixed_lonlat)) if number not in saved.closed]
    fixed = scaled_sites(residents, saved.fixed_lonlat)[stay]
    low, high = points.min(axis=0), points.max(axis=0)
    room = ROOM * max(float((high - low).max()), 1.0)
    for sites in (path.centers, saved.baseline):
        new, kept = sites[..., : saved.k, :], sites[..., saved.k :, :]
        if ((new < low - room) | (new > high + room)).any():
            msg = "This plan file has a new facility far outside the area where people live: it was changed."
            raise PlanFileError(msg)
        if not np.allclose(kept, fixed, rtol=0, atol=1e-6):
            msg = "The existing facilities of this plan file are not where it says they are: it was changed."
            raise PlanFileError(msg)
    if saved.k == 0:
        sse = evaluate(points, fixed, sample_weight=residents.weights).sse
        if len(path.t) != 1 or path.t[0] or not np.allclose(path.sse, sse, rtol=1e-4, atol=1e-6):
            raise PlanFileError(CHANGED)
        return replace(path, tilted_sse=path.sse, city_cost=path.sse, error=np.zeros(1))
    problem = Problem.of(points, residents.weights, saved.k)
    again = np.array([_measured(problem, path, i) for i in range(len(path.t))])
    if not np.allclose(
        again[:, :3], np.column_stack([path.city_cost, path.tilted_sse, path.sse]), rtol=1e-4, atol=1e-6
    ):
        raise PlanFileError(CHANGED)
    return replace(path, error=again[:, 3])


def _measured(problem: Problem, path: TiltedPath, i: int) -> tuple[float, float, float, float]:
    """City-wide cost, tilted SSE, SSE and the error that is left at setting i."""
    found = descend(problem, path.centers[i], float(path.t[i]), max_iter=0)
    return found.city_cost, found.tilted_sse, found.sse, found.left


def _written(t: float) -> float | str:
    """A setting of the dial as JSON has it, which knows no infinity."""
    return "inf" if np.isinf(t) else float(t)


def _figures(found: Evaluation) -> dict[str, float]:
    return {name: float(getattr(found, name)) for name in shown_in(SAVED)}


def _fill(file: Path, content: bytes) -> None:
    file.write_bytes(content)
