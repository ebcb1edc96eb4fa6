"""Choose a local map projection, transform degrees to metres, and measure the map's distortion."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from os import cpu_count
from typing import Any

import numpy as np
from pyproj import CRS, Geod, Proj, Transformer
from pyproj.crs import ProjectedCRS
from pyproj.crs.coordinate_operation import LambertAzimuthalEqualAreaConversion

from tkm_core.arrays import Floats

WGS84 = CRS.from_epsg(4326)
GEOD = Geod(ellps="WGS84")
EARTH_RADIUS = 6_371_008.8  # metres, the mean radius of WGS84
CITY_RADIUS = 200_000.0  # metres from the middle; beyond it UTM is not accurate enough
CONTINENT_RADIUS = 3_000_000.0  # metres from the middle; beyond it the data are not one region
ZONE_REACH = 300_000.0  # metres from a zone's central meridian within which the scale error is under 0.1 %
BLOCK = 250_000  # points transformed at a time, so that copies stay small
SURVEY = 10_000  # points sampled to judge an area


def map_blocks(function: Callable[[Any], Floats], points: Floats, out: Floats | None = None) -> Floats:
    """Apply a function of points to (n, 2) points block by block, on all cores (PROJ releases the GIL)."""
    if out is None:
        out = np.full((len(points), 2), np.nan)
    starts = range(0, len(points), BLOCK)

    def run(start: int) -> None:
        """Apply the function to one block."""
        out[start : start + BLOCK] = function(points[start : start + BLOCK])

    if len(starts) < 2:
        for start in starts:
            run(start)
        return out
    with ThreadPoolExecutor(min(len(starts), cpu_count() or 1)) as pool:
        list(pool.map(run, starts))
    return out


def for_proj(*columns: Floats) -> list[Any]:
    """Columns for pyproj, as lists if short: it treats an array of one value as a number, and numpy 2.1 warns of that.

    Examples
    --------
    >>> for_proj(np.array([7.4]), np.array([46.9]))
    [[7.4], [46.9]]
    """
    return [column.tolist() if len(column) == 1 else column for column in columns]


@lru_cache(maxsize=64)
def _transformer(source: str, target: str) -> Transformer:
    """A transformer between two reference systems, kept because making one is slow."""
    return Transformer.from_crs(CRS.from_wkt(source), CRS.from_wkt(target), always_xy=True)


def transform(points: Floats, source: CRS, target: CRS, out: Floats | None = None) -> Floats:
    """Transform (n, 2) points, x or longitude first, from one reference system to another.

    Points that have no image become ``inf``. ``out`` may be ``points`` itself.

    Examples
    --------
    >>> import numpy as np
    >>> transform(np.array([[7.44, 46.95]]), WGS84, CRS.from_epsg(2056)).round()
    array([[2600104., 1199880.]])
    """
    points = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    transformer = _transformer(source.to_wkt(), target.to_wkt())

    def carry(block: Floats) -> Floats:
        """Transform one block."""
        return np.column_stack(transformer.transform(*for_proj(block[:, 0], block[:, 1])))

    return map_blocks(carry, points, out)


def unit_vectors(lonlat: Floats) -> Floats:
    """Degrees as points on the unit sphere, where the antimeridian and the poles are nothing special."""
    lon, lat = np.radians(lonlat[:, 0]), np.radians(lonlat[:, 1])
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def centre_of(lonlat: Floats) -> Floats:
    """The middle of the points' extent in degrees, also across the antimeridian and at the poles.

    If the extent is larger than a continent, it is the middle of the points themselves: an overseas district
    must not pull the centre of the map into the sea.

    Examples
    --------
    >>> import numpy as np
    >>> centre_of(np.array([[179.0, -17.0], [-179.0, -17.0]])).round(6)
    array([180., -17.])
    """
    sample = survey(lonlat)
    vectors = unit_vectors(sample)
    mean = vectors.mean(axis=0)
    if np.linalg.norm(mean) < 1e-6:  # spread evenly around the globe: any centre will do
        return np.array([0.0, 0.0])
    lon0 = np.degrees(np.arctan2(mean[1], mean[0]))
    lat0 = np.degrees(np.arcsin(np.clip(mean[2] / np.linalg.norm(mean), -1, 1)))
    east = (sample[:, 0] - lon0 + 180) % 360 - 180
    if np.ptp(east) > 180 or abs(lat0) > 80:  # around a pole, a box in degrees means nothing
        return np.array([lon0, lat0])
    lon = lon0 + (east.min() + east.max()) / 2
    lon = lon if -180 < lon <= 180 else (lon + 180) % 360 - 180
    middle = np.array([180.0 if lon == -180 else lon, (sample[:, 1].min() + sample[:, 1].max()) / 2])
    return middle if distance_from(middle, sample).max() < CONTINENT_RADIUS else np.array([lon0, lat0])


def survey(lonlat: Floats) -> Floats:
    """A sample of the points, with the extremes of both axes; all of them if they are few."""
    if len(lonlat) <= 2 * SURVEY:
        return lonlat
    step = -(-len(lonlat) // SURVEY)
    ends = [f(lonlat[:, axis]) for axis in (0, 1) for f in (np.argmin, np.argmax)]
    return np.concatenate([lonlat[::step], lonlat[ends]])


def distance_from(centre: Floats, lonlat: Floats) -> Floats:
    """Great-circle distances in metres from one place, within 0.6 % of the geodesic: for rough decisions only."""
    chord = np.linalg.norm(unit_vectors(lonlat) - unit_vectors(centre.reshape(1, 2)), axis=1)
    return 2 * EARTH_RADIUS * np.arcsin(np.clip(chord / 2, 0, 1))


def local_crs(lonlat: Floats) -> CRS:
    """The metric reference system for an area: UTM for a city, otherwise equal-area around its centre.

    Parameters
    ----------
    lonlat : ndarray of shape (n, 2)
        Longitude and latitude in degrees.

    Returns
    -------
    CRS
        In metres. UTM where everything lies within 200 km of the middle of the data and within 300 km of
        the zone's meridian; otherwise (regions, countries, high latitudes) Lambert's azimuthal equal-area
        projection, centred on the data.

    Examples
    --------
    >>> import numpy as np
    >>> local_crs(np.array([[-122.5, 37.7], [-122.4, 37.8]])).to_epsg()
    32610
    >>> local_crs(np.array([[-4.0, 48.0], [8.0, 43.0]])).coordinate_operation.method_name
    'Lambert Azimuthal Equal Area'
    """
    centre = centre_of(lonlat)
    sample = survey(lonlat)
    if distance_from(centre, sample).max() <= CITY_RADIUS and -80 <= centre[1] <= 84:
        zone = int((centre[0] + 180) // 6) % 60 + 1
        meridian = zone * 6 - 183
        east = np.radians((sample[:, 0] - meridian + 180) % 360 - 180)
        if np.max(np.abs(east) * np.cos(np.radians(sample[:, 1]))) * EARTH_RADIUS <= ZONE_REACH:
            return CRS.from_epsg((32600 if centre[1] >= 0 else 32700) + zone)
    lon, lat = (round(float(value), 4) for value in centre)
    conversion = LambertAzimuthalEqualAreaConversion(lat, lon)
    return ProjectedCRS(conversion, name=f"Equal-area map around {lat}°, {lon}°", geodetic_crs=WGS84)


def worst_error(lonlat: Floats, crs: CRS) -> float:
    """The largest relative error of straight distances on the map, against geodesics on the ellipsoid.

    Compares all pairs among the outermost and some inner points, and at each of them the local scale of the map
    (by how much it stretches short distances).

    Examples
    --------
    >>> import numpy as np
    >>> city = np.array([[-122.52, 37.70], [-122.35, 37.83], [-122.38, 37.71]])
    >>> bool(worst_error(city, local_crs(city)) < 0.001)
    True
    """
    sample = survey(lonlat)
    xy = transform(sample, WGS84, crs)
    directions = np.radians(np.arange(0, 360, 22.5))
    outermost = np.argmax(xy @ np.vstack([np.cos(directions), np.sin(directions)]), axis=0)
    inner = np.linspace(0, len(sample) - 1, 32).astype(int)
    places = np.unique(np.concatenate([outermost, inner]))
    first, second = (places[side] for side in np.triu_indices(len(places), k=1))
    geodesic = GEOD.inv(*for_proj(*sample[first].T, *sample[second].T))[2]
    straight = np.linalg.norm(xy[first] - xy[second], axis=1)
    apart = np.asarray(geodesic) > 1.0  # metres; closer pairs are covered by the local scale
    errors = np.abs(straight[apart] / np.asarray(geodesic)[apart] - 1)
    scale = Proj(crs).get_factors(*for_proj(*sample[places].T))
    local = np.abs(np.concatenate([scale.tissot_semimajor, scale.tissot_semiminor]) - 1.0)
    return float(np.max(np.concatenate([errors, local[np.isfinite(local)], [0.0]])))
