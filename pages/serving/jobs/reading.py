"""What a reader does: it reads one file of a visitor, and ends. It imports only what reading needs."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from tkm_core.progress import Progress
from tkm_core.residents import Residents, ResidentsError, load_residents

if TYPE_CHECKING:
    from tkm_core.export import PlanFile


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
        Not told.

    Raises
    ------
    ResidentsError
        If the files cannot be used as they are, or hold more residents.
    """
    parts = []
    for name, content in files:
        part = BytesIO(content)
        part.name = name
        parts.append(part)
    found = load_residents(parts[0] if len(parts) == 1 else parts, name=files[0][0], **options)
    if len(found) > most:
        msg = (
            f"There are {len(found):,} residents in this file; this server plans for at most {most:,}. "
            "Add them up by block or grid cell, with a column that counts the people of each."
        )
        raise ResidentsError(msg, report=found.report)
    return found


def plan_file(content: bytes, progress: Progress) -> "PlanFile":  # noqa: ARG001  as above
    """A plan file from its content."""
    from tkm_core.export import read_plan_file  # brings the solver along, which other files do not need

    return read_plan_file(content)
