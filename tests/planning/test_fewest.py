"""The fewest facilities within a distance: against greedy intervals on a line, and every choice of sites."""

import math
import re
from itertools import combinations

import numpy as np
import pytest

import tkm_core as tkm
from tkm_core.planning import STRAIGHT
from tkm_core.residents import Residents, Sites, Zones
from tkm_core.sites import Capacity
from tkm_core.stories import tell_fewest


def street(n: int = 60, seed: int = 0) -> Residents:
    """Homes along one straight street of some 40 km."""
    east = np.sort(np.random.default_rng(seed).uniform(0, 0.5, n))
    return Residents.from_lonlat(np.column_stack([1.4 + east, np.full(n, 43.6)]), keep_suspect=True)


def intervals(along: np.ndarray, reach: float, fixed: float = math.inf) -> int:
    """The fewest stretches of twice the reach that hold all points of a line: each begins at the first that waits."""
    count, end = 0, -math.inf
    for place in np.sort(along[np.abs(along - fixed) > reach]):
        if place > end:
            count, end = count + 1, place + 2 * reach
    return count


@pytest.mark.parametrize("reach", [900.0, 4_000.0, 15_000.0, 50_000.0])
def test_on_a_free_map_the_answer_brackets_the_truth(reach: float) -> None:
    home = street()
    truth = intervals(home.xy[:, 0], reach)
    found = tkm.fewest_facilities(home, reach)
    assert found.bound <= truth <= found.number
    assert found.number - found.bound <= max(1, truth // 4)
    apart = STRAIGHT.table(home, found.lonlat)
    assert len(found.lonlat) == found.number
    assert apart.min(axis=1).max() <= reach * (1 + 1e-6)


def test_existing_facilities_serve_and_are_not_counted() -> None:
    home = street()
    middle = home.lonlat[30]
    truth = intervals(home.xy[:, 0], 4_000.0, home.xy[30, 0])
    found = tkm.fewest_facilities(home, 4_000.0, fixed_lonlat=[middle])
    assert found.bound <= truth <= found.number
    assert tkm.fewest_facilities(home, 60_000.0, fixed_lonlat=[middle]).number == 0


def test_on_sites_the_number_is_the_least_of_all_choices() -> None:
    rng = np.random.default_rng(3)
    home, sites = street(), Sites(np.column_stack([1.4 + rng.uniform(0, 0.5, 9), np.full(9, 43.61)]))
    apart = STRAIGHT.table(home, sites.lonlat)
    reach = float(apart.min(axis=1).max()) * 1.2
    truth = next(
        k
        for k in range(1, 10)
        if any(apart[:, list(each)].min(axis=1).max() <= reach for each in combinations(range(9), k))
    )
    found = tkm.fewest_facilities(home, reach, rules=tkm.Rules(sites=sites))
    assert (found.number, found.bound, found.among) == (truth, truth, "these sites")
    assert found.possible


def test_a_standard_that_no_number_can_keep_says_which_one_can() -> None:
    rng = np.random.default_rng(3)
    home, sites = street(), Sites(np.column_stack([1.4 + rng.uniform(0, 0.5, 9), np.full(9, 43.61)]))
    best = max(min(math.dist(one, site) for site in home.lonlat_to_xy(sites.lonlat)) for one in home.xy)
    for rules in (tkm.Rules(sites=sites), tkm.Rules(sites=sites, capacity=Capacity(10))):
        found = tkm.fewest_facilities(home, best * 0.999, rules=rules)
        assert (found.number, found.possible, found.proved) == (None, False, False)
        assert found.best == pytest.approx(best)
        told = tell_fewest(found, unit="km", people="homes")
        shown = float(re.search(r"still has ([\d.]+) km to go", told).group(1)) * 1000
        assert best <= shown < best + 10
    assert tkm.fewest_facilities(home, shown, rules=tkm.Rules(sites=sites)).number is not None
    # an existing facility at the loneliest home makes it possible
    lonely = home.lonlat[np.argmax(STRAIGHT.table(home, sites.lonlat).min(axis=1))]
    assert tkm.fewest_facilities(
        home, best * 0.999, rules=tkm.Rules(sites=sites), fixed_lonlat=[lonely]
    ).possible


def test_who_has_no_route_at_all_is_named() -> None:
    home = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], [20, 5], ids=["Centre", "Island"])
    sites = Sites(np.array([[1.4, 43.6], [1.41, 43.6]]))
    table = tkm.ByTable(np.array([[1.0, 2.0], [np.inf, np.inf]]), "min", sites.lonlat)
    with pytest.raises(
        tkm.UnreachableError, match="There is no route to any of the 2 places for 1 resident: Island"
    ):
        tkm.fewest_facilities(home, 5.0, rules=tkm.Rules(table, sites))


def test_room_asks_for_more() -> None:
    home, sites = street(), Sites(np.column_stack([np.linspace(1.4, 1.9, 8), np.full(8, 43.6)]))
    free = tkm.fewest_facilities(home, 30_000.0, rules=tkm.Rules(sites=sites))
    found = tkm.fewest_facilities(home, 30_000.0, rules=tkm.Rules(sites=sites, capacity=Capacity(12)))
    assert free.number < found.number == math.ceil(60 / 12)
    on_map = tkm.fewest_facilities(home, 30_000.0, rules=tkm.Rules(capacity=Capacity(12)))
    assert on_map.bound == 5 <= on_map.number
    nowhere = tkm.fewest_facilities(home, 30_000.0, rules=tkm.Rules(capacity=Capacity(least=61)))
    assert nowhere.number is None


def test_zones_keep_the_facilities_out() -> None:
    import shapely

    home = street()
    rules = tkm.Rules(not_in=Zones((shapely.box(1.3, 43.58, 2.0, 43.62),), ("Street",)))
    found = tkm.fewest_facilities(home, 8_000.0, rules=rules)
    assert found.number >= found.bound >= 1
    assert rules.allows(found.lonlat).all()
    assert STRAIGHT.table(home, found.lonlat).min(axis=1).max() <= 8_000.0 * (1 + 1e-6)


def test_a_distance_of_nothing_gets_a_sentence() -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        tkm.fewest_facilities(street(), 0.0)
