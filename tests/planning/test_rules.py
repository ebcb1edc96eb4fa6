"""Plans that follow rules: against brute force, on a grid city whose travel times are known, and bad input."""

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
import shapely

import tkm_core as tkm
from tkm_core.planning import AVERAGE, STRAIGHT, AlongStreets, ByTable, Plan, by_group, make_plan, moved
from tkm_core.residents import Residents, Sites, Zones
from tkm_core.sites import UnreachableError
from tkm_core.stories import tell_plan, tell_setting
from tkm_core.streets import Streets, load_streets

MIDDLE = (1.44, 43.60)
FAR = (1.64, 43.60)
DIAL = (0.0, 0.05, 0.3, 1.0, 3.0, 10.0, math.inf)


def town(n: int = 40, seed: int = 0, **options: Any) -> Residents:
    rng = np.random.default_rng(seed)
    lonlat = MIDDLE + rng.normal(0, [0.03, 0.02], (n, 2))
    return Residents.from_lonlat(lonlat, rng.integers(1, 50, n), keep_suspect=True, **options)


def spots(m: int, seed: int = 1) -> Sites:
    rng = np.random.default_rng(seed)
    return Sites(MIDDLE + rng.normal(0, [0.03, 0.02], (m, 2)), tuple(f"Site {number}" for number in range(m)))


def phi(d: np.ndarray, w: np.ndarray, t: float) -> float:
    """City-wide tilted cost, as it is defined."""
    f = d**2
    if t == 0:
        return float(np.average(f, weights=w))
    if math.isinf(t):
        return float(f[w > 0].max())
    top = f.max()
    return float(top + np.log(np.average(np.exp(t * (f - top)), weights=w)) / t)


@pytest.fixture(scope="module")
def grid() -> Streets:
    """Streets 100 m apart, 15 by 15, along meridians and parallels: ways are sums of two sides."""
    import geopandas as gpd

    lat = 100 / 110_574
    steps = np.arange(15)
    lines = [shapely.linestrings([[i * lat, j * lat] for j in steps]) for i in steps]
    lines += [shapely.linestrings([[i * lat, j * lat] for i in steps]) for j in steps]
    frame = gpd.GeoDataFrame(geometry=lines, crs="EPSG:4326")
    return load_streets(frame.to_json().encode(), mode="walk", name="grid.geojson")


def crossings(grid: Streets, *corners: tuple[int, int]) -> np.ndarray:
    lat = 100 / 110_574
    return np.array(corners, dtype=float) * lat


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("how", ["straight", "table"])
def test_every_setting_on_sites_is_the_best_of_all_subsets(how: str, k: int) -> None:
    home, sites = town(), spots(9)
    apart = STRAIGHT.table(home, sites.lonlat)
    options: dict[str, Any] = {"sites": sites}
    if how == "table":
        apart = apart * np.random.default_rng(5).uniform(1, 2, apart.shape) / 80  # minutes on crooked ways
        options["travel"] = tkm.TravelTable(apart, "min", 0, np.empty(0, int), ())
    plan = make_plan(home, k, t=DIAL, **options)
    for i, t in enumerate(DIAL):
        tilt = t / plan.scale**2
        best = min(
            phi(apart[:, list(each)].min(axis=1), home.weights, tilt)
            for each in itertools.combinations(range(9), k)
        )
        found = plan.evaluation(i)
        own = apart[:, plan.site_of(i)]
        assert np.allclose(found.distance, own.min(axis=1)), t
        assert np.array_equal(found.labels, own.argmin(axis=1))
        assert phi(found.distance, home.weights, tilt) == pytest.approx(best, rel=1e-9), t
        assert found.city_cost == pytest.approx(best, rel=1e-6)
        assert plan.bound is not None
        assert plan.bound[i] * plan.scale**2 <= best * (1 + 1e-9)
    assert plan.units == (("min",) if how == "table" else ("km", "mi"))


def test_with_limited_room_every_setting_is_the_best_of_all_subsets() -> None:
    from scipy.optimize import linprog

    home, sites, k = town(14), spots(6), 2
    most = 0.6 * home.weights.sum()
    apart = STRAIGHT.table(home, sites.lonlat)
    plan = make_plan(home, k, sites=sites, capacity=most, t=(0.0, 1.0))
    for i, t in enumerate((0.0, 1.0)):
        tilt = t / plan.scale**2

        def cost(each: tuple[int, ...], tilt: float = tilt) -> float:
            f = apart[:, list(each)] ** 2
            price = f if tilt == 0 else np.exp(tilt * f)
            n = len(home)
            rows = np.kron(np.eye(n), np.ones((1, k)))
            room = np.kron(np.ones((1, n)), np.eye(k))
            found = linprog(price.ravel(), A_eq=rows, b_eq=home.weights, A_ub=room, b_ub=np.full(k, most))
            mean = found.fun / home.weights.sum()
            return float(mean if tilt == 0 else np.log(mean) / tilt)

        best = min(cost(each) for each in itertools.combinations(range(6), k))
        found = plan.evaluation(i)
        assert found.city_cost == pytest.approx(best, rel=1e-6)
        assert (found.population <= most * (1 + 1e-9)).all()
        assert found.population.sum() == pytest.approx(home.weights.sum())
        assert len(found.distance) == len(found.labels) == len(home)
        assert np.average(found.distance, weights=home.weights) == pytest.approx(found.mean_distance)


def test_a_site_may_have_a_capacity_of_its_own() -> None:
    home = town(20)
    total = float(home.weights.sum())
    sites = Sites(spots(3).lonlat, (), [0.3 * total, np.inf, np.inf])
    plan = make_plan(home, 3, sites=sites, t=[0.0])
    held = dict(zip(plan.site_of(0).tolist(), plan.evaluation(0).population, strict=True))
    free = make_plan(home, 3, sites=Sites(sites.lonlat), t=[0.0])
    assert dict(zip(free.site_of(0).tolist(), free.evaluation(0).population, strict=True))[0] > 0.3 * total
    assert held[0] == pytest.approx(0.3 * total)
    assert plan.rules.sentences()[-1] == "1 site has a capacity of its own."


def test_on_a_grid_of_streets_times_are_as_computed_by_hand(grid: Streets) -> None:
    home = Residents.from_lonlat(
        crossings(grid, (0, 0), (14, 0), (7, 7), (0, 14)), [1, 1, 1, 1], keep_suspect=True
    )
    sites = Sites(crossings(grid, (0, 0), (7, 7), (14, 14)))
    plan = make_plan(home, 1, streets=grid, sites=sites, t=[0.0, math.inf])
    assert plan.site_of(0).tolist() == [1]
    minutes = 60 / (1000 * grid.pace)
    assert plan.evaluation(0).distance == pytest.approx(
        [1400 * minutes, 1400 * minutes, 0, 1400 * minutes], rel=0.01, abs=1e-6
    )
    metres = make_plan(home, 1, streets=AlongStreets(grid, "metres"), sites=sites, t=[0.0])
    assert metres.evaluation(0).distance == pytest.approx([1400, 1400, 0, 1400], rel=0.01, abs=0.01)
    assert metres.units == ("km", "mi")
    assert "on foot along the streets of “grid.geojson”" in plan.rules.sentences()[0]
    assert plan.rules.sentences()[0].startswith("Travel times")
    assert metres.rules.sentences()[0].startswith("Distances")


def test_without_sites_the_best_junction_is_found(grid: Streets) -> None:
    rng = np.random.default_rng(3)
    home = Residents.from_lonlat(
        crossings(grid, *rng.integers(0, 15, (30, 2)).tolist()), rng.integers(1, 9, 30), keep_suspect=True
    )
    plan = make_plan(home, 1, streets=grid, t=[0.0, 3.0])
    apart = grid.travel_times(home.lonlat, grid.at_junctions())
    for i in range(2):
        tilt = plan.t[i] / plan.scale**2
        best = min(phi(column, home.weights, tilt) for column in apart.T)
        assert plan.evaluation(i).city_cost == pytest.approx(best, rel=1e-5)
    zone = Zones((shapely.box(-1, -1, 0.002, 1),))
    west = make_plan(home, 2, streets=grid, only_in=zone, t=[0.0, math.inf])
    assert (west.path_lonlat[..., 0] <= 0.002 + 1e-9).all()
    assert west.proof(0).startswith("No plan on the ")


def test_facilities_stand_where_zones_allow() -> None:
    home = town(200)
    centre = Zones((shapely.box(1.42, 43.58, 1.46, 43.62),), ("Old town",))
    out = make_plan(home, 3, not_in=centre, t=[0.0, 1.0, math.inf])
    inside = make_plan(home, 3, only_in=centre, t=[0.0, 1.0, math.inf])
    rim = Zones((shapely.box(1.4201, 43.5801, 1.4599, 43.6199),))
    assert not rim.holds(out.path_lonlat.reshape(-1, 2)).any()
    assert Zones((centre.shape.buffer(1e-5),)).holds(inside.path_lonlat.reshape(-1, 2)).all()
    free = make_plan(home, 3, t=[0.0])
    assert out.evaluation(0).sse >= free.evaluation(0).sse * (1 - 1e-9)
    assert out.rules.sentences() == ("No facility may stand in the zone “Old town”.",)
    assert "grid with a spacing" in out.remarks[0]
    both = make_plan(home, 3, not_in=centre, capacity=home.weights.sum() / 2, t=[0.0])
    assert not rim.holds(both.path_lonlat.reshape(-1, 2)).any()
    assert (both.evaluation(0).population <= home.weights.sum() / 2 * (1 + 1e-9)).all()


def test_sites_outside_the_zones_are_left_out_and_counted() -> None:
    home, sites = town(), spots(9)
    zone = Zones((shapely.box(1.0, 43.0, float(np.median(sites.lonlat[:, 0])) + 1e-6, 44.0),))
    plan = make_plan(home, 2, sites=sites, only_in=zone, t=[0.0])
    assert plan.remarks == (
        "4 of 9 candidate sites lie where the zones allow no facility, and cannot be chosen.",
    )
    assert zone.holds(plan.centers_lonlat(0)).all()
    with pytest.raises(ValueError, match="The zones leave none of the 9 candidate sites"):
        make_plan(home, 2, sites=sites, not_in=Zones((shapely.box(0, 43, 3, 44),)))


@pytest.mark.parametrize("rule", ["sites", "streets", "table", "zones", "capacity"])
def test_existing_closed_pinned_and_none_new_work_with_every_rule(rule: str, grid: Streets) -> None:
    rng = np.random.default_rng(4)
    corners = rng.integers(0, 15, (25, 2)).tolist()
    home = Residents.from_lonlat(crossings(grid, *corners), rng.integers(1, 9, 25), keep_suspect=True)
    sites = Sites(crossings(grid, (2, 2), (2, 12), (12, 2), (12, 12), (7, 7), (5, 9)), tuple("abcdef"))
    there = crossings(grid, (1, 7), (13, 7), (7, 1))
    apart = tkm.TravelTable(
        STRAIGHT.table(home, np.concatenate([sites.lonlat, there])) / 70, "min", 0, np.empty(0, int), ()
    )
    choices: dict[str, dict[str, Any]] = {
        "sites": {"sites": sites},
        "streets": {"streets": grid},
        "table": {"sites": sites, "travel": apart},
        "zones": {"not_in": Zones((shapely.box(0.003, 0.003, 0.006, 0.006),))},
        "capacity": {"capacity": home.weights.sum() / 2},
    }
    options = choices[rule]
    plan = make_plan(
        home, 2, fixed_lonlat=there, fixed_names=["A", "B", "C"], closed=[1], pinned=1, t=[0, 1], **options
    )
    assert plan.kinds == ["new", "new", "existing", "pinned"]
    assert plan.reference.kind == "today"
    assert np.allclose(plan.centers_lonlat(0)[2], there[0])
    assert plan.names_at(0)[2:] == ["A", "C"]
    assert plan.evaluation(0).population.sum() == pytest.approx(home.weights.sum())
    assert (
        plan.evaluation(1).largest_distance <= plan.today.largest_distance * (1 + 1e-9) or rule == "capacity"
    )  # type: ignore[union-attr]
    nothing = make_plan(home, 0, fixed_lonlat=there, **options)
    assert nothing.is_today == (rule != "capacity"), "at limits people may have to change their facility"
    assert nothing.t.tolist() == [0.0]
    assert len(nothing.evaluation(0).population) == 3
    story = tell_plan(plan.against(AVERAGE), 1)
    assert plan.average.technical in story.context
    assert "k-means++)" not in story.context or rule in ("sites", "streets", "table")
    assert len(plan.service_areas(0)) == 4
    again = pickle.loads(pickle.dumps(plan))
    assert np.array_equal(again.evaluation(0).distance, plan.evaluation(0).distance)
    between = plan.with_stop(0.3)
    assert between.t.tolist() == [0.0, 0.3, 1.0]
    assert between.evaluation(1).city_cost <= max(plan.cost_at(i, 0.3) for i in (0, 1)) * plan.scale**2 * (
        1 + 1e-9
    )
    here = moved(plan, 0, 0, plan.centers_lonlat(0)[0])
    assert here.mean_distance == pytest.approx(plan.evaluation(0).mean_distance, rel=1e-4)


def test_the_dial_stops_where_the_sites_change() -> None:
    plan = make_plan(town(60), 3, sites=spots(20))
    assert plan.t[0] == 0
    assert math.isinf(plan.t[-1])
    sets = [frozenset(plan.site_of(i).tolist()) for i in range(len(plan))]
    assert all(a != b for a, b in itertools.pairwise(sets[:-1]))
    assert len(np.unique(plan.path.arrangement)) == len(set(plan.path.arrangement.tolist()))
    assert all(
        (plan.path.arrangement[i] == plan.path.arrangement[i + 1]) == (sets[i] == sets[i + 1])
        for i in range(len(plan) - 1)
    )
    assert [name for name in plan.names_at(0) if not name.startswith("Site")] == []
    assert plan.title(0, 0).startswith("Facility 1, Site ")


def test_minutes_are_told_as_minutes(grid: Streets) -> None:
    rng = np.random.default_rng(7)
    home = Residents.from_lonlat(
        crossings(grid, *rng.integers(0, 15, (60, 2)).tolist()), rng.integers(1, 9, 60),
        groups=["north" if odd else "south" for odd in rng.integers(0, 2, 60)], keep_suspect=True,
    )  # fmt: skip
    plan = make_plan(home, 3, streets=grid)
    story = tell_plan(plan, len(plan) - 1, unit="km", standard=5.0, people="homes")
    assert "minutes" in story.text
    assert " km" not in story.text + story.context + "".join(row.label for row in story.rows)
    assert [row.label for row in story.rows][:2] == ["Farthest home, min", "Average travel time, min"]
    assert "Homes within 5 min, %" in [row.label for row in story.rows]
    assert "away; the average trip is" in tell_setting(plan, 0).headline_text
    assert tell_setting(plan, 0).headline_text.endswith(" min.")
    assert by_group(plan, 0)[0].average.label == "Average travel time, min"
    assert plan.shown_unit("mi") == "min"


def test_every_group_counts_the_same_if_asked() -> None:
    rng = np.random.default_rng(2)
    many, few = MIDDLE + rng.normal(0, 0.01, (90, 2)), FAR + rng.normal(0, 0.01, (10, 2))
    groups = ["many"] * 90 + ["few"] * 10
    home = Residents.from_lonlat(np.concatenate([many, few]), groups=groups, keep_suspect=True)
    usual, equal = (make_plan(home, 1, t=[0.0], equal_groups=equal) for equal in (False, True))
    assert usual.centers_lonlat(0)[0, 0] == pytest.approx(1.44 + 0.02, abs=0.005)
    assert equal.centers_lonlat(0)[0, 0] == pytest.approx(1.44 + 0.10, abs=0.005)
    assert equal.people == 100
    assert "Every group counts the same" in equal.rules.sentences()[0]
    with pytest.raises(ValueError, match="no groups"):
        make_plan(town(), 1, equal_groups=True)
    with pytest.raises(ValueError, match="limited room"):
        make_plan(home, 1, equal_groups=True, capacity=200)


def test_who_cannot_be_reached_is_named() -> None:
    home, sites = town(5, ids=["a", "b", "c", "Island", "e"]), spots(3)
    values = STRAIGHT.table(home, sites.lonlat)
    values[3] = np.inf
    table = tkm.TravelTable(values, "m", 3, np.array([3]), ())
    with pytest.raises(
        UnreachableError, match=r"There is no route to any of the 3 sites for 1 resident: Island"
    ) as caught:
        make_plan(home, 1, sites=sites, travel=table)
    assert caught.value.rows.tolist() == [3]
    empty = Residents.from_lonlat(home.lonlat, [1, 1, 1, 0, 1], keep_suspect=True)
    plan = make_plan(empty, 1, sites=sites, travel=table, t=[0.0])
    assert np.isfinite(plan.evaluation(0).distance).all()
    assert "no value for 3 pairs" in plan.rules.sentences()[0]


def test_what_cannot_be_is_said_with_the_numbers(grid: Streets) -> None:
    home, sites = town(), spots(3)
    people = home.weights.sum()
    narrow = tkm.TravelTable(np.ones((40, 2)), "m", 0, np.empty(0, int), ())
    said: list[tuple[str, dict[str, Any], int]] = [
        ("4 facilities cannot be opened: there are only 3 sites to choose from", {"sites": sites}, 4),
        (f"2 facilities can serve at most 20 people, but there are {people:,.0f}", {"capacity": 10}, 2),
        (f"2 facilities can serve at most 20 people, but there are {people:,.0f}", {"capacity": 10, "sites": sites}, 2),
        ("The zones leave", {"only_in": shapely.box(10, 10, 10 + 1e-9, 10 + 1e-9), "capacity": 1e9}, 2),
        ("streets or by a table", {"streets": grid, "travel": 3}, 1),
        ("needs the candidate sites", {"travel": narrow}, 1),
        ("read_travel", {"travel": [[1.0]], "sites": sites}, 1),
        ("2 columns, but there are 3 places", {"sites": sites, "travel": narrow}, 1),
        ("either rules or the single rules", {"rules": tkm.Rules(), "sites": sites}, 1),
        ("one number for all", {"capacity": [1.0, 2.0]}, 1),
    ]  # fmt: skip
    for sentence, options, k in said:
        with pytest.raises(ValueError, match=sentence):
            make_plan(home, k, **options)
    with pytest.raises(ValueError, match="city-wide cost"):
        make_plan(home, 1, sites=sites, criterion="cluster")
    with pytest.raises(ValueError, match="no column for existing facility 1"):
        make_plan(home, 1, sites=sites, fixed_lonlat=[[1.5, 43.7]],
                  travel=tkm.TravelTable(np.ones((40, 3)), "m", 0, np.empty(0, int), ()))  # fmt: skip


def test_one_resident_one_site_and_duplicates() -> None:
    alone = Residents.from_lonlat([MIDDLE], [3])
    plan = make_plan(alone, 1, sites=[MIDDLE])
    assert plan.evaluation(0).largest_distance == pytest.approx(0, abs=1e-6)
    assert plan.proof(0) == "No plan on these sites has a lower city-wide cost at this setting of the dial."
    twice = Sites(np.array([MIDDLE, MIDDLE, (1.5, 43.6)]), ("first", "second", "third"))
    values = np.array([[5.0, 1.0, 9.0]])
    table = make_plan(
        alone, 1, sites=twice, travel=tkm.TravelTable(values, "min", 0, np.empty(0, int), ()), t=[0.0]
    )
    assert table.names_at(0) == ["second"]
    assert table.evaluation(0).distance.tolist() == [1.0]
    assert make_plan(alone, 2, sites=twice, t=[0.0]).evaluation(0).largest_distance < 1e-6


def test_rules_are_equal_by_content_and_survive_the_way_to_a_worker(grid: Streets) -> None:
    def made() -> tkm.Rules:
        return tkm.Rules(
            AlongStreets(grid, "metres", "back"), spots(3), Zones((shapely.box(0, 0, 1, 1),), ("z",))
        )

    one = made()
    assert one == made()
    assert hash(one) == hash(made())
    assert pickle.loads(pickle.dumps(one)) == one
    others = [
        tkm.Rules(),
        tkm.Rules(AlongStreets(grid, "minutes", "back"), spots(3), one.only_in),
        tkm.Rules(sites=spots(3)),
    ]
    assert len({rule.fingerprint for rule in [one, *others]}) == 4
    hostile = tkm.Rules(
        sites=Sites(np.array([MIDDLE]), ("\n<b>x</b>" * 90,), name="a\nb" * 200),
        not_in=Zones((shapely.box(0, 0, 1, 1),), ("\u202e\n" * 99,)),
    )
    assert all("\n" not in sentence and len(sentence) < 300 for sentence in hostile.sentences())


def test_streets_may_be_one_way(grid: Streets) -> None:
    there, back = (AlongStreets(grid, direction=way) for way in ("there", "back"))
    assert "from home to the facility" in there.sentence
    assert "from the facility to the home" in back.sentence
    with pytest.raises(ValueError, match="there or back"):
        AlongStreets(grid, direction="round")
    values = ByTable(np.ones((2, 2)), "m", np.zeros((2, 2)))
    with pytest.raises(ValueError, match="2 rows, but there are 40 residents"):
        values.table(town(), np.zeros((1, 2)))


def test_the_same_seed_gives_the_same_plan() -> None:
    first, second = (make_plan(town(80), 3, sites=spots(30), random_state=1) for _ in range(2))
    assert np.array_equal(first.path.centers, second.path.centers)
    assert isinstance(first, Plan)
