"""Metres on the local map against geodesics on the ellipsoid; scaling and its undoing."""

import pickle

import numpy as np
import pytest
from pyproj import Geod

from tkm_core.residents import Residents, projection
from tkm_core.residents.projection import centre_of, local_crs

GEOD = Geod(ellps="WGS84")


def around(lon: float, lat: float, radius: float, n: int = 400) -> np.ndarray:
    """Points evenly over a disc of `radius` metres, by geodesics: right anywhere on earth."""
    rng = np.random.default_rng(1)
    bearing, distance = rng.uniform(0, 360, n), radius * np.sqrt(rng.uniform(0, 1, n))
    lons, lats, _ = GEOD.fwd(np.full(n, lon), np.full(n, lat), bearing, distance)
    return np.column_stack([lons, lats])


def all_errors(residents: Residents) -> np.ndarray:
    """Relative errors of all distances between some points, the plain way."""
    first, second = np.triu_indices(len(residents), k=1)
    lonlat, xy = residents.lonlat, residents.xy
    true = GEOD.inv(*lonlat[first].T, *lonlat[second].T)[2]
    return np.abs(np.linalg.norm(xy[first] - xy[second], axis=1) / true - 1)


@pytest.mark.parametrize(
    ("lon", "lat", "radius", "bound"),
    [
        (1.44, 43.6, 20e3, 0.001), (180.0, -17.0, 30e3, 0.001), (-179.99, 66.0, 30e3, 0.001),
        (6.0, 60.0, 30e3, 0.001),
        (0.0, 89.95, 30e3, 1e-4), (45.0, -89.9, 50e3, 1e-4), (15.6, 78.2, 30e3, 0.001),
        (0.0, 0.0, 30e3, 0.001),
        (10.0, 51.0, 400e3, 0.002), (180.0, 0.0, 400e3, 0.002), (120.0, 85.0, 900e3, 0.01),
        (-70.0, -33.0, 1500e3, 0.02),
    ],
)  # fmt: skip
def test_distances_against_geodesics(lon, lat, radius, bound):
    residents = Residents.from_lonlat(around(lon, lat, radius, n=150), keep_suspect=True)
    errors = all_errors(residents)
    assert errors.max() < bound
    # the stated worst error holds for every pair, and is not a wild exaggeration
    assert errors.max() <= residents.report.worst_error * 1.02 + 1e-9
    assert residents.report.worst_error < 4 * errors.max() + 1e-6
    np.testing.assert_allclose(residents.lonlat_to_xy(residents.lonlat), residents.xy)
    back = residents.to_lonlat(residents.xy)
    assert GEOD.inv(*back.T, *residents.lonlat.T)[2].max() < 0.01  # metres


def test_the_systems_people_expect():
    assert local_crs(around(-122.4, 37.7, 20e3)).to_epsg() == 32610
    assert local_crs(around(151.2, -33.9, 20e3)).to_epsg() == 32756
    germany = local_crs(around(10.0, 51.0, 400e3))
    assert germany.coordinate_operation.method_name == "Lambert Azimuthal Equal Area"
    assert germany.axis_info[0].unit_name == "metre"


def test_centre_over_the_antimeridian_and_the_pole():
    lon, lat = centre_of(around(179.9, -17.0, 50e3))
    assert abs(abs(lon) - 179.9) < 0.1 and abs(lat + 17.0) < 0.1
    assert centre_of(around(0.0, 90.0, 100e3))[1] > 89.5


def test_overseas_does_not_move_the_map_to_sea():
    france = np.vstack(
        [around(2.5, 46.7, 400e3, 4000), around(55.5, -21.1, 30e3, 80), around(-61.5, 16.2, 30e3, 60)]
    )
    residents = Residents.from_lonlat(france)
    mainland = Residents.from_lonlat(residents.lonlat[:150], keep_suspect=True)
    object.__setattr__(mainland, "crs", residents.crs)
    assert all_errors(mainland).max() < 0.01
    assert any("so large" in warning for warning in residents.report.warnings)


def test_scale_is_isotropic_weighted_and_undone():
    rng = np.random.default_rng(2)
    weights = rng.integers(1, 50, 400)
    residents = Residents.from_lonlat(around(1.44, 43.6, 20e3), weights=weights)
    repeated = np.repeat(residents.xy, weights, axis=0)
    np.testing.assert_allclose(residents.origin, repeated.mean(axis=0))
    assert residents.scale == pytest.approx(np.sqrt(((repeated - repeated.mean(axis=0)) ** 2).mean()))
    np.testing.assert_allclose(residents.to_xy(residents.scaled), residents.xy)
    ratio = np.linalg.norm(residents.xy[1] - residents.xy[0]) / np.linalg.norm(
        residents.scaled[1] - residents.scaled[0]
    )
    assert ratio == pytest.approx(residents.scale)


def test_all_in_one_place():
    residents = Residents.from_lonlat([[1.44, 43.6]] * 3)
    assert residents.scale == 1.0 and np.abs(residents.scaled).max() < 1e-6
    assert len(Residents.from_lonlat([[1.44, 43.6]])) == 1


def test_fingerprint_is_of_the_content():
    points = around(1.44, 43.6, 20e3)
    first = Residents.from_lonlat(points, name="a")
    assert first.fingerprint == Residents.from_lonlat(points.copy(), name="b").fingerprint
    assert first.fingerprint != Residents.from_lonlat(points, weights=np.full(len(points), 2.0)).fingerprint
    moved = points.copy()
    moved[0, 0] += 1e-9
    assert first.fingerprint != Residents.from_lonlat(moved).fingerprint


def test_residents_can_be_cached():
    first = Residents.from_lonlat(around(1.44, 43.6, 20e3), ids=list("abcd") * 100)
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.xy, first.xy)
    assert again.ids.tolist() == first.ids.tolist() and again.fingerprint == first.fingerprint


def test_one_point_is_never_handed_over_as_an_array(monkeypatch):
    """Older versions of pyproj try an array of one value as a number, which numpy 2.1 warns of."""
    given = []

    class Told:
        def transform(self, x, y):
            given.append((type(x), type(y)))
            return [1.0] * len(x), [2.0] * len(y)

    monkeypatch.setattr(projection, "_transformer", lambda *_: Told())
    for n in (1, 2):
        assert (
            projection.transform(np.ones((n, 2)), projection.WGS84, projection.WGS84).tolist()
            == [[1.0, 2.0]] * n
        )
    assert given == [(list, list), (np.ndarray, np.ndarray)]
