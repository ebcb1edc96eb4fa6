"""What a reader does: it reads one file of a visitor, and ends. It imports only what reading needs.

Nothing else in the server looks into what visitors send.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from pages.serving.jobs import forms
from pages.serving.jobs.forms import returns
from tkm_core.progress import Progress
from tkm_core.residents import Residents, ResidentsError, Zones, load_residents, load_zones

if TYPE_CHECKING:
    from tkm_core.export import PlanFile
    from tkm_core.sites import TravelTable
    from tkm_core.streets import Streets


@returns(forms.RESIDENTS)
def residents(
    files: Sequence[tuple[str, bytes]],
    options: Mapping[str, Any],
    most: int,
    progress: Progress,  # noqa: ARG001  reading is killed, not asked to stop
) -> Residents:
    """Residents from the content of files.

    Parameters
    ----------
    files : sequence of tuple of (str, bytes)
        Name and content of each file.
    options : mapping
        As `load_residents` takes them.
    most : int
        Residents that this server plans for.
    progress : callable
        Not used.

    Raises
    ------
    ResidentsError
        If the files cannot be used as they are, or hold more residents.
    """
    parts = _named(files)
    found = load_residents(parts[0] if len(parts) == 1 else parts, name=files[0][0], **options)
    if len(found) > most:
        msg = (
            f"There are {len(found):,} residents in this file; this server plans for at most {most:,}. "
            "Add them up by block or grid cell, with a column that counts the people of each, or ask whoever runs this "
            "server to put the file, as Parquet, among the server's own data sets."
        )
        raise ResidentsError(msg, report=found.report)
    return found


@returns(forms.STREETS)
def streets(
    name: str,
    content: bytes,
    mode: str,
    columns: Mapping[str, Any],
    progress: Progress,  # noqa: ARG001  as above
) -> "Streets":
    """Streets from the content of a road file."""
    from tkm_core.streets import load_streets

    return load_streets(content, mode=mode, name=name, areas=True, **columns)


@returns(forms.ZONES)
def zones(
    files: Sequence[tuple[str, bytes]],
    progress: Progress,  # noqa: ARG001  as above
) -> Zones:
    """Zones from the content of files, each with a name, which may be empty."""
    parts = _named(files)
    found = load_zones(parts[0] if len(parts) == 1 else parts, name=files[0][0])
    return Zones(found.shapes, found.names or ("",) * len(found), found.name)


@returns(forms.TABLE)
def travel_table(
    content: bytes,
    homes: Sequence[Any],
    sites: Sequence[str],
    unit: str,
    progress: Progress,  # noqa: ARG001  as above
) -> "TravelTable":
    """A travel table from the content of a file."""
    from tkm_core.sites import read_travel

    return read_travel(BytesIO(content), homes, sites, unit=unit)


@returns(forms.COUNT)
def travel_rows(content: bytes, progress: Progress) -> int:  # noqa: ARG001  as above
    """How many rows a travel table has."""
    from tkm_core.sites import travel_rows

    return travel_rows(BytesIO(content))


def _named(files: Sequence[tuple[str, bytes]]) -> list[BytesIO]:
    parts = []
    for name, content in files:
        part = BytesIO(content)
        part.name = name
        parts.append(part)
    return parts


@returns(forms.PLAN_FILE)
def plan_file(content: bytes, progress: Progress) -> "PlanFile":  # noqa: ARG001  as above
    """A plan file from its content."""
    from tkm_core.export import read_plan_file  # brings the solver along, which other files do not need

    return read_plan_file(content)
