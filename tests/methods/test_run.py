"""One signature, one result: what holds for every method."""

import numpy as np
import pytest

from tests.methods.truth import distances, residents
from tkm_core.evaluation import evaluate
from tkm_core.methods import METHODS, MethodTooLargeError, describe, estimate, run_method

ON_POINTS = [name for name in METHODS if describe(name).centers_are_points]
FAST = {"nf": {"max_iter": 50}}


def run(name, *args, **kwargs):
    return run_method(name, *args, **FAST.get(name, {}), **kwargs)


def test_the_promised_names_in_order():
    assert METHODS[:7] == ("tkm", "kmeans++", "nf", "jkl", "mv", "fr", "sfr")
    assert ON_POINTS[:4] == ["jkl", "mv", "fr", "sfr"]
    assert [name for name in METHODS[:7] if describe(name).scales] == ["tkm", "kmeans++"]
    for name in METHODS:
        entry = describe(name)
        assert entry.title and entry.source
        assert entry.description.endswith(".") and entry.description.count(". ") == 0


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("k", [1, 3, 8])
def test_k_or_fewer_distinct_centres_and_nearest_labels(name, k):
    points, weights = residents(k, n=50)
    found = run(name, points, k, sample_weight=weights, random_state=0)
    assert 1 <= len(found.centers) <= k
    assert len(np.unique(found.centers, axis=0)) == len(found.centers)
    away = distances(points, found.centers)
    np.testing.assert_allclose(away[np.arange(len(points)), found.labels], away.min(axis=1))
    assert found.labels.shape == (len(points),)
    assert found.seconds > 0
    assert found.method == name
    assert found.sampled is None
    assert found.centers_are_points == (name in ON_POINTS)
    if found.centers_are_points:
        np.testing.assert_array_equal(points[found.rows], found.centers)
    else:
        assert found.rows is None
    assert evaluate(points, found.centers, sample_weight=weights).sse >= 0


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_plan(name):
    points, weights = residents(1, n=150)
    first, second = (run(name, points, 4, sample_weight=weights, random_state=5, sample=60) for _ in range(2))
    np.testing.assert_array_equal(first.centers, second.centers)
    np.testing.assert_array_equal(first.labels, second.labels)


@pytest.mark.parametrize("name", ON_POINTS)
@pytest.mark.parametrize("seed", range(4))
def test_whole_weights_are_repeated_rows_in_any_order(name, seed):
    points, weights = residents(seed, n=50, lattice=seed % 2 == 0)
    weights[:3] = 0
    weighted = run(name, points, 4, sample_weight=weights, random_state=0)
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(points)), weights.astype(int)))
    repeated = run(name, points[rows], 4, random_state=0)
    np.testing.assert_array_equal(repeated.centers, weighted.centers)
    np.testing.assert_array_equal(repeated.labels, weighted.labels[rows])
    assert not set(weighted.rows) & {0, 1, 2}


@pytest.mark.parametrize("name", ["tkm", "kmeans++"])
def test_whole_weights_cost_what_repeated_rows_cost(name):
    points, weights = residents(3, n=60)
    rows = np.repeat(np.arange(len(points)), weights.astype(int))
    weighted = run(name, points, 3, sample_weight=weights, random_state=0)
    repeated = run(name, points[rows], 3, random_state=0)
    a, b = (evaluate(points, found.centers, sample_weight=weights, t=0.1) for found in (weighted, repeated))
    measure = "tilted_sse" if name == "tkm" else "sse"
    assert getattr(a, measure) == pytest.approx(getattr(b, measure), rel=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_fewer_places_than_facilities(name):
    points = np.repeat([[0.0, 0.0], [3.0, 4.0]], 5, axis=0)
    found = run(name, points, 4, random_state=0)
    assert len(found.centers) <= 4
    assert len(np.unique(found.centers, axis=0)) == len(found.centers)
    assert any("of the 4 facilities" in note for note in found.notes)
    if name in ("kmeans++", "mv", "fr", "sfr"):
        assert evaluate(points, found.centers).sse == 0


def test_kmeans_is_scikit_learns():
    from sklearn.cluster import KMeans

    points, weights = residents(2, n=80)
    model = KMeans(5, n_init=10, random_state=0).fit(points, sample_weight=weights)
    found = run_method("kmeans++", points, 5, sample_weight=weights, random_state=0)
    np.testing.assert_allclose(found.centers, model.cluster_centers_)


def test_tkm_is_the_estimator_and_takes_its_options():
    from tkm_core.clustering.estimator import TiltedKMeans

    points, weights = residents(2, n=80)
    existing = [[5.0, 5.0]]
    model = TiltedKMeans(3, t=0.7, fixed_centers=existing, random_state=np.random.RandomState(0))
    model.fit(points, sample_weight=weights)
    options = {"t": 0.7, "fixed_centers": existing, "random_state": np.random.RandomState(0)}
    found = run_method("tkm", points, 3, sample_weight=weights, **options)
    np.testing.assert_array_equal(found.centers, model.cluster_centers_)
    assert found.details["tilted_sse"] == model.tilted_sse_


def test_nf_lowers_the_sse_like_k_means():
    points, _ = residents(4, n=200)
    lloyd = evaluate(points, run_method("kmeans++", points, 3, random_state=0).centers).sse
    found = run_method("nf", points, 3, random_state=0, max_iter=2000)
    assert lloyd * (1 - 1e-9) <= evaluate(points, found.centers).sse < 3 * lloyd


def test_too_large_says_what_it_would_need_and_starts_nothing():
    called = []
    points = np.zeros((60_000, 2))
    with pytest.raises(
        MethodTooLargeError, match=r"FR on 60,000 residents would need about .* h .*sample=1000"
    ):
        run_method("fr", points, 4, progress=lambda *said: called.append(said))
    assert called == []
    assert issubclass(MethodTooLargeError, ValueError)


def test_auto_samples_only_where_it_must():
    points, weights = residents(0, n=3000)
    small = run_method("jkl", points[:200], 4, sample="auto")
    assert small.sampled is None and small.notes == ()
    found = run_method("mv", points, 4, sample_weight=weights, random_state=0, sample="auto", max_seconds=0.5)
    assert found.sampled == 1000
    assert "MV ran on a sample of 1,000 of the 3,000 resident points, drawn by population" in found.notes[0]
    assert "because everyone would need about" in found.notes[0]
    assert len(found.labels) == 3000


def test_sample_without_weights_has_no_row_twice_and_with_weights_follows_the_population():
    points = np.arange(2000.0)[:, None]
    plain = run_method("jkl", points, 2, sample=100, random_state=0)
    assert plain.sampled == 100
    assert "100 of the 2,000 resident points, drawn at random." in plain.notes[0]
    # nearly everyone lives at one end: both facilities open there, and a plain sample would not find it
    crowd = np.where(points[:, 0] >= 1950, 1e6, 1.0)
    drawn = run_method("mv", points, 2, sample=100, random_state=0, sample_weight=crowd)
    assert (drawn.centers > 1900).all()
    assert (plain.centers < 1900).any()


def test_a_sample_can_be_too_large_too():
    points, _ = residents(0, n=20_000)
    with pytest.raises(MethodTooLargeError, match="FR on 10,000 residents would need") as refused:
        run_method("fr", points, 4, sample=10_000)
    assert not refused.value.estimate.feasible


def test_sfr_that_finds_too_many_representatives_stops_before_the_program():
    points = np.random.default_rng(0).normal(size=(6000, 8))
    with pytest.raises(MethodTooLargeError, match=r"SFR on .* representatives of 6,000 places would need"):
        run_method("sfr", points, 4)


def test_a_sample_of_few_places_opens_fewer():
    points = np.arange(300.0)[:, None]
    crowd = np.where(points[:, 0] < 2, 1e9, 1.0)
    for name in METHODS:
        found = run(name, points, 4, sample=10, random_state=0, sample_weight=crowd)
        assert found.sampled == 10
        assert len(found.centers) <= 2


def test_a_sample_larger_than_the_city_is_everyone():
    points, _ = residents(0)
    assert run_method("mv", points, 3, sample=1000).sampled is None


@pytest.mark.parametrize("name", METHODS)
def test_progress_rises_to_one_and_its_exception_comes_out(name):
    points, weights = residents(5, n=80)
    heard = []
    run(
        name,
        points,
        3,
        sample_weight=weights,
        random_state=0,
        progress=lambda *said: heard.append(said),
    )
    fractions = [fraction for fraction, _ in heard]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0 and fractions[-1] == 1
    assert all(text for _, text in heard)
    for at in np.unique(np.linspace(0, len(heard) - 1, 12).astype(int)):  # from the first report to the last
        left = iter(range(at))

        def cancel(fraction, text, left=left):
            if next(left, None) is None:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            run(name, points, 3, sample_weight=weights, random_state=0, progress=cancel)


@pytest.mark.parametrize("name", METHODS)
def test_estimates_grow_and_1000_residents_are_always_fine(name):
    sizes = [estimate(name, n, 2, 4) for n in (1_000, 10_000, 100_000, 1_000_000)]
    assert sizes[0].feasible
    assert [e.seconds for e in sizes] == sorted(e.seconds for e in sizes)
    assert [e.bytes for e in sizes] == sorted(e.bytes for e in sizes)
    assert "1,000 residents takes about" in sizes[0].sentence
    assert not estimate("fr", 90_000, 2, 4).feasible


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (("lloyd", [[0.0]], 1), {}, "There is no method 'lloyd'; choose one of tkm"),
        (("jkl", [[0.0]], 2), {}, "n_clusters is 2, but only 1 residents"),
        (("jkl", [[0.0], [1.0]], 0), {}, "n_clusters is 0; it must be a whole number"),
        (("jkl", [[0.0], [1.0]], 1.5), {}, "n_clusters is 1.5; it must be a whole number"),
        (("jkl", [[0.0], [np.nan]], 1), {}, "X has a NaN in row 1"),
        (
            ("mv", [[0.0], [1.0]], 1),
            {"gain": 0.1},
            "MV has no option 'gain'; its options are: dilation, ball",
        ),
        (("jkl", [[0.0], [1.0]], 1), {"t": 0.1}, "JKL has no option 't'; its options are: none"),
        (("jkl", [[0.0], [1.0]], 1), {"sample": 0}, "sample is 0; it must be None"),
        (("jkl", [[0.0], [1.0]], 1), {"sample": "all"}, "sample is 'all'; it must be None"),
        (("jkl", [[0.0], [1.0]], 2), {"sample_weight": [0, 1]}, "only 1 residents have a weight above 0"),
        (("jkl", [[0.0], [1.0]], 1), {"sample_weight": [-1, 1]}, "weights are populations"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, options, sentence):
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        run_method(*arguments, **options)
