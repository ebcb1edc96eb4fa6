"""Data sets over HTTP: sample cities, uploads, and what is known of them."""

from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, Path, Query, UploadFile

from pages.serving.api.caller import Calls
from pages.serving.api.messages import DatasetAnswer, Id, Name, SampleAnswer, UploadAnswer
from pages.serving.api.uploads import Given, Kind, Said, said, taken
from pages.serving.store import store
from pages.serving.store.problems import DENIED, DeniedError
from tkm_core.progress import Progress
from tkm_core.residents import SAMPLES
from tkm_core.wording import plain

MOST_PARTS = 8  # of a shapefile
Token = Annotated[Id, Path(description="The token of a data set.")]
router = APIRouter(tags=["data sets"])


@router.get("/samples")
async def samples(_caller: Calls) -> list[SampleAnswer]:
    """The sample cities that come with the app."""
    return [
        SampleAnswer(
            key=key,
            title=one.title,
            people=one.unit_name,
            points=one.size,
            source=f"{one.source} {one.licence}",
        )
        for key, one in SAMPLES.items()
    ]


@router.post("/datasets", status_code=201)
async def upload(
    caller: Calls,
    parts: Annotated[list[UploadFile], File(alias="file", min_length=1, max_length=MOST_PARTS)],
    about: Annotated[Said, Depends(said)],
    kind: Annotated[
        Kind,
        Form(
            description="Where people live; facilities that exist; sites where new ones may stand; zones in which they "
            "must stand (only_in) or must not (not_in); a road file; a travel table (CSV)."
        ),
    ] = "residents",
    title: Annotated[Name, Form()] = "",
) -> UploadAnswer:
    """Upload where people live, facilities that exist, or what a plan has to follow: any file that the pages take.

    Send the parts of a shapefile together. Columns, reference system and encoding are guessed where you do not say, and
    `remarks` says what is worth knowing. Each file is read in a process of its own.
    """
    given = [(part.filename or "file", await part.read()) for part in parts]
    # of road files and tables the file's own name is kept: it may say what they are
    called = plain((kind not in ("roads", "table") and title) or given[0][0], "Your data")[:120]

    def work(progress: Progress) -> UploadAnswer:
        found = taken(Given(caller.actor, given, kind, about, progress))
        kept = store().add_dataset(caller.actor, found.kind, found.content, title=called, people=found.people)
        told = DatasetAnswer.of(kept).model_dump()
        return UploadAnswer(**told, rows=found.rows, total_people=found.total, remarks=list(found.remarks))

    return await caller.long(work)


@router.get("/datasets/{token}")
async def dataset(caller: Calls, token: Token) -> DatasetAnswer:
    """What is known of a data set."""
    found = await caller.quick(lambda: store().dataset(caller.actor, token))
    if found is None:
        raise DeniedError(DENIED)
    return DatasetAnswer.of(found)


@router.delete("/datasets/{token}", status_code=204)
async def remove(
    caller: Calls,
    token: Token,
    *,
    for_good: Annotated[
        bool, Query(description="At once and without a way back, from the bin or not.")
    ] = False,
) -> None:
    """Put data in the bin, from which they can be restored for 30 days. Copies that others made of them go, too.

    For the person who uploaded them; within a project for its owners, once no scenario uses them.
    """

    def work() -> None:
        if store().dataset(caller.actor, token) is None and not for_good:
            raise DeniedError(DENIED)
        (store().erase_dataset if for_good else store().remove_dataset)(caller.actor, token)

    await caller.quick(work)


@router.post("/datasets/{token}/restore", status_code=204)
async def restore(caller: Calls, token: Token) -> None:
    """Bring data back from the bin. For those who can remove them."""
    await caller.quick(lambda: store().restore_dataset(caller.actor, token))
