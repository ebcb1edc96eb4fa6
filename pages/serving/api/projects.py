"""Projects over HTTP: those of the caller, and their history. They are shared in the app."""

from typing import Annotated

from fastapi import APIRouter, Path

from pages.serving.api.caller import Calls
from pages.serving.api.messages import (
    EventAnswer,
    Id,
    Most,
    NewProject,
    NewProjectAnswer,
    ProjectAnswer,
    ProjectChange,
    Start,
)
from pages.serving.store import store
from pages.serving.store.history import MOST

Named = Annotated[Id, Path(alias="project", description="The id of a project.")]
router = APIRouter(prefix="/projects", tags=["projects"])


@router.get("")
async def mine(caller: Calls, most: Most = MOST, start: Start = 0) -> list[ProjectAnswer]:
    """The projects that the caller may see, the one changed last first; `most` of them from `start` on."""
    found = await caller.quick(lambda: store().projects_of(caller.actor, most, start))
    return [ProjectAnswer.of(one) for one in found]


@router.post("", status_code=201)
async def new(caller: Calls, wish: NewProject) -> NewProjectAnswer:
    """Make a project. It belongs to the caller; without a token, to whoever has `project_key`."""
    made, secret = await caller.quick(lambda: store().new_project(caller.actor, wish.name, wish.note))
    return NewProjectAnswer(**ProjectAnswer.of(made).model_dump(), project_key=secret)


@router.get("/{project}")
async def one(caller: Calls, name: Named) -> ProjectAnswer:
    """One project."""
    return ProjectAnswer.of(await caller.quick(lambda: store().project(caller.actor, name)))


@router.patch("/{project}")
async def change(caller: Calls, name: Named, wish: ProjectChange) -> ProjectAnswer:
    """Rename a project, or change its note. For its editors."""
    return ProjectAnswer.of(
        await caller.quick(lambda: store().change_project(caller.actor, name, wish.version, **wish.told))
    )


@router.delete("/{project}", status_code=204)
async def delete(caller: Calls, name: Named) -> None:
    """Delete a project with its scenarios, data, links and history, for good. For its owners.

    The uploads it was made of go, too, and so do the copies of its data that others made in their projects.
    """
    await caller.quick(lambda: store().delete_project(caller.actor, name))


@router.get("/{project}/history")
async def history(caller: Calls, name: Named, most: Most = MOST, start: Start = 0) -> list[EventAnswer]:
    """What was changed when and by whom, the last first; `most` changes from `start` on."""
    found = await caller.quick(lambda: store().history(caller.actor, name, most, start))
    return [EventAnswer.of(event) for event in found]
