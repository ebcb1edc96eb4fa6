"""The comparison against plain definitions: distances by brute force, k-means of scikit-learn."""

import re

import numpy as np
import pytest
from sklearn.cluster import KMeans

from tkm_core.figures import Look
from tkm_core.figures.methods_charts import method_table
from tkm_core.measures import COMPARED, MEASURES, shown_in
from tkm_core.methods import FOR_ANYONE, METHODS, describe
from tkm_core.planning.methods_compared import (
    Compared,
    best,
    decimals,
    facility_numbers,
    judge,
    methods_for,
    neighbourhoods,
    solve,
)
from tkm_core.residents import Residents
from tkm_core.residents.samples import load_sample
from tkm_core.stories.methods_story import freedom, ratio_words, remarks, sampling, verdict
from tkm_core.wording import listed, number_word, rank_word

T = 0.3


@pytest.fixture(scope="module")
def city() -> Residents:
    return load_sample("toulouse")


@pytest.fixture(scope="module")
def compared(city: Residents) -> list[Compared]:
    radius = neighbourhoods(city, 4)
    return [
        judge(city, solve(city, name, 4, t=T, patience=20.0), t=T, standard=5000.0, neighbourhood=radius)
        for name in FOR_ANYONE
    ]


def plainly(city: Residents, one: Compared) -> np.ndarray:
    sites = city.to_xy(one.solution.centers)
    return np.array([min(np.hypot(*(place - site)) for site in sites) for place in city.xy])


def test_every_figure_is_that_of_the_plain_definition(city: Residents, compared: list[Compared]) -> None:
    w = city.weights / city.weights.sum()
    for one in compared:
        d = plainly(city, one)
        expected = {
            "mean_distance": (w @ d) / 1000,
            "largest_distance": d.max() / 1000,
            "sse": (w @ d**2) / 1e6,
            "overall_variance_of_distance": (w @ (d - w @ d) ** 2) / 1e6,
            "share_within": 100 * w[d <= 5000].sum(),
        }
        for key, value in expected.items():
            assert MEASURES[key].of(one.evaluation, "km") == pytest.approx(value, rel=1e-9), (
                one.name,
                key,
            )


def test_kmeans_is_that_of_scikit_learn(city: Residents, compared: list[Compared]) -> None:
    model = KMeans(4, n_init=10, random_state=0).fit(city.scaled, sample_weight=city.weights)
    sse = model.inertia_ / city.weights.sum() * city.scale**2
    own = next(one for one in compared if one.name == "kmeans++")
    assert own.evaluation.sse == pytest.approx(sse, rel=1e-9)


def test_verdict_names_who_is_ahead(compared: list[Compared]) -> None:
    said = "".join(part.text for part in verdict(compared, "km"))
    own = next(one for one in compared if one.name == "tkm")
    assert said.startswith(f"Of {number_word(len(FOR_ANYONE))} methods, tilted k-means has the ")
    assert re.search(rf"longest trip[^:]*: {own.evaluation.largest_distance / 1000:.1f}", said)
    shortest = min(compared, key=lambda one: one.evaluation.mean_distance)
    assert shortest.short in said
    # seen from the worst method's place, the sentence must not praise
    worst = max(compared, key=lambda one: one.evaluation.largest_distance)
    swapped = [
        Compared("tkm", T, worst.solution, worst.evaluation),
        *(o for o in compared if o.name not in ("tkm", worst.name)),
    ]
    parts = verdict(swapped, "km")
    assert f"the {rank_word(len(swapped))}-shortest longest trip" in "".join(part.text for part in parts)
    assert any(part.tone == "worse" for part in parts)
    assert not verdict([own], "km")


def test_best_is_best_as_shown(compared: list[Compared]) -> None:
    for key, measure in shown_in(COMPARED).items():
        exact = [measure.of(one.evaluation, "km") for one in compared]
        values = [round(value, decimals(compared, key, "km")) for value in exact]
        top = max(values) if measure.more_is_better else min(values)
        assert best(compared, key, "km") == [value == top for value in values]


def test_freedom_and_sampling_are_said(city: Residents, compared: list[Compared]) -> None:
    on_points = listed([describe(name).title for name in FOR_ANYONE if describe(name).centers_are_points])
    assert freedom(compared, "people").startswith(f"{on_points} may build only where one of the people")
    assert sampling(compared, len(city), "people") == "Every method ran on all 259 places."
    large = load_sample("generated", n=3000)
    drawn = judge(large, solve(large, "mv", 3, t=T, patience=0.01), t=T)
    assert drawn.solution.sampled == 1000
    assert len(drawn.evaluation.distance) == 3000, "measured on everyone"
    said = sampling([drawn], 3000, "homes")
    assert said.startswith("MV ran on a sample of 1,000 of the 3,000 places")
    assert not any("sample" in note for note in remarks([drawn])), "said once, not twice"


def test_tkm_and_kmeans_always_serve_everyone() -> None:
    large = load_sample("generated", n=3000)
    for name in ("tkm", "kmeans++"):
        assert solve(large, name, 3, t=T, patience=0.001).sampled is None


def test_groups_are_looked_at_only_where_there_are_some() -> None:
    grouped, plain = load_sample("generated", n=300), load_sample("toulouse")
    assert (methods_for(grouped), methods_for(plain)) == (METHODS, FOR_ANYONE)
    fair, means = (solve(grouped, name, 3, t=T, patience=20.0) for name in ("fair-lloyd", "kmeans++"))
    worst = [
        max(
            float(
                np.average(
                    found.distance[grouped.groups == g] ** 2, weights=grouped.weights[grouped.groups == g]
                )
            )
            for g in set(grouped.groups)
        )
        for found in (judge(grouped, one, t=T).evaluation for one in (fair, means))
    ]
    assert worst[0] < worst[1], "the farms fare better than with k-means"


def test_numbers_pair_each_site_with_the_nearest_in_all() -> None:
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(5, 2)) * 10
    order = np.array([3, 0, 4, 1, 2])
    assert facility_numbers(reference, reference[order] + 0.01).tolist() == order.tolist()
    assert facility_numbers(reference, reference[[4, 1]]).tolist() == [4, 1]
    more = np.vstack([reference, [[99.0, 99.0]]])
    assert sorted(facility_numbers(reference, more).tolist()) == [0, 1, 2, 3, 4, 5]


def test_existing_facilities_are_paired_with_themselves() -> None:
    """A new facility beside an existing one does not take its number, as the shortest pairing of all would have it."""
    existing = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    reference = np.vstack([[[-1.0, 0.0]], existing])
    centers = np.vstack([[[3.0, 0.0]], existing])
    assert facility_numbers(reference, centers).tolist() != [0, 1, 2, 3]
    assert facility_numbers(reference, centers, kept=3).tolist() == [0, 1, 2, 3]


def test_names_in_a_sentence() -> None:
    assert [listed(names) for names in (["A"], ["A", "B"], ["A", "B", "C"])] == ["A", "A and B", "A, B and C"]


def test_a_place_with_a_k_th_of_all_people_is_explained(city: Residents) -> None:
    crowd = Residents.from_lonlat(city.lonlat, np.where(np.arange(len(city)) == 7, 500.0, 1.0))
    radius = neighbourhoods(crowd, 4)
    found = {
        name: judge(crowd, solve(crowd, name, 4, t=T, patience=20.0), t=T, neighbourhood=radius)
        for name in ("nf", "jkl")
    }
    assert radius is not None and radius[7] == 0
    away = {name: one.evaluation.distance[7] for name, one in found.items()}
    assert away["nf"] > 0 and away["jkl"] == 0, "JKL builds on the place itself"
    assert np.isinf(found["nf"].evaluation.fairness_ratio)
    some, none = [found["nf"], found["jkl"]], [found["nf"]]
    assert "∞: one place alone holds as many people as a facility serves" in ratio_words(some)
    table = method_table(some, Look())
    assert "∞" in table and "inf<" not in table
    assert ratio_words(none).startswith("There is no neighbourhood ratio: one place alone")
    assert "ratio" not in method_table(none, Look())


@pytest.mark.nightly
def test_a_method_that_takes_longer_than_the_patience_gets_a_sample() -> None:
    town = load_sample("generated", n=3000)
    for name in METHODS:
        hasty = solve(town, name, 3, t=T, patience=1e-6)
        assert hasty.sampled == (None if describe(name).scales else 1000), name
    assert not describe("lspp").scales, "it takes minutes for millions of residents"
