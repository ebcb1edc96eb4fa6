"""A complete session in a browser: upload areas and existing facilities, plan four more, download, and reopen."""

import json
from pathlib import Path

import geopandas as gpd
import numpy as np
import pyogrio
import shapely
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit, headline, ready


def neighbourhoods() -> gpd.GeoDataFrame:
    """A town of 100 square neighbourhoods whose people stand in a column that no name gives away."""
    rows, columns = np.divmod(np.arange(100), 10)
    corners = zip(-80.9 + columns * 0.02, 35.2 + rows * 0.02, strict=True)
    return gpd.GeoDataFrame(
        {
            "NEIGHBORHOOD": [f"Quarter {number}" for number in range(100)],
            "e_2020": np.random.default_rng(4).integers(200, 4000, 100),
        },
        geometry=[shapely.box(lon, lat, lon + 0.02, lat + 0.02) for lon, lat in corners],
        crs=4326,
    )


def give(page: Page, uploader: str, name: str, content: bytes) -> None:
    page.locator(f".st-key-{uploader} input[type=file]").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )


def save(page: Page, key: str, folder: Path) -> Path:
    button = page.locator(f".st-key-{key}").get_by_role("button").first  # a tooltip brings a second one
    with page.expect_download() as saved:
        button.click()
    path = folder / saved.value.suggested_filename
    saved.value.save_as(path)
    return path


def test_from_areas_to_a_plan_that_opens_elsewhere(visit: Visit, tmp_path: Path) -> None:
    town = neighbourhoods()
    libraries = b"name,lon,lat\nMain,-80.85,35.25\nNorth,-80.84,35.36\nWest,-80.89,35.30\n"
    page = visit("/data?k=4&units=mi&standard=3")  # of another city: this one has its own
    give(page, "upload", "town.geojson", town.to_json().encode())
    expect(page.get_by_text("How many people does each row stand for?")).to_be_visible()
    expect(page.locator(".st-key-use_upload button")).to_be_disabled()
    page.get_by_role("button", name="e_2020").click()
    page.locator(".st-key-use_upload button:enabled").click()
    ready(page)
    page.get_by_role("link", name="Data").click()
    give(page, "existing_file", "libraries.csv", libraries)
    page.get_by_role("button", name="Keep these 3 facilities").click()
    ready(page)
    expect(page.locator(".st-key-hero")).to_contain_text("today")
    expect(page.locator(".st-key-hero")).to_contain_text("6 new and 3 existing facilities")
    page.locator(".st-key-units").get_by_text("mi", exact=True).click()
    ready(page)
    limit = page.get_by_role("spinbutton", name="Standard, mi")
    limit.fill("2.5")
    limit.press("Enter")
    ready(page)
    expect(page.locator(".st-key-key_figures")).to_contain_text("within 2.5 mi")
    then, figures = headline(page).inner_text(), page.locator(".st-key-key_figures").inner_text()
    assert "Today" in figures
    page.get_by_role("button", name="Download").click()
    report = save(page, "save_report", tmp_path).read_text(encoding="utf-8")
    assert "New facilities: " in report and "Places that gain most" in report and "Quarter " in report
    package = save(page, "save_all", tmp_path)
    assert sorted(pyogrio.list_layers(package)[:, 0]) == ["facilities", "service_areas", "who_goes_where"]
    sites = gpd.read_file(package, layer="facilities")
    assert set(sites["kind"]) == {"new", "existing"} and {"Main", "North", "West"} <= set(sites["name"])
    where = gpd.read_file(package, layer="who_goes_where")
    assert where["e_2020"].tolist() == where["people"].tolist() == town["e_2020"].tolist()
    assert set(where.geom_type) == {"Polygon"} and set(where["compared_with"]) == {"today"}
    plan_file = save(page, "save_plan_whole", tmp_path)
    assert json.loads(plan_file.read_text())["settings"]["compared_with"]["kind"] == "today"

    elsewhere = visit("/data")
    give(elsewhere, "plan_file", plan_file.name, plan_file.read_bytes())
    elsewhere.get_by_role("button", name="Show this plan").click()
    ready(elsewhere)
    assert headline(elsewhere).inner_text() == then
    assert elsewhere.locator(".st-key-key_figures").inner_text() == figures
    assert "units=mi" in elsewhere.url and "standard=2.5" in elsewhere.url
