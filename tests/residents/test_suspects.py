"""Points that cannot be right are listed and left out; one switch keeps those that could be."""

import numpy as np
import pandas as pd
import pytest

from tkm_core.residents import Residents, ResidentsError, load_residents
from tkm_core.residents.suspects import lone_points

RNG = np.random.default_rng(11)
TOWN = RNG.normal([1.44, 43.6], 0.05, (200, 2))


def brute_force_lone(lonlat: np.ndarray, gap: float) -> list[int]:
    """Points farther than `gap` from all others, by geodesics, one by one."""
    from pyproj import Geod

    geod = Geod(ellps="WGS84")
    alone = []
    for place, (lon, lat) in enumerate(lonlat):
        others = np.delete(lonlat, place, axis=0)
        distance = geod.inv(np.full(len(others), lon), np.full(len(others), lat), others[:, 0], others[:, 1])[
            2
        ]
        if distance.min() > gap:
            alone.append(place)
    return alone


def test_each_reason_is_listed():
    strays = [[np.nan, 43.6], [200.0, 43.6], [1.4, 95.0], [0.0, 0.0], [-150.0, -40.0]]
    residents = Residents.from_lonlat(np.vstack([TOWN, strays]))
    assert {drop.code: drop.count for drop in residents.report.dropped} == {
        "missing": 1,
        "range": 2,
        "zero": 1,
        "far": 1,
    }
    assert len(residents) == residents.report.rows_kept == 200
    far = next(drop for drop in residents.report.dropped if drop.code == "far")
    assert far.examples == ((205, "longitude -150, latitude -40"),)


def test_one_switch_keeps_what_could_be():
    strays = [[np.nan, 43.6], [0.0, 0.0], [-150.0, -40.0]]
    residents = Residents.from_lonlat(np.vstack([TOWN, strays]), keep_suspect=True)
    assert len(residents) == 202
    assert [drop.code for drop in residents.report.dropped] == ["missing"]


def test_switch_through_the_reader():
    table = pd.DataFrame(np.vstack([TOWN, [[0, 0], [60.0, 10.0]]]), columns=["lon", "lat"])
    text = table.to_csv(index=False).encode()
    assert len(load_residents(text)) == 200
    assert len(load_residents(text, keep_suspect=True)) == 202


def test_zero_of_a_grid_is_zero():
    grid = Residents.from_lonlat(TOWN).xy
    table = pd.DataFrame(np.vstack([grid, [0, 0]]), columns=["x", "y"]).to_csv(index=False).encode()
    residents = load_residents(table, crs=32631)
    assert [(drop.code, drop.count) for drop in residents.report.dropped] == [("zero", 1)]


@pytest.mark.parametrize("scale", [0.05, 1.0, 4.0])
def test_lone_points_against_brute_force(scale):
    cloud = RNG.normal([10, 50], [scale, scale / 2], (150, 2))
    strays = np.array([[-60.0, -30.0], [140.0, -35.0], [-179.9, 10.0], [100.0, 85.0]])
    points = np.vstack([cloud, strays[:1]])
    assert lone_points(points).tolist() == brute_force_lone(points, 1_500_000) == [150]
    points = np.vstack([cloud, strays])
    assert lone_points(np.vstack([cloud] * 40 + [strays])).tolist() == [6000, 6001, 6002, 6003]
    assert brute_force_lone(points, 1_500_000) == [150, 151, 152, 153]


def test_an_overseas_district_stays():
    overseas = RNG.normal([55.5, -21.1], 0.1, (20, 2))
    assert lone_points(np.vstack([TOWN, overseas])).tolist() == []


def test_a_farm_stays_and_so_does_a_scattered_world():
    assert lone_points(np.vstack([TOWN, [[1.44, 45.6]]])).tolist() == []
    world = np.column_stack([RNG.uniform(-180, 180, 60), RNG.uniform(-60, 70, 60)])
    assert lone_points(world).tolist() == []


def test_across_the_antimeridian_nobody_is_alone():
    fiji = RNG.normal([180.0, -17.5], 0.3, (300, 2))
    fiji[:, 0] = (fiji[:, 0] + 180) % 360 - 180
    assert lone_points(fiji).tolist() == []


def test_nothing_left_says_why():
    with pytest.raises(
        ResidentsError, match=r"None of the 2 rows can be used: 2 with no coordinates"
    ) as caught:
        load_residents(b"lat,lon\n,\n,\n", x="lon", y="lat")
    assert caught.value.report.rows_read == 2


def test_shapes_are_checked():
    with pytest.raises(ResidentsError, match="pairs of longitude and latitude"):
        Residents.from_lonlat([1.0, 2.0])
    with pytest.raises(ResidentsError, match="2 points but weights of shape"):
        Residents.from_lonlat([[1.0, 2.0], [1.1, 2.1]], weights=[1.0])
