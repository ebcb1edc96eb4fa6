"""Read plan files; everything in them is checked before it is used."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering import TiltedPath
from tkm_core.export.carried import unpacked
from tkm_core.export.planfile_grounds import checked_grounds
from tkm_core.export.planfile_rules import checked_rules
from tkm_core.planning import AVERAGE, BY_STRAIGHT_LINES, TODAY, Reference
from tkm_core.residents import MOST, Residents
from tkm_core.units import METRES

FORMAT = "evenreach-plan"
FORMAT_VERSION = 2  # version 1 had no infinite t and no closed facilities
WITH_RULES = 3  # version of a file with rules, which older programs cannot open
LARGEST = 20_000_000  # bytes of a plan file; the largest plan within the limits below takes about 10 MB
MOST_NEW, MOST_STEPS, LARGEST_T = 1_000, 200, 1e9


class PlanFileError(ValueError):
    """A plan file that cannot be used; the message is a sentence for the planner."""


@dataclass(frozen=True)
class Shown:
    """How a plan was displayed when it was saved.

    Attributes
    ----------
    title, people : str
        What the data are called, and who is counted: "homes".
    unit : str
        A key of `METRES`.
    standard : float or None
        The service standard in metres.
    """

    title: str
    people: str
    unit: str
    standard: float | None = None


@dataclass(frozen=True, eq=False)
class PlanFile:
    """The content of a plan file.

    Attributes
    ----------
    name, fingerprint : str
        Name and fingerprint of the data the plan was made with.
    points : int
        Number of resident points.
    people : float
        Their total weight.
    version : str
        Version of EvenReach that wrote it.
    k, criterion, random_state
        Settings of the plan.
    t : float
        The setting of the dial.
    fixed_lonlat : ndarray of shape (f, 2)
        Existing facilities.
    fixed_names : tuple of str
        Their names; may be empty.
    closed : tuple of int
        Which of them the plan closes, counted from 0.
    reference : Reference
        What the plan was compared with.
    facilities_lonlat : ndarray of shape (k + f, 2)
        All facilities at `t`, in degrees.
    path : TiltedPath
    baseline : ndarray of shape (k + f, 2)
        As in Plan.
    mean_distance : float
        Average distance at `t`, in metres.
    residents : Residents or None
        The residents, if the file contains them.
    shown : Shown or None
        How the plan was displayed, if the file says so.
    rules : dict or None
        The rules of the plan as in the file, checked; None if there were none.
    pinned : int
        How many at the end of the existing facilities were pinned by hand.
    grounds : dict or None
        The places and the proof of a plan under rules as in the file, checked; None without rules, or in older files.
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
    closed: tuple[int, ...]
    reference: Reference
    facilities_lonlat: Floats
    path: TiltedPath
    baseline: Floats
    mean_distance: float
    residents: Residents | None = None
    rules: dict[str, Any] | None = None
    pinned: int = 0
    grounds: dict[str, Any] | None = None
    shown: Shown | None = None

    @property
    def needs(self) -> str:
        """A sentence on which data are needed to open the plan."""
        needed = size(self.name, self.points, self.people)
        return (
            f"This plan file does not carry its residents. It needs the data it was made with: {needed}. Load that "
            "file first, then open the plan again."
        )


def size(name: str, points: int, people: float) -> str:
    """Data in a few words: name and size."""
    return f"{name!r} with {points:,} points and {people:,.0f} people"


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
    if document.get("format_version") not in (1, FORMAT_VERSION, WITH_RULES):
        msg = (
            f"This plan file is of format {document.get('format_version')!r}, which this version cannot read."
        )
        raise PlanFileError(msg)
    try:
        return _understood(document)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        msg = f"This plan file is damaged: {str(problem)[:200] or 'a part is missing'}."
        raise PlanFileError(msg) from None


def saved_reference(saved: PlanFile, title: str) -> Reference:
    """A saved plan as a reference for others: its facilities at the setting at which it was saved."""
    return Reference("saved", title[:200], saved.facilities_lonlat)


def _content(source: str | Path | bytes | IO[bytes]) -> bytes:
    """The bytes of the source; more than a plan file may have are an error."""
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
    """Refuse NaN and infinity, which are not JSON."""
    msg = f"{name} is not a number"
    raise ValueError(msg)


def _understood(document: dict[str, Any]) -> PlanFile:
    """Check every part that is used; the caller turns errors into a sentence."""
    data, settings = document["data"], document["settings"]
    k, fixed = _whole(settings["k"], "k"), _floats(settings["fixed_lonlat"], "fixed_lonlat").reshape(-1, 2)
    closed = _closed(settings.get("closed", []), len(fixed))
    stored = document["path"]
    parts: dict[str, Any] = {
        part.name: _dial(stored["t"]) if part.name == "t" else _floats(stored[part.name], part.name)
        for part in fields(TiltedPath)
    }
    branches = np.diff(parts["arrangement"])
    if not np.isin(branches, (0, 1)).all():
        _wrong("the arrangements do not follow one another")
    parts["arrangement"] = parts["arrangement"].astype(np.int64)
    path = TiltedPath(**parts)
    baseline = _floats(document["baseline"], "baseline")
    sites, steps = k + len(fixed) - len(closed), len(path.t)
    if sites < 1 or not steps or path.centers.shape != (steps, sites, 2) or baseline.shape != (sites, 2):
        _wrong("the number of facilities does not fit")
    if k > MOST_NEW or len(fixed) > MOST or steps > MOST_STEPS:
        _wrong(
            f"it has {k:,} new and {len(fixed):,} existing facilities at {steps:,} settings of the dial; "
            f"there are at most {MOST_NEW:,}, {MOST} and {MOST_STEPS}"
        )
    _places(fixed, "fixed_lonlat")
    if any(len(part) != steps for part in parts.values()) or (np.diff(path.t) <= 0).any() or path.t[0] < 0:
        _wrong("the settings of the dial do not fit")
    if any(part.shape != (steps,) for name, part in parts.items() if name != "centers"):
        _wrong("the figures do not fit the settings of the dial")
    if (path.t[np.isfinite(path.t)] > LARGEST_T).any():
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
        t=float(_dial([settings["t"]])[0]),
        fixed_lonlat=fixed,
        fixed_names=tuple(_text(name, "fixed_names") for name in names),
        closed=closed,
        reference=_reference(settings.get("compared_with"), len(fixed)),
        facilities_lonlat=_places(document["facilities_lonlat"], "facilities_lonlat"),
        path=path,
        baseline=baseline,
        mean_distance=_number(_figures(document)["plan"]["mean_distance"], "mean_distance"),
        residents=_carried(document),
        shown=_shown(document.get("shown")),
        rules=None if document.get("rules") is None else checked_rules(document["rules"]),
        pinned=min(_whole(settings.get("pinned", 0), "pinned"), len(fixed)),
        grounds=None
        if document.get("grounds") is None
        else checked_grounds(document["grounds"], steps, sites),
    )


def _figures(document: dict[str, Any]) -> Any:
    """The figures, in metres or minutes."""
    return document["figures_in_minutes" if "figures_in_minutes" in document else "figures_in_metres"]


def _shown(stored: Any) -> Shown | None:
    """How the plan was displayed; older files do not say."""
    if stored is None:
        return None
    if stored["unit"] not in METRES:
        _wrong("the unit of distances is unknown")
    standard = None if stored["standard"] is None else _number(stored["standard"], "standard")
    return Shown(_text(stored["title"], "title"), _text(stored["people"], "people"), stored["unit"], standard)


def _carried(document: dict[str, Any]) -> Residents | None:
    """The residents in the file, if any; they must be those of the plan."""
    if document.get("residents") is None:
        return None
    found = unpacked(_text(document["data"]["name"], "name"), document["residents"])
    if found.fingerprint != document["data"]["fingerprint"]:
        _wrong("the residents in it are not those of the plan")
    return found


def _dial(values: Any) -> Floats:
    """Settings of the dial; only the last may be infinite, written as "inf"."""
    if not isinstance(values, list) or not values:
        _wrong("the settings of the dial do not fit")
    endless = isinstance(values[-1], str) and values[-1] == "inf"
    finite = [_number(value, "t") for value in (values[:-1] if endless else values)]
    return np.array([*finite, np.inf] if endless else finite)


def _closed(numbers: Any, count: int) -> tuple[int, ...]:
    """The closed facilities: ascending whole numbers without repeats."""
    if not isinstance(numbers, list) or any(_whole(number, "closed") >= count for number in numbers):
        _wrong("a facility is closed that does not exist")
    if sorted(set(numbers)) != numbers:
        _wrong("the closed facilities do not follow one another")
    return tuple(numbers)


def _reference(stored: Any, n_existing: int) -> Reference:
    """The reference of the plan; older files, without a choice, have today or k-means++."""
    usual = TODAY if n_existing else AVERAGE
    if stored is None:
        return usual
    kind = stored["kind"]
    if kind == "saved":
        return Reference(kind, _text(stored["title"], "title"), _places(stored["lonlat"], "compared_with"))
    if kind in ("average", "straight"):
        return AVERAGE if kind == "average" else BY_STRAIGHT_LINES
    if kind != "today" or not n_existing:
        _wrong("what the plan is compared with is unknown")
    return TODAY


def _places(value: Any, name: str) -> Floats:
    """Valid places in degrees, at most as many as a plan may have."""
    lonlat = _floats(value, name).reshape(-1, 2)
    if len(lonlat) > MOST_NEW + MOST or (np.abs(lonlat) > (180, 90)).any():
        _wrong(
            "an existing facility is not a place on earth"
            if name == "fixed_lonlat"
            else f"{name} is not on earth"
        )
    return lonlat


def _wrong(reason: str) -> None:
    """Raise an error with the reason."""
    raise ValueError(reason)


def _whole(value: Any, name: str) -> int:
    """A whole number from 0 upwards."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        _wrong(f"{name} is not a whole number")
    return int(value)


def _number(value: Any, name: str) -> float:
    """A finite number from 0 upwards."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
        _wrong(f"{name} is not a number from 0 upwards")
    return float(value)


def _text(value: Any, name: str) -> str:
    """A text, shortened."""
    if not isinstance(value, str):
        _wrong(f"{name} is not text")
    return str(value)[:200]


def _floats(value: Any, name: str) -> Floats:
    """An array of finite numbers."""
    array = np.array(value, dtype=np.float64)
    if not np.isfinite(array).all():
        _wrong(f"{name} holds a value that is not finite")
    return array
