"""Convert two columns of coordinates to degrees: their order, unit and reference system, checked by value."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import shapely
from pyproj import CRS
from pyproj.exceptions import CRSError

from tkm_core.arrays import Floats
from tkm_core.residents.columns import PAIR, WKT
from tkm_core.residents.layers import describe_kinds, to_points
from tkm_core.residents.model import ResidentsError, crs_name
from tkm_core.residents.projection import EARTH_RADIUS, GEOD, WGS84, for_proj, transform
from tkm_core.residents.reference_systems import code_in, mapped, parse_crs, suggest

Mask = npt.NDArray[np.bool_]

AGREED = 50.0  # metres that two coordinates of the same place may differ
# Numbers that programs write in place of an unknown coordinate.
UNKNOWN = (
    -999,
    -9999,
    -99999,
    -999999,
    9999,
    99999,
    999999,
    -2147483646,
    -2147483647,
    -2147483648,
    2147483647,
)
BEYOND = 1_000_000.0  # metres outside its official area up to which a stated system is still accepted
TRUE = 1.0  # metres a point may move when it is converted to degrees and back
CLEARLY = 0.9  # share of rows that must agree before the file as a whole is reinterpreted


@dataclass
class Position:
    """Positions in degrees, with notes and warnings on how they were found."""

    lonlat: Floats
    source_crs: CRS | None = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    zero: Mask | None = None


def chosen_crs(crs: object) -> CRS | None:
    """The reference system an argument asks for; None for none."""
    if crs is None or crs == "":
        return None
    try:
        return parse_crs(crs)
    except (CRSError, ValueError, TypeError) as error:
        msg = f"“{str(crs)[:80]}” is not a reference system. Give an EPSG code, such as EPSG:4326 or EPSG:25832."
        raise ResidentsError(msg, needs="crs") from error


def split_pairs(values: pa.ChunkedArray) -> tuple[Floats, bool, list[str]]:
    """Split texts such as "45.78, 5.65" or "POINT (5.65 45.78)" in two; also whether x comes first, and notes."""
    text = pc.cast(values, pa.string())
    if float(pc.mean(pc.cast(pc.match_substring_regex(text, WKT.pattern), pa.float64())).as_py() or 0) > 0.5:
        bare = pc.replace_substring_regex(text, r"(?i)^\s*SRID=\d+;", "")
        # Collections within collections are not parsed.
        plain = pc.if_else(pc.match_substring_regex(bare, WKT.pattern), bare, None)
        shapes = shapely.from_wkt(np.asarray(plain.to_pylist(), dtype=object), on_invalid="ignore")
        points, kinds = to_points(shapes)
        return points, True, describe_kinds(kinds)
    found = pc.extract_regex(text, pattern=PAIR.pattern)
    parts = [pc.cast(pc.struct_field(found, name), pa.float64()) for name in ("first", "second")]
    return np.column_stack([part.to_numpy() for part in parts]), False, []


def locate(
    points: Floats,
    *,
    chosen: CRS | None,
    stated: CRS | None,
    names: Sequence[str],
    texts: Sequence[str],
    certain_order: bool,
    known_order: bool = True,
) -> Position:
    """Turn coordinates as in the file into degrees.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        As in the file, the column taken as x first. May be overwritten.
    chosen, stated : CRS or None
        Reference system according to the caller, and according to the file.
    names : sequence of str
        Names of the two columns.
    texts : sequence of str
        Names and values of the file, to judge its language by.
    certain_order : bool
        Whether the caller named x and y, so that they are not to be swapped.
    known_order : bool
        Whether the names tell x from y; otherwise the likelier order is taken.

    Returns
    -------
    Position

    Raises
    ------
    ResidentsError
        If the numbers cannot be degrees and nothing says what they are; with suggestions.
    """
    x, y = points[:, 0], points[:, 1]
    for values in (x, y):
        wild = np.flatnonzero(np.abs(values) > 180)
        values[wild[np.isin(values[wild], UNKNOWN)]] = np.nan
    zero = (x == 0) & (y == 0)
    usable = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & ~zero)
    sample = points[usable[:: max(1, len(usable) // 20_000)]]
    if len(sample) == 0:
        return Position(points, chosen or stated, zero=zero)
    code = code_in(names)
    crs = chosen or (CRS.from_epsg(code) if code and _known(code) else None) or stated
    degrees = _share_in_degrees(sample)
    swapped = _share_in_degrees(sample[:, ::-1])
    like_degrees = max(degrees, swapped) >= CLEARLY
    if crs is not None and not crs.is_geographic:
        if chosen is None and like_degrees and np.ptp(sample, axis=0).max() > 0:
            position = _from_degrees(points, sample, names, certain_order=True)
            position.warnings.append(
                f"The file says {crs_name(crs)}, but its numbers are degrees, and were read as such."
            )
            position.zero = zero
            return position
        return _from_grid(points, sample, crs, zero, texts, certain=chosen is not None)
    if not like_degrees:
        raise _ask(sample, texts, crs)
    certain_order = certain_order or stated is not None
    position = _from_degrees(points, sample, names, certain_order=certain_order, known_order=known_order)
    if crs is not None and not crs.equals(WGS84, ignore_axis_order=True):
        transform(position.lonlat, crs, WGS84, out=position.lonlat)
        position.notes.append(f"Degrees in {crs_name(crs)} were converted to WGS84.")
    position.source_crs, position.zero = crs or WGS84, zero
    return position


def compare(position: Position, grid: Floats, names: Sequence[str]) -> None:
    """Report whether a second pair of coordinates, whose reference system is known, agrees with the first."""
    code = code_in(names)
    rows = np.flatnonzero(np.isfinite(position.lonlat + grid).all(axis=1))
    rows = rows[:: max(1, len(rows) // 1_000)]
    if code is None or not _known(code) or len(rows) == 0:
        return
    other = transform(grid[rows], CRS.from_epsg(code), WGS84)
    here = position.lonlat[rows]
    usable = np.isfinite(other).all(axis=1) & (np.abs(here) <= (180, 90)).all(axis=1)
    if not usable.any():
        return
    metres = GEOD.inv(*for_proj(*here[usable].T, *other[usable].T))[2]
    typical, worst = np.median(metres), np.max(metres)
    pair = f"“{names[0]}” and “{names[1]}”"
    if typical > AGREED:
        position.warnings.append(
            f"{pair} lie {typical:,.0f} m away from the coordinates taken (median): check both."
        )
    else:
        position.notes.append(
            f"{pair} agree with the coordinates taken: {typical:,.1f} m apart, at most {worst:,.0f} m."
        )


def _known(code: int) -> bool:
    """Whether an EPSG code exists."""
    try:
        CRS.from_epsg(code)
    except CRSError:
        return False
    return True


def _share_in_degrees(sample: Floats) -> float:
    """Share of points that are valid as longitude and latitude."""
    return float(np.mean((np.abs(sample[:, 0]) <= 180) & (np.abs(sample[:, 1]) <= 90)))


def _from_degrees(
    points: Floats, sample: Floats, names: Sequence[str], *, certain_order: bool, known_order: bool = True
) -> Position:
    """Take coordinates as degrees or radians, and swap them if only that makes sense."""
    position = Position(points)
    x, y = names[0] if names else "x", names[-1] if names else "y"
    if _in_radians(sample, names):
        np.degrees(points, out=points)
        sample = np.degrees(sample)
        position.notes.append(f"“{x}” and “{y}” are in radians; they were turned into degrees.")
    straight, swapped = _share_in_degrees(sample), _share_in_degrees(sample[:, ::-1])
    impossible = straight < 1 - CLEARLY and swapped >= CLEARLY
    here, there = 0.0, 0.0
    if not certain_order and swapped >= CLEARLY:
        here, there = mapped(sample), mapped(sample[:, ::-1])
    if impossible or (here == 0 and there >= 5) or (not known_order and there > 2 * here + 3):
        points[:] = points[:, ::-1].copy()
        reason = "latitudes beyond 90°" if impossible else "a place at sea or hardly mapped"
        position.warnings.append(f"“{x}” and “{y}” were swapped: as they stand they would be {reason}.")
    elif here <= 1 and there >= 10:
        sentence = (
            f"“{x}” and “{y}” lead to a place that is hardly mapped; swapped, to one that is well mapped."
        )
        position.warnings.append(
            f"{sentence} Please check on the map, and give x= and y= if they are swapped."
        )
    return position


def _in_radians(sample: Floats, names: Sequence[str]) -> bool:
    """Whether the numbers are radians: their names say so, or only as radians do they lie on land."""
    if not (
        (np.abs(sample[:, 0]) <= np.pi + 1e-9).mean() > CLEARLY
        and (np.abs(sample[:, 1]) <= np.pi / 2 + 1e-9).mean() > CLEARLY
    ):
        return False
    if any("rad" in name.casefold() for name in names):
        return True
    return mapped(sample) == 0 and mapped(np.degrees(sample)) >= 5


def _from_grid(
    points: Floats, sample: Floats, crs: CRS, zero: Mask, texts: Sequence[str], *, certain: bool
) -> Position:
    """Convert grid coordinates to degrees, after checking that they lie in the grid's official area."""
    position = Position(points, crs, zero=zero)
    inside = _share_in_area(sample, crs)
    if inside < 0.5 and _share_in_area(sample[:, ::-1], crs) > CLEARLY:
        points[:] = points[:, ::-1].copy()
        position.warnings.append(
            f"x and y were swapped: only then do they lie within the area of {crs_name(crs)}."
        )
    elif inside < 0.5:
        place = crs.area_of_use.name if crs.area_of_use else "its area"
        official = place if len(place) <= 80 else f"{place[:80].rsplit(' ', 1)[0].rstrip(',;.- ')} ..."
        beyond = _metres_beyond(sample, crs)
        if beyond is not None:
            position.warnings.append(
                f"The coordinates lie about {beyond / 1000:,.0f} km outside the official area of {crs_name(crs)} "
                f"({official}). They were read as they are: please check on the map."
            )
        elif certain:
            position.warnings.append(
                f"In {crs_name(crs)} the coordinates do not lie in its official area ({official}): please check "
                "the EPSG code."
            )
        else:
            found = suggest(sample, texts)
            listed = "; ".join(f"{code} ({name})" for code, name in found[:4]) or "none found"
            msg = f"The file says it is in {crs_name(crs)}, but there its coordinates do not lie in the official "
            msg += f"area ({official}) or near it. Give the EPSG code (crs=). Likely: {listed}."
            raise ResidentsError(msg, needs="crs", suggestions=found)
    transform(points, crs, WGS84, out=points)
    points[~np.isfinite(points[:, 0] + points[:, 1])] = np.nan
    position.notes.append(f"Coordinates in {crs_name(crs)} were converted to degrees.")
    return position


def _share_in_area(sample: Floats, crs: CRS) -> float:
    """Share of points that lie in the official area of a grid, or within a degree of it."""
    lonlat, outside = _outside(sample, crs)
    return float(np.mean(np.isfinite(lonlat).all(axis=1) & (outside <= 1).all(axis=1)))


def _outside(sample: Floats, crs: CRS) -> tuple[Floats, Floats]:
    """Grid coordinates in degrees, and how many degrees they lie outside the grid's area in each direction."""
    lonlat = transform(sample[:: max(1, len(sample) // 500)], crs, WGS84)
    if crs.area_of_use is None:
        return lonlat, np.zeros_like(lonlat)
    west, south, east, north = crs.area_of_use.bounds
    east = east if east >= west else east + 360
    lon = np.where(lonlat[:, 0] < west - 180 + (east - west) / 2, lonlat[:, 0] + 360, lonlat[:, 0])
    beside = np.maximum(np.maximum(west - lon, lon - east), 0)
    above = np.maximum(np.maximum(south - lonlat[:, 1], lonlat[:, 1] - north), 0)
    return lonlat, np.column_stack([beside, above])


def _metres_beyond(sample: Floats, crs: CRS) -> float | None:
    """Metres outside its official area at which a grid was used; None if it is inexact there or leads out to sea.

    A region that spans two zones is often stored in one of them, and is still right to the metre.
    """
    lonlat, outside = _outside(sample, crs)
    finite = np.isfinite(lonlat).all(axis=1)
    if finite.mean() < CLEARLY:
        return None
    across = outside[finite] * np.column_stack([np.cos(np.radians(lonlat[finite, 1])), np.ones(finite.sum())])
    metres = np.radians(np.linalg.norm(across, axis=1)) * EARTH_RADIUS
    back = transform(lonlat[finite], WGS84, crs) - sample[:: max(1, len(sample) // 500)][finite]
    unit = crs.axis_info[0].unit_conversion_factor if crs.axis_info else 1.0
    exact = np.linalg.norm(back, axis=1) * unit < TRUE
    far = float(np.median(metres))
    return far if far <= BEYOND and exact.mean() >= CLEARLY and mapped(lonlat) >= 5 else None


def _ask(sample: Floats, texts: Sequence[str], crs: CRS | None) -> ResidentsError:
    """The error that asks for the reference system, with suggestions."""
    found = suggest(sample, texts)
    low, high = np.percentile(sample, [1, 99], axis=0)
    if crs is None:
        msg = "The coordinates are not degrees, and the file does not say which reference system they are in"
    else:
        msg = f"The file says {crs_name(crs)}, in degrees, but its numbers are not degrees"
    msg += f" (x about {low[0]:,.0f} to {high[0]:,.0f}, y about {low[1]:,.0f} to {high[1]:,.0f}). "
    msg += "Give its EPSG code (crs=)" + ("." if found else "; whoever made the file knows it.")
    if found:
        msg += f" Likely: {'; '.join(f'{code} ({name})' for code, name in found[:4])}."
    return ResidentsError(msg, needs="crs", suggestions=found)
