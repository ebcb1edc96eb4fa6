"""By the planner's own table."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from tkm_core.arrays import Floats, Ints
from tkm_core.planning.travel.way import Travel, shown
from tkm_core.progress import Progress
from tkm_core.residents import Residents
from tkm_core.sites import TravelTable
from tkm_core.units import KINDS
from tkm_core.wording import counted

OFF_COLUMN = 50.0  # metres: an existing facility farther from every place of a table is not in it


@dataclass(frozen=True, eq=False)
class ByTable(Travel):
    """By the planner's own table.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        From each resident to each place, in metres or minutes; infinite if unreachable.
    unit : {"m", "min"}
    lonlat : ndarray of shape (m, 2)
        The places in degrees: candidate sites, then existing facilities.
    name : str
        The file's name, not to be trusted as markup.
    missing : int
        Number of pairs that the table lacks.

    Examples
    --------
    >>> ByTable(np.array([[3.0, 9.0]]), "min", np.array([[1.4, 43.6], [1.5, 43.7]])).sentence
    'Travel times are taken from your table.'
    """

    kind: ClassVar[str] = "table"
    needs_sites: ClassVar[bool] = True
    any_origin: ClassVar[bool] = False
    words: ClassVar[str] = "by your table"
    values: Floats
    unit: str
    lonlat: Floats
    name: str = ""
    missing: int = 0

    def __post_init__(self) -> None:
        if self.unit not in KINDS:
            msg = f"A travel table is in m or min, not in {self.unit!r}; read_travel brings other units into these."
            raise ValueError(msg)
        if self.values.shape[1] != len(self.lonlat):
            msg = (
                f"The travel table has {self.values.shape[1]} columns, but there are {len(self.lonlat)} places: it "
                "needs one column for each candidate site, then one for each existing facility."
            )
            raise ValueError(msg)

    @classmethod
    def of(cls, table: "TravelTable | ByTable", lonlat: Floats, name: str = "") -> "ByTable":
        """Make it from the result of `read_travel` and the places its columns stand for."""
        if isinstance(table, ByTable):
            return table
        return cls(np.asarray(table.values), table.unit, lonlat, name, table.missing)

    @property
    def sentence(self) -> str:
        """The rule: "Travel times are taken from your table “roads.csv”."."""
        named = f" “{shown(self.name)}”" if self.name else ""
        gaps = f"; it has no value for {counted(self.missing, 'pair')}" if self.missing else ""
        return f"{KINDS[self.unit].many.capitalize()} are taken from your table{named}{gaps}."

    @cached_property
    def fingerprint(self) -> str:
        """A digest of values, places and unit."""
        digest = blake2b(self.unit.encode(), digest_size=16)
        for part in (self.values, self.lonlat):
            digest.update(np.ascontiguousarray(part, dtype=np.float64).data)
        return digest.hexdigest()

    def columns(self, residents: Residents, lonlat: Floats) -> tuple[Ints, Floats]:
        """The table's nearest places, and their straight-line distances in metres."""
        apart, column = cKDTree(residents.lonlat_to_xy(self.lonlat)).query(residents.lonlat_to_xy(lonlat))
        return np.atleast_1d(column).astype(np.int64), np.atleast_1d(apart)

    def table(
        self,
        residents: Residents,
        lonlat: Floats,
        *,
        columns: Ints | None = None,
        dtype: npt.DTypeLike = np.float64,
        progress: Progress | None = None,  # noqa: ARG002 - too quick to report
    ) -> npt.NDArray[Any]:
        """The values for some places, from their own columns or those of the nearest places in the table."""
        if len(self.values) != len(residents):
            msg = (
                f"The travel table has {len(self.values):,} rows, but there are {len(residents):,} residents."
            )
            raise ValueError(msg)
        which = np.full(len(lonlat), -1) if columns is None else np.asarray(columns, np.int64)
        if (which < 0).any():
            which = np.where(which < 0, self.columns(residents, np.asarray(lonlat).reshape(-1, 2))[0], which)
        return self.values[:, which].astype(dtype, copy=False)

    def check_existing(self, residents: Residents, lonlat: Floats) -> None:
        """Raise ValueError if the table has no column for an existing facility."""
        _, apart = self.columns(residents, lonlat)
        if (apart > OFF_COLUMN).any():
            number = int(np.argmax(apart > OFF_COLUMN)) + 1
            msg = (
                f"Your travel table has no column for existing facility {number}: no place of the table is within "
                f"{OFF_COLUMN:g} m of it. Add it to the table."
            )
            raise ValueError(msg)

    def moved(self, residents: Residents, lonlat: Floats) -> Floats:
        """The nearest places of the table, which knows no others."""
        return self.lonlat[self.columns(residents, lonlat)[0]]

    def taken(self, residents: Residents, lonlat: Floats, number: Ints, fixed: Floats) -> Ints:  # noqa: ARG002
        """Indices of the candidate sites whose column an existing facility has."""
        return np.flatnonzero(np.isin(number, self.columns(residents, fixed)[0]))
