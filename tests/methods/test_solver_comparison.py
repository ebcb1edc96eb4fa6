"""The comparison of Newton and SGD: the same starts, costs by their plain definition, and what must not rise."""

import numpy as np
import pytest

from tests.listening import reports_and_stops
from tkm_core.clustering.estimator import TiltedKMeans
from tkm_core.evaluation import evaluate
from tkm_core.methods.solver_comparison import compare_solvers


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(20, 2)) * 3 + 4])


def test_both_start_at_the_same_cost_and_newton_never_raises_the_city_cost(points: np.ndarray) -> None:
    run = compare_solvers(points, 4, t=0.5, starts=4, n_iter=40, random_state=2)
    assert len(run.newton) == len(run.sgd) == len(run.polished) == 4
    for newton, sgd, polished in zip(run.newton, run.sgd, run.polished, strict=True):
        assert newton.history[0] == pytest.approx(sgd.history[0], rel=1e-9)
        assert (np.diff(newton.cost("city_cost")) <= 1e-12).all()
        assert polished.end("city_cost") <= sgd.end("city_cost") + 1e-12
        assert sgd.steps == 40
    assert len({run.cost()[0] for run in run.newton}) == 4, "starts differ"


def test_sgd_is_that_of_the_estimator_and_the_search_too(points: np.ndarray) -> None:
    run = compare_solvers(points, 3, t=0.3, starts=1, n_iter=25, learning_rate=0.1, n_epochs=3, batch_size=40)
    model = TiltedKMeans(3, t=0.3, random_state=0).fit(points)
    found = evaluate(points, model.cluster_centers_, t=0.3)
    assert run.search["tilted_sse"] == pytest.approx(found.tilted_sse)
    assert run.search["city_cost"] == pytest.approx(found.city_cost)
    assert run.search["sse"] == pytest.approx(found.sse)


def test_the_same_seed_gives_the_same_comparison(points: np.ndarray) -> None:
    one, two = (compare_solvers(points, 3, t=1.0, starts=2, n_iter=10, random_state=5) for _ in range(2))
    assert all(np.array_equal(a.history, b.history) for a, b in zip(one.sgd, two.sgd, strict=True))
    assert all(np.array_equal(a.history, b.history) for a, b in zip(one.newton, two.newton, strict=True))


def test_sentence_and_table_agree(points: np.ndarray) -> None:
    run = compare_solvers(points, 3, t=1.0, starts=3, n_iter=10)
    table = run.table()
    lower = (table["Newton ends at"] < table["SGD ends at"]).sum()
    assert run.sentence().startswith(f"In {lower} of 3 starts Newton ends lower than SGD")


def test_progress_never_falls_and_stops(points: np.ndarray) -> None:
    reports_and_stops(
        lambda progress: compare_solvers(points, 2, t=0.1, starts=2, n_iter=5, progress=progress)
    )


def test_no_start_is_refused(points: np.ndarray) -> None:
    with pytest.raises(ValueError, match="at least one"):
        compare_solvers(points, 2, t=0.1, starts=0)
