"""Proofs: every set of sites is tried, and none contradicts what is said to be proven."""

import math
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from tests.truth import slowly
from tests.truth.cities import CASES
from tests.truth.recomputed import exported_trips, limits
from tkm_core.planning import fewest_facilities
from tkm_core.stories import tell_fewest

ON_SITES = [
    case for case in CASES if "sites" in case.options or case.name == "metres along streets with room"
]
PROOF = re.compile(
    r"^No plan on these sites(?:, with every group counting the same,)? has a (?P<best>lower city-wide cost)?"
    r"(?:city-wide cost more than (?P<percent>[\d.]+) % lower)? at this setting of the dial\.$"
)


def candidates(case, plan):
    """The sites that the rules leave."""
    lonlat = plan.rules.sites.lonlat
    allowed = plan.rules.allows(lonlat)
    return lonlat[allowed]


def every_cost(case, plan, t):
    """The city-wide cost of every plan on the sites; infinite if it has too little room."""
    home = case.residents
    spots = candidates(case, plan)
    stays = case.stays
    apart = case.far(home.lonlat, np.concatenate([spots, stays]))
    people = counted_people(home, case.options.get("equal_groups"))
    costs = {}
    for chosen in combinations(range(len(spots)), case.k):
        columns = [*chosen, *range(len(spots), len(spots) + len(stays))]
        far = apart[:, columns]
        trips = slowly.to_the_nearest(far, people)
        if case.limited:
            there = np.concatenate([spots[list(chosen)], stays])
            trips = slowly.with_room(far, people, *limits(case, plan, there, 0), t)
        costs[chosen] = math.inf if trips is None else slowly.cost(trips, t)
    return costs


def own_cost(case, plan, i, t):
    """The cost of the plan as it is exported."""
    trips = exported_trips(case, plan, i)
    if case.options.get("equal_groups"):
        share = counted_people(case.residents, equal=True)
        trips = [replace(one, people=float(share[one.resident])) for one in trips]
    return slowly.cost(trips, t)


def counted_people(home, equal):
    """How much everyone counts in placing."""
    if not equal:
        return home.weights
    total = {name: home.weights[home.groups == name].sum() for name in set(home.groups)}
    return np.array([one / total[name] for one, name in zip(home.weights, home.groups, strict=True)])


@pytest.mark.parametrize("added", [None, 0.05, 1.7])
@pytest.mark.parametrize("case", ON_SITES, ids=lambda case: case.name)
def test_no_other_sites_are_better_than_the_proof_allows(case, added):
    plan = case.make() if added is None else case.make().with_stop(added)
    for i in range(len(plan)) if added is None else [plan.index(added)]:
        t = float(plan.t[i]) / plan.scale**2
        match = PROOF.match(plan.proof(i))
        if match is None:
            assert plan.proof(i).endswith("at this setting of the dial is not known yet."), plan.proof(i)
            continue
        assert bool(match["best"]) != bool(match["percent"])
        costs = every_cost(case, plan, t)
        mine, best = own_cost(case, plan, i, t), min(costs.values())
        allowed = float(match["percent"] or 0) / 100
        assert best >= mine * (1 - allowed) * (1 - 1e-6), f"{best} is possible, {mine} is proven"


@pytest.mark.parametrize("share", [0.5, 0.8, 1.0, 1.4])
@pytest.mark.parametrize("case", ON_SITES, ids=lambda case: case.name)
def test_the_fewest_facilities_are_enough_and_fewer_are_too_few(case, share):
    plan = case.make()
    home, rules = case.residents, plan.rules
    spots = candidates(case, plan)
    apart = case.far(home.lonlat, np.concatenate([spots, case.stays]))
    lived = home.weights > 0
    reach = share * float(plan.evaluation(len(plan) - 1).largest_distance)
    stays = list(range(len(spots), apart.shape[1]))

    def enough(k):
        """Whether some k sites are enough."""
        for chosen in combinations(range(len(spots)), k):
            columns = [*chosen, *stays]
            if not columns:
                continue
            far = np.where(apart[:, columns] <= reach * (1 + 1e-9), apart[:, columns], np.inf)
            if not np.isfinite(far[lived].min(axis=1)).all():
                continue
            there = np.concatenate([spots[list(chosen)], case.stays])
            if not case.limited or slowly.with_room(
                far[lived], home.weights[lived], *limits(case, plan, there, 0)
            ):
                return True
        return False

    if not np.isfinite(np.where(apart <= reach * (1 + 1e-9), apart, np.inf)[lived].min(axis=1)).all():
        found = fewest_facilities(home, reach, rules=rules, fixed_lonlat=case.stays)
        assert found.number is None and not found.possible
        assert found.best == pytest.approx(apart[lived].min(axis=1).max(), rel=1e-4)
        return
    found = fewest_facilities(home, reach, rules=rules, fixed_lonlat=case.stays)
    told = tell_fewest(
        found, unit="km" if case.unit == "m" else "min", people="homes", n_existing=len(case.stays)
    )
    if found.number is not None:
        assert enough(found.number)
    for few in re.findall(r"proven that (\d+) (?:is|are) too few", told):
        assert not any(enough(k) for k in range(int(few) + 1))
    if found.number is not None and "The fewest" in told and found.number:
        assert not enough(found.number - 1)
