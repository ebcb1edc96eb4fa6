"""Scenarios over HTTP: plans made and saved in one call, their figures, and their files."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from pages.serving.api import cities
from pages.serving.api.caller import Calls
from pages.serving.api.messages import (
    Id,
    Most,
    NewScenario,
    NewScenarioAnswer,
    ScenarioAnswer,
    ScenarioChange,
    Start,
)
from pages.serving.jobs import documents
from pages.serving.scenario_content import name_of, pictures, saved_figures
from pages.serving.store import DeniedError, Draft, store
from pages.serving.store.history import MOST
from pages.serving.store.problems import READ_ONLY
from tkm_core.export import FORMATS, TABLES, plan_json
from tkm_core.figures import Look
from tkm_core.progress import Progress

PLAN, REPORT = "plan.json", "report.html"
NAMES = [f"{what}.{suffix}" for what in TABLES for suffix in FORMATS] + ["all.gpkg", PLAN, REPORT]
FileName = StrEnum("FileName", {name.replace(".", "_"): name for name in NAMES})  # type: ignore[misc]
MEDIA = {PLAN: "application/json", REPORT: "text/html"}
Named = Annotated[Id, Path(alias="scenario", description="The id of a scenario.")]
router = APIRouter(prefix="/scenarios", tags=["scenarios"])


def media_type(name: str) -> str:
    """What a file is.

    >>> media_type("report.html"), media_type("areas.geojson")
    ('text/html', 'application/geo+json')
    """
    return MEDIA.get(name) or FORMATS[name.rpartition(".")[2]].media_type


@router.get("")
async def of_project(
    caller: Calls, project: Annotated[Id, Query()], most: Most = MOST, start: Start = 0
) -> list[ScenarioAnswer]:
    """The scenarios of a project, the newest first, each with its figures; `most` of them from `start` on."""
    found = await caller.quick(
        lambda: store().scenarios_of(caller.actor, project, pictures=False, most=most, start=start)
    )
    return [ScenarioAnswer.of(one) for one in found]


@router.post("", status_code=201)
async def new(caller: Calls, wish: NewScenario) -> NewScenarioAnswer:
    """Make a plan and save it with its data: in a project whose editor the caller is, or in a new one."""

    def work(progress: Progress) -> NewScenarioAnswer:
        if wish.project is not None and not store().project(caller.actor, wish.project).can_edit:
            raise DeniedError(READ_ONLY)  # before the work, not after it
        place, plan, i = cities.planned(caller.actor, wish.plan, progress)
        draft = Draft(
            wish.name or name_of(plan, i),
            cities.settings(wish.plan),
            saved_figures(plan, i, place),
            plan_json(plan, i),
            wish.note,
            pictures(place, plan, i, Look(people=place.people)),
            wish.parent or "",
        )
        title = wish.title or place.title
        made, secret = store().save_scenario(caller.actor, draft, wish.project, title=title)
        return NewScenarioAnswer(**ScenarioAnswer.of(made).model_dump(), project_key=secret)

    return await caller.long(work)


@router.get("/{scenario}")
async def one(caller: Calls, name: Named) -> ScenarioAnswer:
    """One scenario, with its figures."""
    found, _ = await caller.quick(lambda: store().open_scenario(caller.actor, name))
    return ScenarioAnswer.of(found)


@router.patch("/{scenario}")
async def change(caller: Calls, name: Named, wish: ScenarioChange) -> ScenarioAnswer:
    """Rename a scenario, or change its note. For editors."""
    return ScenarioAnswer.of(
        await caller.quick(lambda: store().change_scenario(caller.actor, name, wish.version, **wish.told))
    )


@router.delete("/{scenario}", status_code=204)
async def delete(caller: Calls, name: Named) -> None:
    """Delete a scenario. It can be brought back for 30 days. For editors."""
    await caller.quick(lambda: store().delete_scenario(caller.actor, name))


@router.post("/{scenario}/restore", status_code=204)
async def restore(caller: Calls, name: Named) -> None:
    """Bring a deleted scenario back. For editors."""
    await caller.quick(lambda: store().restore_scenario(caller.actor, name))


@router.get(
    "/{scenario}/files/{file}",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in sorted({media_type(name) for name in NAMES})}}},
)
async def export(caller: Calls, name: Named, file: FileName) -> Response:
    """A scenario as a file: its facilities, who goes where, service areas, the plan file, the report."""
    content = await caller.long(lambda progress: _file(caller, name, str(file), progress))
    return Response(
        content,
        media_type=media_type(str(file)),
        headers={"Content-Disposition": f'attachment; filename="{file}"'},
    )


def _file(caller: Calls, name: str, file: str, progress: Progress) -> bytes:
    if file == PLAN:
        return store().plan_of(caller.actor, name)
    found, place, plan, i = cities.reopened(caller.actor, name, progress)
    if file == REPORT:
        told = {"title": f"{place.title}: {found.name}", "source": place.source}
        return documents.report(("scenario", name), plan, i, Look(people=place.people), told, progress)
    what, _, suffix = file.partition(".")
    return documents.table(("scenario", name), plan, i, what, suffix, progress)
