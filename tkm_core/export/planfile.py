"""The plan file: settings, seed, version, the data's fingerprint and results, in JSON that restores it."""

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering import Problem, TiltedPath, descend
from tkm_core.evaluation import Evaluation
from tkm_core.export.formats import write_whole
from tkm_core.measures import SAVED, shown_in
from tkm_core.planning import Plan, make_plan
from tkm_core.progress import Progress
from tkm_core.residents import MOST, Residents, crs_name, scaled_sites
from tkm_core.version import VERSION

FORMAT = "evenreach-plan"
FORMAT_VERSION = 1
LARGEST = 20_000_000  # bytes of a plan file that are read: the largest plan within the limits below takes about 10 MB
MOST_NEW, MOST_STEPS, LARGEST_T = 1_000, 200, 1e6
ROOM = 0.01  # of the residents' extent: how far outside it a site may be, for rounding


CHANGED = "The sites in this plan file do not give its figures: it was changed after it was saved."


class PlanFileError(ValueError):
    """A plan file that cannot be used, with the sentence for the planner."""


@dataclass(frozen=True, eq=False)
class PlanFile:
    """What a plan file says.

    Attributes
    ----------
    name, fingerprint : str
        Of the data the plan was made with.
    points : int
        Number of resident points.
    people : float
        Their total weight.
    version : str
        Version of EvenReach that wrote it.
    k, criterion, random_state
        Settings of the plan.
    t : float
        The dial as it stood.
    fixed_lonlat : ndarray of shape (f, 2)
        Existing facilities.
    fixed_names : tuple of str
        What they are called; empty if nobody said.
    path : TiltedPath
    baseline : ndarray of shape (k + f, 2)
        As in Plan.
    mean_distance : float
        Average distance at `t`, in metres.
    """

    name: str
    fingerprint: str
    points: int
    people: float
    version: str
    k: int
    criterion: str
    random_state: int
    t: float
    fixed_lonlat: Floats
    fixed_names: tuple[str, ...]
    path: TiltedPath
    baseline: Floats
    mean_distance: float


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
            then = _size(saved.name, saved.points, saved.people)
            now = _size(plan.residents.name, len(plan.residents), plan.people)
            message = (
                f"The data differ from those the plan was made with: {then} then, {now} now. "
                "The plan was made anew with the same settings."
            )
        elif saved.version != VERSION:
            message = f"{message} It was saved by version {saved.version}; this is version {VERSION}."
        return cls(plan, plan.index(saved.t), same_data=same_data, message=message)


def plan_document(plan: Plan, i: int) -> dict[str, Any]:
    """The plan file's content as plain types; equal for equal plans."""
    home = plan.residents
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
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
            "t": float(plan.t[i]),
            "criterion": plan.criterion,
            "random_state": int(plan.random_state),
            "fixed_lonlat": plan.baseline_lonlat[plan.k :].tolist(),
            "fixed_names": list(plan.existing_names),
        },
        "facilities_lonlat": plan.centers_lonlat(i).round(9).tolist(),
        "figures_in_metres": {
            "plan": _figures(plan.evaluation(i)),
            "kmeans++": _figures(plan.baseline_evaluation()),
        },
        "path": {part.name: np.asarray(getattr(plan.path, part.name)).tolist() for part in fields(plan.path)},
        "baseline": plan.baseline.tolist(),
    }


def plan_json(plan: Plan, i: int) -> bytes:
    """The plan file as bytes, for a download.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> city = load_sample("generated", n=200)
    >>> plan = make_plan(city, 3, t=[0, 0.1, 1])
    >>> restore_plan(read_plan_file(plan_json(plan, 1)), city).message
    'These are the data the plan was made with: it is the same plan.'
    """
    text = json.dumps(plan_document(plan, i), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def write_plan_file(plan: Plan, i: int, path: str | Path) -> Path:
    """Write the plan file. An older file is replaced only by a complete new one."""
    content = plan_json(plan, i)
    return write_whole(Path(path), lambda file: _fill(file, content))


def read_plan_file(source: str | Path | bytes | IO[bytes]) -> PlanFile:
    """Read and check a plan file.

    Parameters
    ----------
    source : str, Path, bytes or binary file
        The file, or its content.

    Returns
    -------
    PlanFile

    Raises
    ------
    PlanFileError
        If it is not a plan file, or damaged.
    """
    content = _content(source)
    try:
        document = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        msg = "This is not a plan file: it is not JSON. Choose a file that EvenReach saved as a plan."
        raise PlanFileError(msg) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        msg = "This is not a plan file. Choose a file that EvenReach saved as a plan."
        raise PlanFileError(msg)
    if document.get("format_version") != FORMAT_VERSION:
        msg = (
            f"This plan file is of format {document.get('format_version')!r}, which this version cannot read."
        )
        raise PlanFileError(msg)
    try:
        return _understood(document)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        msg = f"This plan file is damaged: {str(problem)[:200] or 'a part is missing'}."
        raise PlanFileError(msg) from None


def restore_plan(saved: PlanFile, residents: Residents, *, progress: Progress | None = None) -> Restored:
    """Bring a saved plan back for residents; with other data it is made anew with the same settings.

    Parameters
    ----------
    saved : PlanFile
    residents : Residents
    progress : callable, optional
        As in `make_plan`.

    Returns
    -------
    Restored
        `message` says in a sentence whether the data are the same.
    """
    if saved.fingerprint == residents.fingerprint:
        plan = Plan(
            residents,
            saved.k,
            saved.random_state,
            saved.criterion,
            _checked_path(saved, residents),
            saved.baseline,
            existing_names=saved.fixed_names,
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
        random_state=saved.random_state,
        progress=progress,
    )
    return Restored.of(saved, plan, same_data=False)


def _checked_path(saved: PlanFile, residents: Residents) -> TiltedPath:
    """Believe no figure of a file: sites must be where plans have them, and every cost is computed again."""
    points, path = residents.scaled, saved.path
    fixed = scaled_sites(residents, saved.fixed_lonlat)
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


def _figures(found: Evaluation) -> dict[str, float]:
    return {name: float(getattr(found, name)) for name in shown_in(SAVED)}


def _fill(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def _size(name: str, points: int, people: float) -> str:
    return f"{name!r} with {points:,} points and {people:,.0f} people"


def _content(source: str | Path | bytes | IO[bytes]) -> bytes:
    """At most as many bytes as a plan file may have."""
    if isinstance(source, bytes):
        content = source
    elif isinstance(source, str | Path):
        try:
            with Path(source).open("rb") as file:
                content = file.read(LARGEST + 1)
        except OSError as problem:
            msg = f"The plan file {source} cannot be read: {problem.strerror or problem}."
            raise PlanFileError(msg) from None
    else:
        content = source.read(LARGEST + 1)
    if len(content) > LARGEST:
        msg = f"This file is larger than {LARGEST // 10**6} MB: it is not a plan file."
        raise PlanFileError(msg)
    return content


def _no_constant(name: str) -> float:
    msg = f"{name} is not a number"
    raise ValueError(msg)


def _understood(document: dict[str, Any]) -> PlanFile:
    """Check every part that is used; the caller turns what goes wrong into a sentence."""
    data, settings = document["data"], document["settings"]
    k, fixed = _whole(settings["k"], "k"), _floats(settings["fixed_lonlat"], "fixed_lonlat").reshape(-1, 2)
    stored = document["path"]
    parts: dict[str, Any] = {part.name: _floats(stored[part.name], part.name) for part in fields(TiltedPath)}
    branches = np.diff(parts["arrangement"])
    if not np.isin(branches, (0, 1)).all():
        _wrong("the arrangements do not follow one another")
    parts["arrangement"] = parts["arrangement"].astype(np.int64)
    path = TiltedPath(**parts)
    baseline = _floats(document["baseline"], "baseline")
    sites, steps = k + len(fixed), len(path.t)
    if k < 1 or not steps or path.centers.shape != (steps, sites, 2) or baseline.shape != (sites, 2):
        _wrong("the number of facilities does not fit")
    if k > MOST_NEW or len(fixed) > MOST or steps > MOST_STEPS:
        _wrong(
            f"it has {k:,} new and {len(fixed):,} existing facilities at {steps:,} settings of the dial; "
            f"there are at most {MOST_NEW:,}, {MOST} and {MOST_STEPS}"
        )
    if (np.abs(fixed) > (180, 90)).any():
        _wrong("an existing facility is not a place on earth")
    if any(len(part) != steps for part in parts.values()) or (np.diff(path.t) <= 0).any() or path.t[0] < 0:
        _wrong("the settings of the dial do not fit")
    if any(part.shape != (steps,) for name, part in parts.items() if name != "centers"):
        _wrong("the figures do not fit the settings of the dial")
    if path.t[-1] > LARGEST_T:
        _wrong(f"the dial goes beyond {LARGEST_T:g}")
    if settings["criterion"] not in ("cluster", "city"):
        _wrong("the criterion is unknown")
    names = settings.get("fixed_names", [])
    if not isinstance(names, list) or len(names) not in (0, len(fixed)):
        _wrong("the names of the existing facilities do not fit")
    return PlanFile(
        name=_text(data["name"], "name"),
        fingerprint=_text(data["fingerprint"], "fingerprint"),
        points=_whole(data["points"], "points"),
        people=_number(data["people"], "people"),
        version=_text(document["version"], "version")[:40],
        k=k,
        criterion=settings["criterion"],
        random_state=_whole(settings["random_state"], "random_state"),
        t=_number(settings["t"], "t"),
        fixed_lonlat=fixed,
        fixed_names=tuple(_text(name, "fixed_names") for name in names),
        path=path,
        baseline=baseline,
        mean_distance=_number(document["figures_in_metres"]["plan"]["mean_distance"], "mean_distance"),
    )


def _wrong(reason: str) -> None:
    raise ValueError(reason)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        _wrong(f"{name} is not a whole number")
    return int(value)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
        _wrong(f"{name} is not a number from 0 upwards")
    return float(value)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        _wrong(f"{name} is not text")
    return str(value)[:200]


def _floats(value: Any, name: str) -> Floats:
    array = np.array(value, dtype=np.float64)
    if not np.isfinite(array).all():
        _wrong(f"{name} holds a value that is not finite")
    return array
