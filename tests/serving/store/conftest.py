"""Every test of the store runs with SQLite and with PostgreSQL."""

import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pages.serving.store import Actor, Draft, Scenario, Store
from pages.serving.store.schema import METADATA
from tests.serving import postgres

ANN, BEN, EVE = (Actor(f"{name}@example.org", name.capitalize()) for name in ("ann", "ben", "eve"))
NewUrl = Callable[[], str]


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Postgres]:
    with postgres.running() as one:
        yield one


@pytest.fixture(params=postgres.BACKENDS)
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> NewUrl:
    """Makes empty databases of one kind."""

    def make() -> str:
        name = secrets.token_hex(6)
        if request.param == "sqlite":
            return f"sqlite:///{tmp_path / name}.db"
        return request.getfixturevalue("server").new(name)

    return make


SHARED: dict[str, str] = {}  # the databases that tests share where a new one costs time and room


@pytest.fixture(params=postgres.BACKENDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'kept'}.db"
        return
    if "postgresql" not in SHARED:
        SHARED["postgresql"] = request.getfixturevalue("server").new("shared")
    yield SHARED["postgresql"]
    engine = sa.create_engine(SHARED["postgresql"])
    with engine.begin() as connection:
        for table in reversed(METADATA.sorted_tables):
            connection.execute(sa.delete(table))
    engine.dispose()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    kept = Store(url)
    yield kept
    kept.close()


def swept(store: Store, days: float, *, upload_days: float = 1, project_days: float = 0) -> None:
    """Sweep when so many days have gone by, and again a day later, as a server does every hour."""
    for later in (0, days, days + 1):
        store.sweep(upload_days=upload_days, project_days=project_days, now=time.time() + later * 86_400)


def saved(
    store: Store, actor: Actor = ANN, name: str = "A", project: str | None = None, **more: object
) -> Scenario:
    """A scenario of somebody, in a new project unless one is named."""
    draft = {"settings": {"k": "6", "t": "0.3"}, "figures": {"mean_distance": 1.5}, "plan": b"{}", **more}
    return store.save_scenario(actor, Draft(name, **draft), project, title="Clinics")[0]
