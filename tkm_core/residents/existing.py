"""Existing facilities: read like residents, checked against them, and kept in every plan with their names."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Floats
from tkm_core.residents.model import Residents, ResidentsError, crs_name
from tkm_core.residents.report import Report
from tkm_core.residents.vocabulary import plain

MOST = 200  # existing facilities in one plan
REACH = 0.5  # how far outside the residents' extent a facility may lie, as a share of the extent
LEAST_REACH = 0.2  # degrees: the least such distance, for residents who live close together
NAMES = (
    "name", "facility", "title", "label", "site", "school", "clinic", "hospital", "station", "store", "library",
    "nom", "nombre", "nome", "naam", "navn", "namn", "nimi", "nazwa", "nazev", "bezeichnung", "standort",
    "название", "имя", "이름", "명칭", "시설명", "名称", "名稱", "名前", "施設名",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Existing:
    """Facilities that are there already: they serve residents and never move.

    Attributes
    ----------
    lonlat : ndarray of shape (f, 2)
        WGS84 degrees, longitude first.
    names : tuple of str
        Their names, not to be trusted as markup; empty if the file has none.
    report : Report
        What was read, kept, left out and guessed.
    pinned : int
        How many at the end of the list were pinned by hand: they never move either, but do not exist yet.

    Examples
    --------
    >>> clinics = Existing(np.array([[1.44, 43.6], [1.5, 43.7]]), ("North", "South"), Report())
    >>> len(clinics), clinics.words
    (2, '2 existing facilities')
    """

    lonlat: Floats
    names: tuple[str, ...]
    report: Report
    pinned: int = 0

    def __len__(self) -> int:
        return len(self.lonlat)

    @property
    def words(self) -> str:
        """How many there are, in words."""
        return "1 existing facility" if len(self) == 1 else f"{len(self)} existing facilities"

    @cached_property
    def fingerprint(self) -> str:
        """A digest of places and names: equal for equal facilities."""
        digest = blake2b(np.ascontiguousarray(self.lonlat).data, digest_size=16)
        digest.update(repr((len(self), self.names, self.pinned)).encode())
        return digest.hexdigest()


def nearby(residents: Residents, lonlat: Floats) -> npt.NDArray[np.bool_]:
    """Which places lie within the extent of the residents or not far outside it.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]])
    >>> nearby(town, np.array([[1.45, 43.5], [13.4, 52.5]])).tolist()
    [True, False]
    """
    low, high = residents.box
    reach = np.maximum(REACH * (high - low), LEAST_REACH)
    return np.asarray(((lonlat >= low - reach) & (lonlat <= high + reach)).all(axis=1))


def scaled_sites(residents: Residents, fixed_lonlat: npt.ArrayLike | None) -> Floats:
    """Existing facilities in the residents' scaled coordinates, shape (f, 2); an impossible one is an error."""
    if fixed_lonlat is None:
        return np.empty((0, 2))
    lonlat = np.asarray(fixed_lonlat, dtype=np.float64).reshape(-1, 2)
    outside = ~np.isfinite(lonlat).all(axis=1) | (np.abs(lonlat[:, 1]) > 90) | (np.abs(lonlat[:, 0]) > 180)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        place = ", ".join(f"{degrees:g}" for degrees in lonlat[row])
        msg = f"Existing facility {row + 1} is not a place on earth: longitude, latitude = {place}."
        raise ValueError(msg)
    xy = residents.lonlat_to_xy(lonlat)
    lost = ~np.isfinite(xy).all(axis=1)
    if lost.any():
        row = int(np.flatnonzero(lost)[0])
        msg = f"Existing facility {row + 1} is too far from the residents to be on the same map."
        raise ValueError(msg)
    return (xy - residents.origin) / residents.scale


def read_existing(
    read: Callable[[dict[str, Any]], Residents], residents: Residents, **options: Any
) -> Existing:
    r"""Read existing facilities and check them against the residents they are for.

    If the coordinates make no sense, or lie far away, the reference system of the residents' file is tried.

    Parameters
    ----------
    read : callable
        Reads the file: takes options of `load_residents` and returns what it returns.
    residents : Residents
    **options
        What the planner said about the file, as for `load_residents`; `id` is the column of names.

    Returns
    -------
    Existing

    Raises
    ------
    ResidentsError
        With the sentence for the planner: unreadable, too many, or nowhere near the residents.

    Examples
    --------
    >>> from tkm_core.residents import load_residents
    >>> town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]])
    >>> table = b"clinic,lon,lat\nNorth,1.44,43.66\nSouth,1.46,43.58\n"
    >>> read_existing(lambda options: load_residents(table, **options), town).names
    ('North', 'South')
    """
    found = read_places(read, residents, **options)
    _check(found, residents)
    names = () if found.ids is None else tuple("" if name is None else str(name)[:200] for name in found.ids)
    return Existing(found.lonlat, names, found.report)


def read_places(
    read: Callable[[dict[str, Any]], Residents], residents: Residents, **options: Any
) -> Residents:
    """Read places with their names as ids, in the reference system of the residents' file if that fits better.

    Parameters
    ----------
    read : callable
        As in `read_existing`.
    residents : Residents
    **options
        As in `read_existing`.

    Returns
    -------
    Residents
        One row for each place; none is left out as suspect.
    """

    def attempt(**more: Any) -> Residents:
        """Read the file, with some options changed."""
        return read(
            {"weight": False, "group": False, "place": False, "keep_suspect": True, **options, **more}
        )

    same = residents.source_crs if "crs" not in options else None
    more: dict[str, Any] = {}
    try:
        found = attempt()
    except ResidentsError as problem:
        if problem.needs != "crs" or same is None:
            raise
        more = {"crs": same}
        found = attempt(**more)
    if not more and same is not None and not nearby(residents, found.lonlat).any():
        again = _try(attempt, same)
        if again is not None and nearby(residents, again.lonlat).any():
            found, more = again, {"crs": same}
    report = found.report
    if more and same is not None:
        report.notes.append(f"The coordinates were read like those of the residents: {crs_name(same)}.")
    if "id" not in options and (column := _name_column(report)) is not None:
        notes = report.notes
        found = attempt(**more, id=column)
        found.report.notes = notes
        next(one for one in found.report.columns if one.role == "id").why = "Its name says it holds names."
    return found


def _try(attempt: Callable[..., Residents], crs: object) -> Residents | None:
    """Read with a reference system; None if that fails."""
    try:
        return attempt(crs=crs)
    except ResidentsError:
        return None


def _name_column(report: Report) -> str | None:
    """The column whose heading means name and which has no other role."""
    free = [column.name for column in report.columns if column.role in (None, "id")]
    for exact in (True, False):
        for word in NAMES:
            for name in free:
                bare = plain(name)
                if bare == word or (not exact and word in bare.replace("_", " ").split()):
                    return name
    return None


def _check(found: Residents, residents: Residents) -> None:
    """Refuse facilities that cannot belong to these residents, and warn of those that may not."""
    if len(found) > MOST:
        msg = (
            f"There are {len(found):,} places in this file; a plan keeps at most {MOST} existing facilities. "
            "Take those that matter for this plan."
        )
        raise ResidentsError(msg, report=found.report)
    far = ~nearby(residents, found.lonlat)
    if far.all():
        lon, lat = found.lonlat.mean(axis=0)
        where, home = f"{lat:.2f}, {lon:.2f}", residents.lonlat.mean(axis=0)
        msg = (
            f"None of these facilities is near the residents: they lie around latitude, longitude {where}, the "
            f"residents around {home[1]:.2f}, {home[0]:.2f}. Check which columns are the coordinates, and their "
            "reference system."
        )
        raise ResidentsError(msg, needs="crs", report=found.report)
    if far.any():
        rest = f"{int(far.sum())} of {len(found)}"
        found.report.warnings.append(
            f"{rest} facilities lie far outside the area of the residents. They are kept; remove them from the "
            "file if they are wrong."
        )
