"""Existing facilities: read, named, checked against the residents, kept in plans, files and comparisons."""

import json

import numpy as np
import pytest

from pages.serving.jobs import tasks
from tkm_core import export
from tkm_core.evaluation import evaluate
from tkm_core.export import PlanFileError, plan_json, read_plan_file, restore_plan
from tkm_core.figures import Look, MapGround, map_legend, map_words, plan_map
from tkm_core.figures.maps import colour_scheme
from tkm_core.figures.report import html_report
from tkm_core.methods import METHODS, describe
from tkm_core.planning import AVERAGE, USUAL_T, Plan, make_plan
from tkm_core.planning.methods_compared import solve
from tkm_core.residents import Report, Residents, ResidentsError, load_residents
from tkm_core.residents.existing import MOST, Existing, read_existing
from tkm_core.stories.plan_story import tell_plan

HOSTILE = "=cmd()<script>alert(1)</script>"


def town(n: int = 200, **options: object) -> Residents:
    rng = np.random.default_rng(3)
    return Residents.from_lonlat(rng.normal([7.44, 46.95], [0.05, 0.03], (n, 2)), **options)


def read(content: str, residents: Residents, **options: object) -> Existing:
    return read_existing(lambda given: load_residents(content.encode(), **given), residents, **options)


@pytest.fixture(scope="module")
def plan() -> Plan:
    sites = [[7.44, 46.95], [7.5, 46.97]]
    return make_plan(town(), 3, t=[0, 0.3, 3], fixed_lonlat=sites, fixed_names=[HOSTILE, "South"])


def test_names_are_found_and_population_is_not() -> None:
    found = read(
        "id,Name,lat,lon,population\n7,Inselspital,46.947,7.425,900\n8,Tiefenau,46.97,7.45,300\n", town()
    )
    assert found.names == ("Inselspital", "Tiefenau")
    assert found.lonlat.tolist() == [[7.425, 46.947], [7.45, 46.97]]
    assert found.report.column_for("weight") is None
    assert found.words == "2 existing facilities"


def test_one_row_without_names_will_do() -> None:
    found = read("lat,lon\n46.947,7.425\n", town())
    assert (len(found), found.names, found.words) == (1, (), "1 existing facility")


def test_a_chosen_column_holds_the_names() -> None:
    found = read("name,desk,lat,lon\na,North,46.947,7.425\nb,South,46.9,7.43\n", town(), id="desk")
    assert found.names == ("North", "South")


def test_national_grid_is_read_like_the_residents() -> None:
    residents = load_residents(
        ("E,N\n" + "".join(f"{2600000 + 90 * i},{1200000 + 70 * (i % 9)}\n" for i in range(60))).encode(),
        crs="EPSG:2056",
    )
    found = read("name,E,N\nPost,2601000,1200300\n", residents)
    np.testing.assert_allclose(
        residents.lonlat_to_xy(found.lonlat), residents.lonlat_to_xy([[7.4517, 46.954]]), atol=200
    )
    assert any("like those of the residents" in note for note in found.report.notes)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("name,lat,lon\nBerlin,52.5,13.4\n", "None of these facilities is near the residents"),
        ("name,street\nPost,Bundesplatz\n", "No column could be recognised as coordinates"),
        ("lat,lon\n" + "46.95,7.44\n" * (MOST + 1), "at most 200 existing facilities"),
        ("", "empty"),
    ],
)
def test_what_cannot_be_kept_is_said(content: str, sentence: str) -> None:
    with pytest.raises(ResidentsError, match=sentence):
        read(content, town())


def test_a_far_one_among_near_ones_is_kept_with_a_warning() -> None:
    found = read("name,lat,lon\nHere,46.95,7.44\nBerlin,52.5,13.4\n", town())
    assert len(found) == 2
    assert any("1 of 2 facilities lie far outside" in warning for warning in found.report.warnings)


def test_today_is_the_existing_ones_alone(plan: Plan) -> None:
    alone = evaluate(plan.residents.xy, plan.baseline_xy[3:])
    against = plan.against(AVERAGE)
    assert "with the same existing ones" in tell_plan(against, 1).context
    told = tell_plan(against, 1).context
    assert f"the average trip is {alone.mean_distance / 1000:.1f} km" in told
    assert f"the longest {alone.largest_distance / 1000:.1f} km" in told
    assert "3 new and 2 existing facilities" in told


def test_names_travel_with_the_plan_file(plan: Plan) -> None:
    saved = read_plan_file(plan_json(plan, 1))
    assert restore_plan(saved, plan.residents).plan.names == ["", "", "", HOSTILE, "South"]
    assert restore_plan(saved, town(150)).plan.existing.names == (HOSTILE, "South")
    document = json.loads(plan_json(plan, 1))
    document["settings"]["fixed_names"] = ["only one"]
    with pytest.raises(PlanFileError, match="names of the existing facilities"):
        read_plan_file(json.dumps(document).encode())
    del document["settings"]["fixed_names"]
    assert read_plan_file(json.dumps(document).encode()).fixed_names == (), "files of before there were names"


@pytest.mark.parametrize("file_format", ["csv", "geojson", "kml"])
def test_exports_name_them_harmlessly(plan: Plan, file_format: str) -> None:
    text = export.to_bytes(export.table(plan, 1, "facilities"), file_format).decode("utf-8-sig")
    assert "South" in text
    if file_format == "csv":
        assert "\"'=cmd()" in text, "no formula for a spreadsheet"
    if file_format == "kml":
        assert "<script>" not in text


def test_areas_are_named_too(plan: Plan) -> None:
    areas = export.table(plan, 1, "areas")
    assert areas["name"].tolist()[3:] == [HOSTILE, "South"]
    assert areas["kind"].tolist() == ["new"] * 3 + ["existing"] * 2
    assert "name" not in export.table(make_plan(town(), 2, t=[0]), 0, "areas")


def test_maps_and_report_mark_them_and_escape_their_names(plan: Plan) -> None:
    look, found = Look(), plan.evaluation(1)
    ground = MapGround.of(plan.residents, existing_lonlat=plan.baseline_lonlat[3:])
    drawn = plan_map(plan, 1, found, plan.reference_evaluation(), ground, look)
    deck = json.loads(drawn.to_json())
    layers = {layer["id"]: layer for layer in deck["layers"]}
    assert [row["s"] for row in layers["existing"]["data"]] == ["1", "2"]
    assert len(layers["sites"]["data"]) == 3
    assert layers["existing"]["data"][0]["tip"].splitlines()[0] == f"Existing facility 1, {HOSTILE}"
    assert drawn._tooltip["text"] == "{tip}" and "html" not in drawn._tooltip, "so it is shown as it is"
    assert "existing facility 2, South at" in map_words(plan, 1, found, look)
    legend = map_legend(colour_scheme(plan, look), ground, look, plan=plan)
    assert "existing facility" in legend
    page = html_report(plan, 1, tell_plan(plan, 1), look, title="Bern")
    assert "existing: <bdi>South</bdi>" in page and "&lt;script&gt;" in page and "<script>" not in page
    assert "3 new and 2 existing facilities" in page


def test_a_facility_beside_the_residents_is_in_view() -> None:
    residents = town()
    east = residents.lonlat[:, 0].max() + 0.1
    view = MapGround.of(residents, existing_lonlat=np.array([[east, 46.95], [13.4, 52.5]])).view
    assert east < view.east < 9, "the near one is shown, the far one does not shrink the map"


def test_a_plan_from_a_worker_keeps_them() -> None:
    existing = Existing(np.array([[7.44, 46.95]]), ("Post",), Report())
    made = tasks.plan(town(), 2, existing=existing, random_state=0, progress=lambda *_: None)
    here = make_plan(town(), 2, fixed_lonlat=existing.lonlat, with_t=USUAL_T)
    np.testing.assert_array_equal(made.path.centers, here.path.centers)
    assert made.names == ["", "", "Post"]


@pytest.mark.parametrize("name", METHODS)
def test_methods_keep_them_or_say_that_they_cannot(name: str) -> None:
    residents, fixed = town(80), np.array([[7.6, 46.9]])
    if not describe(name).keeps_existing:
        with pytest.raises(ValueError, match="has no option 'fixed_centers'"):
            solve(residents, name, 2, t=0.3, patience=60, fixed_lonlat=fixed)
        return
    found = solve(residents, name, 2, t=0.3, patience=60, fixed_lonlat=fixed)
    kept = residents.to_lonlat(residents.to_xy(found.centers))
    assert len(kept) == 3
    np.testing.assert_allclose(kept[-1], fixed[0], atol=1e-9)


def test_names_that_do_not_fit_are_said() -> None:
    with pytest.raises(ValueError, match="names for them"):
        make_plan(town(), 2, fixed_lonlat=[[7.4, 46.9]], fixed_names=["a", "b"])
