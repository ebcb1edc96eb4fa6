"""Visitors' files are read in processes used once, within seconds, beside planning and never in its way."""

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pages.serving.config import Config
from pages.serving.jobs import JobError, JobPool, documents, files, tasks
from pages.serving.jobs.asker import Asker, asking
from pages.serving.jobs.problems import READING
from pages.serving.jobs.worker import NICE
from tests.serving.jobs import work
from tests.serving.jobs.test_pool import ABOUT, GoneError
from tests.waiting import until
from tkm_core import export
from tkm_core.figures import Look
from tkm_core.planning import make_plan
from tkm_core.residents import ResidentsError
from tkm_core.residents.samples import load_sample

TOWN = b"name,lon,lat\n<script>alert(1)</script>,1.44,43.6\n=cmd(),1.46,43.61\nC,1.4,43.58\n"


def quiet(_fraction: float, _text: str) -> None:
    pass


@pytest.fixture(scope="module")
def readers() -> Iterator[JobPool]:
    """The readers as the app makes them where it has no workers."""
    patch = pytest.MonkeyPatch()
    patch.setattr(files, "config", lambda: Config(workers=0, worker_memory_mb=700))
    files.readers.cache_clear()
    made = files.readers()
    patch.undo()
    yield made
    made.close()
    files.readers.cache_clear()


@pytest.fixture(scope="module")
def light() -> Iterator[JobPool]:
    """Readers that bring nothing along and so start at once, for what does not depend on the file."""
    made = JobPool(2, single_use=True, sentences=READING, seconds=2, memory_mb=700)
    yield made
    made.close()


def test_no_reader_is_used_twice(light: JobPool) -> None:
    seen = [light.run(f"home {i}", work.remember, f"home {i}", about=ABOUT) for i in range(4)]
    assert len({pid for pid, _ in seen} | {os.getpid()}) == 5
    assert [held for _, held in seen] == [[f"home {i}"] for i in range(4)], (
        "none holds anything of the former"
    )


def test_a_process_starts_at_once_and_gives_way_to_pages_when_it_works() -> None:
    """At low priority, starting one would take minutes on a busy server, and the next visitor would wait for it."""
    for single_use in (True, False):
        pool = JobPool(1, single_use=single_use, modules=[work.__name__])
        born, now = pool.run("priority", work.priorities, about=ABOUT)
        pool.close()
        assert (born, now) == (os.nice(0), min(os.nice(0) + NICE[pool.wire], 19))


def test_a_reader_has_ended_before_its_result_is_handed_on(light: JobPool) -> None:
    pid, _ = light.run("gone", work.remember, "home", about=ABOUT)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_used_worker_of_planning_stays() -> None:
    pool = JobPool(1)
    first, _ = pool.run("a", work.remember, "a", about=ABOUT)
    assert pool.run("b", work.remember, "b", about=ABOUT)[0] == first
    pool.close()


def test_a_file_is_read_with_its_report_also_without_workers(readers: JobPool) -> None:
    found = files.residents("k", [("town.csv", TOWN)], {}, quiet)
    assert (len(found), found.report.rows_read, found.name) == (3, 3, "town.csv")
    with pytest.raises(ResidentsError) as refused:
        files.residents("bad", [("bad.csv", b"a,b\n1,2\n")], {}, quiet)
    assert refused.value.report is not None
    assert str(refused.value).endswith((".", "?"))


def test_files_are_read_by_readers_and_plans_made_by_workers(
    readers: JobPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No planning worker ever sees a file, no reader anything else."""
    town = load_sample("generated", n=300)
    asked: dict[str, list[object]] = {"plans": [], "reads": []}

    class Noted(JobPool):
        def __init__(self, name: str) -> None:
            super().__init__(0)
            self.name = name

        def run(self, key, function, *arguments, about, **options):  # type: ignore[no-untyped-def]
            asked[self.name].append(about["job"])
            return super().run(key, function, *arguments, about=about, **options)

    plans, reads = Noted("plans"), Noted("reads")
    monkeypatch.setattr(tasks, "pool", lambda: plans)
    monkeypatch.setattr(documents, "pool", lambda: plans)
    monkeypatch.setattr(files, "readers", lambda: reads)
    plan = tasks.plan(town, 2, random_state=0, progress=quiet)
    files.residents("k", [("town.csv", TOWN)], {}, quiet)
    saved = files.plan_file("p", export.plan_json(plan, 1), quiet)
    tasks.restored("p", saved, town, quiet)
    documents.table("t", plan, 1, "facilities", "csv", quiet)
    documents.report("r", plan, 1, Look(), {"title": "Town"}, quiet)
    assert asked == {"plans": ["plan", "restore", "table", "report"], "reads": ["read", "read"]}


def test_a_read_that_takes_too_long_is_killed_with_a_sentence(light: JobPool) -> None:
    with pytest.raises(JobError, match=r"Reading this file .* longer than the 2 seconds .* CSV or Parquet"):
        light.run("endless", work.deaf, 600.0, about=ABOUT)
    assert light.run("after", work.double, 1, about=ABOUT) == 2


def test_a_file_that_crashes_its_reader_is_a_sentence_about_the_file(light: JobPool) -> None:
    with pytest.raises(JobError, match=r"^Reading this file came to a sudden end: it is damaged, or"):
        light.run("crash", work.leave_files, "crashed", about=ABOUT)
    with pytest.raises(MemoryError, match="not enough memory"):
        light.run("devour", work.devour, 2_000, about=ABOUT)
    assert light.health().well


def test_reads_of_one_address_never_hold_up_another(light: JobPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many files as one may send, each of which would take for ever: another's is read meanwhile."""
    monkeypatch.setattr(light, "seconds", 600)
    with ThreadPoolExecutor(4) as people, endless_reads(light, people, 4):
        assert (light.health().running, light.health().waiting) == (1, 3)
        with asking(Asker("Ann", "198.51.100.4")):
            assert light.run("Ann", work.double, 1, about=ABOUT) == 2
        assert (light.health().running, light.health().waiting) == (1, 3)


def test_a_plan_does_not_wait_for_reads_nor_a_read_for_plans(
    light: JobPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(light, "seconds", 600)
    plans = JobPool(1)
    with ThreadPoolExecutor(4) as people:
        with endless_reads(light, people, 2):
            assert plans.run("plan", work.double, 1, about=ABOUT) == 2
        with endless_reads(plans, people, 2):
            assert light.run("read", work.double, 2, about=ABOUT) == 4
    plans.close()


@contextlib.contextmanager
def endless_reads(pool: JobPool, people: ThreadPoolExecutor, many: int) -> Iterator[None]:
    """Work of one visitor that never ends, in the pool for the length of a block."""
    done = threading.Event()

    def wait(_fraction: float, _text: str) -> None:
        if done.is_set():
            raise GoneError

    def read(i: int) -> None:
        with asking(Asker("Eve", "203.0.113.7")), contextlib.suppress(GoneError):
            pool.run(i, work.steps, 600.0, about=ABOUT, progress=wait)

    for i in range(many):
        people.submit(read, i)
    until(lambda: pool.health().running == 1 and pool.health().waiting == many - 1)
    try:
        yield
    finally:
        done.set()
        until(lambda: pool.health().running + pool.health().waiting == 0)


def test_a_waiting_reader_has_brought_only_what_reading_needs(readers: JobPool) -> None:
    found = readers.run("modules", work.imported, about=ABOUT)
    assert "tkm_core.residents.loading" in found
    assert not {
        "numba",
        "sklearn",
        "streamlit",
        "plotly",
        "tkm_core.planning.plan",
        "pages.serving.jobs.tasks",
    } & set(found)


def test_a_plan_file_is_read_and_refused_in_a_reader(
    readers: JobPool,
) -> None:
    plan = make_plan(load_sample("generated", n=300), 3, t=[0, 1], random_state=0)
    saved = files.plan_file("good", export.plan_json(plan, 1), quiet)
    assert (saved.k, saved.fingerprint) == (3, plan.residents.fingerprint)
    with pytest.raises(export.PlanFileError, match="not a plan file"):
        files.plan_file("bad", b"[" * 100_000, quiet)


def test_of_a_plan_file_that_is_too_large_little_is_sent(
    readers: JobPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    here = JobPool(0)

    def run(key: object, function: object, content: bytes, **options: object) -> object:
        sent.append(len(content))
        return JobPool.run(here, key, function, content, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(readers, "run", run)
    with pytest.raises(export.PlanFileError, match="larger than"):
        files.plan_file("large", bytes(export.LARGEST + 1_000_000), quiet)
    assert sent == [export.LARGEST + 1]


def test_more_residents_than_allowed_is_a_sentence(readers: JobPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "config", lambda: Config(most_residents=100))
    rows = "lon,lat\n" + "".join(f"{1 + i / 1000},43.6\n" for i in range(150))
    with pytest.raises(ResidentsError, match="150 residents in this file; this server plans for at most 100"):
        files.residents("many", [("many.csv", rows.encode())], {}, quiet)


def test_a_reader_between_two_reads_is_not_ill(light: JobPool) -> None:
    """One that has just done its job is being replaced: the server is as well as before."""
    for i in range(3):
        light.run(i, work.pid, about=ABOUT)
        assert light.health().well
        assert light.health().alive == 2


def test_sentences_say_what_to_do() -> None:
    for sentence in (READING.lost, READING.too_long.format(limit="60 seconds")):
        assert "CSV" in sentence
        assert sentence.endswith(".")


def test_nothing_a_reader_wrote_stays(light: JobPool) -> None:
    folder = Path(light.run("write", work.leave_files, "done", about=ABOUT))
    assert not folder.exists()
    assert not folder.parent.exists()
