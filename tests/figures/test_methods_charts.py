"""Charts and small maps of the comparison hold the numbers they claim to show."""

import base64
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tkm_core.figures import Look
from tkm_core.figures.convergence import COST_WORDS, convergence, convergence_words
from tkm_core.figures.labels import nearby, shared
from tkm_core.figures.methods_charts import (
    PER_CLUSTER,
    by_cluster,
    cluster_table,
    cluster_words,
    method_words,
    per_method,
)
from tkm_core.figures.palette import contrast, rgb
from tkm_core.figures.small_maps import SmallGround, small_map, small_maps
from tkm_core.methods.solver_comparison import compare_solvers
from tkm_core.planning.methods_compared import Compared, facility_numbers, judge, solve
from tkm_core.residents import Residents
from tkm_core.residents.samples import load_sample

NAMES = ("tkm", "kmeans++", "jkl", "mv")


@pytest.fixture(scope="module")
def city() -> Residents:
    return load_sample("san-francisco")


@pytest.fixture(scope="module")
def compared(city: Residents) -> list[Compared]:
    return [judge(city, solve(city, name, 4, t=0.3, patience=20.0), t=0.3) for name in NAMES]


@pytest.mark.parametrize("measure", PER_CLUSTER)
@pytest.mark.parametrize("unit", ["km", "mi"])
def test_bars_by_cluster_descend_and_are_those_of_the_evaluation(
    city: Residents, compared: list[Compared], measure: str, unit: str
) -> None:
    figure = by_cluster(compared, measure, Look(unit=unit))
    metres = {"km": 1000.0, "mi": 1609.344}[unit]
    for one, bar in zip(compared, figure.data, strict=True):
        sites = city.to_xy(one.solution.centers)
        away = np.linalg.norm(city.xy[:, None] - sites[None], axis=2)
        nearest = away.argmin(axis=1)
        expected = []
        for j in range(len(sites)):
            d, w = away[nearest == j, j] / metres, city.weights[nearest == j]
            value = {"variance": d**2, "variance_of_distance": d}.get(measure)
            expected.append(
                d.max()
                if value is None
                else np.average((value - np.average(value, weights=w)) ** 2, weights=w)
            )
        assert list(bar.y) == pytest.approx(sorted(expected, reverse=True), rel=1e-3)
        assert list(bar.y) == sorted(bar.y, reverse=True)


def test_words_and_table_tell_the_same_as_the_chart(compared: list[Compared]) -> None:
    look = Look()
    told = cluster_words(compared, "max_distance", look)
    table = cluster_table(compared, look)
    for one in compared:
        assert one.title in told
        rows = table[table["Method"] == one.title]["Maximum distance, km"]
        assert rows.tolist() == sorted(one.evaluation.max_distance / 1000, reverse=True)
        assert f"{one.title}: {rows.max():.4g}, " in told
    assert "JKL: 2" in method_words(compared, [1.0, 1.5, 2.0, 3.0], "time, s")


def test_sampled_methods_are_hatched_and_tkm_stands_out() -> None:
    large = load_sample("generated", n=3000)
    both = [judge(large, solve(large, name, 3, t=0.3, patience=0.01), t=0.3) for name in ("tkm", "mv")]
    own, drawn = by_cluster(both, "max_distance", Look()).data
    assert own.marker.color != drawn.marker.color
    assert own.marker.pattern.shape is None and drawn.marker.pattern.shape == "/"


def test_times_are_drawn_on_a_logarithmic_scale(compared: list[Compared]) -> None:
    figure = per_method(compared, [0.02, 0.5, 7.0, 130.0], Look(), log=True)
    low, high = figure.layout.yaxis.range
    assert low < np.log10(0.02) and high > np.log10(130)
    assert [bar.text[0] for bar in figure.data] == ["0.02", "0.5", "7", "130"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_small_maps_are_whole_pictures_with_words(
    city: Residents, compared: list[Compared], theme: str
) -> None:
    look = Look(theme=theme, people="people")
    ground = SmallGround.of(city)
    numbers = [facility_numbers(compared[0].solution.centers, one.solution.centers) for one in compared]
    page = small_maps(compared, numbers, ground, look)
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)" alt="([^"]+)"', page)
    assert len(pictures) == len(compared)
    for one, (encoded, alt) in zip(compared, pictures, strict=True):
        root = ET.fromstring(base64.b64decode(encoded))
        marks = [
            node
            for node in root.iter()
            if node.tag.endswith(("circle", "rect")) and node.get("stroke-width") == "1.5"
        ]
        assert len(marks) == len(one.solution.centers)
        assert all(node.tag.endswith("rect") == one.solution.centers_are_points for node in marks)
        assert one.title in alt and "farthest person" in alt
    assert "<script" not in page


def test_many_residents_become_cells_on_small_maps() -> None:
    large = load_sample("generated", n=3000)
    one = judge(large, solve(large, "kmeans++", 3, t=0.0, patience=1.0), t=0.0)
    ground = SmallGround.of(large)
    assert ground.cells is not None
    picture = small_map(one, np.arange(3), ground, Look())
    assert "<image" in picture and len(picture) < 60_000
    assert "too many residents for single dots" in small_maps([one], [np.arange(3)], ground, Look())


def test_chart_colours_can_be_told_from_the_page() -> None:
    for theme in ("light", "dark"):
        colors = Look(theme=theme).palette
        for color in (colors.accent, colors.muted):
            assert contrast(rgb(color), rgb(colors.page)) >= 4.5


def test_convergence_draws_every_start_of_both_solvers() -> None:
    points = np.random.default_rng(1).normal(size=(200, 2))
    run = compare_solvers(points, 3, t=1.0, starts=3, n_iter=30)
    for cost in COST_WORDS:
        figure = convergence(run, Look(), cost=cost)
        assert len(figure.data) == 6
        for one, line in zip((*run.sgd, *run.newton), figure.data, strict=True):
            assert line.y[0] == pytest.approx(one.cost(cost)[0], rel=1e-5)
            assert line.y[-1] == pytest.approx(one.end(cost), rel=1e-5)
        assert f"{run.search[cost]:.4g}" in convergence_words(run, cost)
    seconds = convergence(run, Look(), across="seconds")
    assert seconds.data[0].x[-1] == pytest.approx(run.sgd[0].seconds)


def test_labels_never_lose_a_point() -> None:
    points = {
        name: (float(x), float(y))
        for name, (x, y) in zip("abcd", [(0, 0), (0.1, 1), (5, 5), (50, 5)], strict=True)
    }
    assert sorted(", ".join(text for _, _, text in shared(points, 0.5, 2)).split(", ")) == list("abcd")
    assert set(nearby(points, (0, 6), (0, 6))) == set("abc")
