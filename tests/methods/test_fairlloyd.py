"""Fair-Lloyd: the worst group never fares worse than with k-means; its centres against a general solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.methods.truth import distances, residents
from tkm_core.methods import run_method
from tkm_core.methods.fairlloyd import Grouped, share_of_group


def worst_group(points, weights, groups, centers):
    """The largest weighted mean squared distance of any group, by definition."""
    f = distances(points, centers).min(axis=1) ** 2
    return max(np.average(f[groups == g], weights=weights[groups == g]) for g in np.unique(groups))


def divided(points, seed, m):
    """Groups of very different size that live in different parts of town, and overlap."""
    rng = np.random.default_rng(seed)
    order = points[:, 0] + rng.normal(size=len(points))
    return np.searchsorted(np.quantile(order, np.linspace(0, 1, m + 1)[1:-1] ** 2), order)


@pytest.mark.parametrize("m", [2, 3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_the_worst_group_never_fares_worse_than_with_k_means(seed, m):
    points, weights = residents(seed, n=120)
    groups = divided(points, seed, m)
    plain = run_method("kmeans++", points, 4, sample_weight=weights, random_state=seed)
    fair = run_method("fair-lloyd", points, 4, sample_weight=weights, groups=groups, random_state=seed)
    worst = worst_group(points, weights, groups, fair.centers)
    assert worst <= worst_group(points, weights, groups, plain.centers) * (1 + 1e-9)
    assert fair.details["worst_group"] == pytest.approx(worst)


@pytest.mark.parametrize(("m", "fixed"), [(2, 0), (4, 0), (9, 0), (3, 1)])
def test_fair_centres_are_the_best_for_their_clusters(m, fixed):
    """The same convex problem as an epigraph, by a general solver: lowest bound on every group's average."""
    points, weights = residents(7, n=90)
    groups, k = divided(points, 7, m), 3
    shares = share_of_group(weights, groups)
    start = points[[3, 30, 60]].copy()
    labels = distances(points, start).argmin(axis=1)
    found = Grouped(points, shares, groups).fair_centers(start, k - fixed)
    np.testing.assert_array_equal(found[k - fixed :], start[k - fixed :])

    def averages(centers):
        return np.bincount(groups, shares * ((points - centers[labels]) ** 2).sum(axis=1), m)

    def spread_out(z):
        return np.vstack([z[:-1].reshape(k - fixed, 2), start[k - fixed :]])

    bound = {"type": "ineq", "fun": lambda z: z[-1] - averages(spread_out(z))}
    begin = np.append(start[: k - fixed].ravel(), averages(start).max())
    truth = minimize(lambda z: z[-1], begin, constraints=bound, options={"ftol": 1e-12, "maxiter": 500})
    assert truth.success
    assert averages(found).max() == pytest.approx(truth.x[-1], rel=1e-4)


def test_the_two_groups_of_a_divided_town_share_the_burden():
    """Nine of ten live at one end: k-means leaves the tenth far away, Fair-Lloyd stands in the middle."""
    points = np.concatenate([np.zeros(90), np.full(10, 10.0)])[:, None] + np.linspace(0, 1e-3, 100)[:, None]
    groups = np.where(points[:, 0] < 5, "town", "farm")
    found = run_method("fair-lloyd", points, 1, groups=groups, random_state=0)
    assert found.centers[0, 0] == pytest.approx(5, abs=0.01)


def test_without_groups_it_is_k_means_and_says_so():
    points, weights = residents(1, n=60)
    plain = run_method("kmeans++", points, 3, sample_weight=weights, random_state=0)
    fair = run_method("fair-lloyd", points, 3, sample_weight=weights, random_state=0)
    np.testing.assert_allclose(fair.centers, plain.centers)
    assert any("one group" in note for note in fair.notes)


def test_a_group_for_everyone_is_still_solved():
    points, _ = residents(2, n=200)
    found = run_method("fair-lloyd", points, 4, groups=np.arange(200), random_state=0)
    plain = run_method("kmeans++", points, 4, random_state=0)
    everyone = np.arange(200)
    assert worst_group(points, np.ones(200), everyone, found.centers) < worst_group(
        points, np.ones(200), everyone, plain.centers
    )


def test_missing_names_are_a_group_and_other_methods_do_not_mind():
    points, _ = residents(3, n=40)
    groups = np.array(["north", None] * 20, dtype=object)
    assert len(run_method("fair-lloyd", points, 2, groups=groups, random_state=0).centers) == 2
    with_groups = run_method("jkl", points, 2, groups=groups)
    np.testing.assert_array_equal(with_groups.centers, run_method("jkl", points, 2).centers)
    with pytest.raises(ValueError, match="one entry for each of the 40 rows"):
        run_method("fair-lloyd", points, 2, groups=groups[:5])
