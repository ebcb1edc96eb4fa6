"""The report names places, and its style keeps headings with their tables."""

import geopandas as gpd
import numpy as np
import shapely

from tkm_core.figures import Look, html_report
from tkm_core.figures.report import STYLE
from tkm_core.planning import make_plan
from tkm_core.residents import load_residents
from tkm_core.stories import tell_plan


def test_the_report_names_new_sites_winners_and_losers() -> None:
    rows, columns = np.divmod(np.arange(36), 6)
    squares = [
        shapely.box(x, y, x + 0.01, y + 0.01) for x, y in zip(1 + columns / 100, 43 + rows / 100, strict=True)
    ]
    names = [f"Part <{number}>" for number in range(36)]
    town = load_residents(
        gpd.GeoDataFrame({"name": names, "population": range(1, 37)}, geometry=squares, crs=4326)
    )
    plan = make_plan(town, 2, t=[0, 1], fixed_lonlat=[[1.005, 43.005]], fixed_names=["Library"])
    page = html_report(plan, 1, tell_plan(plan, 1), Look(), title="Town")
    inside = [
        next(
            name for name, square in zip(names, squares, strict=True) if square.contains(shapely.Point(site))
        )
        for site in plan.centers_lonlat(1)[:2]
    ]
    assert "<p>New facilities: " in page
    assert all(f" in {name.replace('<', '&lt;').replace('>', '&gt;')}" in page for name in inside)
    gains = plan.change(1)
    best = names[int(np.argmax(gains))].replace("<", "&lt;").replace(">", "&gt;")
    listed = page[page.index("Places that gain most") : page.index("Places that lose most")]
    assert best in listed
    assert "No place loses against today." in page, "with two more facilities nobody travels farther"


def test_headings_stay_with_their_tables_and_long_words_wrap() -> None:
    assert "h2 { font-size: 15px; margin: 26px 0 6px; break-after: avoid; }" in STYLE
    assert "overflow-wrap: anywhere" in STYLE and "background:" not in STYLE.replace("background: #fff", "")
