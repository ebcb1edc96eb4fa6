"""Visitors' files, each read in a process that ends with it: a hostile file can harm and learn nothing else."""

import atexit
import os
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any

from pages.serving.config import config
from pages.serving.jobs import reading
from pages.serving.jobs.pool import JobPool
from pages.serving.jobs.problems import READING, JobError
from tkm_core.export import LARGEST, PlanFile
from tkm_core.progress import Progress
from tkm_core.residents import Residents, Zones
from tkm_core.sites import TravelTable
from tkm_core.streets import Streets

READER_MODULES = ("pages.serving.jobs.rehearsal",)
READERS = 2  # one is ready while another is replaced; one address never has both


@cache
def readers() -> JobPool:
    """The pool that reads visitors' files, each in a process of its own, also where nothing else has workers.

    Windows cannot pass a connection to a process: there, files are read in the server.
    """
    wanted = config()
    made = JobPool(
        0 if os.name == "nt" else READERS,
        memory_mb=wanted.worker_memory_mb,
        most_waiting=wanted.most_waiting,
        seconds=wanted.read_seconds,
        modules=READER_MODULES,
        sentences=READING,
        single_use=True,
    )
    atexit.register(made.close)
    return made


def residents(
    key: str, files: Sequence[tuple[str, bytes]], options: Mapping[str, Any], progress: Progress
) -> Residents:
    """Residents as `load_residents` reads them, in a process for this one read.

    Parameters
    ----------
    key : str
        A digest of files and options.
    files : sequence of tuple of (str, bytes)
        Name and content of each file.
    options : mapping
        As `load_residents` takes them.
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    ResidentsError
        If the files cannot be used as they are, or hold more residents than this server plans for.
    """
    about = _about_files(sum(len(content) for _, content in files))
    most = config().most_residents
    found: Residents = readers().run(
        ("read", key, most),
        reading.residents,
        list(files),
        dict(options),
        most,
        about=about,
        progress=progress,
    )
    if len(found) > most:
        raise JobError(READING.lost)
    return found


def plan_file(key: str, content: bytes, progress: Progress) -> PlanFile:
    """A plan file as `read_plan_file` reads it, in a process for this one read.

    Parameters
    ----------
    key : str
        A digest of the content.
    content : bytes
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    PlanFileError
        If it is not a plan file, too large for one, or damaged.
    """
    enough = content[: LARGEST + 1]  # of a file that is too large, just enough for it to be refused
    about = _about_files(len(content))
    found: PlanFile = readers().run(
        ("plan file", key), reading.plan_file, enough, about=about, progress=progress
    )
    return found


def streets(
    key: str,
    name: str,
    content: bytes,
    mode: str,
    progress: Progress,
    *,
    columns: Mapping[str, Any] | None = None,
) -> Streets:
    """Streets as `load_streets` reads them, in a process for this one read.

    Parameters
    ----------
    key : str
        A digest of the content.
    name : str
        Of the file.
    content : bytes
    mode : {"walk", "bicycle", "car"}
    progress : callable
        As in `JobPool.run`.
    columns : mapping, optional
        Of a layer of lines: as `load_streets` takes them.

    Raises
    ------
    StreetsError
        If it is no road file, or has no streets for the mode.
    """
    chosen = dict(columns or {})
    asked = ("streets", key, name, mode, tuple(chosen.items()))
    about = _about_files(len(content))
    found: Streets = readers().run(
        asked, reading.streets, name, content, mode, chosen, about=about, progress=progress
    )
    return found


def zones(key: str, files: Sequence[tuple[str, bytes]], progress: Progress) -> Zones:
    """Zones as `load_zones` reads them, in a process for this one read.

    Parameters
    ----------
    key : str
        A digest of the files.
    files : sequence of tuple of (str, bytes)
        Name and content of each file.
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    ResidentsError
        If the files hold no polygons.
    """
    about = _about_files(sum(len(content) for _, content in files))
    found: Zones = readers().run(("zones", key), reading.zones, list(files), about=about, progress=progress)
    return found


def travel_table(
    key: Hashable, content: bytes, homes: list[Any], sites: list[str], unit: str, progress: Progress
) -> TravelTable:
    """A travel table as `read_travel` reads it, in a process for this one read.

    Parameters
    ----------
    key : hashable
        Of the content and the names.
    content : bytes
        A CSV file.
    homes, sites : list
        Names of residents, and of sites and existing facilities.
    unit : str
        Of its values.
    progress : callable
        As in `JobPool.run`.

    Raises
    ------
    ValueError
        If the table does not fit.
    """
    about = _about_files(len(content))
    found: TravelTable = readers().run(
        ("travel", key), reading.travel_table, content, homes, sites, unit, about=about, progress=progress
    )
    if found.values.shape != (len(homes), len(sites)):
        raise JobError(READING.lost)
    return found


def travel_rows(key: Hashable, content: bytes, progress: Progress) -> int:
    """How many rows a travel table has, as `travel_rows` counts them, in a process for this one read.

    Raises
    ------
    ValueError
        If it is no such table.
    """
    about = _about_files(len(content))
    found: int = readers().run(("rows", key), reading.travel_rows, content, about=about, progress=progress)
    return found


def _about_files(size: int) -> dict[str, Any]:
    return {"job": "read", "megabytes": round(size / 1e6, 1)}
