"""Zones: named polygons inside which facilities may be built, or must not be."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import shapely
from pyproj.exceptions import ProjError

from tkm_core.arrays import Bools, Floats
from tkm_core.residents.coordinates import chosen_crs
from tkm_core.residents.file_format import Asked
from tkm_core.residents.formats import FORMATS
from tkm_core.residents.frames import as_frame
from tkm_core.residents.loading import in_sentences
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.opening import open_source
from tkm_core.residents.projection import WGS84, transform
from tkm_core.residents.table import as_text
from tkm_core.wording import counted

MOST_ZONES, MOST_CORNERS = 5_000, 2_000_000
POLYGONS = (3, 6)
NAMES = ("name", "zone", "label", "title", "district", "nom", "nombre", "nome", "bezeichnung", "id")


@dataclass(frozen=True, eq=False)
class Zones:
    """Polygons in degrees.

    Attributes
    ----------
    shapes : tuple of shapely.Polygon or shapely.MultiPolygon
        WGS84, longitude first.
    names : tuple of str
        Their names, not to be trusted as markup; empty if they have none.
    name : str
        The file's name, not to be trusted as markup.

    Examples
    --------
    >>> airport = Zones((shapely.box(1.36, 43.62, 1.38, 43.64),), ("Airport",))
    >>> airport.holds(np.array([[1.37, 43.63], [1.40, 43.63]])).tolist()
    [True, False]
    """

    shapes: tuple[Any, ...]
    names: tuple[str, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        shapes = tuple(self.shapes)
        if not shapes or any(
            not isinstance(shape, shapely.Geometry)
            or shape.is_empty
            or shapely.get_type_id(shape) not in POLYGONS
            for shape in shapes
        ):
            msg = "A zone must be a polygon with an inside, and there must be at least one."
            raise ValueError(msg)
        west, south, east, north = shapely.total_bounds(shapes)
        if not (west >= -180 and east <= 180 and south >= -90 and north <= 90):
            msg = f"Zones are in degrees, longitude first; these reach from {west:g}, {south:g} to {east:g}, {north:g}."
            raise ValueError(msg)
        if self.names and len(self.names) != len(shapes):
            msg = f"There are {counted(len(shapes), 'zone')}, but {len(self.names)} names."
            raise ValueError(msg)
        object.__setattr__(self, "shapes", tuple(shapely.make_valid(shape) for shape in shapes))
        object.__setattr__(self, "names", tuple(map(str, self.names)))

    @classmethod
    def of(cls, given: Any) -> "Zones":
        """Zones as they are, or made of a geometry, several of them, a GeoDataFrame or a file."""
        if isinstance(given, Zones):
            return given
        if isinstance(given, shapely.Geometry):
            return cls((given,))
        if isinstance(given, Iterable) and not isinstance(given, str | bytes) and as_frame(given) is None:
            several = list(given)
            if several and all(isinstance(one, shapely.Geometry) for one in several):
                return cls(tuple(several))
        return load_zones(given)

    def __len__(self) -> int:
        return len(self.shapes)

    def __repr__(self) -> str:
        return f"<Zones: {counted(len(self), 'zone')}>"

    @cached_property
    def shape(self) -> Any:
        """All zones as one geometry, in degrees."""
        return shapely.union_all(self.shapes)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of shapes and names: equal for equal zones."""
        digest = blake2b(digest_size=16)
        for shape in self.shapes:
            digest.update(shapely.to_wkb(shape))
        digest.update(repr(self.names).encode(errors="surrogatepass"))
        return digest.hexdigest()

    def holds(self, lonlat: Floats) -> Bools:
        """Which places lie in one of the zones, or on its edge."""
        places = np.asarray(lonlat, dtype=np.float64)
        shapely.prepare(self.shape)
        return np.asarray(shapely.intersects_xy(self.shape, places[:, 0], places[:, 1]))


def load_zones(file: Any, *, layer: str | None = None, crs: object = None, name: str | None = None) -> Zones:
    """Read zones from a map file: polygons, with their names where a column has them.

    Parameters
    ----------
    file : path, bytes, file-like or GeoDataFrame
        GeoJSON, GeoPackage, shapefile, KML or GeoParquet, also zipped.
    layer : str, optional
        Which layer.
    crs : str, int or CRS, optional
        Reference system of the coordinates; overrides what the file says.
    name : str, optional
        What to call the file.

    Returns
    -------
    Zones

    Raises
    ------
    ResidentsError
        If there is no polygon in it, or it cannot be placed on earth.

    Examples
    --------
    >>> park = b'{"type": "Feature", "properties": {"name": "Park"}, "geometry": {"type": "Polygon", "coordinates": \
[[[1.4, 43.6], [1.5, 43.6], [1.5, 43.7], [1.4, 43.6]]]}}'
    >>> load_zones(park).names
    ('Park',)
    """
    frame = as_frame(file)
    if frame is not None:
        if not hasattr(frame, "geometry"):
            msg = "Zones are polygons: a table without geometry has none."
            raise ResidentsError(msg)
        stated: Any = frame.crs
        shapes = np.asarray(frame.geometry, dtype=object)
        texts = {str(column): [str(value) for value in frame[column]] for column in frame.columns}
        shown = name or "zones"
    else:
        with in_sentences(name), open_source(file, name=name, layer=layer) as source:
            shown = name or source.name
            if source.kind not in FORMATS:
                msg = f"“{shown}” is not a map file with polygons."
                raise ResidentsError(msg)
            table = FORMATS[source.kind].read(source, Asked(layer=layer))
            if table.shapes is None:
                msg = f"“{shown}” has no polygons in it: zones come from a map file (GeoJSON, GeoPackage, shapefile)."
                raise ResidentsError(msg)
            shapes, stated = table.shapes(), table.crs
            heading = _name_column(table.names)
            texts = {} if heading is None else {heading: as_text(table.fetch([heading])[heading])}
    areal = np.isin(shapely.get_type_id(shapes), POLYGONS) & ~shapely.is_empty(shapes)
    if not areal.any():
        msg = f"“{shown}” has {counted(len(shapes), 'feature')}, but no polygon: zones are polygons."
        raise ResidentsError(msg)
    kept = shapely.force_2d(shapes[areal])
    if len(kept) > MOST_ZONES or shapely.get_num_coordinates(kept).sum() > MOST_CORNERS:
        msg = f"“{shown}” has {len(kept):,} polygons; up to {MOST_ZONES:,} with {MOST_CORNERS:,} corners are taken."
        raise ResidentsError(msg)
    heading = _name_column(list(texts))
    names = (
        ()
        if heading is None
        else tuple(text[:200] for text, used in zip(texts[heading], areal, strict=True) if used)
    )
    return Zones(tuple(_in_degrees(kept, chosen_crs(crs) or stated, shown)), names, shown)


def _name_column(headings: list[str]) -> str | None:
    """The first heading that means name."""
    for word in NAMES:
        for heading in headings:
            if word in heading.casefold().replace("_", " ").split():
                return heading
    return None


def _in_degrees(shapes: Any, crs: Any, shown: str) -> Any:
    """The same polygons in degrees."""
    from pyproj import CRS

    system = None if crs is None else CRS.from_user_input(crs)
    if system is not None and not system.is_geographic:
        try:
            shapes = shapely.transform(shapes, lambda xy: transform(xy, system, WGS84))
        except ProjError as error:
            msg = f"The zones of “{shown}” cannot be placed on earth: check their reference system."
            raise ResidentsError(msg, needs="crs") from error
    west, south, east, north = shapely.total_bounds(shapes)
    if not (west >= -180 and east <= 180 and south >= -90 and north <= 90):
        msg = (
            f"The zones of “{shown}” reach from {west:g}, {south:g} to {east:g}, {north:g}: these are not degrees. "
            "Say which reference system they are in."
        )
        raise ResidentsError(msg, needs="crs")
    return shapes
