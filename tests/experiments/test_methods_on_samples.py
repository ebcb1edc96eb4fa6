import numpy as np
import pytest

from tkm_core.experiments import EXPERIMENTS, Dataset, blobs
from tkm_core.experiments.model import seed_of
from tkm_core.methods import FOR_ANYONE, describe, run_method

SMALL = {"size": 80, "repeats": 2}


def by_cluster(*arguments, measure, **options):
    return EXPERIMENTS[measure.replace("_", "-")].run(*arguments, **options)


@pytest.fixture(scope="module")
def data():
    return [blobs(3, seed=0), blobs(4, seed=5, n=150)]


@pytest.fixture(scope="module")
def costs(data):
    return EXPERIMENTS["sse-vs-k"].run(data, k=(2, 4), t=(0.1, 0.5), **SMALL)


def slow_sse(X, centers):
    return sum(min(sum((a - b) ** 2 for a, b in zip(x, c, strict=True)) for c in centers) for x in X) / len(X)


@pytest.mark.nightly
def test_every_method_runs_on_every_sample(costs):
    labels = {"TKM t = 0.1", "TKM t = 0.5", *(describe(name).title for name in FOR_ANYONE[1:])}
    assert set(costs.table["method"]) == labels
    assert len(costs.table) == 2 * 2 * 2 * len(labels)
    assert costs.complete


@pytest.mark.nightly
def test_numbers_are_those_of_the_method_on_the_seeded_sample(data, costs):
    seed = seed_of(0, 1)
    X, _ = data[1].draw(80, seed)
    for method, label, options in (("mv", "MV", {}), ("tkm", "TKM t = 0.5", {"t": 0.5})):
        found = run_method(method, X, 4, random_state=seed, **options)
        rows = costs.table[(costs.table["method"] == label) & (costs.table["data"] == data[1].name)]
        row = rows[(rows["repeat"] == 1) & (rows["k"] == 4)]
        assert row["sse"].item() == pytest.approx(slow_sse(X, found.centers), rel=1e-9)


def test_the_figure_shows_means_over_the_repeats(data, costs):
    lines = [trace for trace in costs.figure.data if trace.name == "FR"]
    assert len(lines) == len(data)
    fr = costs.table[(costs.table["data"] == data[0].name) & (costs.table["method"] == "FR")]
    assert lines[0].x == (2, 4)
    assert lines[0].y == pytest.approx([fr.loc[fr["k"] == k, "sse"].mean() for k in (2, 4)], rel=1e-4)
    assert [trace.showlegend for trace in lines] == [True, False]


def test_notes_count_what_the_table_holds(costs):
    mean = costs.table.groupby(["data", "k", "method"])["sse"].mean().unstack()
    below = int((mean["TKM t = 0.1"] < mean["MV"]).sum())
    note = next(note for note in costs.notes if note.startswith("TKM t = 0.1"))
    assert f"MV's in {below} of 4" in note
    rises = int((mean["TKM t = 0.5"] > mean["TKM t = 0.1"]).sum())
    assert f"From t = 0.1 to 0.5 the SSE of TKM rises in {rises} of 4 cases (data set and k)." in costs.notes


@pytest.mark.parametrize("measure", ["variance", "max_distance"])
def test_clusters_in_descending_order_by_the_plain_definition(data, measure):
    result = by_cluster(data[:1], measure=measure, k=3, methods=("kmeans++", "jkl"), **SMALL)
    seed = seed_of(0, 0)
    X, _ = data[0].draw(80, seed)
    centers = run_method("kmeans++", X, 3, random_state=seed).centers
    squared = ((X[:, None] - centers) ** 2).sum(axis=2)
    nearest = squared.argmin(axis=1)
    mine = [squared[nearest == j, j] for j in range(3)]
    plain = [np.mean((f - f.mean()) ** 2) if measure == "variance" else np.sqrt(f.max()) for f in mine]
    rows = result.table.query("repeat == 0 and method == 'k-means++'")
    assert rows["cluster"].tolist() == [1, 2, 3]
    assert rows[measure].to_numpy() == pytest.approx(sorted(plain, reverse=True), rel=1e-9)
    bars = [trace for trace in result.figure.data if trace.name == "k-means++"]
    shown = result.table[result.table["method"] == "k-means++"].groupby("cluster")[measure].mean()
    assert bars[0].y == pytest.approx(shown.tolist(), rel=1e-4)


def test_cluster_notes_count_samples(data):
    result = by_cluster(
        data, measure="max_distance", k=3, methods=("tkm", "kmeans++", "mv"), t=(0.1, 1.0), **SMALL
    )
    worst = result.table.groupby(["data", "repeat", "method"])["max_distance"].max().unstack()
    below, falls = (worst["TKM t = 1"] < worst["MV"]).sum(), (worst["TKM t = 1"] < worst["TKM t = 0.1"]).sum()
    assert f"TKM t = 1: largest distance of cluster 1 below MV's in {below} of 4 samples." in result.notes
    assert (
        f"From t = 0.1 to 1 the largest distance of cluster 1 of TKM falls in {falls} of 4 samples."
        in result.notes
    )
    change = (100 * (worst["TKM t = 1"] / worst["k-means++"] - 1)).median()
    note = next(note for note in result.notes if note.startswith("TKM t = 1 against k-means++"))
    assert f"largest distance of cluster 1 {change:+.1f} %" in note


def test_same_seed_same_numbers_other_seed_other_samples(data):
    def run(seed):
        found = by_cluster(data, measure="variance", methods=("tkm", "mv"), t=(0.2,), seed=seed, **SMALL)
        return found.table.drop(columns="seconds")

    assert run(1).equals(run(1))
    assert not run(1)["sse"].equals(run(2)["sse"])


def test_weights_are_drawn_and_judged():
    X = np.random.default_rng(0).normal(size=(40, 2))
    population = np.where(X[:, 0] > 0, 100.0, 1.0)
    rows = by_cluster(
        [Dataset("towns", X, population)], measure="max_distance", k=2, methods=("kmeans++",), **SMALL
    ).table
    assert (rows.groupby("repeat")["population"].sum() == 80).all()


def test_the_papers_solver_can_be_asked_for(data):
    shared = {"k": (3,), "methods": ("tkm",), "t": (0.1,), "repeats": 1, "size": 80}
    found = {
        solver: EXPERIMENTS["sse-vs-k"].run(data[:1], solver=solver, **shared).table["sse"].item()
        for solver in ("newton", "sgd")
    }
    seed = seed_of(0, 0)
    X, _ = data[0].draw(80, seed)
    paper = {"solver": "sgd", "max_iter": 500, "learning_rate": 0.05, "n_epochs": 5, "batch_size": 100}
    centers = run_method("tkm", X, 3, random_state=seed, t=0.1, **paper).centers
    assert found["sgd"] == pytest.approx(slow_sse(X, centers), rel=1e-12)
    assert found["sgd"] != found["newton"]
    with pytest.raises(ValueError, match="solver is 'adam'"):
        EXPERIMENTS["sse-vs-k"].run(data, solver="adam")


def test_registry_has_the_papers_settings():
    full = EXPERIMENTS["sse-vs-k"].settings
    assert full["k"] == tuple(range(3, 11))
    assert (full["repeats"], full["size"], full["t"]) == (10, 1000, (0.01, 0.05, 0.1, 0.2))
    assert full["methods"] == FOR_ANYONE
    assert EXPERIMENTS["variance"].settings["k"] == EXPERIMENTS["max-distance"].settings["k"] == 4
