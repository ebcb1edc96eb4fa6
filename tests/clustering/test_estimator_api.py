"""TiltedKMeans as scikit-learn users expect it: settings, tables, routing, the unit of t."""

import ast
import itertools
import re
import warnings
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tkm_core as tkm
from tests.clustering.problems import slow_nearest
from tkm_core import TiltedKMeans, TiltWarning, evaluate, scorer, tilted_path
from tkm_core.clustering import search

X = np.random.default_rng(0).normal(size=(300, 2))
ROOT = Path(__file__).parents[2]


def test_no_private_names_of_scikit_learn():
    for path in [
        *ROOT.glob("*.py"),
        *(p for d in ("tkm_core", "pages", "benchmarks", "tests") for p in (ROOT / d).rglob("*.py")),
    ]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklearn":
                parts = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not [part for part in parts if part.startswith("_")], path


def test_scale_auto_makes_t_a_pure_number():
    weights = np.random.default_rng(1).uniform(1, 5, len(X))
    mean = np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average(((X - mean) ** 2).mean(axis=1), weights=weights))
    plain = TiltedKMeans(3, t=0.7 / spread**2, random_state=0).fit(X, sample_weight=weights)
    auto = TiltedKMeans(3, t=0.7, scale="auto", random_state=0).fit(X, sample_weight=weights)
    metres = TiltedKMeans(3, t=0.7, scale="auto", random_state=0).fit(X * 5000 + 1e6, sample_weight=weights)
    assert auto.scale_ == pytest.approx(spread)
    np.testing.assert_allclose(auto.cluster_centers_, plain.cluster_centers_, atol=1e-4)
    np.testing.assert_allclose((metres.cluster_centers_ - 1e6) / 5000, auto.cluster_centers_, atol=1e-4)
    judged = evaluate(X, auto.cluster_centers_, t=0.7 / auto.scale_**2, sample_weight=weights)
    assert auto.tilted_sse_ == pytest.approx(judged.tilted_sse)
    path = tilted_path(X * 5000, 3, t=[0.7], sample_weight=weights, scale="auto", random_state=0)
    np.testing.assert_allclose(path.tilted_sse[0] / 5000**2, auto.tilted_sse_, rtol=1e-3)


def test_the_apps_scale_is_the_same_formula():
    residents = tkm.load_sample("toulouse")
    model = TiltedKMeans(3, scale="auto", random_state=0).fit(residents.xy, sample_weight=residents.weights)
    assert model.scale_ == pytest.approx(residents.scale)


def test_a_number_as_scale_is_a_length():
    km = TiltedKMeans(3, t=0.7, scale=1000.0, random_state=0).fit(X * 1000)
    plain = TiltedKMeans(3, t=0.7, random_state=0).fit(X)
    np.testing.assert_allclose(km.cluster_centers_ / 1000, plain.cluster_centers_, atol=1e-4)
    assert km.scale_ == 1000.0


@pytest.mark.parametrize(("size", "words"), [(5000.0, "as at t = infinity"), (0.1, "as in k-means")])
def test_a_mistake_of_units_is_told(size, words):
    """A city in metres, and one in degrees."""
    with pytest.warns(TiltWarning, match=words) as told:
        TiltedKMeans(3, t=0.3, random_state=0).fit(X * size)
    assert told[0].filename == __file__
    with pytest.warns(TiltWarning, match=words) as told:
        tilted_path(X * size, 3, t=[0.0, 0.3], random_state=0)
    assert told[0].filename == __file__
    assert any(words in note for note in tkm.run_method("tkm", X * size, 3, t=0.3).notes)


def test_who_names_the_unit_is_not_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in (1.0, "auto"):
            TiltedKMeans(3, t=0.3, scale=scale, random_state=0).fit(X * 5000)
        for t in (0.0, np.inf):
            TiltedKMeans(3, t=t, random_state=0).fit(X * 5000)
        for scaled in (
            0.999999 * X / X.std(),
            X / X.std(),
        ):  # the mildest t of the dial, missed by a rounding error
            TiltedKMeans(3, t=0.01, random_state=0).fit(scaled)
        tilted_path(X, 3, t=[1e-9, 0.3], random_state=0)
        tkm.make_plan(tkm.load_sample("generated", n=100), 2, t=[1e-9, 1e9])


def test_init_with_centres_descends_from_them():
    poor = X[:3] * 0.1
    model = TiltedKMeans(3, t=0.0, init=poor, random_state=0).fit(X)
    theirs = KMeans(3, init=poor, n_init=1, tol=0, max_iter=300).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, theirs.cluster_centers_, atol=1e-6)
    assert model.history_[0, 0] == pytest.approx(slow_nearest(X, poor)[1].mean())


def test_init_with_a_function_and_with_seeds():
    calls = []

    def seeds(points, n_clusters, random_state):
        calls.append(len(points))
        return kmeans_plusplus(points, n_clusters, random_state=random_state)[0]

    many = TiltedKMeans(5, t=0.5, init=seeds, n_init=8, random_state=0).fit(X)
    assert calls == [len(X)] * 8
    for init in (seeds, "k-means++"):
        one = TiltedKMeans(5, t=0.5, init=init, n_init=1, random_state=0).fit(X)
        assert many.tilted_sse_ <= one.tilted_sse_ * 1.05
    drawn = TiltedKMeans(5, t=0.5, init="k-means++", random_state=0)
    assert np.array_equal(drawn.fit(X).cluster_centers_, drawn.fit(X).cluster_centers_)
    fixed = TiltedKMeans(2, t=0.5, init=X[:2], fixed_centers=[[9.0, 9.0]]).fit(X)
    assert fixed.cluster_centers_[-1].tolist() == [9.0, 9.0]
    sgd = TiltedKMeans(2, t=0.5, init=X[:2], solver="sgd", max_iter=1, learning_rate=1e-12).fit(X)
    np.testing.assert_allclose(sgd.cluster_centers_, X[:2], atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"init": "random"}, "init is 'random'; it must be 'auto' or 'k-means\\+\\+'"),
        ({"init": [[0.0, 0.0]]}, "init has 1 centres, and n_clusters is 3"),
        ({"init": [[0.0]] * 3}, "init has 1 column"),
        ({"scale": "metres"}, "scale is 'metres'"),
        ({"scale": 0}, "scale is 0; it must be a number above 0"),
        ({"n_init": 0}, "n_init is 0"),
        ({"max_iter": 1.5}, "max_iter is 1.5"),
        ({"tol": -1}, "tol is -1"),
        ({"criterion": "town"}, "criterion is 'town'; it must be 'cluster' or 'city'"),
    ],
)
def test_settings_that_cannot_be_get_a_sentence(settings, words):
    with pytest.raises(ValueError, match=words):
        TiltedKMeans(3, **settings).fit(X)


def test_verbose_prints_every_step(capsys):
    TiltedKMeans(3, t=0.5, random_state=0).fit(X)
    assert capsys.readouterr().out == ""
    model = TiltedKMeans(3, t=0.5, verbose=1, random_state=0).fit(X)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("TiltedKMeans: 300 rows, 3 facilities, t = 0.5")
    assert len([line for line in printed if "step" in line]) == model.n_iter_


def test_verbose_says_how_long_a_search_will_take(capsys, monkeypatch):
    """From the first round: half of it for each of the searches that are expected."""
    clock = itertools.count(0.0, 3.0)
    monkeypatch.setattr(search, "perf_counter", lambda: next(clock))
    TiltedKMeans(3, t=5.0, verbose=1, random_state=0).fit(X)
    (said,) = re.findall(r"the search will take about (\d+) s", capsys.readouterr().out)
    fewest, most = search.ROUND + search.STRONG.stalled, search.MOST_TIMES * search.STRONG.most
    assert 3 * fewest / search.ROUND < int(said) < 3 * 3 * most / search.ROUND
    monkeypatch.setattr(search, "perf_counter", lambda: 0.0)
    TiltedKMeans(3, t=5.0, verbose=1, random_state=0).fit(X)
    assert "will take" not in capsys.readouterr().out


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("away", [0.0, 1e3, 1e9, 1e16])
def test_transform_and_predict_agree_far_from_the_origin(away, kind):
    rows = np.random.default_rng(3).normal(size=(300, 5))
    for model in (
        TiltedKMeans(4, scale=1, random_state=0).fit(rows),
        TiltedKMeans(4, scale=1).fit(rows[:50] + 1e9),
    ):
        there = (rows + away).astype(kind)
        assert np.array_equal(model.transform(there).argmin(axis=1), model.predict(there))
        assert model.transform(there).dtype == kind


def test_tables_keep_their_index_and_names():
    table = pd.DataFrame(X, columns=["east", "north"], index=[f"home {i}" for i in range(len(X))])
    model = TiltedKMeans(3, random_state=0).set_output(transform="pandas").fit(table)
    away = model.transform(table)
    assert list(away.columns) == ["tiltedkmeans0", "tiltedkmeans1", "tiltedkmeans2"]
    assert away.index.equals(table.index)
    assert list(model.feature_names_in_) == ["east", "north"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename(columns={"east": "west"}))


def test_a_geodataframe_of_points_on_a_plane_map():
    metres = X * 3000 + [500_000, 5_000_000]
    homes = gpd.GeoDataFrame(
        {"id": np.arange(len(X))[::-1]}, geometry=gpd.points_from_xy(*metres.T), crs="EPSG:32631"
    ).set_index("id")
    model = TiltedKMeans(3, t=0.3, scale="auto", random_state=0).set_output(transform="pandas").fit(homes)
    assert np.array_equal(
        model.labels_, TiltedKMeans(3, t=0.3, scale="auto", random_state=0).fit_predict(metres)
    )
    assert model.transform(homes).index.equals(homes.index)
    assert np.array_equal(model.predict(homes), model.labels_)
    assert evaluate(homes, model.cluster_centers_).sse == pytest.approx(model.inertia_ / len(X))
    assert TiltedKMeans(3, t=0.3, scale="auto").fit(homes.geometry).cluster_centers_.shape == (3, 2)
    for data, words in [
        (homes.to_crs(4326), r"in degrees \(WGS 84\).*to_crs.*make_plan"),
        (homes.set_geometry(homes.buffer(5)), "not points \\(Polygon\\).*representative_point"),
        (homes.set_geometry(homes.geometry.where(homes.index != 290)), "no point in row 9"),
    ]:
        with pytest.raises(ValueError, match=words):
            TiltedKMeans(3).fit(data)


@pytest.mark.parametrize(
    "dates",
    [
        np.array([["2024-01-01"], ["2024-01-02"]], dtype="datetime64[D]"),
        np.array([[1], [2]], dtype="timedelta64[s]"),
        pd.DataFrame({"when": pd.to_datetime(["2024-01-01", "2024-01-02"])}),
        pd.DataFrame({"x": [1.0, 2.0], "when": pd.to_datetime(["2024-01-01", "2024-01-02"], utc=True)}),
    ],
)
def test_dates_are_refused(dates):
    for work in (
        TiltedKMeans(1).fit,
        lambda data: evaluate(data, [[0.0]]),
        lambda data: tilted_path(data, 1),
    ):
        with pytest.raises(ValueError, match="X holds dates or times"):
            work(dates)


def test_weights_are_routed_to_fit_and_score():
    weights = np.random.default_rng(2).uniform(0, 9, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = TiltedKMeans(3, scale="auto", random_state=0).set_fit_request(sample_weight=True)
        far = scorer("mean_distance").set_score_request(sample_weight=True)
        search = GridSearchCV(
            model, {"t": [0.0, 3.0]}, scoring=far, cv=[(np.arange(200), np.arange(200, 300))]
        )
        search.fit(X, sample_weight=weights)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        fitted = pipe.fit(X, sample_weight=weights)[-1]
    for t, score in zip([0.0, 3.0], search.cv_results_["mean_test_score"], strict=True):
        alone = TiltedKMeans(3, t=t, scale="auto", random_state=0).fit(X[:200], sample_weight=weights[:200])
        distance = np.sqrt(slow_nearest(X[200:], alone.cluster_centers_)[1])
        assert score == pytest.approx(-np.average(distance, weights=weights[200:]))
    again = TiltedKMeans(3, scale="auto", random_state=0).fit(
        StandardScaler().fit_transform(X), sample_weight=weights
    )
    np.testing.assert_allclose(fitted.cluster_centers_, again.cluster_centers_)
