import numpy as np
import pytest
from scipy.optimize import minimize

from tkm_core.experiments import EXPERIMENTS, Dataset, blobs

FEW = (0.01, 0.5, 5.0, 100.0)


@pytest.fixture(scope="module")
def result():
    return EXPERIMENTS["trajectory"].run([blobs(2, seed=0)], k=(1, 2), t=FEW)


def test_one_facility_follows_the_minimum_of_the_tilted_cost(result):
    X = blobs(2, seed=0).X
    for t in FEW[:3]:

        def cost(c, t=t):
            z = t * ((X - c) ** 2).sum(axis=1)
            return (z.max() + np.log(np.mean(np.exp(z - z.max())))) / t

        best = minimize(cost, X.mean(axis=0), tol=1e-12)
        row = result.table[(result.table["k"] == 1) & (result.table["t"] == t)]
        assert row[["x", "y"]].to_numpy()[0] == pytest.approx(best.x, abs=1e-4)
        assert row["tilted_sse"].item() == pytest.approx(best.fun, rel=1e-7)


def test_the_way_leads_towards_the_strays(result):
    rows = result.table[result.table["k"] == 2].drop_duplicates("t")
    assert rows["largest_distance"].iloc[-1] < rows["largest_distance"].iloc[0]
    assert rows["mean_distance"].iloc[-1] > rows["mean_distance"].iloc[0]


def test_colours_run_from_blue_to_red_and_panels_keep_the_shape(result):
    axis = result.figure.layout.coloraxis
    assert axis.colorscale[0][1] == "#2552C4"
    assert axis.colorscale[-1][1] == "#CE2029"
    assert (axis.cmin, axis.cmax) == pytest.approx((-2, 2))
    ways = [trace for trace in result.figure.data if trace.marker.coloraxis]
    assert len(ways) == 3
    assert ways[0].marker.color == pytest.approx(np.log10(FEW), abs=1e-3)
    assert result.figure.layout.yaxis2.scaleanchor == "x2"


def test_lines_have_a_gap_where_the_plan_jumps():
    result = EXPERIMENTS["trajectory"].run([blobs(3, seed=0)], k=(2,))
    steps = result.table.drop_duplicates("t")
    jumps = int((np.diff(steps["arrangement"]) != 0).sum())
    assert jumps >= 1
    lines = [trace for trace in result.figure.data if trace.mode == "lines"]
    assert [trace.x.count(None) for trace in lines] == [jumps] * 2


@pytest.mark.parametrize("d", [1, 3])
def test_other_dimensions_are_drawn_flat(d):
    X = np.random.default_rng(0).normal(size=(60, d))
    result = EXPERIMENTS["trajectory"].run([Dataset("cloud", X)], k=(2,), t=FEW)
    assert {f"x{axis + 1}" for axis in range(d)} <= set(result.table.columns)
    assert len(result.figure.data[0].x) == 60


def test_registry_has_the_papers_grid():
    t = EXPERIMENTS["trajectory"].settings["t"]
    assert len(t) == 60
    assert (t[0], t[-1]) == pytest.approx((0.01, 100))
    assert np.allclose(np.diff(np.log(t)), np.log(t[1] / t[0]))
