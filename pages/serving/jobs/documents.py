"""Files that are made of a plan in a worker: tables with a row for every resident, and the report."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from pages.serving.jobs.tasks import bare, pool
from tkm_core.export import Pieces, layers, to_bytes
from tkm_core.figures import Look, html_report
from tkm_core.planning import Plan
from tkm_core.progress import Progress, part
from tkm_core.residents import Report
from tkm_core.stories import tell_plan

SAMPLE, SOME = 4_000, 500  # rows that are written to estimate a size, and those of one part of them
LARGEST_FILE = 450e6  # bytes: it is held in the server's memory until it is fetched


def table(key: Hashable, plan: Plan, i: int, what: str, suffix: str, progress: Progress) -> bytes:
    """One of the tables of a plan as a file, as `to_bytes` makes it, from a worker.

    Parameters
    ----------
    key : hashable
        Of the data and the plan; who holds the same key is handed the same file, names in it included.
    plan : Plan
    i : int
        Setting of the dial.
    what, suffix : str
        As in `tkm_core.export`.
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    ValueError
        If the file gets too large to be handed out.
    """
    asked = ("table", key, plan.path.centers[i].tobytes(), i, what, suffix)
    about = {"job": "table", "residents": len(plan.residents), "format": suffix}
    sent = replace(_sent(plan), _curves={})
    made: bytes = pool().run(asked, _table, sent, i, what, suffix, about=about, progress=progress)
    return made


def report(
    key: Hashable,
    plan: Plan,
    i: int,
    look: Look,
    told: Mapping[str, Any],
    progress: Progress,
    *,
    standard: float | None = None,
) -> bytes:
    """The report on a plan, as `html_report` writes it, from a worker.

    Parameters
    ----------
    key : hashable
        As for `table`.
    plan : Plan
    i : int
        Setting of the dial.
    look : Look
    told : mapping
        What else `html_report` takes: title, source, link, axes, budget.
    progress : callable
        As in `JobPool.run`.
    standard : float, optional
        The service standard, in metres or minutes.
    """
    asked = ("report", key, plan.path.centers[i].tobytes(), i, look, standard, tuple(told.items()))
    about = {"job": "report", "residents": len(plan.residents)}
    made: bytes = pool().run(
        asked, _report, _sent(plan), i, look, standard, dict(told), about=about, progress=progress
    )
    return made


def _sent(plan: Plan) -> Plan:
    """A plan as a worker needs it: with the names in its residents' file, but without all that was read of it."""
    home = plan.residents
    kept = replace(bare(home), labels=home.labels, report=Report(crs=home.report.crs))
    return replace(plan, residents=kept, _stops={})


def _table(plan: Plan, i: int, what: str, suffix: str, progress: Progress) -> bytes:
    progress(0.0, "gathering the figures")
    tables = layers(plan, i, what)
    progress(0.05, "estimating its size")
    _refuse_too_large(expected_bytes(tables, suffix), "about ")
    made = to_bytes(tables, suffix, progress=part(progress, 0.1, 1.0))
    _refuse_too_large(len(made))
    return made


def expected_bytes(tables: Mapping[str, Any], suffix: str) -> float:
    """About how large a file of tables gets, from some of the rows of those that are made piece by piece.

    Two samples are written: the larger one tells what a row takes, without what a file takes at its beginning.
    """
    found = 0.0
    for name, one in tables.items():
        if not isinstance(one, Pieces) or one.rows <= SAMPLE:
            continue
        step = one.rows // (SAMPLE // SOME)
        spread = [one.make(slice(start, start + SOME)) for start in range(0, step * (SAMPLE // SOME), step)]
        few, many = (
            len(to_bytes({name: Pieces.of(pd.concat(parts, ignore_index=True))}, suffix))
            for parts in (spread[:1], spread)
        )
        found += few + (many - few) / (SAMPLE - SOME) * (one.rows - SOME)
    return found


def _refuse_too_large(size: float, about: str = "") -> None:
    """Raise ValueError if a file is larger than what is handed out."""
    if size > LARGEST_FILE:
        msg = (
            f"This file would be {about}{size / 1e6:,.0f} MB, more than the {LARGEST_FILE / 1e6:,.0f} MB that "
            "this server hands out. Choose Parquet or CSV, which are smaller."
        )
        raise ValueError(msg)


def _report(
    plan: Plan, i: int, look: Look, standard: float | None, told: dict[str, Any], progress: Progress
) -> bytes:
    progress(0.0, "measuring")
    story = tell_plan(plan, i, unit=look.unit, standard=standard, people=look.people)
    progress(0.3, "drawing")
    return html_report(plan, i, story, look, standard=standard, **told).encode()
