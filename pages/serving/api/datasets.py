"""Data sets over HTTP: sample cities, uploads, and what is known of them."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Path, UploadFile

from pages.serving.api import cities
from pages.serving.api.caller import Calls
from pages.serving.api.messages import DatasetAnswer, Id, Name, PlanWish, SampleAnswer, UploadAnswer
from pages.serving.jobs import files
from pages.serving.store import EXISTING, RESIDENTS, store
from pages.serving.store.packing import existing_bytes, residents_bytes
from pages.serving.store.problems import DENIED, DeniedError
from pages.shared.markdown import plain
from tkm_core.progress import Progress
from tkm_core.residents import SAMPLES, Residents, read_existing

MOST_PARTS = 8  # of a shapefile
Token = Annotated[Id, Path(description="The token of a data set.")]
Text = Annotated[str | None, Form(max_length=200)]
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
    kind: Annotated[Literal["residents", "existing"], Form()] = "residents",
    of: Annotated[
        Id | None,
        Form(description="Of existing facilities: the residents they serve, a sample's key or a token."),
    ] = None,
    title: Annotated[Name, Form()] = "",
    people: Annotated[Name, Form(description="What the rows count, as in homes.")] = "",
    x: Text = None,
    y: Text = None,
    weight: Text = None,
    group: Text = None,
    id: Text = None,  # noqa: A002  as the library calls it
    place: Text = None,
    crs: Text = None,
    sheet: Text = None,
    layer: Text = None,
    encoding: Text = None,
    delimiter: Text = None,
    decimal: Text = None,
) -> UploadAnswer:
    """Upload where people live, or the facilities that exist: any file that the Data page takes.

    The parts of a shapefile come together. What is not said about columns, reference system or encoding is guessed, and
    `remarks` says what is worth knowing. Each file is read in a process of its own.
    """
    given = [(part.filename or "file", await part.read()) for part in parts]
    said = {
        "x": x, "y": y, "weight": weight, "group": group, "id": id, "place": place, "crs": crs, "sheet": sheet,
        "layer": layer, "encoding": encoding, "delimiter": delimiter, "decimal": decimal,
    }  # fmt: skip
    options = {name: value for name, value in said.items() if value}
    called = plain(title or given[0][0], "Your data")[:120]

    def work(progress: Progress) -> UploadAnswer:
        def read(chosen: Mapping[str, Any]) -> Residents:
            return files.residents(_digest(given, chosen), given, chosen, progress)

        if kind == EXISTING:
            home = cities.city(caller.actor, PlanWish(dataset=of or "", k=0)).residents
            found = read_existing(read, home, **options)
            kept = store().add_dataset(caller.actor, EXISTING, existing_bytes(found), title=called)
            rows, total, report = len(found), 0.0, found.report
        else:
            made = read(options)
            who = plain(people, "residents")[:120]
            kept = store().add_dataset(
                caller.actor, RESIDENTS, residents_bytes(made), title=called, people=who
            )
            rows, total, report = len(made), float(made.weights.sum()), made.report
        told = DatasetAnswer.of(kept).model_dump()
        return UploadAnswer(**told, rows=rows, total_people=total, remarks=list(report.warnings))

    if kind == EXISTING and of is None:
        msg = "Existing facilities need the residents they serve: say which in `of`."
        raise ValueError(msg)
    return await caller.long(work)


@router.get("/datasets/{token}")
async def dataset(caller: Calls, token: Token) -> DatasetAnswer:
    """What is known of a data set."""
    found = await caller.quick(lambda: store().dataset(caller.actor, token))
    if found is None:
        raise DeniedError(DENIED)
    return DatasetAnswer.of(found)


@router.delete("/datasets/{token}", status_code=204)
async def remove(caller: Calls, token: Token) -> None:
    """Remove an upload with all its bytes, at once. Only the person who brought it can."""
    if await caller.quick(lambda: store().dataset(caller.actor, token)) is None:
        raise DeniedError(DENIED)
    await caller.quick(lambda: store().remove_dataset(caller.actor, token))


def _digest(given: list[tuple[str, bytes]], chosen: Mapping[str, Any]) -> str:
    digest = hashlib.blake2b(repr(sorted(chosen.items())).encode(), digest_size=16)
    for name, content in given:
        digest.update(repr((name, len(content))).encode())  # so that no name runs into the content
        digest.update(content)
    return digest.hexdigest()
