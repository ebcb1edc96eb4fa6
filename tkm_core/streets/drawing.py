"""Streets as compact arrays, for the background of a map."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Ints
from tkm_core.residents import WGS84, transform
from tkm_core.streets.joining import Ground
from tkm_core.streets.network import Network
from tkm_core.streets.rules import StreetsError


@dataclass(frozen=True)
class Lines:
    """Lines in flat arrays.

    Attributes
    ----------
    lonlat : ndarray of float32, shape (q, 2)
        Points of all lines, relative to `origin` so that 32 bits are exact to a centimetre.
    origin : tuple of float
        Longitude and latitude to add to every point.
    starts : ndarray of shape (l + 1,)
        Where in `lonlat` each line begins.
    classes : ndarray of shape (l,)
        Index of each line's class in `class_names`.
    class_names : tuple of str
        "primary", "residential" ...
    """

    lonlat: npt.NDArray[np.float32]
    origin: tuple[float, float]
    starts: Ints
    classes: npt.NDArray[np.int16]
    class_names: tuple[str, ...]


def make_lines(
    network: Network,
    ground: Ground,
    class_names: tuple[str, ...],
    *,
    simplify: float = 0.0,
    classes: Sequence[str] | None = None,
) -> Lines:
    """Select edges by class, merge connected ones of a class, and simplify them to within `simplify` metres."""
    if classes is not None and (unknown := set(classes) - set(class_names)):
        msg = f"There are no streets of the class “{sorted(unknown)[0]}”. The classes are: {', '.join(class_names)}."
        raise StreetsError(msg)
    if not simplify >= 0:
        msg = f"simplify must be a number of metres, 0 or more, not {simplify!r}."
        raise StreetsError(msg)
    shapes, kinds = [], []
    for number, name in enumerate(class_names):
        if classes is not None and name not in classes:
            continue
        merged = shapely.line_merge(shapely.multilinestrings(ground.lines[network.classes == number]))
        own = shapely.get_parts(shapely.simplify(merged, simplify) if simplify else merged)
        shapes.append(own)
        kinds.append(np.full(len(own), number, dtype=np.int16))
    lines = np.concatenate(shapes) if shapes else np.empty(0, dtype=object)
    xy, which = shapely.get_coordinates(lines, return_index=True)
    lonlat = transform(xy, ground.crs, WGS84)
    middle = network.lonlat.mean(axis=0)
    return Lines(
        lonlat=(lonlat - middle).astype(np.float32),
        origin=(float(middle[0]), float(middle[1])),
        starts=np.concatenate([[0], np.cumsum(np.bincount(which, minlength=len(lines)))]),
        classes=np.concatenate(kinds) if kinds else np.empty(0, np.int16),
        class_names=class_names,
    )
