"""CDCS: what the coreset promises about cost and neighbourhoods, and MV on it."""

import numpy as np
import pytest

from tests.methods.truth import cost, radii, residents
from tkm_core.evaluation import neighbourhood_radius
from tkm_core.methods import run_method
from tkm_core.methods.cdcs import coreset


def test_of_few_residents_it_is_mv():
    points, weights = residents(0, n=80)
    mine, theirs = (run_method(name, points, 4, sample_weight=weights) for name in ("cdcs", "mv"))
    np.testing.assert_array_equal(mine.rows, theirs.rows)


def test_any_plan_costs_on_the_coreset_what_it_costs_everyone():
    points, weights = residents(1, n=3000)
    rng = np.random.default_rng(0)
    rows, mass = coreset(points, weights, 4, 600, 0.5, rng)
    assert len(rows) <= 600
    assert mass.sum() == pytest.approx(weights.sum(), rel=0.1)
    for _ in range(20):
        centers = points[rng.choice(3000, 4)]
        whole, few = cost(points, weights, centers), cost(points[rows], mass, centers)
        assert few == pytest.approx(whole, rel=0.15)


def test_the_coreset_is_right_on_average():
    points, weights = residents(2, n=300)
    centers = points[:3]
    found = [
        cost(points[rows], mass, centers)
        for rows, mass in (coreset(points, weights, 3, 60, 0.5, np.random.default_rng(s)) for s in range(200))
    ]
    assert np.mean(found) == pytest.approx(cost(points, weights, centers), rel=0.03)


@pytest.mark.nightly
def test_neighbourhoods_stay_about_what_they_are():
    points, weights = residents(3, n=1500)
    rows, mass = coreset(points, weights, 4, 600, 0.5, np.random.default_rng(0))
    ratio = neighbourhood_radius(points[rows], 4, mass) / radii(points, weights, 4)[rows]
    assert 0.85 < np.median(ratio) < 1.15
    assert ((ratio > 0.6) & (ratio < 1.6)).mean() > 0.95


def test_its_plan_costs_about_what_mvs_does_and_its_note_says_how():
    points, weights = residents(4, n=2500)
    few = run_method("cdcs", points, 4, sample_weight=weights, random_state=0, size=400)
    whole = run_method("mv", points, 4, sample_weight=weights)
    assert "stand for all 2,500" in few.notes[0]
    assert 0 < few.details["coreset"] <= 400
    assert cost(points, weights, few.centers) <= 1.15 * cost(points, weights, whole.centers)


def test_places_on_which_nothing_is_left_to_gain_are_drawn_too():
    """Seeds on every place cost nothing: the chance is then by cluster and population alone."""
    points = np.repeat(np.arange(5.0), 400)[:, None] + np.linspace(0, 1e-9, 2000)[:, None]
    found = run_method("cdcs", points, 5, random_state=0, size=300)
    np.testing.assert_allclose(np.sort(found.centers[:, 0]), np.arange(5), atol=1e-6)


@pytest.mark.parametrize(("options", "sentence"), [({"size": 0}, "size is 0"), ({"fair": 0}, "fair is 0")])
def test_bad_options_get_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        run_method("cdcs", [[0.0], [1.0]], 1, **options)
