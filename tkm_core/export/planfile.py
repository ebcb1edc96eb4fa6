"""The plan file: settings, seed, version, the data's fingerprint and results, in JSON that restores it."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tkm_core.evaluation import Evaluation
from tkm_core.export.formats import write_whole
from tkm_core.path import TiltedPath
from tkm_core.plan import Plan, make_plan
from tkm_core.progress import Progress
from tkm_core.residents import Residents
from tkm_core.residents.model import crs_name
from tkm_core.version import VERSION

Floats = npt.NDArray[np.float64]

FORMAT = "evenreach-plan"
FORMAT_VERSION = 1
LARGEST = 200_000_000  # bytes of a plan file that are read
FIGURES = (
    "mean_distance",
    "median_distance",
    "p95_distance",
    "largest_distance",
    "worst_decile_mean",
    "gini",
    "sse",
    "tilted_sse",
    "overall_variance",
    "overall_variance_of_distance",
)


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
        msg = f"This plan file is damaged: {str(problem)[:100] or 'a part is missing'}."
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
            saved.path,
            saved.baseline,
            existing_names=saved.fixed_names,
        )
        i = plan.index(saved.t)
        if not np.isclose(plan.evaluation(i).mean_distance, saved.mean_distance, rtol=1e-6, atol=1e-3):
            msg = "The sites in this plan file do not give its figures: it was changed after it was saved."
            raise PlanFileError(msg)
        message = "These are the data the plan was made with: it is the same plan."
        if saved.version != VERSION:
            message = f"{message} It was saved by version {saved.version}; this is version {VERSION}."
        return Restored(plan, i, same_data=True, message=message)
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
    then, now = (
        _size(saved.name, saved.points, saved.people),
        _size(residents.name, len(residents), plan.people),
    )
    message = (
        f"The data differ from those the plan was made with: {then} then, {now} now. "
        "The plan was made anew with the same settings."
    )
    return Restored(plan, plan.index(saved.t), same_data=False, message=message)


def _figures(found: Evaluation) -> dict[str, float]:
    return {name: float(getattr(found, name)) for name in FIGURES}


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
    parts["arrangement"] = parts["arrangement"].astype(np.int64)
    path = TiltedPath(**parts)
    baseline = _floats(document["baseline"], "baseline")
    sites, steps = k + len(fixed), len(path.t)
    if k < 1 or not steps or path.centers.shape != (steps, sites, 2) or baseline.shape != (sites, 2):
        _wrong("the number of facilities does not fit")
    if any(len(part) != steps for part in parts.values()) or (np.diff(path.t) <= 0).any() or path.t[0] < 0:
        _wrong("the settings of the dial do not fit")
    if settings["criterion"] not in ("cluster", "city"):
        _wrong("the criterion is unknown")
    names = tuple(str(name)[:200] for name in list(settings.get("fixed_names", [])))
    if len(names) not in (0, len(fixed)):
        _wrong("the names of the existing facilities do not fit")
    return PlanFile(
        name=str(data["name"])[:200],
        fingerprint=str(data["fingerprint"]),
        points=_whole(data["points"], "points"),
        people=float(data["people"]),
        version=str(document["version"])[:40],
        k=k,
        criterion=settings["criterion"],
        random_state=_whole(settings["random_state"], "random_state"),
        t=float(settings["t"]),
        fixed_lonlat=fixed,
        fixed_names=names,
        path=path,
        baseline=baseline,
        mean_distance=float(document["figures_in_metres"]["plan"]["mean_distance"]),
    )


def _wrong(reason: str) -> None:
    raise ValueError(reason)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        _wrong(f"{name} is not a whole number")
    return int(value)


def _floats(value: Any, name: str) -> Floats:
    array = np.array(value, dtype=np.float64)
    if not np.isfinite(array).all():
        _wrong(f"{name} holds a value that is not finite")
    return array
