"""Maps, charts, legend and report, against what they are drawn from."""

import json
from dataclasses import replace
from datetime import date
from html import escape

import numpy as np
import plotly.graph_objects as go
import pytest

from tkm_core import figures
from tkm_core.figures import crowd, geometry
from tkm_core.figures.distances_chart import cumulative
from tkm_core.figures.maps import continuous_ways
from tkm_core.figures.palette import DARK, LIGHT, Palette, contrast, rgb
from tkm_core.figures.report import html_report
from tkm_core.measures import MEASURES
from tkm_core.planning import Plan, make_plan
from tkm_core.residents import Residents
from tkm_core.residents.samples import load_sample
from tkm_core.stories.plan_story import tell_plan
from tkm_core.units import format_length
from tkm_core.wording import dial_text


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_sample("generated", n=400), 3)


@pytest.fixture(scope="module")
def ground(plan: Plan) -> figures.MapGround:
    return figures.MapGround.of(plan.residents)


def layers(plan: Plan, i: int, ground: figures.MapGround, look: figures.Look) -> dict[str, dict]:
    deck = figures.plan_map(plan, i, plan.evaluation(i), plan.baseline_evaluation(), ground, look)
    return {layer["id"]: layer for layer in json.loads(deck.to_json())["layers"]}


def test_all_residents_are_on_the_map_in_the_colour_of_their_facility(plan, ground) -> None:
    drawn = layers(plan, 20, ground, figures.Look())
    found = plan.evaluation(20)
    for j in range(3):
        members = drawn[f"residents-{j}"]
        assert len(members["data"]) == np.sum(found.labels == j)
        assert tuple(members["getFillColor"][:3]) == LIGHT.facility(j)
        who = np.flatnonzero(found.labels == j)
        assert [row["p"] for row in members["data"]] == np.round(plan.residents.lonlat[who], 5).tolist()
        assert [row["tip"] for row in members["data"]] == [
            f"{format_length(metres, 'km')} to {j + 1}" for metres in found.distance[who]
        ]
    assert [row["p"] for row in drawn["sites"]["data"]] == np.round(plan.centers_lonlat(20), 6).tolist()


def test_view_covers_everyone_and_stays_for_every_t(plan, ground) -> None:
    view = ground.view
    lon, lat = plan.residents.lonlat.T
    assert view.west < lon.min() and lon.max() < view.east
    assert view.south < lat.min() and lat.max() < view.north


def test_a_jump_of_the_arrangement_leaves_a_gap(plan) -> None:
    ways = continuous_ways(plan, 0.0)
    jumps = set((np.flatnonzero(np.diff(plan.path.arrangement)) + 1).tolist())
    for way in ways:
        steps = [at for at, _ in way]
        assert not jumps & set(steps[1:]), "no line may cross a jump"


def test_farthest_line_ends_at_the_farthest_resident(plan, ground) -> None:
    drawn = layers(plan, 10, ground, figures.Look(people="homes"))
    who = int(np.argmax(plan.evaluation(10).distance))
    assert drawn["farthest"]["data"][0]["p"] == pytest.approx(plan.residents.lonlat[who], abs=1e-6)
    assert "farthest home" in drawn["farthest-label"]["data"][0]["s"]


def test_hidden_layers_are_not_sent(plan, ground) -> None:
    drawn = layers(plan, 10, ground, figures.Look(layers=()))
    assert not {"areas", "paths", "baseline", "farthest"} & set(drawn)


def test_many_residents_become_cells_that_hold_everyone() -> None:
    city = load_sample("generated", n=12_000)
    ground = figures.MapGround.of(city)
    assert ground.cells is not None
    assert ground.cells.weight.sum() == pytest.approx(city.weights.sum())
    labels = np.arange(len(city)) % 2
    scheme = crowd.colouring("facility", LIGHT, numbers=[1, 2], reach=1, unit="km")
    picture = crowd.cells_image(
        ground.cells, city.weights, scheme, labels=labels, distance=city.weights, change=None
    )
    assert np.array_equal(picture[..., 3].ravel() > 0, ground.cells.weight > 0)


def test_cells_take_the_colour_of_most_of_their_residents() -> None:
    city = load_sample("generated", n=12_000)
    cells = geometry.gather(city, across=1)
    assert cells.count <= 4
    labels = (np.random.default_rng(0).random(len(city)) < 0.3).astype(np.int64)
    scheme = crowd.colouring("facility", LIGHT, numbers=[1, 2], reach=1, unit="km")
    picture = crowd.cells_image(
        cells, city.weights, scheme, labels=labels, distance=city.weights, change=None
    )
    fullest = int(np.argmax(cells.weight))
    assert tuple(picture.reshape(-1, 4)[fullest, :3]) == LIGHT.facility(0)


def test_classes_of_distance_and_change() -> None:
    near = crowd.colouring("distance", LIGHT, numbers=[1, 2], reach=8000, unit="km")
    metres = np.array([0.0, 999.0, 1001.0, 7500.0, 99_000.0])
    assert crowd.classes(near, labels=np.zeros(5, int), distance=metres, change=None).tolist() == [
        0,
        0,
        1,
        7,
        7,
    ]
    both = crowd.colouring("change", LIGHT, numbers=[1, 2], reach=4000, unit="km")
    moved = np.array([-90_000.0, 0.0, 90_000.0])
    assert crowd.classes(both, labels=np.zeros(3, int), distance=moved, change=moved).tolist() == [0, 4, 8]
    assert both.colors[0] == rgb(LIGHT.loss)
    assert both.colors[-1] == rgb(LIGHT.gain)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_text_colours_can_be_read(palette: Palette) -> None:
    for color in (palette.ink, palette.muted, palette.accent, palette.better, palette.worse):
        for ground in (palette.page, palette.ground):
            assert contrast(rgb(color), rgb(ground)) >= 4.5
    for j in range(9):
        fill = palette.facility(j)
        assert contrast(rgb(palette.text_on(fill)), fill) >= 4.5
        assert contrast(fill, rgb(palette.ground)) >= 3


def seen_by(color: tuple[int, int, int], kind: str) -> np.ndarray:
    """A colour as people without red or green cones see it (Viénot, Brettel and Mollon 1999), in linear light."""
    linear = (np.array(color) / 255) ** 2.2
    to_cones = np.array(
        [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
    )
    cones = to_cones @ linear
    if kind == "protan":
        cones[0] = 2.02344 * cones[1] - 2.52581 * cones[2]
    else:
        cones[1] = 0.494207 * cones[0] + 1.24827 * cones[2]
    return np.clip(np.linalg.solve(to_cones, cones), 0, 1) ** (1 / 2.2) * 255


@pytest.mark.parametrize("palette", [LIGHT, DARK])
@pytest.mark.parametrize("kind", ["protan", "deutan"])
def test_gain_and_loss_differ_for_the_colour_blind(palette: Palette, kind: str) -> None:
    gain, loss = seen_by(rgb(palette.gain), kind), seen_by(rgb(palette.loss), kind)
    assert np.linalg.norm(gain - loss) > 60


def test_trade_off_marks_every_t_the_plan_and_the_baseline(plan) -> None:
    figure = go.Figure(figures.tradeoff(plan, 12, figures.Look(unit="mi"), budget=5).to_dict())
    plans = next(trace for trace in figure.data if trace.name == "plans")
    assert list(plans.customdata) == [dial_text(t) for t in plan.t], "in order: a click tells the number"
    assert list(plans.x) == pytest.approx(plan.curve.mean_distance / 1609.344, rel=1e-4)
    mine = figure.data[-1]
    assert (mine.x[0], mine.y[0]) == pytest.approx((plans.x[12], plans.y[12]))


def test_distances_is_a_chart_that_plotly_accepts(plan) -> None:
    drawn = figures.distances(
        plan.evaluation(12, 9000.0),
        plan.baseline_evaluation(9000.0),
        plan.residents.weights,
        figures.Look(),
        standard=9000.0,
    )
    figure = go.Figure(drawn.to_dict())
    curve = figure.data[2]
    edges = curve.x0 + curve.dx * np.arange(len(curve.y))  # in km, as Plotly places them
    assert edges[-1] * 1000 >= plan.evaluation(12).largest_distance * (1 - 1e-9)
    far = plan.evaluation(12).distance / 1000
    within = [100 * np.average(far <= edge + 1e-9, weights=plan.residents.weights) for edge in edges]
    np.testing.assert_allclose(curve.y, within, atol=0.06)
    assert drawn.size < 6000, "it is sent at every turn of the dial"
    assert figure.data[2].y[-1] == 100 or figure.data[0].y[-1] == 100


def test_cumulative_is_the_plain_definition() -> None:
    rng = np.random.default_rng(3)
    distance, weights, edges = rng.random(500) * 9, rng.random(500), np.linspace(0, 9, 31)
    slow = [100 * weights[distance <= edge].sum() / weights.sum() for edge in edges]
    assert cumulative(distance, weights, edges) == pytest.approx(slow)


def test_scale_bar_is_as_long_as_it_says(plan, ground) -> None:
    bar = geometry.scale_bar(ground.view, "km")
    ends = plan.residents.lonlat_to_xy(np.array(bar.line))
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(bar.length * 1000, rel=0.01)


def test_report_is_self_contained_and_escapes_names(plan) -> None:
    story = tell_plan(plan, 12, standard=10_000)
    look = figures.Look(theme="dark")
    page = html_report(
        plan,
        12,
        story,
        look,
        title="<script>alert(1)</script>",
        standard=10_000,
        budget=5,
        today=date(2030, 1, 2),
    )
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
    assert page.count("<svg") == 3
    assert "2 January 2030" in page
    for row in (*story.rows, *story.more):
        assert (escape(row.label) in page) == (MEASURES[row.key].power <= 1)
        assert row.plan_text in page or MEASURES[row.key].power > 1
    assert page == html_report(
        plan,
        12,
        story,
        replace(look, theme="light"),
        title="<script>alert(1)</script>",
        standard=10_000,
        budget=5,
        today=date(2030, 1, 2),
    ), "a report is always light"


def test_words_say_what_charts_show(plan) -> None:
    look = figures.Look(people="homes")
    found, base = plan.evaluation(12), plan.baseline_evaluation()
    assert f"{plan.curve.mean_distance[12] / 1000:.3g}" in figures.tradeoff_words(
        plan, 12, "mean_distance", "largest_distance", look
    )
    assert "homes" in figures.distances_words(found, base, look)
    assert figures.map_words(plan, 12, found, look).count("facility") == 3


def test_a_far_place_without_people_is_not_the_farthest_resident() -> None:
    rng = np.random.default_rng(0)
    lonlat = np.concatenate([rng.normal([2.0, 45.0], 0.1, (60, 2)), [[2.9, 45.0]]])
    town = Residents.from_lonlat(lonlat, np.append(np.ones(60), 0.0), keep_suspect=True)
    plan = make_plan(town, 2, t=[0, 1])
    label = layers(plan, 1, figures.MapGround.of(town), figures.Look())["farthest-label"]
    said = f"{plan.evaluation(1).largest_distance / 1000:.1f} km"
    assert said in label["data"][0]["s"]
    assert said in html_report(plan, 1, tell_plan(plan, 1), figures.Look(), title="Town").split("</svg>")[0]


@pytest.mark.parametrize(("east", "anchor"), [(True, "end"), (False, "start")])
def test_the_label_of_the_farthest_grows_into_the_map(east: bool, anchor: str) -> None:
    rng = np.random.default_rng(0)
    lonlat = np.concatenate([rng.normal([2.0, 45.0], 0.05, (60, 2)), [[2.4 if east else 1.6, 45.0]]])
    town = Residents.from_lonlat(lonlat, keep_suspect=True)
    plan = make_plan(town, 1, t=[0])
    label = layers(plan, 0, figures.MapGround.of(town), figures.Look())["farthest-label"]
    assert label["getTextAnchor"] == anchor
