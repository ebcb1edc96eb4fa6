import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from tests.listening import reports_and_stops
from tkm_core.clustering.path import TiltedPath
from tkm_core.evaluation import evaluate
from tkm_core.measures import MEASURES
from tkm_core.planning import Plan, make_plan
from tkm_core.planning.trade_off import gather, trade_off
from tkm_core.residents import Residents
from tkm_core.residents.samples import load_sample
from tkm_core.stories.plan_story import tell_plan


@pytest.fixture(scope="module")
def city():
    return load_sample("generated", n=1500, seed=1)


@pytest.fixture(scope="module")
def plan(city):
    return make_plan(city, 5)


def scattered(n=120, seed=0, lon=2.3, lat=48.8, spread=0.1):
    rng = np.random.default_rng(seed)
    return Residents.from_lonlat(
        np.column_stack([rng.normal(lon, spread, n), rng.normal(lat, spread, n)]), rng.integers(1, 50, n)
    )


def with_path(residents, centers, baseline):
    """A plan with the given sites in scaled coordinates, made by nobody."""
    m = len(centers)
    zeros = np.zeros(m)
    path = TiltedPath(
        np.arange(m) * 1.0, np.asarray(centers), zeros, zeros, zeros, zeros, zeros.astype(np.int64)
    )
    return Plan(residents, np.shape(centers)[1], 0, "cluster", path, np.asarray(baseline))


def test_index_takes_any_number(plan):
    for i, t in enumerate(plan.t):
        assert plan.index(t) == i
    assert plan.index(0.9999 * plan.t[9]) == plan.index(1.0001 * plan.t[9]) == 9
    assert plan.index(-5) == 0
    assert plan.index(0.0) == 0
    assert plan.index(1e300) == plan.index(float("inf")) == len(plan) - 1
    with pytest.raises(ValueError, match="number"):
        plan.index(float("nan"))


def test_coordinates_agree(plan, city):
    i = plan.index(1.0)
    np.testing.assert_allclose(plan.centers_xy(i), plan.path.centers[i] * city.scale + city.origin)
    np.testing.assert_allclose(city.lonlat_to_xy(plan.centers_lonlat(i)), plan.centers_xy(i), atol=1e-4)
    np.testing.assert_allclose(plan.path_lonlat[i], plan.centers_lonlat(i), atol=1e-10)
    np.testing.assert_allclose(city.lonlat_to_xy(plan.baseline_lonlat), plan.baseline_xy, atol=1e-4)


def test_baseline_is_scikit_learns_kmeans(plan, city):
    peer = KMeans(5, n_init=10, random_state=0).fit(city.scaled, sample_weight=city.weights)
    apart = np.linalg.norm(plan.baseline[:, None] - peer.cluster_centers_, axis=2)
    assert apart.min(axis=1).max() < 1e-9
    assert sorted(apart.argmin(axis=1)) == list(range(5))


def test_baseline_is_numbered_like_the_plan_at_t_0(plan):
    apart = np.linalg.norm(plan.baseline[:, None] - plan.path.centers[0], axis=2)
    total = apart[range(5), range(5)] ** 2
    for swap in ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4)):
        order = np.arange(5)
        order[list(swap)] = order[list(swap)[::-1]]
        assert total.sum() <= (apart[order, range(5)] ** 2).sum() + 1e-12


def test_same_seed_same_plan(city):
    first, again = (make_plan(city, 4, t=[0, 0.5], random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.path.centers, again.path.centers)
    np.testing.assert_array_equal(first.baseline, again.baseline)


def test_evaluation_is_in_metres_and_kept(plan, city):
    i = plan.index(0.5)
    found = plan.evaluation(i)
    apart = np.linalg.norm(city.xy[:, None] - plan.centers_xy(i), axis=2)
    np.testing.assert_allclose(found.distance, apart.min(axis=1), atol=1e-6)
    assert plan.evaluation(i) is found
    assert plan.evaluation(i, 5000.0).share_within == pytest.approx((apart.min(axis=1) <= 5000).mean())
    # t is a pure number on the scaled map: the tilted SSE there, times the squared scale, is that in metres
    assert found.tilted_sse == pytest.approx(plan.path.tilted_sse[i] * city.scale**2, rel=1e-6)


def test_one_measuring_serves_every_standard(city, monkeypatch):
    plan = make_plan(city, 3, t=[0, 0.3, 3])
    asked, usual = [], Plan._measure
    monkeypatch.setattr(Plan, "_measure", lambda self, *a, **o: asked.append(a) or usual(self, *a, **o))
    found = [plan.evaluation(1, standard) for standard in (700.0, None, 1500.0)]
    before = [plan.reference_evaluation(standard) for standard in (None, 700.0)]
    assert len(asked) == 2
    for one, sites in [
        *((one, plan.centers_xy(1)) for one in found),
        *((one, plan.baseline_xy) for one in before),
    ]:
        t = plan.t[1] / city.scale**2 if one in found else 0.0
        truth = evaluate(city.xy, sites, t=t, sample_weight=city.weights, standard=one.standard)
        assert one.to_frame().equals(truth.to_frame())


def test_where_people_are_split_up_a_standard_is_measured_by_itself(city):
    plan = make_plan(city, 3, t=[0, 0.3], capacity=float(city.weights.sum()) / 3 * 1.05)
    for standard in (700.0, None, 1500.0):
        truth = plan.serving.evaluate(plan.centers_xy(1), float(plan.t[1]), standard, places=plan.places(1))
        assert plan.evaluation(1, standard).share_within == truth.share_within


def test_change_is_what_each_resident_gains(plan, city):
    i = plan.index(2.0)
    before = np.linalg.norm(city.xy[:, None] - plan.baseline_xy, axis=2).min(axis=1)
    after = np.linalg.norm(city.xy[:, None] - plan.centers_xy(i), axis=2).min(axis=1)
    np.testing.assert_allclose(plan.change(i), before - after, atol=1e-6)


ALONG = [key for key, measure in MEASURES.items() if measure.along_dial]


def test_curve_holds_every_measure_at_every_t(plan, city):
    curve = plan.trade_off(standard=4000.0)
    assert curve.error == 0
    for i in (0, 20, len(plan) - 1):
        found = evaluate(city.xy, plan.centers_xy(i), sample_weight=city.weights, standard=4000.0)
        for name in ALONG:
            assert getattr(curve, name)[i] == pytest.approx(getattr(found, name))
    found = plan.baseline_evaluation(4000.0)
    assert curve.baseline == pytest.approx({name: getattr(found, name) for name in ALONG})
    assert plan.trade_off(standard=4000.0) is curve
    assert np.isnan(plan.curve.share_within).all()


def test_curve_reports_progress_and_can_be_cancelled(city):
    plan = make_plan(city, 3, t=[0, 1])
    seen = []
    plan.trade_off(progress=lambda share, text: seen.append((share, text)))
    assert seen[-1][0] == 1.0
    assert all(text for _, text in seen)

    def stop(_share, _text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan.trade_off(standard=1.0, progress=stop)


def test_few_curves_are_kept(city):
    plan = make_plan(city, 2, t=[0, 1])
    for standard in range(1, 30):
        plan.trade_off(standard=float(standard))
    assert len(plan._curves) <= 8


def test_curve_on_cells_keeps_its_stated_error(monkeypatch):
    city = load_sample("generated", n=20_000, seed=2)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 5, len(city)).astype(float)
    sites = city.xy[rng.choice(len(city), (4, 6))]
    t = np.arange(3.0)
    exact = trade_off(t, city.xy, weights, sites[:3], sites[3])
    monkeypatch.setattr("tkm_core.planning.trade_off.MANY", 1000)
    monkeypatch.setattr("tkm_core.planning.trade_off.CELLS", 500)
    monkeypatch.setattr("tkm_core.planning.trade_off.gather", lambda xy, w: gather(xy, w, 500))
    cells = trade_off(t, city.xy, weights, sites[:3], sites[3])
    assert 0 < cells.error < 5000
    for name in ("mean_distance", "median_distance", "p90_distance", "p95_distance", "worst_decile_mean"):
        assert (np.abs(getattr(cells, name) - getattr(exact, name)) <= cells.error).all()
        assert abs(cells.baseline[name] - exact.baseline[name]) <= cells.error
        # It is the cells that were measured.
        assert not np.array_equal(getattr(cells, name), getattr(exact, name))
    np.testing.assert_allclose(cells.largest_distance, exact.largest_distance, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 1000))
def test_cells_hold_everybody_within_reach(n, limit, seed):
    rng = np.random.default_rng(seed)
    xy = rng.normal(size=(n, 2)) * rng.choice([0.0, 1.0, 1e6])
    weights = rng.integers(0, 3, n).astype(float)
    cells = gather(xy, weights, limit)
    assert len(cells.xy) <= limit
    assert cells.weights.sum() == weights.sum()
    assert sorted(cells.order) == list(range(n))
    for c in range(len(cells.xy)):
        members = cells.order[cells.start[c] : cells.start[c + 1]]
        assert weights[members].sum() == cells.weights[c]
        apart = np.linalg.norm(xy[members] - cells.xy[c], axis=1)
        assert apart.max() == pytest.approx(cells.reach[c])


@pytest.mark.parametrize("percent", [0, 1, 5, 20, 500])
def test_within_budget_is_the_fairest_allowed(plan, percent):
    i = plan.within_budget(percent)
    mean, far = plan.curve.mean_distance, plan.curve.largest_distance
    limit = (1 + percent / 100) * plan.curve.baseline["mean_distance"]
    allowed = [j for j in range(len(plan)) if mean[j] <= limit]
    assert allowed, "the budget of this test can be met"
    assert plan.meets_budget(i, percent)
    assert far[i] <= min(far[j] for j in allowed) + 1e-3


def test_budget_that_cannot_be_met_gives_the_lowest_average(plan):
    i = plan.within_budget(-50)
    assert i == int(np.argmin(plan.curve.mean_distance))
    assert not plan.meets_budget(i, -50)


def test_of_equally_fair_plans_the_cheaper_wins():
    town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.60], [1.42, 43.60], [1.50, 43.60]])
    a, _, c, d = town.scaled
    # the same longest trip (from b to a), once with d served at its door and once a little beside it
    sites = [[a, c, d + np.array([0.01, 0])], [a, c, d]]
    plan = with_path(town, sites, sites[0])
    assert plan.curve.largest_distance[0] == pytest.approx(plan.curve.largest_distance[1])
    assert plan.within_budget(100) == 1


def test_knee_is_farthest_from_the_chord(plan):
    cost, harm = plan.curve.mean_distance, plan.curve.largest_distance
    i = plan.knee()
    front = [
        j for j in range(len(plan))
        if not any((cost[o] <= cost[j] and harm[o] < harm[j]) or (cost[o] < cost[j] and harm[o] <= harm[j])
                   for o in range(len(plan)))
    ]  # fmt: skip
    start, end = min(front, key=lambda j: cost[j]), min(front, key=lambda j: harm[j])
    span = np.array([cost[end] - cost[start], harm[start] - harm[end]])
    chord = np.array([1.0, -1.0])

    def below(j):
        x, y = (cost[j] - cost[start]) / span[0], (harm[j] - harm[end]) / span[1]
        return -(chord[0] * (y - 1) - chord[1] * x) / np.sqrt(2)

    assert i in front
    assert below(i) == pytest.approx(max(below(j) for j in front))
    assert below(i) > 0


def test_knee_of_a_plan_without_a_trade_off():
    town = scattered()
    sites = town.scaled[:2]
    plan = with_path(town, [sites, sites, sites], sites)
    assert plan.knee() in (0, 1, 2)


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_every_resident_lies_in_the_area_of_their_facility(city, k):
    plan = make_plan(city, k, t=[0.2])
    areas = plan.service_areas(0)
    labels = plan.evaluation(0).labels
    assert len(areas) == k
    for j, area in enumerate(areas):
        assert area.is_valid
        mine = shapely.points(city.lonlat[labels == j])
        assert (shapely.distance(area, mine) < 1e-6).all()
    assert shapely.union_all(areas).area == pytest.approx(sum(area.area for area in areas), rel=1e-6)


def test_service_areas_of_facilities_in_one_line_or_one_place():
    town = scattered()
    line = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    areas = with_path(town, [line], line).service_areas(0)
    assert [area.is_empty for area in areas] == [False] * 3
    same = np.array([[0.5, 0.0], [-0.5, 0.0], [0.5, 0.0]])
    areas = with_path(town, [same], same).service_areas(0)
    assert [area.is_empty for area in areas] == [False, False, True]


def test_service_areas_reach_across_the_antimeridian():
    rng = np.random.default_rng(0)
    lon = (rng.normal(180, 0.4, 200) + 180) % 360 - 180
    fiji = Residents.from_lonlat(np.column_stack([lon, rng.normal(-17, 0.3, 200)]))
    plan = make_plan(fiji, 3, t=[0])
    labels = plan.evaluation(0).labels
    split = 0
    for j, area in enumerate(plan.service_areas(0)):
        west, _, east, _ = area.bounds
        assert -180 <= west <= east <= 180
        assert area.is_valid
        split += area.geom_type == "MultiPolygon"
        assert max(piece.bounds[2] - piece.bounds[0] for piece in shapely.get_parts(area)) < 10
        assert (shapely.distance(area, shapely.points(fiji.lonlat[labels == j])) < 1e-6).all()
    assert split


def test_one_resident_can_be_planned_for():
    plan = make_plan(Residents.from_lonlat([[2.3, 48.8]]), 1, t=[0, 1])
    np.testing.assert_allclose(plan.centers_lonlat(1), [[2.3, 48.8]], atol=1e-9)
    assert plan.service_areas(0)[0].area > 0
    assert plan.curve.largest_distance[0] == pytest.approx(0, abs=1e-3)
    assert plan.knee() == 0
    assert plan.within_budget(0) in (0, 1)


def test_existing_facilities_stay_and_serve():
    town = scattered(300)
    existing = [[2.3, 48.8], [2.4, 48.9]]
    plan = make_plan(town, 3, t=[0, 0.5, 5], fixed_lonlat=existing)
    assert (len(plan.existing), plan.n_existing) == (2, 2)
    assert plan.kinds == ["new"] * 3 + ["existing"] * 2
    for i in range(3):
        np.testing.assert_allclose(plan.centers_lonlat(i)[3:], existing, atol=1e-9)
    np.testing.assert_allclose(plan.baseline_lonlat[3:], existing, atol=1e-9)
    # the baseline is k-means around them: each new site in the middle of those it serves
    labels = plan.baseline_evaluation().labels
    for j in range(3):
        middle = np.average(town.scaled[labels == j], axis=0, weights=town.weights[labels == j])
        np.testing.assert_allclose(plan.baseline[j], middle, atol=1e-3)
    assert "3 new and 2 existing facilities" in tell_plan(plan, 1).context
    assert "compared with today" in tell_plan(plan, 1).context


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3", None])
def test_impossible_numbers_of_facilities_get_a_sentence(city, k):
    with pytest.raises(ValueError, match="whole number"):
        make_plan(city, k)


def test_more_facilities_than_places_get_a_sentence():
    town = Residents.from_lonlat([[1.4, 43.6], [1.4, 43.6], [1.5, 43.6], [1.6, 43.7]], [1, 1, 1, 0])
    with pytest.raises(ValueError, match="3 facilities are too many for residents in 2 different places"):
        make_plan(town, 3)
    assert make_plan(town, 2, t=[0]).path.centers.shape == (1, 2, 2)


@pytest.mark.parametrize("seed", [-1, None, 1.5, 2**32])
def test_impossible_seeds_get_a_sentence(city, seed):
    with pytest.raises(ValueError, match="seed must be a whole number"):
        make_plan(city, 2, random_state=seed)


@pytest.mark.parametrize("t", [[], [0, -1], [np.nan], [0, -np.inf]])
def test_impossible_dials_get_a_sentence(city, t):
    with pytest.raises(ValueError, match="must be numbers from 0 upwards"):
        make_plan(city, 2, t=t)


def test_dial_may_be_given_in_any_order(city):
    assert make_plan(city, 2, t=[1, 0, 0.5, 1]).t.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("place", [[200, 0], [0, 95], [np.nan, 0]])
def test_existing_facility_off_the_earth_gets_a_sentence(city, place):
    with pytest.raises(ValueError, match="Existing facility 2 is not a place on earth"):
        make_plan(city, 2, fixed_lonlat=[[2.0, 45.0], place])


def test_progress_grows_to_the_end_and_cancels(city):
    reports_and_stops(lambda progress: make_plan(city, 3, t=[0, 0.1, 1], progress=progress))


def test_large_city_starts_from_cells_and_ends_on_everybody(monkeypatch):
    city = load_sample("generated", n=6000, seed=5)
    plain = KMeans(4, n_init=10, random_state=0).fit(city.scaled)
    monkeypatch.setattr("tkm_core.planning.baseline.MANY", 1000)
    monkeypatch.setattr(
        "tkm_core.planning.baseline.gather", lambda points, weights: gather(points, weights, 400)
    )
    plan = make_plan(city, 4, t=[0])
    sse = plan.baseline_evaluation().sse / city.scale**2 * len(city)
    assert sse <= plain.inertia_ * 1.02
    labels = plan.baseline_evaluation().labels
    for j in range(4):
        np.testing.assert_allclose(plan.baseline[j], city.scaled[labels == j].mean(axis=0), atol=0.01)
