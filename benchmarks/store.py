"""Time to list a person's projects, a thousand against ten: ``python -m benchmarks.store``."""

import tempfile
import time
from contextlib import closing

from pages.serving.store import Actor, Store
from pages.serving.store.projects import make_project

MANY, FEW, ROUNDS = 1_000, 10, 20


def main() -> None:
    """Print the median for a person with many projects and for one with few."""
    many, few = Actor("many@example.org"), Actor("few@example.org")
    with tempfile.TemporaryDirectory() as folder, closing(Store(f"sqlite:///{folder}/kept.db")) as store:
        with store.database.writing() as connection:
            for actor, count in ((many, MANY), (few, FEW)):
                for number in range(count):
                    make_project(connection, actor, f"Project {number}", payer=actor.person)
        took = {actor.person: _median(store, actor) for actor in (many, few)}
    ratio = took[many.person] / took[few.person]
    print(f"{MANY:,} projects: {1000 * took[many.person]:.1f} ms, {ratio:.1f} times {FEW} projects (SQLite)")


def _median(store: Store, actor: Actor) -> float:
    """Median seconds to list the projects."""
    seconds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        store.projects_of(actor)
        seconds.append(time.perf_counter() - begun)
    return sorted(seconds)[ROUNDS // 2]


if __name__ == "__main__":
    main()
