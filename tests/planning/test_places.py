"""Residents who are areas: kept from the file, drawn, cut along the outline, exported and named."""

import io
import json

import geopandas as gpd
import numpy as np
import pyarrow as pa
import pyogrio
import pytest
import shapely

from tkm_core import export, figures
from tkm_core.export import PlanFileError, plan_json, read_plan_file, restore_plan
from tkm_core.figures.palette import DARK, LIGHT
from tkm_core.planning import Plan, make_plan, most_changed, place_names, stands_in
from tkm_core.planning.colours import ALIKE, COLOURS, apart, neighbours
from tkm_core.residents import Residents, load_residents, load_sample
from tkm_core.stories import tell_plan

WEST, SOUTH, SIDE, ACROSS = 7.40, 46.90, 0.01, 6


def squares() -> gpd.GeoDataFrame:
    """Thirty squares in rows of six, the last row with one corner cut off the city."""
    boxes = [
        shapely.box(WEST + SIDE * x, SOUTH + SIDE * y, WEST + SIDE * (x + 1), SOUTH + SIDE * (y + 1))
        for y in range(5)
        for x in range(ACROSS)
    ]
    names = [f"Quarter <{number}>" for number in range(1, 31)]
    return gpd.GeoDataFrame({"name": names, "population": np.arange(1, 31) * 10}, geometry=boxes, crs=4326)


@pytest.fixture(scope="module")
def city() -> Residents:
    content = io.BytesIO()
    squares().to_crs(2056).to_file(content, driver="GPKG")
    return load_residents(content.getvalue(), id="name", weight="population")


@pytest.fixture(scope="module")
def plan(city: Residents) -> Plan:
    return make_plan(city, 2, t=[0, 1, 20], fixed_lonlat=[[7.412, 46.913]], fixed_names=["Old"])


def test_areas_of_a_file_are_kept_beside_their_points(city) -> None:
    assert city.areas is not None
    truth = shapely.intersection(city.areas, squares().geometry.to_numpy())
    assert (shapely.area(truth) > 0.99 * SIDE**2).all()
    assert shapely.contains_xy(city.areas, *city.lonlat.T).all()
    assert city.outline.area == pytest.approx(
        shapely.area(shapely.transform(squares().geometry.to_numpy(), city.lonlat_to_xy)).sum(), rel=0.01
    )


def test_files_of_points_and_files_in_other_hands_have_none() -> None:
    assert load_sample("toulouse").areas is None
    assert load_sample("toulouse").outline is None
    text = b"name,lat,lon\na,46.9,7.4\nb,46.95,7.45\n"
    assert load_residents(text).areas is None


def test_service_areas_end_at_the_outline(city, plan) -> None:
    union = shapely.union_all(plan.service_areas(1))
    whole = shapely.box(WEST, SOUTH, WEST + SIDE * ACROSS, SOUTH + SIDE * 5)
    assert union.difference(whole.buffer(SIDE / 50)).area == pytest.approx(0, abs=1e-9)
    assert union.area == pytest.approx(whole.area, rel=0.02)
    labels = plan.evaluation(1).labels
    for j, area in enumerate(plan.service_areas(1)):
        assert (shapely.distance(area, shapely.points(city.lonlat[labels == j])) < 1e-6).all()


def test_service_areas_cover_the_whole_of_wide_areas() -> None:
    """Areas reach far beyond the points that stand for them, and beyond the hull of those points."""
    wide = [shapely.box(0, 43, 1, 43.2), shapely.box(0, 43.2, 1, 43.4), shapely.box(0.4, 43.4, 0.6, 44)]
    town = load_residents(gpd.GeoDataFrame({"name": list("abc")}, geometry=wide, crs=4326))
    for k in (1, 2):
        covered = shapely.union_all(make_plan(town, k, t=[0]).service_areas(0))
        assert shapely.union_all(wide).difference(covered.buffer(0.003)).area == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("colour", ["facility", "distance", "change"])
def test_areas_are_drawn_as_areas_shaded_by_what_is_asked(city, plan, colour) -> None:
    look = figures.Look(colour=colour)
    ground = figures.MapGround.of(city)
    deck = figures.plan_map(plan, 1, plan.evaluation(1), plan.reference_evaluation(), ground, look)
    layers = [layer for layer in json.loads(deck.to_json())["layers"] if layer["id"].startswith("residents")]
    assert {layer["@@type"] for layer in layers} == {"PolygonLayer"}
    rows = [row for layer in layers for row in layer["data"]]
    assert len(rows) == 30
    assert {row["tip"].split("\n")[0] for row in rows} == set(city.ids), "as text, whatever it says"
    scheme = figures.colour_scheme(plan, look)
    told = {row["tip"].split("\n")[0]: layer["id"] for layer in layers for row in layer["data"]}
    change, distance = plan.change(1), plan.evaluation(1).distance
    for name, metres, gain, j in zip(city.ids, distance, change, plan.evaluation(1).labels, strict=True):
        number = int(told[name].removeprefix("residents-"))
        if colour == "facility":
            assert number == j
        elif colour == "distance":
            assert number == min(int(8 * metres / scheme.top), 7)
        else:
            assert number == round(4 * max(-1, min(1, gain / scheme.top))) + 4
    page = figures.html_report(plan, 1, tell_plan(plan, 1), look, title="City")
    assert page.count('fill-rule="evenodd"') == 30
    assert "Quarter &lt;" in page and "Quarter <" not in page


def test_the_scale_of_gain_and_loss_fits_the_data(city, plan) -> None:
    changes = np.abs(np.concatenate([plan.change(i) for i in range(len(plan))]))
    top = figures.colour_scheme(plan, figures.Look(colour="change")).top
    assert changes.max() * 0.5 <= top <= changes.max() * 3
    legend = figures.map_legend(
        figures.colour_scheme(plan, figures.Look(colour="change")), figures.MapGround.of(city),
        figures.Look(colour="change"), plan=plan,
    )  # fmt: skip
    assert f"{top / 1000:g} km or more farther … {top / 1000:g} km or more closer than today" in legend
    assert "background:" not in legend.replace("background:transparent", ""), (
        "what has a background is not printed"
    )


def test_dots_are_sized_by_people() -> None:
    town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.61], [1.42, 43.62]], [100, 400, 100])
    plan = make_plan(town, 1, t=[0])
    ground = figures.MapGround.of(town)
    deck = figures.plan_map(plan, 0, plan.evaluation(0), plan.reference_evaluation(), ground, figures.Look())
    rows = next(
        layer["data"] for layer in json.loads(deck.to_json())["layers"] if layer["id"] == "residents-0"
    )
    assert [row["r"] for row in rows] == [3.0, 6.0, 3.0]


def test_the_report_names_who_gains_and_where_sites_stand(city, plan) -> None:
    gain, lose = most_changed(plan, 1)
    change = dict(zip(city.ids, plan.change(1), strict=True))
    assert [place.name for place in gain] == sorted(change, key=lambda name: -change[name])[:5]
    assert lose == []
    for name, site in zip(stands_in(plan, 1), shapely.points(plan.centers_lonlat(1)), strict=True):
        assert shapely.contains(squares().geometry[squares()["name"] == name].item(), site)
    page = figures.html_report(plan, 1, tell_plan(plan, 1), figures.Look(), title="City")
    assert "Places that gain most" in page and "No place loses compared with today." in page


def test_places_are_averaged_by_their_people() -> None:
    town = Residents.from_lonlat(
        [[1.40, 43.60], [1.41, 43.60], [1.50, 43.60], [1.52, 43.60]],
        [1, 3, 1, 1],
        groups=["a", "a", "b", "b"],
    )
    plan = make_plan(town, 1, t=[0], fixed_lonlat=[[1.40, 43.60]])
    change = plan.change(0)
    gain, _ = most_changed(plan, 0)
    expected = {"a": (change[0] + 3 * change[1]) / 4, "b": (change[2] + change[3]) / 2}
    assert {place.name: place.change for place in gain} == pytest.approx(
        {name: value for name, value in expected.items() if value >= 1}
    )


def test_one_geopackage_holds_every_layer(plan, tmp_path) -> None:
    path = export.write(export.all_layers(plan, 1), tmp_path / "all.gpkg")
    assert sorted(pyogrio.list_layers(path)[:, 0]) == ["facilities", "service_areas", "who_goes_where"]
    where = pyogrio.read_dataframe(path, layer="who_goes_where")
    assert (where.geometry.geom_type == "Polygon").all()
    assert where["resident"].tolist() == plan.residents.ids.tolist()
    assert (where["compared_with"] == "today").all()
    swiss = export.all_layers(plan, 1, crs="EPSG:2056")
    assert all(frame.crs.to_epsg() == 2056 for frame in swiss.values())
    assert swiss["who_goes_where"].total_bounds[0] > 2_000_000


def test_a_plan_file_that_carries_its_residents_opens_anywhere(city, plan) -> None:
    content = plan_json(plan, 1, residents=True)
    back = restore_plan(read_plan_file(content))
    assert back.same_data
    home = back.plan.residents
    assert home.fingerprint == city.fingerprint
    assert home.ids.tolist() == city.ids.tolist()
    assert shapely.equals(home.areas, city.areas).all()
    assert tell_plan(back.plan, back.i) == tell_plan(plan, 1)
    assert plan_json(back.plan, back.i, residents=True) == content
    with pytest.raises(PlanFileError, match=r"does not carry its residents. It needs .* with 30 points"):
        restore_plan(read_plan_file(plan_json(plan, 1)))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"count": 29}, "damaged"),
        ({"count": 10**9}, "number of residents in it is wrong"),
        ({"lonlat": "!!"}, "cut off"),
        ({"weights": 7}, "cannot be unpacked"),
        ({"ids": None}, "cannot be unpacked"),
    ],
)
def test_damaged_residents_in_a_file_get_a_sentence(plan, change, sentence) -> None:
    document = json.loads(plan_json(plan, 1, residents=True))
    document["residents"].update(change)
    with pytest.raises(PlanFileError, match=sentence):
        read_plan_file(json.dumps(document).encode())


def test_other_residents_in_a_file_are_noticed(plan) -> None:
    document = json.loads(plan_json(plan, 1, residents=True))
    document["data"]["fingerprint"] = "0" * 32
    with pytest.raises(PlanFileError, match="not those of the plan"):
        read_plan_file(json.dumps(document).encode())


def test_a_small_file_cannot_unpack_into_a_large_one(plan) -> None:
    from tkm_core.export import carried

    document = json.loads(plan_json(plan, 1, residents=True))
    document["residents"]["lonlat"] = carried._squeezed(bytes(carried.LARGEST_PART + 8))
    with pytest.raises(PlanFileError, match="too large"):
        read_plan_file(json.dumps(document).encode())


def test_neighbours_never_share_a_colour_while_the_dial_turns() -> None:
    city = load_sample("sacramento")
    plan = make_plan(city, 20, t=[0, 1, 30, np.inf], fixed_lonlat=city.lonlat[:20])
    assert set(plan.colours.tolist()) <= set(range(COLOURS))
    assert len(LIGHT.facilities) == len(DARK.facilities) == COLOURS
    for i in range(len(plan)):
        areas = plan.service_areas(i)
        for a, b in neighbours(plan.centers_xy(i)).tolist():
            if shapely.length(shapely.intersection(areas[a].buffer(1e-5), areas[b].buffer(1e-5))) > 1e-3:
                assert plan.colours[a] != plan.colours[b], (i, a, b)


def test_few_facilities_each_have_their_own_colour() -> None:
    assert sorted(apart(np.random.default_rng(0).normal(size=(3, 9, 2)))) == list(range(9))
    assert len(set(apart(np.zeros((1, 30, 2))))) == COLOURS, "of thirty in one place some must share"


def test_neighbours_seldom_have_colours_that_look_alike() -> None:
    """Of forty facilities hardly any two neighbours have the colours of one pair; by chance one in seven would."""
    sites = np.random.default_rng(3).uniform(size=(1, 40, 2))
    colours, pairs = apart(sites), neighbours(sites[0])
    assert all(colours[a] != colours[b] for a, b in pairs)
    confusable = [tuple(sorted((colours[a], colours[b]))) in ALIKE for a, b in pairs]
    assert np.mean(confusable) < 0.03


def slowly_most_changed(plan: Plan, i: int, count: int = 5):
    """Every place with its people and change, by the definition."""
    sums: dict[str, list[float]] = {}
    for label, people, change in zip(plan.residents.ids, plan.residents.weights, plan.change(i), strict=True):
        name = "" if label is None else " ".join(label.split())[:80]
        if name and people > 0:
            one = sums.setdefault(name, [0.0, 0.0])
            one[0], one[1] = one[0] + people, one[1] + people * change
    found = sorted(
        ((name, p, m / p) for name, (p, m) in sums.items()), key=lambda one: (-one[2], -one[1], one[0])
    )
    return (
        [one for one in found[:count] if one[2] >= 1],
        [one for one in found[::-1][:count] if one[2] <= -1],
    )


@pytest.mark.parametrize("count", [1, 5, 400])
def test_only_the_extremes_are_looked_up_and_they_are_the_right_ones(count: int) -> None:
    rng = np.random.default_rng(3)
    spots = rng.normal([7.4, 46.9], 0.05, (150, 2))
    # several rows of a place, places at the same spot, blanks of all sorts, rows without a name or people
    lonlat = np.concatenate([spots, spots, spots[:20]])
    names = [f"Old\u00a0 town\u2003{i % 90}\n" if i % 11 else None for i in range(len(lonlat))]
    weights = np.where(np.arange(len(lonlat)) % 13, rng.integers(1, 4, len(lonlat)), 0)
    plan = make_plan(Residents.from_lonlat(lonlat, weights, ids=names), 3, t=[0, 5])
    for found, truth in zip(most_changed(plan, 1, count), slowly_most_changed(plan, 1, count), strict=True):
        assert [place.name for place in found] == [name for name, _, _ in truth]
        np.testing.assert_allclose([place.change for place in found], [change for _, _, change in truth])
    assert "Old town 1" in place_names(plan.residents)


def test_names_of_few_places_do_not_cost_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    city = Residents.from_lonlat(
        np.random.default_rng(0).normal([7.4, 46.9], 0.05, (5000, 2)),
        ids=pa.array([f"Home {i}" for i in range(5000)]),
    )
    plan = make_plan(city, 3, t=[0, 1])
    asked = []
    usual = Residents.labels_at
    monkeypatch.setattr(Residents, "ids", None)
    monkeypatch.setattr(
        Residents, "labels_at", lambda self, kind, rows: asked.append(rows) or usual(self, kind, rows)
    )
    where = stands_in(plan, 1)
    assert all(name.startswith("Home ") for name in where)
    assert max(rows.stop if isinstance(rows, slice) else len(rows) for rows in asked) <= 1000
    nearest = np.linalg.norm(city.xy[:, None] - plan.centers_xy(1)[None], axis=2).argmin(axis=0)
    assert where == [f"Home {row}" for row in nearest]
