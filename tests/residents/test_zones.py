"""Zones: from geometries, frames and files; what is no zone gets a sentence."""

import json

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

from tkm_core.residents import ResidentsError, Zones, load_zones

PARK = shapely.box(1.40, 43.60, 1.42, 43.62)
AIRPORT = shapely.box(1.36, 43.62, 1.38, 43.64)
PLACES = np.array([[1.41, 43.61], [1.37, 43.63], [1.50, 43.50]])


def geojson(*shapes: object) -> bytes:
    features = [
        {"type": "Feature", "properties": {}, "geometry": shapely.geometry.mapping(shape)} for shape in shapes
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


@pytest.mark.parametrize(
    "given",
    [
        Zones((PARK, AIRPORT)),
        shapely.MultiPolygon([PARK, AIRPORT]),
        [PARK, AIRPORT],
        gpd.GeoDataFrame(geometry=[PARK, AIRPORT], crs="EPSG:4326"),
        gpd.GeoDataFrame(geometry=[PARK, AIRPORT], crs="EPSG:4326").to_crs("EPSG:2154"),
        geojson(PARK, AIRPORT),
        geojson(PARK, shapely.Point(1.5, 43.5), AIRPORT),
    ],
    ids=["zones", "one geometry", "several", "frame", "projected frame", "file", "file with a point"],
)
def test_zones_hold_who_is_inside_however_they_are_given(given):
    assert Zones.of(given).holds(PLACES).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("shapes", "names", "words"),
    [
        ((), (), "at least one"),
        ((shapely.Point(1, 43),), (), "must be a polygon"),
        ((shapely.Polygon(),), (), "must be a polygon"),
        (("park",), (), "must be a polygon"),
        ((shapely.box(570_000, 6_270_000, 571_000, 6_271_000),), (), "in degrees, longitude first"),
        ((PARK, AIRPORT), ("Park",), "There are 2 zones, but 1 names"),
    ],
)
def test_what_is_no_zone_gets_a_sentence(shapes, names, words):
    with pytest.raises(ValueError, match=words):
        Zones(shapes, names)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (pd.DataFrame({"lon": [1.4], "lat": [43.6]}), "a table without geometry has none"),
        (b"lon,lat\n1.4,43.6\n", "not a map file with polygons|has no polygons"),
        (geojson(shapely.Point(1.4, 43.6)), "has 1 feature, but no polygon"),
        (geojson(*[PARK] * 5_001), "5,001 polygons; up to 5,000"),
    ],
    ids=["table", "csv", "points", "too many"],
)
def test_a_file_without_zones_gets_a_sentence(file, words):
    with pytest.raises(ResidentsError, match=words):
        load_zones(file, name="zones")
