"""What the API takes and what it answers, as the OpenAPI document describes it."""

from datetime import UTC, datetime
from typing import Annotated, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field

from pages.serving.config import config
from pages.serving.store import Dataset, Event, Project, Scenario
from pages.serving.store.schema import NAME, NOTE

MOST_FACILITIES = config().most_facilities
Name = Annotated[str, Field(max_length=NAME)]
Note = Annotated[str, Field(max_length=NOTE)]
Id = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.-]+$")]
Version = Annotated[
    int, Field(ge=1, le=2**31 - 2, description="Of what you saw: 409 if it has changed since.")
]


class Message(BaseModel):
    """What is not known is refused: a misspelt setting would be none."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """A sentence that says what is wrong and what to do."""

    detail: str


class Me(BaseModel):
    """Who the caller is to this server, and what it allows."""

    person: str
    name: str
    upload_mb: int
    most_residents: int
    most_facilities: int


class SampleAnswer(BaseModel):
    """A sample city."""

    key: str
    title: str
    people: str
    points: int
    source: str


class DatasetAnswer(BaseModel):
    """An upload or a project's data; `token` opens it."""

    token: str
    kind: str
    title: str
    people: str
    size: int
    project: str | None
    created: datetime

    @classmethod
    def of(cls, found: Dataset) -> "DatasetAnswer":
        """As the store has it."""
        return cls(
            token=found.token,
            kind=found.kind,
            title=found.title,
            people=found.people,
            size=found.size,
            project=found.project_id,
            created=_time(found.created),
        )


class UploadAnswer(DatasetAnswer):
    """A new upload, with what was understood of its files."""

    rows: int
    total_people: float
    remarks: list[str]


class PlanWish(Message):
    """What is to be planned, as on the Plan page."""

    dataset: Annotated[Id, Field(description="The key of a sample, or the token of an upload.")]
    k: Annotated[int, Field(ge=0, le=MOST_FACILITIES, description="New facilities.")]
    t: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["inf"],
        Field(description="The fairness dial: from 0, the lowest average, upwards; inf: the farthest alone."),
    ] = 0.25
    existing: Annotated[Id | None, Field(description="The token of existing facilities.")] = None
    closed: Annotated[
        list[Annotated[int, Field(ge=1, le=1_000_000)]],
        Field(max_length=200, description="Existing facilities that close, counted from 1."),
    ] = []


class FacilityAnswer(BaseModel):
    """A facility of a plan."""

    number: int
    name: str
    new: bool
    lon: float
    lat: float
    people: float


class PlanAnswer(BaseModel):
    """A plan at one setting of the dial; measures are in metres, or in powers of them."""

    dataset: str
    k: int
    t: float | Literal["inf"]
    sentence: str
    facilities: list[FacilityAnswer]
    measures: dict[str, float]
    compared_with: str
    measures_compared_with: dict[str, float]
    dial: list[float | Literal["inf"]]
    curve: dict[str, list[float]]
    link: str


class NewProject(Message):
    """A project that is to be made."""

    name: Name
    note: Note = ""


class ProjectChange(Message):
    """What is to be changed of a project."""

    version: Version
    name: Name | None = None
    note: Note | None = None


class ProjectAnswer(BaseModel):
    """A project as the caller sees it."""

    id: str
    name: str
    note: str
    role: str
    version: int
    scenarios: int
    created: datetime
    updated: datetime

    @classmethod
    def of(cls, found: Project) -> "ProjectAnswer":
        """As the store has it."""
        return cls(
            id=found.id,
            name=found.name,
            note=found.note,
            role=found.role,
            version=found.version,
            scenarios=found.scenarios,
            created=_time(found.created),
            updated=_time(found.updated),
        )


class NewProjectAnswer(ProjectAnswer):
    """A project that was just made.

    `project_key` is the secret of its private link, where it belongs to nobody by name; it is not shown again.
    """

    project_key: str


class EventAnswer(BaseModel):
    """One change: what was done to which scenario, when and by whom."""

    at: datetime
    author: str
    what: str
    scenario: str
    detail: str

    @classmethod
    def of(cls, found: Event) -> "EventAnswer":
        """As the store has it."""
        return cls(
            at=_time(found.at),
            author=found.author,
            what=found.what,
            scenario=found.scenario,
            detail=found.detail,
        )


class NewScenario(Message):
    """A plan that is to be made and saved: in a project, or in a new one called `title`."""

    plan: PlanWish
    project: Id | None = None
    title: Name = ""
    name: Annotated[Name, Field(description="By default what the plan is: 6 facilities, t = 0.25.")] = ""
    note: Note = ""
    parent: Annotated[Id | None, Field(description="The scenario it goes on from.")] = None


class ScenarioChange(Message):
    """What is to be changed of a scenario."""

    version: Version
    name: Name | None = None
    note: Note | None = None


class ScenarioAnswer(BaseModel):
    """A saved plan: its settings, and its measures in metres, or in powers of them."""

    id: str
    project: str
    name: str
    note: str
    settings: dict[str, str]
    measures: dict[str, float]
    curve: dict[str, list[float]]
    parent: str
    author: str
    made_with: str
    version: int
    created: datetime
    updated: datetime
    link: str

    @classmethod
    def of(cls, found: Scenario) -> "ScenarioAnswer":
        """As the store has it."""
        return cls(
            id=found.id,
            project=found.project_id,
            name=found.name,
            note=found.note,
            settings=dict(found.settings),
            measures=found.figures.get("measures", {}),
            curve=found.figures.get("curve", {}),
            parent=found.parent,
            author=found.author,
            made_with=found.made_with,
            version=found.version,
            created=_time(found.created),
            updated=_time(found.updated),
            link=link({**found.settings, "scenario": found.id}),
        )


class NewScenarioAnswer(ScenarioAnswer):
    """A scenario that was just saved; `project_key` as in a new project, else empty."""

    project_key: str


def link(settings: dict[str, str]) -> str:
    """The path of the page that shows a plan.

    >>> link({"dataset": "toulouse", "k": "6"})
    '/?dataset=toulouse&k=6'
    """
    base = config().base_path.strip("/")
    return (f"/{base}/?" if base else "/?") + urlencode(settings)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
