"""SVG elements, and the parts that all SVG maps share: background, areas, residents, scale bar."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Floats
from tkm_core.figures import crowd
from tkm_core.figures.geometry import TILE, Cells, View, grid, mercator, scale_bar
from tkm_core.figures.look import Look
from tkm_core.figures.palette import RGB, to_hex

# by name and never "system-ui", which browsers replace by another font in print
FONTS = "Segoe UI, Roboto, Helvetica Neue, Arial, Liberation Sans, Noto Sans, sans-serif"


class Sheet:
    """An SVG map, which turns degrees into pixels.

    Parameters
    ----------
    view : View
        Made for a picture of this size.
    width, height : int
        In pixels.
    look : Look
    """

    def __init__(self, view: View, width: int, height: int, look: Look) -> None:
        self.view, self.width, self.height, self.look = view, width, height, look
        self._middle = mercator([view.longitude, view.latitude])
        self._factor = TILE * 2**view.zoom

    def at(self, lonlat: npt.ArrayLike) -> Floats:
        """Pixels, shape (..., 2)."""
        flat = (mercator(lonlat) - self._middle) * self._factor
        return np.round(np.array([self.width, self.height]) / 2 + flat * [1, -1], 1)

    def ground(self) -> list[str]:
        """The background and its grid."""
        colors = self.look.palette
        lines = grid(self.view, self.look.length_unit)[1]
        return [
            f'<rect width="{self.width}" height="{self.height}" rx="6" fill="{colors.ground}"/>',
            *(line(self.at(each), colors.grid, 1) for each in lines),
        ]

    def areas(
        self, areas: Iterable[shapely.Geometry], numbers: Iterable[int], *, opacity: float, seam: float
    ) -> list[str]:
        """Service areas in the colours of their facilities, with lines between them."""
        colors = self.look.palette
        return [
            f'<polygon points="{points(self.at(np.asarray(part.exterior.coords)))}" '
            f'fill="{to_hex(colors.facility(number))}" fill-opacity="{opacity}" '
            f'stroke="{colors.page}" stroke-width="{seam}"/>'
            for number, area in zip(numbers, areas, strict=True)
            for part in shapely.get_parts(area)
            if part.geom_type == "Polygon" and not part.is_empty
        ]

    def shaded(
        self, areas: Iterable[shapely.Geometry | None], classes: npt.NDArray[np.int64], tints: Sequence[RGB]
    ) -> list[str]:
        """Residents as the areas they live in, in the colours of their classes."""
        page = self.look.palette.page
        return [
            f'<path d="{"".join(_ring(self.at(ring.coords)) for ring in (part.exterior, *part.interiors))}" '
            f'fill="{to_hex(tints[number])}" fill-opacity="0.6" fill-rule="evenodd" '
            f'stroke="{page}" stroke-width="0.6"/>'
            for number, area in zip(classes.tolist(), areas, strict=True)
            if area is not None
            for part in shapely.get_parts(area)
            if part.geom_type == "Polygon"
        ]

    def cells(self, cells: Cells, picture: npt.NDArray[np.uint8]) -> str:
        """The image of the residents' cells, at its place on the map."""
        west, south, east, north = cells.bounds
        (left, top), (right, bottom) = self.at([[west, north], [east, south]]).tolist()
        return (
            f'<image x="{left}" y="{top}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
            f'preserveAspectRatio="none" style="image-rendering:pixelated" href="{crowd.png(picture)}"/>'
        )

    def dots(
        self, lonlat: Floats, classes: npt.NDArray[np.int64], tints: Sequence[RGB], size: float
    ) -> list[str]:
        """Residents as dots, with one path per class."""
        places = self.at(lonlat)
        ways = ["".join(f"M{x} {y}h0" for x, y in places[classes == j].tolist()) for j in range(len(tints))]
        return [
            f'<path d="{way}" stroke="{to_hex(tint)}" stroke-width="{size}" stroke-linecap="round" '
            'stroke-opacity="0.75" fill="none"/>'
            for way, tint in zip(ways, tints, strict=True)
            if way
        ]

    def scale(self, *, width: float, lift: float) -> list[str]:
        """The scale bar, and its length `lift` pixels above it."""
        bar, ink = scale_bar(self.view, self.look.length_unit), self.look.palette.ink
        x, y = self.at(bar.label).tolist()
        return [
            *(line(self.at(each), ink, width) for each in (bar.line, *bar.ticks)),
            text(x, y - lift, f"{bar.length:g} {self.look.length_unit}", ink),
        ]


def picture(width: int, height: int, parts: Iterable[str], title: str, kind: str = "") -> str:
    """One SVG of all parts; the title is its text alternative, the kind its class in a page."""
    known = f' class="{kind}"' if kind else ""
    return (
        f'<svg{known} xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title)}" font-family="{FONTS}" font-size="12">'
        f"{''.join(parts)}</svg>"
    )


def _ring(spots: Floats) -> str:
    """A closed line of an SVG path."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in spots.tolist()) + "Z"


def points(spots: Floats) -> str:
    """Pixels in SVG's notation.

    >>> points(np.array([[1.0, 2.0], [3.25, 4.0]]))
    '1.0,2.0 3.2,4.0'
    """
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in np.asarray(spots).tolist())


def line(spots: Floats, color: str, width: float, dash: str = "") -> str:
    """A line through pixels."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{points(spots)}" fill="none" stroke="{color}" stroke-width="{width}" '
        f'stroke-linecap="round" stroke-linejoin="round"{dashes}/>'
    )


def dot(spot: Sequence[float], color: RGB | str, radius: float) -> str:
    """A filled disc."""
    fill = color if isinstance(color, str) else to_hex(color)
    return f'<circle cx="{spot[0]:.1f}" cy="{spot[1]:.1f}" r="{radius}" fill="{fill}"/>'


def text(x: float, y: float, words: str, color: str, *, bold: bool = False, anchor: str = "middle") -> str:
    """A text at a position."""
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'
    )
