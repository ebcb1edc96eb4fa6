"""Every measure of rows beyond memory against the same measure in memory."""

import numpy as np
import pytest

from tests.partitions.towns import country, write
from tkm_core import evaluate
from tkm_core.evaluation.streamed import QUANTILE_ERROR, Sketch
from tkm_core.measures import MEASURES
from tkm_core.partitions import array_rows

X, PEOPLE = country(30_000, seed=3)
CENTERS = X[:6]
# from sums and extremes, which are exact; all others come from the sketch
EXACT = {
    "largest_distance", "mean_distance", "overall_variance_of_distance", "share_within", "sse", "overall_variance",
    "tilted_sse",
}  # fmt: skip


@pytest.mark.parametrize("t", [0.0, 1e-6, 0.3, 40.0, np.inf])
def test_measures_are_those_in_memory(t):
    found = evaluate(array_rows(X, PEOPLE, rows=4_000), CENTERS, t=t, standard=1.0)
    known = evaluate(X, CENTERS, t=t, sample_weight=PEOPLE, standard=1.0)
    for name in MEASURES:
        expected = getattr(known, name)
        if expected is not None:
            error = 1e-9 if name in EXACT else QUANTILE_ERROR
            np.testing.assert_allclose(getattr(found, name), expected, rtol=error, err_msg=name)
    for name in ("population", "max_distance", "variance", "variance_of_distance", "tilted_sse_by_cluster"):
        np.testing.assert_allclose(getattr(found, name), getattr(known, name), rtol=1e-9, err_msg=name)
    assert repr(found) == repr(known)
    assert found.count == len(X)


def test_files_and_what_they_cannot_do(tmp_path):
    where = write(tmp_path, X, PEOPLE)
    found = evaluate(where, CENTERS, sample_weight="people")
    np.testing.assert_allclose(found.sse, evaluate(X, CENTERS, sample_weight=PEOPLE).sse)
    with pytest.raises(ValueError, match="rows must be in memory"):
        evaluate(where, CENTERS, sample_weight="people", neighbourhood=np.ones(len(X)))
    with pytest.raises(ValueError, match="centers has 3 column"):
        evaluate(where, np.zeros((2, 3)), sample_weight="people")


def test_a_sketch_of_parts_is_that_of_the_whole():
    f = np.random.default_rng(0).pareto(1.0, size=5_000) ** 2
    f[:50] = 0.0
    weights = np.ones(5_000)
    parts = [
        Sketch.of(f[rows], weights[rows]) for rows in (slice(0, 40), slice(40, 3_000), slice(3_000, None))
    ]
    merged, whole = Sketch.merged(parts), Sketch.of(f, weights)
    np.testing.assert_allclose(merged.weight.sum(), whole.weight.sum())
    near = [sketch.distance / sketch.weight for sketch in (merged, whole)]
    for q in np.linspace(0.02, 0.98, 25):
        exact = np.sort(np.sqrt(f))[int(q * 5_000)]
        for sketch, mean in zip((merged, whole), near, strict=True):
            at = np.searchsorted(np.cumsum(sketch.weight), q * 5_000, side="right")
            assert mean[at] == pytest.approx(exact, rel=QUANTILE_ERROR)
