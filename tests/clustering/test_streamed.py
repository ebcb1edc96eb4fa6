"""Plans for rows beyond memory against the solver that has all rows in memory, and against plain definitions."""

import numpy as np
import pytest

from tests.listening import stops
from tests.partitions.towns import country, write
from tkm_core import TiltedKMeans, evaluate, tilted_path
from tkm_core.clustering.streamed.cells import Cells
from tkm_core.clustering.streamed.exact import Ask, look, merging, together
from tkm_core.clustering.streamed.grid import Grid, added, condense, survey
from tkm_core.partitions import PartitionError, array_rows, over_rows

X, PEOPLE = country()
ROWS = array_rows(X, PEOPLE, rows=5_000)
LIVE = PEOPLE > 0
DIAL = [0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 1000.0, np.inf]


def spread():
    mean = np.average(X, axis=0, weights=PEOPLE)
    return np.sqrt(np.average(((X - mean) ** 2).sum(axis=1), weights=PEOPLE) / 2)


@pytest.fixture(scope="module")
def cells():
    with over_rows(ROWS) as passes:
        grid = Grid.of(survey(passes))
        return Cells.of(grid, passes(condense, added, grid))


def test_cells_have_the_moments_of_their_rows(cells):
    inside = cells.grid.frame.inside(X)
    own = cells.grid.bins(np.ascontiguousarray(inside))
    low, high = cells.grid.boxes(own)
    assert (inside >= low).all()
    assert (inside <= high).all()
    np.testing.assert_array_equal(np.unique(own[LIVE]), cells.numbers)
    assert cells.weight.sum() == PEOPLE.sum()
    np.testing.assert_allclose(np.sqrt(cells.variance), spread(), rtol=1e-12)
    for number in cells.numbers[np.argsort(-cells.weight)[:20]]:
        rows = (own == number) & LIVE
        at = np.flatnonzero(cells.numbers == number)[0]
        np.testing.assert_allclose(cells.mean[at], np.average(inside[rows], axis=0, weights=PEOPLE[rows]))
        expected = np.cov(inside[rows].T, aweights=PEOPLE[rows], bias=True)
        np.testing.assert_allclose(cells.spread[at], expected, atol=1e-12)


@pytest.mark.parametrize("far", [0.0, 300.0])
def test_the_cell_of_a_row_is_told_by_the_edges_around_it(far):
    """Also where one row is so far out that all others lie in a few of the equal parts that edges are looked up by."""
    points = np.vstack([X[:20_000], np.full((1, 2), far)])
    with over_rows(array_rows(points)) as passes:
        grid = Grid.of(survey(passes))
    inside = np.ascontiguousarray(grid.frame.inside(points))
    inside[:1000, 0] = grid.edges[0, np.arange(1000) % 511]  # on an edge
    places = [np.searchsorted(edges, column) for edges, column in zip(grid.edges, inside.T, strict=True)]
    np.testing.assert_array_equal(grid.bins(inside), places[0] * 512 + places[1])


@pytest.mark.parametrize("t", DIAL)
def test_cells_and_the_rows_that_are_looked_at_make_the_sums_of_all_rows(cells, t):
    """The sums of a step from cells and few rows are those of the same pass over every row."""
    centers = cells.grid.frame.inside(X[LIVE][:7].copy())[None]
    dial = np.array([t])
    small, hot = np.array([t < 1e-3]), np.array([False])
    plain = Ask(cells.grid.frame, centers, dial, small, hot)
    some, kept, wrong = cells.summed(centers[0], t, small=bool(small[0]))
    bits = np.zeros((cells.grid.count, 1), np.uint64)
    bits[cells.numbers[some]] = 1
    few = Ask(cells.grid.frame, centers, dial, small, hot, cells.grid, bits)
    with over_rows(ROWS) as passes:
        whole = passes(look, merging(plain), plain).sums
        part = passes(look, merging(few), few).sums
    found = together(few, [kept, part])
    np.testing.assert_allclose(found.clusters["weight"], whole.clusters["weight"], rtol=1e-12)
    np.testing.assert_allclose(found.clusters["cost"], whole.clusters["cost"], rtol=1e-9)
    assert some.mean() < 0.5
    assert wrong <= 1e-4
    if t == np.inf:
        np.testing.assert_allclose(found.clusters["top"], whole.clusters["top"], rtol=1e-15)
        return
    cost = [each["top"].max() * (not small[0]) for each in (found.clusters, whole.clusters)]
    mass = [
        (each["mass"] * np.exp(t * (each["top"] * (not small[0]) - cost[1]))).sum()
        for each in (found.clusters, whole.clusters)
    ]
    if t > 0:
        city = cost[1] + np.log1p(mass[1] / PEOPLE.sum() - (not small[0])) / t
        assert abs(np.log1p((mass[0] - mass[1]) / (mass[1] + small[0] * PEOPLE.sum())) / t) <= 1e-4 * city


def test_the_path_is_that_of_the_solver_in_memory():
    """Costs are those of the definition; plans are as good at every t, also where the farthest decide."""
    told = []
    path = tilted_path(
        ROWS,
        5,
        t=DIAL,
        criterion="city",
        scale="auto",
        random_state=0,
        progress=lambda *step: told.append(step),
    )
    known = tilted_path(X, 5, t=DIAL, criterion="city", scale="auto", sample_weight=PEOPLE, random_state=0)
    for i, t in enumerate(DIAL):
        found = evaluate(X, path.centers[i], t=t / spread() ** 2, sample_weight=PEOPLE)
        np.testing.assert_allclose(path.sse[i], found.sse, rtol=1e-9)
        np.testing.assert_allclose(path.city_cost[i], found.city_cost, rtol=1e-4)
        np.testing.assert_allclose(path.tilted_sse[i], found.tilted_sse, rtol=1e-4)
        assert path.city_cost[i] <= known.city_cost[i] * 1.001
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_existing_facilities_stay_and_serve():
    stay = np.array([[0.0, 0.0], [3.0, -3.0]])
    path = tilted_path(ROWS, 3, t=[0.0, 0.2], scale=1.0, fixed_centers=stay, random_state=0)
    assert path.centers.shape == (2, 5, 2)
    np.testing.assert_array_equal(path.centers[:, 3:], [stay, stay])
    known = tilted_path(
        X, 3, t=[0.0, 0.2], scale=1.0, sample_weight=PEOPLE, fixed_centers=stay, random_state=0
    )
    np.testing.assert_allclose(path.tilted_sse, known.tilted_sse, rtol=1e-3)


@pytest.mark.parametrize("d", [1, 3, 5])
def test_any_number_of_columns(d):
    rng = np.random.default_rng(1)
    table = rng.normal(size=(6, d))[rng.integers(6, size=20_000)] * 5 + rng.normal(size=(20_000, d)) * 0.3
    path = tilted_path(array_rows(table, rows=3_000), 6, t=[0.0, 0.05], scale=1.0, random_state=0)
    known = tilted_path(table, 6, t=[0.0, 0.05], scale=1.0, random_state=0)
    np.testing.assert_allclose(path.city_cost, known.city_cost, rtol=2e-3)
    found = evaluate(table, path.centers[1], t=0.05)
    np.testing.assert_allclose(path.tilted_sse[1], found.tilted_sse, rtol=1e-4)


def test_too_many_columns_and_facilities_are_refused():
    with pytest.raises(ValueError, match="has 20 columns"):
        tilted_path(array_rows(np.zeros((30, 20))), 2)
    with pytest.raises(ValueError, match="there are only 3 residents"):
        tilted_path(array_rows(np.arange(6.0).reshape(3, 2)), 4)
    with pytest.raises(PartitionError, match="at least one resident must count"):
        tilted_path(array_rows(np.arange(6.0).reshape(3, 2), np.zeros(3)), 2)
    with pytest.raises(ValueError, match="needs all rows in memory"):
        TiltedKMeans(2, solver="sgd").fit(ROWS)


def test_the_estimator_reads_files_and_predicts_lazily(tmp_path):
    import dask.array as da
    import dask.dataframe as dd

    where = write(tmp_path, X, PEOPLE)
    model = TiltedKMeans(4, t=0.5, scale="auto", random_state=0).fit(where, sample_weight="people")
    known = TiltedKMeans(4, t=0.5, scale="auto", random_state=0).fit(X, sample_weight=PEOPLE)
    np.testing.assert_allclose(model.tilted_sse_, known.tilted_sse_, rtol=1e-3)
    np.testing.assert_allclose(model.inertia_, -model.score(X, sample_weight=PEOPLE), rtol=1e-9)
    np.testing.assert_allclose(model.scale_, known.scale_)
    expected = model.predict(X)
    table = dd.read_parquet(str(tmp_path / "part-*.parquet"))
    for lazy in (
        model.labels_,
        model.predict(where),
        model.predict(table),
        model.predict(da.from_array(X, (9_000, 2))),
    ):
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), expected)


def test_files_that_are_wrong_about_their_range_are_read_again(tmp_path, monkeypatch):
    """A writer that notes too small a range must not lead to a wrong plan."""
    from dataclasses import replace

    where = write(tmp_path, X, PEOPLE)
    from tkm_core.partitions import rows_of

    rows = rows_of(where, "people")
    wrong = replace(rows, box=(rows.box[0] + 2, rows.box[1] - 2))
    path, known = (tilted_path(each, 4, t=[0.0, 0.5], scale=1.0, random_state=0) for each in (wrong, rows))
    np.testing.assert_allclose(path.city_cost, known.city_cost, rtol=1e-3)
    np.testing.assert_allclose(path.sse[0], evaluate(X, path.centers[0], sample_weight=PEOPLE).sse, rtol=1e-9)


def test_a_listener_stops_the_work():
    stops(lambda progress: tilted_path(ROWS, 4, scale=1.0, random_state=0, progress=progress), after=0.1)
