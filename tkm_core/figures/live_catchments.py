"""Catchments (isochrones) for the live map."""

from collections.abc import Sequence

import numpy as np
import orjson
import shapely

from tkm_core.planning import Reached

FINE = 5  # decimals of a degree: about a metre


def live_catchments(reached: Sequence[Reached], at: int) -> bytes:
    """Catchments as JSON for the live map, the widest first.

    Parameters
    ----------
    reached : sequence of Reached
        From `tkm_core.planning.catchments`.
    at : int
        The setting they belong to; at others they are not drawn.

    Returns
    -------
    bytes
    """
    bands = [
        {"minutes": one.minutes, "rings": _rings(one.shape)}
        for one in sorted(reached, key=lambda one: one.minutes, reverse=True)
    ]
    return orjson.dumps({"at": at, "bands": bands})


def _rings(shape: shapely.Geometry) -> list[list[list[float]]]:
    """The rings of all polygons, rounded."""
    parts = [part for part in shapely.get_parts(shape) if not part.is_empty]
    return [
        np.round(ring.coords, FINE).tolist() for part in parts for ring in (part.exterior, *part.interiors)
    ]
