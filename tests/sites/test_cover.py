"""The fewest sites within reach, against every choice."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.sites.truth import site_problems
from tkm_core import UnreachableError, fewest_sites


def fewest_by_trying(D, w, reach, fixed):
    live = D[w > 0]
    others = [j for j in range(D.shape[1]) if j not in set(fixed)]
    for k in range(len(others) + 1):
        for chosen in combinations(others, k):
            plan = [*chosen, *fixed]
            if plan and (live[:, plan].min(axis=1) <= reach).all():
                return k
    return None


@settings(max_examples=150, deadline=None)
@given(problem=site_problems(max_m=8))
def test_the_number_is_the_least_there_is(problem):
    D, w, _, fixed = problem
    finite = D[np.isfinite(D)]
    for reach in np.quantile(finite, [0.3, 0.7, 1.0]):
        truth = fewest_by_trying(D, w, reach, fixed)
        if truth is None:
            with pytest.raises(UnreachableError):
                fewest_sites(D, reach, sample_weight=w, fixed_sites=fixed)
            continue
        found = fewest_sites(D, reach, sample_weight=w, fixed_sites=fixed)
        assert (found.number, found.bound, len(found.sites)) == (truth, truth, truth)
        plan = [*found.sites, *fixed]
        assert (D[w > 0][:, plan].min(axis=1) <= reach).all()


def test_a_larger_cover_is_right_when_time_is_short_and_proven_when_it_is_not():
    rng = np.random.default_rng(0)
    D = np.sqrt(((rng.random((400, 1, 2)) - rng.random((1, 150, 2))) ** 2).sum(axis=2))
    hasty, whole = fewest_sites(D, 0.2, seconds=0.0), fewest_sites(D, 0.2)
    assert hasty.bound <= whole.bound <= whole.number <= hasty.number
    assert whole.proved
    assert (D[:, hasty.sites].min(axis=1) <= 0.2).all()


def test_bad_questions_get_a_sentence():
    with pytest.raises(ValueError, match="0 or more"):
        fewest_sites([[1.0]], -1)
    with pytest.raises(UnreachableError) as raised:
        fewest_sites([[1.0, 9.0], [8.0, 9.0]], 2)
    assert raised.value.rows.tolist() == [1]
    assert "1 resident (row 1) is farther than 2 from every site" in str(raised.value)


def test_without_time_for_the_solver_something_is_still_proven() -> None:
    """Twelve hamlets that are too far apart to share a site need twelve, whatever the solver is given."""
    hamlets = np.arange(12) * 100.0
    homes = (hamlets[:, None] + np.arange(5)).ravel()
    found = fewest_sites(np.abs(homes[:, None] - homes[None]), 4.0, seconds=0.0)
    assert (found.number, found.bound) == (12, 12)
