"""Read plan files; everything in them is checked before it is used."""

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering import TiltedPath
from tkm_core.export.carried import unpacked
from tkm_core.export.planfile_grounds import checked_grounds
from tkm_core.export.planfile_rules import checked_rules
from tkm_core.export.planfile_values import MOST_NEW, floats, number, places, text, whole, wrong
from tkm_core.planning import AVERAGE, BY_STRAIGHT_LINES, TODAY, Reference
from tkm_core.residents import MOST, Residents
from tkm_core.units import METRES

FORMAT = "evenreach-plan"
FORMAT_VERSION = 2  # version 1 had no infinite t and no closed facilities
WITH_RULES = 3  # version of a file with rules, which older programs cannot open
LARGEST = 20_000_000  # bytes of a plan file; the largest plan within the limits below takes about 10 MB
MOST_STEPS, LARGEST_T = 200, 1e9


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
    room : tuple or None
        The most and the fewest people of each facility at `t`; None without limits, or in older files.
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
    room: tuple[tuple[float, ...], tuple[float, ...]] | None = None

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
    room = saved.room or ((), ())
    return Reference("saved", title[:200], saved.facilities_lonlat, most=room[0], least=room[1], t=saved.t)


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


def check_plan_file(found: PlanFile) -> None:
    """Check that the parts of a plan file fit together and stay within their limits.

    Raises
    ------
    ValueError
        If they do not, with the reason in a few words.
    """
    path, fixed, steps = found.path, found.fixed_lonlat, len(found.path.t)
    sites = found.k + len(fixed) - len(found.closed)
    parts = vars(path)
    fits = found.k >= 0 and sites >= 1 and steps and path.centers.shape == (steps, sites, 2)
    if not fits or found.baseline.shape != (sites, 2):
        wrong("the number of facilities does not fit")
    if found.k > MOST_NEW or len(fixed) > MOST or steps > MOST_STEPS:
        wrong(
            f"it has {found.k:,} new and {len(fixed):,} existing facilities at {steps:,} settings of the dial; "
            f"there are at most {MOST_NEW:,}, {MOST} and {MOST_STEPS}"
        )
    if any(len(part) != steps for part in parts.values()):
        wrong("the settings of the dial do not fit")
    if any(part.shape != (steps,) for name, part in parts.items() if name != "centers"):
        wrong("the figures do not fit the settings of the dial")
    for name, part in parts.items():
        if part.dtype != (np.int64 if name == "arrangement" else np.float64):
            wrong(f"{name} holds something else than numbers")
        if not np.isfinite(part[:-1] if name == "t" else part).all():
            wrong(f"{name} holds a value that is not finite")
    if not np.isin(np.diff(path.arrangement), (0, 1)).all():
        wrong("the arrangements do not follow one another")
    if not (np.diff(path.t) > 0).all() or not path.t[0] >= 0:
        wrong("the settings of the dial do not fit")
    if (path.t[np.isfinite(path.t)] > LARGEST_T).any():
        wrong(f"the dial goes beyond {LARGEST_T:g}")
    if found.criterion not in ("cluster", "city"):
        wrong("the criterion is unknown")
    if len(found.fixed_names) not in (0, len(fixed)):
        wrong("the names of the existing facilities do not fit")
    _closed(list(found.closed), len(fixed))
    for name in ("fixed_lonlat", "facilities_lonlat"):
        places(getattr(found, name), name)
    if found.room is not None and any(len(side) != len(found.facilities_lonlat) for side in found.room):
        wrong("the room of some facilities is missing")
    if found.reference.kind == "today" and not len(fixed):
        wrong("what the plan is compared with is unknown")
    if len(found.reference.lonlat):
        places(found.reference.lonlat, "compared_with")
    for name in ("points", "random_state", "pinned"):
        whole(getattr(found, name), name)
    for name in ("people", "mean_distance"):
        number(getattr(found, name), name)
    if found.residents is not None and found.residents.fingerprint != found.fingerprint:
        wrong("the residents in it are not those of the plan")
    if found.rules is not None:
        checked_rules(found.rules)
    if found.grounds is not None:
        checked_grounds(found.grounds, steps, sites)


def _understood(document: dict[str, Any]) -> PlanFile:
    """The parts of a plan file, each of its type; the caller turns errors into a sentence."""
    data, settings = document["data"], document["settings"]
    fixed = floats(settings["fixed_lonlat"], "fixed_lonlat").reshape(-1, 2)
    stored = document["path"]
    path = {
        part.name: _dial(stored["t"]) if part.name == "t" else floats(stored[part.name], part.name)
        for part in fields(TiltedPath)
    }
    if not (np.abs(path["arrangement"]) < 2**31).all():
        wrong("the arrangements do not follow one another")
    path["arrangement"] = path["arrangement"].astype(np.int64)
    names = settings.get("fixed_names", [])
    if not isinstance(names, list):
        wrong("the names of the existing facilities do not fit")
    spots = places(document["facilities_lonlat"], "facilities_lonlat")
    found = PlanFile(
        name=text(data["name"], "name"),
        fingerprint=text(data["fingerprint"], "fingerprint"),
        points=whole(data["points"], "points"),
        people=number(data["people"], "people"),
        version=text(document["version"], "version")[:40],
        k=whole(settings["k"], "k"),
        criterion=settings["criterion"],
        random_state=whole(settings["random_state"], "random_state"),
        t=float(_dial([settings["t"]])[0]),
        fixed_lonlat=fixed,
        fixed_names=tuple(text(name, "fixed_names") for name in names),
        closed=_closed(settings.get("closed", []), len(fixed)),
        reference=_reference(settings.get("compared_with"), len(fixed)),
        facilities_lonlat=spots,
        room=_room(document.get("room"), len(spots)),
        path=TiltedPath(**path),  # type: ignore[arg-type]
        baseline=floats(document["baseline"], "baseline"),
        mean_distance=number(_figures(document)["plan"]["mean_distance"], "mean_distance"),
        residents=_carried(document),
        shown=_shown(document.get("shown")),
        rules=document.get("rules"),
        pinned=min(whole(settings.get("pinned", 0), "pinned"), len(fixed)),
        grounds=document.get("grounds"),
    )
    check_plan_file(found)
    return found


def _figures(document: dict[str, Any]) -> Any:
    """The figures, in metres or minutes."""
    return document["figures_in_minutes" if "figures_in_minutes" in document else "figures_in_metres"]


def _shown(stored: Any) -> Shown | None:
    """How the plan was displayed; older files do not say."""
    if stored is None:
        return None
    if stored["unit"] not in METRES:
        wrong("the unit of distances is unknown")
    standard = None if stored["standard"] is None else number(stored["standard"], "standard")
    return Shown(text(stored["title"], "title"), text(stored["people"], "people"), stored["unit"], standard)


def _carried(document: dict[str, Any]) -> Residents | None:
    """The residents in the file, if any."""
    if document.get("residents") is None:
        return None
    return unpacked(text(document["data"]["name"], "name"), document["residents"])


def _dial(values: Any) -> Floats:
    """Settings of the dial; only the last may be infinite, written as "inf"."""
    if not isinstance(values, list) or not values:
        wrong("the settings of the dial do not fit")
    endless = isinstance(values[-1], str) and values[-1] == "inf"
    finite = [number(value, "t") for value in (values[:-1] if endless else values)]
    return np.array([*finite, np.inf] if endless else finite)


def _closed(numbers: Any, count: int) -> tuple[int, ...]:
    """The closed facilities: ascending whole numbers without repeats."""
    if not isinstance(numbers, list) or any(whole(number, "closed") >= count for number in numbers):
        wrong("a facility is closed that does not exist")
    if sorted(set(numbers)) != numbers:
        wrong("the closed facilities do not follow one another")
    return tuple(numbers)


def _reference(stored: Any, n_existing: int) -> Reference:
    """The reference of the plan; older files, without a choice, have today or k-means++."""
    usual = TODAY if n_existing else AVERAGE
    if stored is None:
        return usual
    kind = stored["kind"]
    if kind == "saved":
        lonlat = places(stored["lonlat"], "compared_with")
        most, least = _room(stored.get("room"), len(lonlat)) or ((), ())
        return Reference(
            kind,
            text(stored["title"], "title"),
            lonlat,
            most=most,
            least=least,
            t=float(_dial([stored.get("t", 0.0)])[0]),
        )
    if kind in ("average", "straight"):
        return AVERAGE if kind == "average" else BY_STRAIGHT_LINES
    if kind != "today":
        wrong("what the plan is compared with is unknown")
    return TODAY


def _room(stored: Any, count: int) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The most and the fewest people of each facility; null stands for no limit."""
    if stored is None:
        return None
    sides = [
        [math.inf if one is None else number(one, "room") for one in stored[side]]
        for side in ("most", "least")
    ]
    if any(len(side) != count for side in sides):
        wrong("the room of some facilities is missing")
    return tuple(sides[0]), tuple(sides[1])
