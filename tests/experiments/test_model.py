import numpy as np
import pandas as pd
import pytest

from tkm_core.experiments.model import Dataset, Stopped, gather, seed_of
from tkm_core.residents.samples import load_sample


def test_a_sample_has_no_row_twice_and_its_seed_repeats_it():
    data = Dataset("numbers", np.arange(5000.0)[:, None])
    X, weights = data.draw(1000, seed=3)
    assert len(np.unique(X)) == len(X) == 1000
    assert (weights == 1).all()
    assert np.array_equal(X, data.draw(1000, seed=3)[0])
    assert not np.array_equal(X, data.draw(1000, seed=4)[0])


def test_all_points_are_taken_where_there_are_no_more():
    data = Dataset("few", np.arange(10.0)[:, None])
    assert np.array_equal(data.draw(1000, seed=0)[0], data.X)


def test_people_are_drawn_by_population():
    population = np.array([0.0, 1.0, 9.0])
    data = Dataset("towns", np.array([[0.0], [1.0], [2.0]]), population)
    drawn = np.zeros(3)
    for seed in range(20):
        X, weights = data.draw(1000, seed)
        assert weights.sum() == 1000
        drawn[X[:, 0].astype(int)] += weights
    assert drawn[0] == 0
    # 20,000 draws with p = 0.1: five standard deviations of the binomial are 212
    assert abs(drawn[1] - 2000) < 212


def test_a_city_keeps_its_shape_and_its_weights():
    towns, homes = load_sample("toulouse"), load_sample("sacramento")
    data = Dataset.from_residents(towns)
    assert np.array_equal(data.X, towns.scaled)
    assert np.array_equal(data.weights, towns.weights)
    assert Dataset.from_residents(homes).weights is None


def test_bad_points_are_refused():
    with pytest.raises(ValueError, match="NaN in row 1"):
        Dataset("gap", np.array([[0.0], [np.nan]]))


def test_progress_never_falls_and_reaches_the_end():
    seen = []

    def job(report):
        for part in (0.0, 0.5, 1.0):
            report(part, "inner words")
        return pd.DataFrame({"value": [1]})

    table, note = gather([("one", job), ("two", job)], lambda fraction, text: seen.append((fraction, text)))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert {text for _, text in seen} == {"one", "two", "Done"}
    assert len(table) == 2
    assert note == ()


@pytest.mark.parametrize("wish", [KeyboardInterrupt, Stopped])
def test_stopping_inside_a_job_keeps_the_jobs_before(wish):
    def good(report):
        return pd.DataFrame({"value": [1]})

    def interrupted(report):
        raise wish

    table, note = gather([("a", good), ("b", good), ("c", interrupted), ("d", good)], None)
    assert len(table) == 2
    assert "2 of 4" in note[0]
    with pytest.raises(wish):
        gather([("c", interrupted)], None)


def test_other_errors_come_out():
    def broken(report):
        msg = "no"
        raise ValueError(msg)

    with pytest.raises(ValueError, match="no"):
        gather([("a", broken)], None)


def test_repeats_have_seeds_of_their_own():
    assert len({seed_of(seed, repeat) for seed in range(30) for repeat in range(30)}) == 900
    assert all(0 <= seed_of(seed, 0) < 2**31 for seed in range(100))
