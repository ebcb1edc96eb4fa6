"""The app's own jobs give what the library gives; hostile files harm nobody."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from pages.serving.jobs import JobError, JobPool, documents, lab, tasks
from tests.serving.jobs import work
from tests.waiting import until
from tkm_core import export
from tkm_core.experiments import EXPERIMENTS, Dataset, Result
from tkm_core.figures import Look, html_report
from tkm_core.methods.solver_comparison import compare_solvers
from tkm_core.planning import USUAL_T, ResidentCells, make_plan
from tkm_core.planning.methods_compared import solve
from tkm_core.residents import Report, Residents
from tkm_core.residents.existing import Existing
from tkm_core.residents.samples import load_sample
from tkm_core.stories.plan_story import tell_plan

ROOT = Path(__file__).parents[3]


def quiet(_fraction: float, _text: str) -> None:
    pass


@pytest.fixture(scope="module", autouse=True)
def pool() -> Iterator[JobPool]:
    made = JobPool(1, modules=tasks.MODULES)
    made._started.wait(60)
    patch = pytest.MonkeyPatch()
    patch.setattr(tasks, "pool", lambda: made)
    patch.setattr(lab, "pool", lambda: made)
    patch.setattr(documents, "pool", lambda: made)
    yield made
    patch.undo()
    made.close()


def test_a_plan_from_a_worker_is_the_plan(pool: JobPool) -> None:
    town = load_sample("generated", n=400)
    found = tasks.plan(town, 3, random_state=0, progress=quiet)
    here = make_plan(town, 3, random_state=0, with_t=USUAL_T)
    np.testing.assert_array_equal(found.path.centers, here.path.centers)
    np.testing.assert_array_equal(found.baseline, here.baseline)
    np.testing.assert_array_equal(found.curve.largest_distance, here.curve.largest_distance)
    assert found.residents is town
    assert tell_plan(found, 3).headline == tell_plan(here, 3).headline
    assert export.plan_document(found, 3) == export.plan_document(here, 3), "everything a plan file says"


def test_a_plan_with_existing_facilities_from_a_worker_is_the_plan(pool: JobPool) -> None:
    town = load_sample("generated", n=300)
    kept = Existing(town.lonlat[:2], ("North", "South"), Report())
    found = tasks.plan(town, 2, existing=kept, random_state=1, progress=quiet)
    here = make_plan(
        town, 2, fixed_lonlat=kept.lonlat, fixed_names=kept.names, with_t=USUAL_T, random_state=1
    )
    assert export.plan_document(found, 5) == export.plan_document(here, 5)


def test_a_method_from_a_worker_is_the_method(pool: JobPool) -> None:
    town = load_sample("sacramento")
    found = tasks.solution(town, "nf", 4, t=0.1, patience=5.0, random_state=0, progress=quiet)
    np.testing.assert_array_equal(
        found.centers, solve(town, "nf", 4, t=0.1, patience=5.0, random_state=0).centers
    )


def test_a_table_from_a_worker_is_the_table(pool: JobPool) -> None:
    town = Residents.from_lonlat(
        np.random.default_rng(0).normal([1.4, 43.6], 0.05, (50, 2)), ids=[f"home {i}" for i in range(50)]
    )
    plan = make_plan(town, 2, t=[0, 1], random_state=0)
    for file_format in ("csv", "geojson"):
        made = documents.table("town", plan, 1, "allocations", file_format, quiet)
        assert made == export.to_bytes(export.table(plan, 1, "allocations"), file_format)
    assert b'"home 49"' in made


def test_a_report_from_a_worker_is_the_report(pool: JobPool) -> None:
    town = Residents.from_lonlat(
        np.random.default_rng(0).normal([1.4, 43.6], 0.05, (50, 2)), ids=[f"home {i}" for i in range(50)]
    )
    plan = make_plan(town, 2, t=[0, 1], random_state=0)
    look = Look(unit="mi", people="homes")
    made = documents.report("town", plan, 1, look, {"title": "Town"}, quiet, standard=900.0)
    story = tell_plan(plan, 1, unit="mi", standard=900.0, people="homes")
    assert made.decode() == html_report(plan, 1, story, look, title="Town", standard=900.0)
    assert b"home " in made


def test_the_allocator_of_arrow_leaves_a_worker_its_memory(pool: JobPool) -> None:
    assert pool.run("arrow", work.allocator, about={"job": "test"}) == "system"


def test_what_a_job_was_given_is_gone_before_its_answer_is_sent(pool: JobPool) -> None:
    assert pool.run("gone", work.outlived, {1, 2}, about={"job": "test"}) is True


@pytest.mark.parametrize("file_format", export.FORMATS)
def test_a_table_on_a_full_disk_is_a_sentence_and_never_a_part_of_it(pool: JobPool, file_format: str) -> None:
    plan = make_plan(load_sample("generated", n=1000), 2, t=[0, 1], random_state=0)
    bare = replace(plan, _curves={})
    with pytest.raises(ValueError, match="disk is full"):
        pool.run(file_format, work.write_on_full_disk, bare, file_format, about={"job": "test"})


def test_a_file_too_large_to_be_handed_out_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LARGEST_FILE", 1000)
    plan = make_plan(load_sample("generated", n=100), 2, t=[0, 1], random_state=0)
    with pytest.raises(ValueError, match="more than the 0 MB that this server hands out"):
        documents._table(plan, 1, "allocations", "kml", quiet)


@pytest.mark.parametrize("suffix", [*export.FORMATS, "csv.zip"])
def test_a_file_that_would_be_too_large_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    plan = make_plan(load_sample("generated", n=20_000), 2, t=[0, 1], random_state=0)
    tables = export.layers(plan, 1, "allocations")
    size = len(export.to_bytes(tables, suffix))
    assert documents.expected_bytes(tables, suffix) == pytest.approx(size, rel=0.15)
    monkeypatch.setattr(documents, "LARGEST_FILE", size * 0.6)
    written: list[int] = []
    whole = export.to_bytes

    def watched(tables: Any, suffix: str, **how: Any) -> bytes:
        written.append(max(one.rows for one in tables.values()))
        return whole(tables, suffix, **how)

    monkeypatch.setattr(documents, "to_bytes", watched)
    with pytest.raises(ValueError, match="would be about"):
        documents._table(plan, 1, "allocations", suffix, quiet)
    assert max(written) <= documents.SAMPLE, "nothing but samples was written"


def test_a_plan_restored_by_a_worker_is_the_plan_with_its_curve(pool: JobPool) -> None:
    town = load_sample("generated", n=300)
    plan = make_plan(town, 3, random_state=0)
    saved = export.read_plan_file(export.plan_json(plan, 4))
    found = tasks.restored("file", saved, town, quiet)
    assert (found.same_data, found.i) == (True, 4)
    assert found.plan.residents is town
    np.testing.assert_array_equal(found.plan.path.centers, plan.path.centers)
    np.testing.assert_array_equal(found.plan._curves[None].mean_distance, plan.curve.mean_distance)
    assert export.plan_document(found.plan, 4) == export.plan_document(plan, 4)


def test_a_plan_for_other_data_is_made_anew_by_a_worker(pool: JobPool) -> None:
    saved = export.read_plan_file(
        export.plan_json(make_plan(load_sample("generated", n=300), 3, random_state=0), 4)
    )
    town = load_sample("toulouse")
    found, here = tasks.restored("file", saved, town, quiet), export.restore_plan(saved, town)
    assert not found.same_data
    assert found.message == here.message
    assert town.name in found.message
    np.testing.assert_array_equal(found.plan.path.centers, here.plan.path.centers)


def test_a_changed_plan_file_is_refused_by_a_worker(pool: JobPool) -> None:
    town = load_sample("generated", n=300)
    saved = export.read_plan_file(export.plan_json(make_plan(town, 3, random_state=0), 4))
    with pytest.raises(export.PlanFileError, match="changed after it was saved"):
        tasks.restored("changed", replace(saved, mean_distance=1.0), town, quiet)


def test_an_experiment_from_a_worker_is_the_experiment(pool: JobPool) -> None:
    chosen, town = EXPERIMENTS["variance"], Dataset.from_residents(load_sample("san-francisco"))
    settings = {**chosen.settings, **chosen.quick, "k": 3, "repeats": 1, "methods": ("tkm", "nf")}
    found = lab.experiment(
        "e", "variance", town, seed=0, theme="light", settings=settings, progress=quiet, rest=print
    )
    here = chosen.run([town], seed=0, theme="light", **settings)
    assert_frame_equal(found.table.drop(columns="seconds"), here.table.drop(columns="seconds"))
    assert found.notes == here.notes


def test_a_stopped_experiment_hands_on_what_is_finished(pool: JobPool) -> None:
    """Left in mid-run and given up, as the page does it: the worker gathers what there is."""
    chosen = EXPERIMENTS["variance"]
    settings = {**chosen.settings, **chosen.quick, "repeats": 500, "methods": ("kmeans++",)}
    rests: list[tuple[Result | None]] = []

    def leave(fraction: float, _text: str) -> None:
        if fraction > 0.001:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.experiment(
            "s", "variance", None, seed=0, theme="dark", settings=settings, progress=leave, rest=rests.append
        )
    assert lab.give_up("s")
    until(lambda: bool(rests))
    ((part,),) = rests
    assert part is not None
    assert not part.complete
    assert len(part.table) > 0


def test_solvers_from_a_worker_are_the_solvers(pool: JobPool) -> None:
    points, weights = Dataset.from_residents(load_sample("toulouse")).draw(200, 0)
    options = {"t": 0.5, "starts": 2, "n_iter": 20, "random_state": 0}
    found = lab.solvers("r", points, 3, weights=weights, progress=quiet, **options)
    here = compare_solvers(points, 3, sample_weight=weights, **options)
    for one, other in zip(found.newton + found.sgd, here.newton + here.sgd, strict=True):
        np.testing.assert_array_equal(one.history, other.history)


def test_names_and_labels_never_leave_the_server_process() -> None:
    town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], name="secret.csv", ids=["Ann", "Bob"])
    bare = tasks.bare(town)
    assert bare.name == ""
    assert bare.ids is None
    assert len(bare.report.preview) == 0
    np.testing.assert_array_equal(bare.xy, town.xy)


@pytest.mark.parametrize(
    "lie", [{"weights": np.array([np.nan])}, {"lonlat": np.zeros((2, 2))}, {"weights": -np.ones(1)}]
)
def test_a_cluster_that_returns_no_numbers_is_not_believed(
    lie: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    town = Residents.from_lonlat([[1.4, 43.6]], keep_suspect=True)
    cells = ResidentCells(**{**{name: getattr(town, name) for name in town.__dataclass_fields__}, **lie})
    monkeypatch.setattr(JobPool, "run", lambda *_, **__: cells)
    with pytest.raises(JobError, match="figures that are not numbers"):
        tasks.condensed("place", "stamp", progress=lambda *_: None)
