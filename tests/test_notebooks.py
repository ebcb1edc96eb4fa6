"""Results in notebooks: short texts, escaped tables, DataFrames, pictures."""

import subprocess
import sys
from pathlib import Path

import geopandas as gpd
import numpy as np
import plotly.graph_objects as go
import pydeck as pdk
import pytest

import tkm_core as tkm
from tkm_core.measures import MEASURES
from tkm_core.methods import METHODS, describe

ROOT = Path(__file__).parents[1]
HOSTILE = "<script>alert('x')</script>\x1b[2J" + "long" * 100
X = np.random.default_rng(0).normal(size=(200, 2))


@pytest.fixture(scope="module")
def plan():
    town = tkm.load_sample("generated", n=300)
    residents = tkm.Residents.from_lonlat(town.lonlat, name=HOSTILE, groups=town.groups)
    sites = town.lonlat[:1]
    return tkm.make_plan(residents, 3, t=[0, 0.3, 10], fixed_lonlat=sites, fixed_names=["<b>old</b>"])


@pytest.fixture(scope="module")
def results(plan):
    path = tkm.tilted_path(X, 3, t=[0, 0.1, 1], random_state=0)
    solution = tkm.run_method("mv", X, 3)
    return [plan, plan.residents, plan.evaluation(1), path, solution]


def test_texts_are_short_and_say_what_it_is(results):
    for result in results:
        text = repr(result)
        assert text.startswith(f"<{type(result).__name__}")
        assert len(text) < 240
        assert text.isprintable(), "nothing that steers a terminal"
    assert "3 new and 1 existing facility" in repr(results[0])
    assert "300 points, 300 people" in repr(results[1])
    assert f"largest_distance {results[2].largest_distance:,.0f}" in repr(results[2])
    assert "3 facilities in 2 dimensions at 3 t from 0 to 1" in repr(results[3])
    assert "Solution of mv: 3 facilities" in repr(results[4])


def test_tables_in_html_run_nothing(results):
    for result in results:
        text = result._repr_html_()
        assert text.startswith("<div>")
        assert "<script" not in text
        assert len(text) < 6000
    assert "&lt;script&gt;" in results[0]._repr_html_()
    assert "&lt;script&gt;" in results[1]._repr_html_()


def test_the_html_of_a_plan_has_the_key_figures(plan):
    shown = plan._repr_html_()
    assert f"{plan.baseline_evaluation().largest_distance / 1000:.4g}" in shown
    assert f"{plan.evaluation(2).mean_distance / 1000:.4g}" in shown


def test_a_plan_as_a_table_is_its_trade_off(plan):
    frame = plan.to_frame(standard=5000)
    assert frame.index.tolist() == [0.0, 0.3, 10.0, "k-means++"]
    for i in range(3):
        found = plan.evaluation(i, 5000)
        for key in frame.columns:
            assert frame[key].iloc[i] == pytest.approx(getattr(found, key))
    assert frame["gini"].iloc[3] == pytest.approx(plan.baseline_evaluation().gini)
    assert "share_within" not in plan.to_frame()


def test_a_plan_with_geometry(plan):
    sites = plan.to_geodataframe(t=0.3)
    np.testing.assert_allclose(
        np.column_stack([sites.geometry.x, sites.geometry.y]), plan.centers_lonlat(1), atol=1e-8
    )
    assert plan.to_geodataframe("allocations", 10, crs="EPSG:3857").crs.to_epsg() == 3857
    assert len(plan.to_geodataframe("areas")) == 4
    assert tkm.export.facilities(plan, 1).equals(sites)
    with pytest.raises(ValueError, match="not 'homes'"):
        plan.to_geodataframe("homes")


def test_residents_come_out_as_they_went_in():
    points = gpd.GeoDataFrame(
        {"people": [3, 4]}, geometry=gpd.points_from_xy([1.4, 1.5], [43.6, 43.7]), crs=4326, index=["a", "b"]
    )
    residents = tkm.load_residents(points, weight="people")
    assert residents.to_frame().loc["b"].to_dict() == {"lon": 1.5, "lat": 43.7, "people": 4.0}
    again = residents.to_geodataframe("EPSG:2154")
    assert again.index.tolist() == ["a", "b"]
    assert again.to_crs(4326).geom_equals_exact(points, 1e-9).all()


def test_evaluations_paths_and_solutions_as_tables(results):
    _, _, found, path, solution = results
    measures = found.to_frame()["value"]
    assert set(measures.index) == set(MEASURES) - {"share_within", "fairness_ratio"}
    assert measures["gini"] == found.gini
    assert found.to_frame("facilities")["population"].tolist() == found.population.tolist()
    assert found.to_frame("residents")["facility"].tolist() == found.labels.tolist()
    with pytest.raises(ValueError, match="not of 'homes'"):
        found.to_frame("homes")
    frame = path.to_frame()
    assert frame.loc[(0.1, 2), ["x0", "x1"]].tolist() == path.centers[1, 2].tolist()
    assert frame.loc[(1.0, 0), "tilted_sse"] == path.tilted_sse[2]
    assert solution.to_frame()[["x0", "x1"]].to_numpy().tolist() == solution.centers.tolist()
    assert solution.to_frame()["rows"].sum() == len(X)


def test_a_comparison_of_methods(plan):
    found = tkm.compare_methods(plan.residents, 3, t=1, methods=["tkm", "kmeans++", "jkl"])
    assert repr(found) == "<Comparison: 3 facilities for 300 points by tkm, kmeans++, jkl>"
    text = found._repr_html_()
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    frame = found.to_frame()
    for name, one in zip(frame.index, found, strict=True):
        sites = plan.residents.to_xy(one.solution.centers)
        away = np.linalg.norm(plan.residents.xy[:, None] - sites, axis=2).min(axis=1)
        assert frame.loc[name, "largest_distance"] == pytest.approx(away.max())
        assert frame.loc[name, "mean_distance"] == pytest.approx(away.mean())
        assert frame.loc[name, "facilities"] == len(sites)
    kept = tkm.compare_methods(plan.residents, 2, fixed_lonlat=plan.residents.lonlat[:1])
    assert [one.name for one in kept] == [name for name in METHODS if describe(name).keeps_existing]
    assert kept[0].evaluation.share_within is None


def test_pictures(plan, results):
    assert isinstance(plan.plot(), pdk.Deck)
    for what in ("tradeoff", "distances"):
        figure = plan.plot(what, t=10, unit="mi")
        assert isinstance(figure, go.Figure)
        assert figure.update_layout(height=500).layout.height == 500
    curve = plan.plot("tradeoff", theme="dark").to_dict()["data"]
    (points,) = [trace for trace in curve if trace.get("name") == "plans"]
    drawn_km = plan.to_frame()["largest_distance"].iloc[:3] / 1000
    np.testing.assert_allclose(points["y"], drawn_km, atol=5e-4)  # charts are sent in whole metres
    with pytest.raises(ValueError, match="not 'pie'"):
        plan.plot("pie")
    path = results[3]
    ways = path.plot().data
    assert len(ways) == 3
    drawn = [x for x in ways[0].x if x is not None]
    np.testing.assert_allclose(drawn, path.centers[:, 0, 0])
    assert [trace.name for trace in path.plot("costs").data] == [
        "tilted SSE",
        "city-wide cost",
        "SSE",
    ]
    line = tkm.tilted_path(X[:, :1], 2, t=[0, 1], random_state=0)
    assert line.plot().to_dict()["data"][0]["name"] == "tilted SSE"
    with pytest.raises(ValueError, match="two dimensions"):
        line.plot("ways")


def test_results_do_not_bring_their_pictures_along():
    """A plan asks the rooms above only when somebody wants a picture."""
    code = (
        "import sys, tkm_core as tkm; plan = tkm.make_plan(tkm.load_sample('generated', n=50), 2, t=[0, 1]); "
        "repr(plan), plan._repr_html_(), plan.to_frame(); "
        "print([name for name in sys.argv[1:] if name in sys.modules])"
    )
    banned = ("plotly", "pydeck", "PIL", "tkm_core.stories", "tkm_core.figures", "tkm_core.export")
    done = subprocess.run(
        [sys.executable, "-c", code, *banned],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_a_missing_extra_is_named(monkeypatch, plan, results):
    for name, work, extra in (
        ("plotly.graph_objects", plan.plot, "plot"),
        ("pandas", results[3].to_frame, "geo"),
    ):
        for module in [module for module in sys.modules if module.startswith("tkm_core.figures")]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ModuleNotFoundError, match=rf"needs {name.split('.')[0]}.*evenreach\[{extra}\]"):
            work()
