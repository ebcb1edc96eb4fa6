"""Write plan files: JSON with settings, seed, version, the data's fingerprint and results."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from tkm_core.evaluation import Evaluation
from tkm_core.export.carried import packed
from tkm_core.export.formats import write_whole
from tkm_core.export.planfile_grounds import written_grounds
from tkm_core.export.planfile_reading import FORMAT, FORMAT_VERSION, LARGEST, WITH_RULES, Shown
from tkm_core.export.planfile_rules import written_rules
from tkm_core.measures import SAVED, shown_in
from tkm_core.planning import FREE, Plan, Reference
from tkm_core.residents import crs_name
from tkm_core.version import VERSION


def plan_document(
    plan: Plan, i: int, *, residents: bool = False, shown: Shown | None = None
) -> dict[str, Any]:
    """The content of the plan file as plain types; equal for equal plans."""
    home = plan.residents
    carried: dict[str, Any] = {"residents": packed(home)} if residents else {}
    if shown is not None:
        carried["shown"] = asdict(shown)
    if plan.rules != FREE:
        carried["rules"] = written_rules(plan.rules)
    if plan.grounds is not None:
        carried["grounds"] = written_grounds(plan.grounds)
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
            "pinned": plan.existing.pinned,
            "closed": list(plan.closed),
            "compared_with": {
                "kind": plan.reference.kind,
                "title": plan.reference.title,
                "lonlat": plan.reference.lonlat.tolist(),
                **_room(plan.reference),
                **({"t": _written(plan.reference.t)} if plan.reference.most else {}),
            },
        },
        "facilities_lonlat": plan.centers_lonlat(i).round(9).tolist(),
        **_room(plan.as_reference(i, "")),
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
        How the plan was displayed: its title, units and service standard.

    Returns
    -------
    bytes

    Examples
    --------
    >>> from tkm_core.export import read_plan_file, restore_plan
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> city = load_sample("generated", n=200)
    >>> plan = make_plan(city, 3, t=[0, 0.1, 1])
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
        The file to write.
    residents : bool, default=False
        As in `plan_json`.

    Returns
    -------
    Path
    """
    content = plan_json(plan, i, residents=residents)
    return write_whole(Path(path), lambda file: _fill(file, content))


def _room(saved: Reference) -> dict[str, Any]:
    """The room of each facility for JSON, which has no infinity; nothing where it is not limited."""
    if not saved.most:
        return {}
    return {
        "room": {"most": [one if one < np.inf else None for one in saved.most], "least": list(saved.least)}
    }


def _written(t: float) -> float | str:
    """A setting of the dial for JSON, which has no infinity."""
    return "inf" if np.isinf(t) else float(t)


def _figures(found: Evaluation) -> dict[str, float]:
    """The measures that a plan file stores."""
    return {name: float(getattr(found, name)) for name in shown_in(SAVED)}


def _fill(file: Path, content: bytes) -> None:
    """Write the content of a file."""
    file.write_bytes(content)
