"""Read population rasters (GeoTIFF, such as WorldPop, GHSL or Meta): one resident at the middle of each cell."""

import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import shapely

from tkm_core.arrays import Floats
from tkm_core.extras import needs_extra
from tkm_core.residents import gdal, projection
from tkm_core.residents.coordinates import chosen_crs
from tkm_core.residents.file_format import Asked, FileFormat
from tkm_core.residents.layers import read_crs
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.source import Source
from tkm_core.residents.table import LOOK_AT, Table, whole
from tkm_core.wording import counted

SIGNS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")  # TIFF and BigTIFF, in both byte orders
COLUMN = "people"
MOST_READ = 1_000_000_000  # cells: a country at 100 m, about half a minute of reading
MOST_BLOCKS = 2_000_000
LARGEST_BLOCK = 16_000_000  # cells in one block of the file, which is unpacked as a whole
AT_ONCE = 4_000_000  # cells in memory while reading
GRID = 16_000_000  # cells of the grid kept in memory, whatever the file's size
MANKIND = 1e10  # a cell with a larger value does not count people
SETTINGS = {
    **{key: value for key, value in gdal.SETTINGS.items() if "HTTP" in key or "CURL" in key},
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",  # ignore files beside it,
    "GDAL_PAM_ENABLED": "NO",  # and what they say about this one
    "GDAL_GEOREF_SOURCES": "INTERNAL",
    "GDAL_CACHEMAX": 64 << 20,
}


@dataclass
class Census:
    """What was counted while reading the cells."""

    cells: int = 0
    outside: int = 0
    no_data: int = 0
    negative: int = 0
    absurd: int = 0
    inhabited: int = 0
    around: float = 0.0  # people, including those outside the area
    people: float = 0.0
    added_up: int = 1  # cells along each side of a merged cell
    grid: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def sentences(self, left: int, *, clipped: bool) -> Iterator[str]:
        """The totals before and after clipping and merging, in sentences."""
        nobody = self.cells - self.outside - self.no_data - self.negative - self.absurd - self.inhabited
        yield (
            f"{counted(self.cells, 'cell')} of the raster read: {self.no_data:,} without data, {nobody:,} with nobody, "
            f"{self.inhabited:,} with {self.people:,.0f} people{' inside the area' if clipped else ''}. "
            "The value of a cell is taken as its number of people, not as people per km²."
        )
        if clipped:
            yield f"Of {self.around:,.0f} people in and around the area, {self.people:,.0f} live inside it."
        if self.added_up > 1:
            yield (
                f"Cells were added up {self.added_up} by {self.added_up}: {left:,} are left, with the same "
                f"{self.grid.sum():,.0f} people."
            )


def read_raster(source: Source, asked: Asked) -> Table:
    """Read a band of a GeoTIFF block by block.

    Parameters
    ----------
    source : Source
        The opened file.
    asked : Asked
        ``layer`` names the band, ``within`` the area to cut out, ``cells`` the most cells to keep: more are merged
        into larger ones.
    """
    if asked.lines:
        msg = f"“{source.name}” is a raster: it has cells, but no lines."
        raise ResidentsError(msg)
    try:
        import rasterio
    except ModuleNotFoundError as missing:
        what = "Reading rasters"
        raise needs_extra(what, missing) from missing
    path = (source.path or source.write_to_folder(".tif")).resolve()
    try:
        with _quietly(), rasterio.Env(**SETTINGS), rasterio.open(path, driver="GTiff") as raster:
            return _read(raster, source, asked)
    except rasterio.errors.RasterioError as error:
        msg = f"“{source.name}” is not a readable GeoTIFF: damaged or incomplete. Download it again."
        raise ResidentsError(msg) from error


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep GDAL's warnings about a file off the screen and the log; what matters is checked here."""
    log = logging.getLogger("rasterio")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)


def _read(raster: Any, source: Source, asked: Asked) -> Table:
    """Check the band, add up its cells and return them as a table of points with people."""
    bands = _bands(raster, source)
    band = _choose(bands, source, asked.layer)
    _check(raster, source, band)
    table = Table("GeoTIFF", [COLUMN], pa.table({COLUMN: pa.array([], pa.float64())}), whole(pa.table({})))
    table.crs = read_crs(raster.crs.to_wkt() if raster.crs else None, table)
    area = None if asked.within is None else _in_system(asked.within, asked, table)
    box = _box(raster, source, area)
    census = _add_up(raster, band, box, area)
    if census.inhabited == 0:
        where = " inside the area" if area is not None else ""
        msg = f"“{source.name}” has no cell with people in it{where}: all are 0, negative or without data."
        raise ResidentsError(msg)
    _make_coarser(census, asked.cells)
    rows, columns = np.nonzero(census.grid)
    people = census.grid[rows, columns]
    points = _middles(raster.transform, box, census.added_up, rows, columns)
    column = pa.table({COLUMN: people})
    table.head, table.fetch, table.points = column.slice(0, LOOK_AT), whole(column), lambda: points
    table.people, table.clipped = COLUMN, area is not None
    table.layer, table.layers = bands[band], list(bands.values())
    table.notes += census.sentences(len(people), clipped=table.clipped)
    if census.negative:
        table.warnings.append(
            f"{counted(census.negative, 'cell')} with a negative number: left out, like cells without data."
        )
    if census.absurd:
        table.warnings.append(
            f"{counted(census.absurd, 'cell')} with more people than the world has: left out."
        )
    return table


def _bands(raster: Any, source: Source) -> dict[int, str]:
    """Names of the bands that may count people, by number; pictures and maps of classes are refused."""
    kinds = {number: kind.name for number, kind in zip(raster.indexes, raster.colorinterp, strict=True)}
    if "palette" in kinds.values() or {"red", "green", "blue"} <= set(kinds.values()):
        msg = f"“{source.name}” is a picture, or a map of classes with colours. A raster of residents counts people."
        raise ResidentsError(msg)
    described = {number: raster.descriptions[number - 1] for number, kind in kinds.items() if kind != "alpha"}
    return {number: f"{number}: {text[:80]}" if text else str(number) for number, text in described.items()}


def _choose(bands: dict[int, str], source: Source, layer: str | None) -> int:
    """The number of the band to read; an error lists the choices."""
    for number, name in bands.items():
        if layer in (name, str(number)) or len(bands) == 1:
            return number
    listed = ", ".join(list(bands.values())[:8])
    msg = f"“{source.name}” has {len(bands)} bands ({listed}). Say which of them counts people (layer=)."
    raise ResidentsError(msg, needs="layer", suggestions=[(name, name) for name in bands.values()])


def _check(raster: Any, source: Source, band: int) -> None:
    """Refuse a raster without position, of complex numbers, or in blocks too large for the memory."""
    if raster.dtypes[band - 1].startswith("complex"):
        msg = f"“{source.name}” holds complex numbers, which cannot count people."
        raise ResidentsError(msg)
    place = raster.transform
    if place.is_identity or not all(map(math.isfinite, place)) or place.is_degenerate:
        msg = f"“{source.name}” does not say where on earth it lies. Export it as a GeoTIFF, with its position in it."
        raise ResidentsError(msg)
    height, width = raster.block_shapes[band - 1]
    blocks = math.ceil(raster.height / height) * math.ceil(raster.width / width)
    if height * width > LARGEST_BLOCK or blocks > MOST_BLOCKS:
        msg = f"“{source.name}” is packed in a way that cannot be read piece by piece. Export it again, with tiles."
        raise ResidentsError(msg)


def _in_system(within: Any, asked: Asked, table: Table) -> Any:
    """The area in the coordinates of the raster."""
    crs = chosen_crs(asked.crs) or table.crs
    if crs is None:
        msg = "The raster does not state its reference system: say which it is (crs=), so that the area can be cut out."
        raise ResidentsError(msg, needs="crs")
    if crs.is_geographic:
        return within
    fine = shapely.segmentize(
        within, max(np.ptp(np.reshape(within.bounds, (2, 2)), axis=0).max() / 200, 1e-6)
    )
    return shapely.transform(fine, lambda lonlat: projection.transform(lonlat, projection.WGS84, crs))


def _box(raster: Any, source: Source, area: Any) -> tuple[int, int, int, int]:
    """First row and column, height and width of the part to be read."""
    low, high = np.zeros(2), np.array([raster.height, raster.width], dtype=float)
    if area is not None:
        west, south, east, north = area.bounds
        corners = [
            ~raster.transform * corner
            for corner in ((west, south), (west, north), (east, south), (east, north))
        ]
        reach = np.array(corners)[:, ::-1]
        if not np.isfinite(reach).all():
            msg = "The area cannot be drawn on the map of the raster. Check the reference system (crs=)."
            raise ResidentsError(msg, needs="crs")
        low, high = (
            np.clip(np.floor(reach.min(axis=0)), low, high),
            np.clip(np.ceil(reach.max(axis=0)), low, high),
        )
    (row, column), (height, width) = low.astype(int).tolist(), (high - low).astype(int).tolist()
    if height * width == 0:
        msg = f"The area lies outside “{source.name}”. Check its reference system, or take another raster."
        raise ResidentsError(msg)
    if height * width > MOST_READ:
        msg = f"“{source.name}” has {height:,} × {width:,} cells. Up to {MOST_READ:,} can be read: cut it to your area."
        raise ResidentsError(msg)
    return row, column, height, width


def _pieces(
    raster: Any, band: int, box: tuple[int, int, int, int], step: int
) -> Iterator[tuple[int, int, int, int]]:
    """Parts of the box, aligned with the file's blocks, whose sides are multiples of `step`."""
    _, _, height, width = box
    tall, wide = raster.block_shapes[band - 1]
    strips = wide >= raster.width
    high = max(tall, AT_ONCE // max(width, 1)) if strips else max(tall, 512)
    high = math.ceil(high / step) * step
    broad = width if strips else max(math.ceil(AT_ONCE / high / step), 1) * step
    for row in range(0, height, high):
        for column in range(0, width, broad):
            yield row, column, min(high, height - row), min(broad, width - column)


def _add_up(raster: Any, band: int, box: tuple[int, int, int, int], area: Any) -> Census:
    """Read all cells once and sum them into a grid of limited size."""
    from rasterio.features import geometry_mask
    from rasterio.windows import Window

    top, left, height, width = box
    step = max(1, math.ceil(math.sqrt(height * width / GRID)))
    census = Census(added_up=step, grid=np.zeros((math.ceil(height / step), math.ceil(width / step))))
    scale, offset = raster.scales[band - 1], raster.offsets[band - 1]
    for row, column, high, wide in _pieces(raster, band, box, step):
        window = Window(left + column, top + row, wide, high)
        read = raster.read(band, window=window, masked=True)
        values = np.ma.getdata(read).astype(np.float64)
        if (scale, offset) != (1.0, 0.0):
            values = values * scale + offset
        census.cells += values.size
        unknown = np.ma.getmaskarray(read) | ~np.isfinite(values)
        negative, absurd = ~unknown & (values < 0), ~unknown & (values > MANKIND)
        values[unknown | negative | absurd] = 0.0
        census.around += float(values.sum())
        if area is not None:
            place = raster.window_transform(window)
            outside = geometry_mask([area], values.shape, place)
            census.outside += int(outside.sum())
            values[outside] = 0.0
            unknown, negative, absurd = unknown & ~outside, negative & ~outside, absurd & ~outside
        census.no_data += int(unknown.sum())
        census.negative += int(negative.sum())
        census.absurd += int(absurd.sum())
        census.inhabited += int((values > 0).sum())
        census.people += float(values.sum())
        sums = _sums(values, step)
        there = (
            slice(row // step, row // step + len(sums)),
            slice(column // step, column // step + sums.shape[1]),
        )
        census.grid[there] += sums
    return census


def _sums(grid: Floats, step: int) -> Floats:
    """Sums over squares of `step` by `step` cells; squares at the edge may be cut off.

    >>> _sums(np.arange(6.0).reshape(2, 3), 2).tolist()
    [[8.0, 7.0]]
    """
    if step == 1:
        return grid
    height, width = grid.shape
    down = np.add.reduceat(grid, np.arange(0, height, step), axis=0)
    return np.asarray(np.add.reduceat(down, np.arange(0, width, step), axis=1))


def _make_coarser(census: Census, wanted: int) -> None:
    """Merge cells until at most `wanted` of them hold people."""
    step, grid = 1, census.grid
    while np.count_nonzero(grid) > wanted and grid.size > 1:
        step += max(1, int(step * (math.sqrt(np.count_nonzero(grid) / wanted) - 1) / 2))
        grid = _sums(census.grid, step)
    census.added_up, census.grid = census.added_up * step, grid


def _middles(
    place: Any,
    box: tuple[int, int, int, int],
    step: int,
    rows: npt.NDArray[np.intp],
    columns: npt.NDArray[np.intp],
) -> Floats:
    """Middles of merged cells in the coordinates of the raster; at the edge, of the part inside it."""
    top, left, height, width = box
    y = top + (rows * step + np.minimum((rows + 1) * step, height)) / 2
    x = left + (columns * step + np.minimum((columns + 1) * step, width)) / 2
    return np.column_stack([place.a * x + place.b * y + place.c, place.d * x + place.e * y + place.f])


FORMAT = FileFormat(
    kind="raster",
    name="GeoTIFF",
    suffixes=(".tif", ".tiff"),
    read=read_raster,
    sign=lambda head: head.startswith(SIGNS),
    is_map=True,
    upload="population rasters (GeoTIFF)",
    only=(".tif", ".tiff"),
)
