"""Real road distances, 205 tracts by 16 sites, against integer programs written out for scipy's solver."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

import tkm_core.residents
from tests.sites.truth import brute_force
from tkm_core import distance_scale, fewest_sites, read_travel, site_path

SAMPLES = Path(tkm_core.residents.__file__).parent / "sample_cities"


@cache
def roads():
    people = pd.read_csv(SAMPLES / "san-francisco.csv", dtype={"tract": str})
    sites = pd.read_csv(SAMPLES / "san-francisco-sites.csv")
    table = read_travel(SAMPLES / "san-francisco-roads.csv", people["tract"], sites["site"], unit="m")
    assert (table.missing, table.unit, table.unused) == (0, "m", ())
    return table.values, people["population"].to_numpy(float)


def p_median(C, k):
    """min sum c_ij x_ij, everyone served once by an open site, k open: as in any textbook."""
    n, m = C.shape
    each = hstack([kron(eye_array(n), np.ones((1, m))), csr_array((n, m))])
    opened = hstack([eye_array(n * m), -kron(np.ones((n, 1)), eye_array(m))])
    number = hstack([csr_array((1, n * m)), csr_array(np.ones((1, m)))])
    found = milp(
        np.concatenate([C.ravel(), np.zeros(m)]),
        constraints=[
            LinearConstraint(
                csr_array(vstack([each, number])), np.append(np.ones(n), k), np.append(np.ones(n), k)
            ),
            LinearConstraint(csr_array(opened), -np.inf, 0),
        ],
        integrality=np.concatenate([np.zeros(n * m), np.ones(m)]),
        bounds=Bounds(0, 1),
    )
    assert found.success
    return found.fun


def fewest_by_program(covers):
    m = covers.shape[1]
    found = milp(
        np.ones(m),
        constraints=LinearConstraint(covers.astype(float), 1, np.inf),
        integrality=np.ones(m),
        bounds=Bounds(0, 1),
    )
    return round(found.fun) if found.success else None


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("dial", [0.0, 0.3])
def test_the_optimum_is_that_of_the_integer_program(k, dial):
    D, w = roads()
    scale = distance_scale(D, w)
    t = dial / scale**2
    C = w[:, None] * (D**2 if t == 0 else np.expm1(t * D**2) / t) / w.sum()
    unit = C.max()
    truth = p_median(C / unit, k) * unit
    truth = truth if t == 0 else np.log1p(t * truth) / t
    path = site_path(D, k, t=[t], sample_weight=w, random_state=0).improve(30)
    assert path.proved.all()
    assert path.city_cost[0] == pytest.approx(truth, rel=1e-6)


def test_the_optimum_at_steep_tilts_is_that_of_all_1820_plans():
    D, w = roads()  # costs e^{t d²} are too far apart there for an integer program
    dial = np.array([2.0, 10.0, 100.0, 1e4, np.inf]) / distance_scale(D, w) ** 2
    path = site_path(D, 4, t=dial, sample_weight=w, random_state=0).improve(30)
    for i, t in enumerate(dial):
        assert path.city_cost[i] == pytest.approx(brute_force(D, w, 4, [], t), rel=1e-9)
    assert path.proved.all()


@pytest.mark.parametrize("k", [1, 4, 7])
def test_the_farthest_is_as_near_as_a_p_center_allows(k):
    D, w = roads()
    live = D[w > 0]
    radii = np.unique(live)
    low, high = 0, len(radii) - 1
    while low < high:  # the smallest radius at which k sites cover everyone
        middle = (low + high) // 2
        needed = fewest_by_program(live <= radii[middle])
        low, high = (low, middle) if needed is not None and needed <= k else (middle + 1, high)
    path = site_path(D, k, t=[np.inf], sample_weight=w, random_state=0).improve(30)
    assert path.proved.all()
    assert np.sqrt(path.city_cost[0]) == pytest.approx(radii[high], rel=1e-9)


# spopt 0.7.0 with HiGHS on the same table: PMedian with squared distances and shares of people, PCenter with distances
SPOPT = {(2, 0.0): 22776498.186828822, (4, 0.0): 10886153.77656829,
         (1, np.inf): 11577.3**2, (4, np.inf): 7403.1**2, (7, np.inf): 5150.3**2}  # fmt: skip


@pytest.mark.parametrize(("k", "t"), SPOPT)
def test_the_ends_of_the_dial_are_those_that_spopt_finds(k, t):
    D, w = roads()
    path = site_path(D, k, t=[t], sample_weight=w, random_state=0).improve(30)
    assert path.proved.all()
    assert path.city_cost[0] == pytest.approx(SPOPT[k, t], rel=1e-6)


@pytest.mark.parametrize("reach", [3500.0, 5000.0, 8000.0, 20_000.0])
def test_the_fewest_sites_within_reach(reach):
    D, w = roads()
    truth = fewest_by_program(D[w > 0] <= reach)
    if truth is None:
        with pytest.raises(ValueError, match=r"farther than 3,500 from every site"):
            fewest_sites(D, reach, sample_weight=w)
        return
    found = fewest_sites(D, reach, sample_weight=w)
    assert found.proved
    assert found.number == len(found.sites) == truth
    assert D[w > 0][:, found.sites].min(axis=1).max() <= reach
