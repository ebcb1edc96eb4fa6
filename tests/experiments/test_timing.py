import numpy as np
import pytest

from tkm_core.experiments import EXPERIMENTS, Dataset, timing
from tkm_core.experiments.timing import DONE, TOO_FEW, TOO_LONG, TOO_MUCH, foreseen


@pytest.fixture(scope="module")
def city():
    return Dataset("cloud", np.random.default_rng(0).normal(size=(60_000, 2)))


def test_each_method_is_timed_and_tkm_twice(city):
    result = EXPERIMENTS["running-time"].run([city], sizes=(100, 300), methods=("tkm", "jkl", "mv"))
    assert result.table["method"].unique().tolist() == ["TKM", "TKM by SGD", "JKL", "MV"]
    assert (result.table["status"] == DONE).all()
    assert (result.table["seconds"] > 0).all()
    assert result.table["n"].tolist() == [100] * 4 + [300] * 4
    seconds = result.table[result.table["n"] == 300].set_index("method")["seconds"]
    note = next(note for note in result.notes if "JKL takes" in note)
    assert f"JKL takes {seconds['JKL']:,.3g} s" in note
    assert f"at n = 300, {seconds['JKL'] / seconds['TKM']:,.1f} times TKM's" in note


def test_what_cannot_run_is_said_and_not_started(city):
    result = EXPERIMENTS["running-time"].run(
        [city], sizes=(50_000, 100_000), methods=("fr", "mv"), max_seconds=30
    )
    status = result.table.set_index(["method", "n"])["status"]
    assert status["FR", 50_000] in (TOO_LONG, TOO_MUCH)
    assert status["MV", 100_000] == TOO_FEW
    assert result.table["seconds"].isna().all()
    assert "cloud: FR finished at no size." in result.notes
    table = result.figure.data[-1]
    assert list(table.cells["values"][0]) == ["50,000", "100,000"]
    assert table.cells["values"][1][1] == TOO_FEW


def test_a_run_beyond_its_time_is_ended(city, monkeypatch):
    monkeypatch.setattr(timing, "foreseen", lambda *_: DONE)
    result = EXPERIMENTS["running-time"].run([city], sizes=(2_000,), methods=("mv",), max_seconds=1e-6)
    assert result.table["status"].tolist() == [TOO_LONG]


def test_the_size_before_sets_the_estimate_right():
    # what took half of the limit is not tried at three times the size
    assert foreseen("jkl", (3_000, 2), 4, 10.0, (1_000, 5.0)) == TOO_LONG
    assert foreseen("jkl", (3_000, 2), 4, 10.0, (1_000, 0.05)) == DONE
    # nor at any size what was not finished before
    assert foreseen("jkl", (3_000, 2), 4, 10.0, (1_000, np.inf)) == TOO_LONG


def test_the_batch_is_a_fiftieth(city):
    exact, sgd = timing._contenders(("tkm",), 0.1)
    assert timing._options(sgd, city.X)["batch_size"] == 1200
    assert "batch_size" not in timing._options(exact, city.X)
