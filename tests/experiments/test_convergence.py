import numpy as np
import pytest

from tkm_core.clustering.estimator import TiltedKMeans
from tkm_core.experiments import EXPERIMENTS, blobs
from tkm_core.experiments.model import seed_of

SHORT = {"repeats": 2, "iterations": 30, "size": 120, "k": 3}


@pytest.fixture(scope="module")
def data():
    return [blobs(3, seed=0)]


@pytest.fixture(scope="module")
def result(data):
    return EXPERIMENTS["convergence-t"].run(data, t=(0.1, 1.0), **SHORT)


def test_one_row_an_iteration(result):
    assert len(result.table) == 2 * 2 * 31
    for _, run in result.table.groupby(["t", "repeat"]):
        assert run["iteration"].tolist() == list(range(31))


def test_the_last_row_is_where_the_solver_ends_by_the_plain_definition(data, result):
    seed = seed_of(0, 1)
    X, _ = data[0].draw(120, seed)
    model = TiltedKMeans(3, t=1.0, solver="sgd", max_iter=30, random_state=seed).fit(X)
    squared = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    nearest = squared.argmin(axis=1)
    # At t = 1.
    plain = sum(np.log(np.mean(np.where(nearest == j, np.exp(squared[:, j]), 1.0))) for j in range(3))
    last = result.table.query("t == 1.0 and repeat == 1 and iteration == 30")
    assert last["tilted_sse"].item() == pytest.approx(plain, rel=1e-9)
    assert (last["exact"] <= last["tilted_sse"]).all()


def test_the_exact_solver_is_the_mark(result):
    ends = result.table[result.table["iteration"] == 30]
    assert (ends["exact"] <= ends["tilted_sse"] * (1 + 1e-9)).all()


def test_lines_are_means_over_the_repeats(result):
    line = next(trace for trace in result.figure.data if trace.name == "t 1")
    mean = result.table[result.table["t"] == 1.0].groupby("iteration")["tilted_sse"].mean()
    assert np.asarray(line.y) == pytest.approx(mean.to_numpy(), rel=1e-4)
    assert sum(trace.name == "exact solver" for trace in result.figure.data) == 2


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [("convergence-epochs", "n_epochs", (1, 9)), ("convergence-lr", "learning_rate", (0.01, 0.05))],
)
def test_more_work_an_iteration_gets_farther(data, name, column, values):
    table = EXPERIMENTS[name].run(data, **{column: values}, **SHORT).table
    low, high = (table[(table[column] == value) & (table["iteration"] == 30)] for value in values)
    assert (high["tilted_sse"].to_numpy() < low["tilted_sse"].to_numpy()).all()
    first = table[table["iteration"] == 0].groupby("repeat")["tilted_sse"]
    assert (first.max() == first.min()).all()  # all lines start at the same seeds


def test_notes_hold_the_figures_of_the_table(result):
    ends = result.table[result.table["iteration"] == 30]
    above = 100 * (ends["tilted_sse"] / ends["exact"] - 1)
    note = next(note for note in result.notes if note.startswith("t 0.1:"))
    assert f"ends {above[ends['t'] == 0.1].median():.1f} % above the exact solver (median of 2 runs" in note
    rises = [
        (np.diff(run["tilted_sse"]) > 1e-9 * run["tilted_sse"].iloc[0]).sum() / 31
        for _, run in result.table[result.table["t"] == 1.0].groupby("repeat")
    ]
    assert f"rises in {100 * np.mean(rises):.0f} % of its steps" in next(
        n for n in result.notes if n.startswith("t 1:")
    )


def test_registry_has_the_papers_settings():
    assert EXPERIMENTS["convergence-t"].settings["t"] == (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
    assert EXPERIMENTS["convergence-epochs"].settings["n_epochs"] == (1, 3, 5, 7, 9)
    assert EXPERIMENTS["convergence-lr"].settings["learning_rate"] == (0.01, 0.02, 0.03, 0.04, 0.05)
