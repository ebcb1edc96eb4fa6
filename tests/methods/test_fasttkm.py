"""FastTKM: moving average and step against slow definitions, its result, and the effect of the published slip."""

import numpy as np
import pytest

from tests.methods.truth import residents
from tkm_core.evaluation import evaluate
from tkm_core.methods import run_method
from tkm_core.methods.fasttkm import MovingAverages


def slow_step(phi, batch, centers, t, mu, *, first, squared=True):
    """One step as printed, resident by resident; phi of the first batch stands alone."""
    k, size = len(centers), len(batch)
    away = [[sum((a - b) ** 2 for a, b in zip(x, c, strict=True)) for c in centers] for x in batch]
    label = [row.index(min(row)) for row in away]
    phi = list(phi)
    for j in range(k):
        total = sum(np.exp(t * away[i][j]) if label[i] == j else 1.0 for i in range(size))
        of_batch = np.log(total / size) / t
        phi[j] = of_batch if first else np.log((1 - mu) * np.exp(t * phi[j]) + mu * np.exp(t * of_batch)) / t
    pull = np.zeros_like(centers)
    for i in range(size):
        j = label[i]
        cost = away[i][j] if squared else np.sqrt(away[i][j])
        pull[j] += 2 * np.exp(t * (cost - phi[j])) / size * (batch[i] - centers[j])
    return np.array(phi), pull


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("t", [0.05, 0.8])
def test_a_step_is_the_printed_formula(t, squared):
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, 2))
    averages, phi = MovingAverages(t, 0.3, 3), np.zeros(3)
    for step in range(4):
        batch = rng.normal(size=(12, 2))
        pull = averages.pull(batch, centers, squared=squared)
        phi, truth = slow_step(phi, batch, centers, t, 0.3, first=step == 0, squared=squared)
        np.testing.assert_allclose(averages.phi, phi, rtol=1e-12)
        np.testing.assert_allclose(pull, truth, rtol=1e-12)
        centers = centers + 0.1 * pull


@pytest.mark.parametrize("t", [0.1, 3.0, 1e4])
def test_no_pull_is_longer_than_the_way_divided_by_mu(t):
    """Each cluster's weights sum to at most 1 / mu: the batch itself is mu of its average. No t makes it diverge."""
    rng = np.random.default_rng(1)
    averages, centers = MovingAverages(t, 0.5, 2), rng.normal(size=(2, 2))
    for _ in range(20):
        batch = rng.normal(size=(30, 2)) * rng.choice([1.0, 5.0])
        farthest = np.sqrt(((batch[:, None] - centers) ** 2).sum(axis=2)).max()
        pull = averages.pull(batch, centers)
        assert np.sqrt((pull**2).sum(axis=1)).max() <= 2 / 0.5 * farthest


def test_a_batch_of_everyone_ends_near_the_exact_solver():
    points, _ = residents(2, n=300)
    points /= points.std()
    exact = run_method("tkm", points, 3, t=0.5, random_state=0)
    fast = min(
        evaluate(points, run_method("fasttkm", points, 3, t=0.5, random_state=seed).centers, t=0.5).tilted_sse
        for seed in range(5)
    )
    assert exact.details["tilted_sse"] <= fast * (1 + 1e-9)
    assert fast <= 1.1 * exact.details["tilted_sse"]


def test_the_slip_of_the_published_code_costs_tilted_sse():
    """With the distance itself in the exponent far residents weigh too little: the result leans back to k-means."""
    points, _ = residents(3, n=400)
    points /= points.std()
    right, slipped = (
        np.median(
            [
                evaluate(
                    points,
                    run_method("fasttkm", points, 3, t=1.0, random_state=seed, squared=squared).centers,
                    t=1.0,
                ).tilted_sse
                for seed in range(5)
            ]
        )
        for squared in (True, False)
    )
    assert slipped > 1.05 * right


def test_weights_are_how_often_a_resident_is_drawn():
    points = np.array([[0.0], [10.0]])
    found = run_method("fasttkm", points, 1, t=0.0, sample_weight=[3.0, 1.0], random_state=0, max_iter=2000)
    assert found.centers[0, 0] == pytest.approx(2.5, abs=0.8)


def test_at_infinity_it_says_what_it_ran_at():
    points, _ = residents(4, n=60)
    found = run_method("fasttkm", points, 3, t=np.inf, random_state=0, max_iter=50)
    assert any("no limit at t = infinity" in note for note in found.notes)
    assert np.isfinite(found.centers).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"mu": 0}, "mu is 0"), ({"max_iter": 0}, "max_iter is 0"), ({"t": -1}, "t is -1")],
)
def test_bad_options_get_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        run_method("fasttkm", [[0.0], [1.0]], 1, **options)
