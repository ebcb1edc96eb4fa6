import numpy as np
import pytest

from tkm_core.experiments import EXPERIMENTS, sample
from tkm_core.experiments.monotone import alternate


def plain_costs(X, labels, centers, t):
    f = ((X - centers[labels]) ** 2).sum(axis=1)
    phi = [np.log(np.mean(np.where(labels == j, np.exp(t * f), 1.0))) / t for j in range(len(centers))]
    return sum(phi), np.log(np.mean(np.exp(t * f))) / t


@pytest.fixture(scope="module")
def result():
    return EXPERIMENTS["monotone"].run([sample("sacramento", 0)], t=(0.1, 1.0), repeats=6, size=300)


def test_the_tilted_sse_rises_under_assignment_and_the_city_cost_never(result):
    runs = result.table.groupby(["t", "repeat"])
    rise = runs["tilted_sse"].diff() / result.table["tilted_sse"]
    by_assignment = result.table["step"] == "assign"
    assert rise[by_assignment].max() > 1e-3
    assert rise[~by_assignment].max() < 1e-9
    assert (runs["city_cost"].diff() / result.table["city_cost"]).max() < 1e-9


def test_notes_count_the_runs(result):
    runs = result.table[result.table["step"] == "assign"].index
    rise = result.table.groupby(["t", "repeat"])["tilted_sse"].pct_change().loc[runs]
    rose = rise.groupby([result.table["t"], result.table["repeat"]]).max() > 1e-9
    assert any(
        f"Nearest assignment raised the tilted SSE in {rose.sum()} of 12 runs" in note
        for note in result.notes
    )
    assert any(
        "Nearest assignment raised the city-wide cost in 0 of 12 runs." in note for note in result.notes
    )
    line = next(trace for trace in result.figure.data if "tilted SSE" in trace.name)
    assert line.y == pytest.approx(100 * rose.groupby(level=0).mean().to_numpy(), abs=0.01)


def test_a_step_by_the_plain_definitions():
    X = np.random.default_rng(1).normal(size=(50, 2))
    steps = alternate(X, np.ones(50), 1, 0.7, seed=0)
    # one facility: assignment is trivial, and refinement ends at the tilted mean
    assert steps["step"].tolist() == ["assign", "refine", "assign"]
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 81), np.linspace(-1, 1, 81)), axis=-1).reshape(-1, 2)
    lowest = min(plain_costs(X, np.zeros(50, int), c[None], 0.7)[1] for c in grid)
    assert steps["city_cost"].iloc[-1] <= lowest
    assert steps["city_cost"].iloc[-1] == pytest.approx(lowest, rel=2e-3)
    assert steps["tilted_sse"].to_numpy() == pytest.approx(steps["city_cost"].to_numpy())
