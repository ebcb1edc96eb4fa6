"""What the API takes and what it answers, as the OpenAPI document describes it."""

from datetime import UTC, datetime
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from pages.serving.config import config
from pages.serving.store import Dataset, Event, Project, Scenario
from pages.serving.store.history import AT_MOST
from pages.serving.store.schema import NAME, NOTE

MOST_FACILITIES = config().most_facilities
Name = Annotated[str, Field(max_length=NAME)]
Note = Annotated[str, Field(max_length=NOTE)]
Id = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.-]+$")]
Most = Annotated[int, Query(ge=1, le=AT_MOST, description="How many of the list are wanted.")]
Start = Annotated[
    int, Query(ge=0, le=10**6, description="How many of the list come before the first that is wanted.")
]
Version = Annotated[
    int, Field(ge=1, le=2**31 - 2, description="The version that you saw; 409 if it has changed since.")
]


class Message(BaseModel):
    """Unknown fields are refused: a misspelt setting would have no effect."""

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
        """Make it from the store's record."""
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
    """A new upload, with what was understood of its files; its kind is places for sites and zones."""

    rows: int
    total_people: float
    remarks: list[str]


class Pin(Message):
    """A place in degrees at which one of the new facilities stands."""

    lon: Annotated[float, Field(ge=-180, le=180)]
    lat: Annotated[float, Field(ge=-85, le=85)]


class PlanWish(Message):
    """What to plan, as on the Plan page, and the rules the plan has to follow, as on the Sites page."""

    dataset: Annotated[Id, Field(description="The key of a sample, or the token of an upload.")]
    k: Annotated[int, Field(ge=0, le=MOST_FACILITIES, description="New facilities.")]
    t: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["inf"],
        Field(
            description="The fairness dial: from 0, the lowest average, upwards; at inf only the longest trip counts."
        ),
    ] = 0.25
    existing: Annotated[Id | None, Field(description="The token of existing facilities.")] = None
    closed: Annotated[
        list[Annotated[int, Field(ge=1, le=1_000_000)]],
        Field(max_length=200, description="Existing facilities that close, counted from 1."),
    ] = []
    pins: Annotated[
        list[Pin],
        Field(
            max_length=MOST_FACILITIES, description="Where some of the k new facilities stand; fewer than k."
        ),
    ] = []
    places: Annotated[
        Id | None,
        Field(
            description="Where facilities may stand: a token of sites and zones, or sample for the sample's sites."
        ),
    ] = None
    by: Annotated[
        Literal["straight", "walk", "bicycle", "car", "table"],
        Field(
            description="How distances are measured: in a straight line, along streets, or by a travel table."
        ),
    ] = "straight"
    roads: Annotated[Id | None, Field(description="The token of a road file; a sample may have its own.")] = (
        None
    )
    measure: Annotated[Literal["minutes", "metres"], Field(description="Along streets.")] = "minutes"
    direction: Annotated[
        Literal["there", "back"],
        Field(description="Along streets: people travel there, or the service drives out."),
    ] = "there"
    table: Annotated[
        Id | None,
        Field(
            description="The token of a travel table, or sample: its names are those of residents and sites."
        ),
    ] = None
    most: Annotated[int, Field(ge=0, le=10**9, description="Most people a facility serves; 0: no limit.")] = 0
    least: Annotated[int, Field(ge=0, le=10**9, description="Fewest people a facility serves.")] = 0
    equal_groups: Annotated[bool, Field(description="Whether every group counts the same in placing.")] = (
        False
    )
    criterion: Annotated[
        Literal["city", "cluster"],
        Field(
            description="Which plan wins at each t: by the city-wide cost, or without rules by the tilted SSE."
        ),
    ] = "city"


class FacilityAnswer(BaseModel):
    """A facility of a plan."""

    number: int
    name: str
    kind: Literal["new", "pinned", "existing"]
    lon: float
    lat: float
    people: float


class PlanAnswer(BaseModel):
    """A plan at one setting of the dial; measures are in `unit` (m or min), or in powers of it.

    `rules` and `remarks` say what the plan follows, `proof` how good it is proven to be. `link` is empty where no page
    shows such a plan.
    """

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
    unit: str
    rules: list[str]
    remarks: list[str]
    proof: str
    link: str


class NewProject(Message):
    """A project to be made."""

    name: Name
    note: Note = ""


class Change(Message):
    """Changes to what has a name and a note; whatever is not given stays."""

    version: Version
    name: Name | None = None
    note: Note | None = None

    @property
    def told(self) -> dict[str, str]:
        """What is to be changed."""
        return self.model_dump(exclude={"version"}, exclude_none=True)


class ProjectChange(Change):
    """Changes to a project."""


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
        """Make it from the store's record."""
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
        """Make it from the store's record."""
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
    name: Annotated[
        Name, Field(description="By default what the plan is, as in: 6 facilities, t = 0.25.")
    ] = ""
    note: Note = ""
    parent: Annotated[Id | None, Field(description="The scenario it goes on from.")] = None


class ScenarioChange(Change):
    """Changes to a scenario."""


class ScenarioAnswer(BaseModel):
    """A saved plan: its settings, and its measures in `unit` (m or min), or in powers of it."""

    id: str
    project: str
    name: str
    note: str
    settings: dict[str, str]
    unit: str
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
        """Make it from the store's record."""
        return cls(
            id=found.id,
            project=found.project_id,
            name=found.name,
            note=found.note,
            settings=dict(found.settings),
            unit=found.figures.get("facts", {}).get("unit", "m"),
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
