"""Straight lines on the map."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from tkm_core.arrays import Floats, Ints
from tkm_core.planning.travel.way import Travel
from tkm_core.progress import Progress
from tkm_core.residents import Residents


@dataclass(frozen=True)
class StraightLines(Travel):
    """Straight lines on the residents' map, in metres.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.60]])
    >>> StraightLines().table(town, town.lonlat).round().tolist()
    [[0.0, 807.0], [807.0, 0.0]]
    """

    kind: ClassVar[str] = "straight"
    unit: ClassVar[str] = "m"
    words: ClassVar[str] = "in a straight line"
    sentence: ClassVar[str] = ""
    attribution: ClassVar[str] = ""
    fingerprint: ClassVar[str] = "straight"

    def table(
        self,
        residents: Residents,
        lonlat: Floats,
        *,
        columns: Ints | None = None,  # noqa: ARG002 - places are all it takes
        dtype: npt.DTypeLike = np.float64,
        progress: Progress | None = None,  # noqa: ARG002 - too quick to report
    ) -> npt.NDArray[Any]:
        """Metres from every resident to every place."""
        return cdist(residents.xy, residents.lonlat_to_xy(lonlat).reshape(-1, 2)).astype(dtype, copy=False)


STRAIGHT = StraightLines()
