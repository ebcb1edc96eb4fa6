"""Tables of very many rows are written piece by piece, and the files are the same as if they were written at once."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import geopandas as gpd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from geopandas.testing import assert_geodataframe_equal

from tkm_core import export
from tkm_core.planning import make_plan
from tkm_core.residents import OWN, Residents

SIZE = 40


@pytest.fixture(scope="module")
def plan():
    rng = np.random.default_rng(0)
    n = 130
    # nothing in the first piece, so that only a later one shows what the columns hold
    names = [None if i < SIZE else f"<home {i}>" for i in range(n)]
    squares = [shapely.box(lon, 48.8, lon + 0.001, 48.801) for lon in rng.normal(2.3, 0.1, n)]
    areas = [None if i % 7 == 0 else shapely.to_wkb(square) for i, square in enumerate(squares)]
    own = {
        f"{OWN}homes": pa.array([None if i < SIZE + 5 else i for i in range(n)]),
        f"{OWN}note": pa.array(names),
    }
    lonlat = np.column_stack([rng.normal(2.3, 0.1, n), rng.normal(48.8, 0.1, n)])
    home = Residents.from_lonlat(
        lonlat, rng.integers(1, 90, n), ids=[*"ab"] * (n // 2), groups=names, areas=pa.array(areas), own=own
    )
    return make_plan(home, 3, t=[0, 1])


def in_pieces(plan, what, size=SIZE):
    """The tables to be written, and a list of the slices that were made of them."""
    made = []

    def noting(one):
        def make(rows):
            made.append(rows)
            return one.make(rows)

        return replace(one, make=make, size=size)

    tables = export.layers(plan, 1, what)
    return {
        name: noting(one) if isinstance(one, export.Pieces) else one for name, one in tables.items()
    }, made


def whole(plan, what):
    tables, _ = in_pieces(plan, what, size=10**6)
    return tables


@pytest.mark.parametrize("suffix", ["geojson", "csv", "kml"])
def test_text_in_pieces_is_the_same_to_the_byte(plan, suffix):
    tables, _ = in_pieces(plan, "allocations")
    assert export.to_bytes(tables, suffix) == export.to_bytes(whole(plan, "allocations"), suffix)
    assert export.to_bytes(tables, suffix) == export.to_bytes(export.table(plan, 1, "allocations"), suffix)


def test_parquet_in_pieces_says_the_same(plan, tmp_path):
    tables, _ = in_pieces(plan, "allocations")
    one = gpd.read_parquet(export.write(tables, tmp_path / "one.parquet"))
    other = gpd.read_parquet(export.write(whole(plan, "allocations"), tmp_path / "other.parquet"))
    assert_geodataframe_equal(one, other)
    told = json.loads(pq.read_metadata(tmp_path / "one.parquet").metadata[b"geo"])
    assert told["columns"]["geometry"]["bbox"] == one.total_bounds.tolist(), "the extent covers every piece"
    assert pq.read_metadata(tmp_path / "one.parquet").num_row_groups == 4


def test_a_geopackage_in_pieces_says_the_same(plan, tmp_path):
    tables, made = in_pieces(plan, "all")
    path, other = (
        export.write(layers, tmp_path / name)
        for layers, name in ((tables, "one.gpkg"), (whole(plan, "all"), "other.gpkg"))
    )
    assert [rows.start for rows in made[:4]] == [0, 40, 80, 120]
    assert pyogrio.list_layers(path)[:, 0].tolist() == pyogrio.list_layers(other)[:, 0].tolist()
    for layer in ("facilities", "who_goes_where", "service_areas"):
        one, two = pyogrio.read_dataframe(path, layer=layer), pyogrio.read_dataframe(other, layer=layer)
        assert_geodataframe_equal(one, two, check_dtype=False)
        assert one.crs == two.crs
    assert set(one.geom_type) <= {"Polygon", "MultiPolygon"}
    points, _ = in_pieces(plan, "allocations")
    path = export.write(points, tmp_path / "points.gpkg")
    assert pyogrio.read_info(path)["geometry_type"] == "Point"
    assert pyogrio.read_info(path)["capabilities"]["fast_spatial_filter"], "with a spatial index"


@pytest.mark.parametrize("suffix", export.FORMATS)
def test_no_format_ever_asks_for_more_than_a_piece(plan, suffix):
    tables, made = in_pieces(plan, "allocations")
    export.to_bytes(tables, suffix)
    assert [(rows.start, rows.stop) for rows in made] == [(0, 40), (40, 80), (80, 120), (120, 130)]


@pytest.mark.parametrize("suffix", export.FORMATS)
def test_any_format_in_a_zip_file(plan, tmp_path, suffix):
    tables, _ = in_pieces(plan, "allocations")
    path = export.write(tables, tmp_path / f"out.{suffix}.zip")
    assert list(tmp_path.iterdir()) == [path]
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == [f"out.{suffix}"]
        inner = Path(archive.extract(f"out.{suffix}", tmp_path / "inner"))
    frame = gpd.read_parquet(inner) if suffix == "parquet" else pyogrio.read_dataframe(inner)
    assert len(frame) == len(plan.residents)


def test_writing_tells_how_far_it_is_and_can_be_stopped(plan):
    tables, made = in_pieces(plan, "allocations")
    told = []
    export.to_bytes(tables, "csv", progress=lambda fraction, text: told.append((round(fraction, 2), text)))
    assert told[1] == (0.31, "row 40 of 130")

    def stop(fraction, _text):
        if fraction > 0.5:
            raise KeyboardInterrupt

    made.clear()
    with pytest.raises(KeyboardInterrupt):
        export.to_bytes(tables, "geojson", progress=stop)
    assert len(made) == 2


def test_a_table_of_residents_measures_only_where_they_go(plan, monkeypatch):
    monkeypatch.setattr(type(plan), "_measure", None)
    tables, _ = in_pieces(plan, "allocations")
    assert b"distance_m" in export.to_bytes(tables, "csv")
