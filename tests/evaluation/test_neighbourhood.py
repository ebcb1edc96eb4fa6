"""The neighbourhood radius against its definition, in units where a squared norm would lose digits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.methods.truth import radii, residents
from tkm_core import neighbourhood_radius


@pytest.mark.parametrize("k", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_definition(seed, k):
    points, weights = residents(seed, d=1 + seed, lattice=seed % 2 == 1)
    np.testing.assert_allclose(
        neighbourhood_radius(points, k, weights), radii(points, weights, k), rtol=1e-14
    )
    ones = np.ones(len(points))
    np.testing.assert_allclose(neighbourhood_radius(points, k), radii(points, ones, k), rtol=1e-14)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=25), st.integers(1, 6))
@settings(max_examples=200, deadline=None)
def test_ties_and_zero_weights(rows, k):
    points = np.array([[float(x)] for x, _ in rows])
    weights = np.array([float(w) for _, w in rows])
    if weights.any():
        np.testing.assert_array_equal(neighbourhood_radius(points, k, weights), radii(points, weights, k))


@pytest.mark.parametrize("k", [2, 4])
def test_metres_far_from_the_origin_keep_their_digits(k):
    points, weights = residents(5, n=200)
    far = points + np.array([500_000.0, 5_000_000.0])
    np.testing.assert_allclose(neighbourhood_radius(far, k, weights), radii(far, weights, k), rtol=1e-14)


def test_weights_are_repeated_rows():
    points, weights = residents(6)
    rows = np.repeat(np.arange(len(points)), weights.astype(int))
    repeated = neighbourhood_radius(points[rows], 5)
    np.testing.assert_array_equal(repeated, neighbourhood_radius(points, 5, weights)[rows])


def test_progress_and_refusal():
    heard = []
    neighbourhood_radius([[0.0], [1.0]], 1, progress=lambda fraction, text: heard.append((fraction, text)))
    assert heard == [(0.0, "Measuring neighbourhoods")]
    with pytest.raises(ValueError, match="n_clusters is 0"):
        neighbourhood_radius([[0.0]], 0)
