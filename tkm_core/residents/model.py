"""Residents on a map: where people live, in degrees and in metres, with how many they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyproj import CRS

from tkm_core.arrays import Floats
from tkm_core.residents import projection
from tkm_core.residents.report import Report
from tkm_core.residents.suspects import check_positions

Labels = npt.NDArray[np.object_]


class ResidentsError(ValueError):
    """A file that cannot be used as it is, with the sentence for the planner.

    Attributes
    ----------
    needs : str or None
        What would help: "crs", "x", "y", "weight", "sheet", "layer", "encoding", "delimiter", or None.
    suggestions : list of tuple of (str, str)
        Likely answers with their names, the likeliest first; for "crs" for instance
        ("EPSG:3435", "NAD83 / Illinois East (ftUS)").
    report : Report or None
        What had been understood up to that point (columns, preview), so that the question can be asked well.

    Examples
    --------
    >>> try:
    ...     raise ResidentsError("Which reference system is it?", needs="crs")
    ... except ValueError as error:
    ...     print(error, error.needs)
    Which reference system is it? crs
    """

    def __init__(
        self,
        message: str,
        *,
        needs: str | None = None,
        suggestions: Sequence[tuple[str, str]] = (),
        report: Report | None = None,
    ) -> None:
        super().__init__(message)
        self.needs = needs
        self.suggestions = list(suggestions)
        self.report = report


@dataclass(frozen=True, eq=False)
class Residents:
    """Where people live, ready to plan with.

    Attributes
    ----------
    name : str
        The file's or the sample's name; text from outside, only to be shown.
    lonlat : ndarray of shape (n, 2)
        WGS84 degrees, longitude first.
    weights : ndarray of shape (n,)
        People at each point; all 1 if no column was chosen.
    crs : CRS
        The local metric system of `xy`.
    source_crs : CRS or None
        The system the file was in, if it was a map's.
    report : Report
        What was read, kept, left out and guessed.
    labels : dict
        Where `ids` and `groups` come from.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.44, 43.60], [1.46, 43.61], [1.40, 43.58]], weights=[10, 20, 5])
    >>> len(town), town.crs.to_epsg(), float(town.weights.sum())
    (3, 32631, 35.0)
    """

    name: str
    lonlat: Floats
    weights: Floats
    crs: CRS
    source_crs: CRS | None
    report: Report
    labels: dict[str, pa.Array | Labels]

    @classmethod
    def from_lonlat(
        cls,
        lonlat: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        name: str = "residents",
        ids: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        source_crs: CRS | None = None,
        report: Report | None = None,
        keep_suspect: bool = False,
    ) -> "Residents":
        """Build residents from degrees: points that cannot be right are left out, the rest goes to metres.

        Parameters
        ----------
        lonlat : array-like of shape (n, 2)
            Longitude and latitude in degrees.
        weights : array-like of shape (n,), optional
            People at each point; 1 each by default.
        name, ids, groups, source_crs
            As in the attributes.
        report : Report, optional
            Carried on and completed; a new one by default.
        keep_suspect : bool, default=False
            Keep points at (0, 0) and lone points far away from all others. Points without a valid position
            and weights that are not a number of people are left out in any case.

        Returns
        -------
        Residents

        Raises
        ------
        ResidentsError
            If nothing usable remains, or the shapes do not fit.
        """
        points = np.array(lonlat, dtype=np.float64, copy=None)
        if points.ndim != 2 or points.shape[1] != 2:
            msg = (
                f"Coordinates must be pairs of longitude and latitude, not an array of shape {points.shape}."
            )
            raise ResidentsError(msg)
        report = Report(rows_read=len(points)) if report is None else report
        people = None if weights is None else np.array(weights, dtype=np.float64, copy=None)
        if people is not None and people.shape != (len(points),):
            msg = f"There are {len(points)} points but weights of shape {people.shape}."
            raise ResidentsError(msg)
        return cls.build(points, people, name, ids, groups, source_crs, report, keep_suspect=keep_suspect)

    @classmethod
    def build(
        cls,
        lonlat: Floats,
        weights: Floats | None,
        name: str,
        ids: npt.ArrayLike | None,
        groups: npt.ArrayLike | None,
        source_crs: CRS | None,
        report: Report,
        **checks: Any,
    ) -> "Residents":
        """Check the positions (options as in `check_positions`), go to metres and complete the report."""
        people = np.ones(len(lonlat)) if weights is None else weights
        keep, dropped = check_positions(lonlat, people, **checks)
        report.dropped.extend(dropped)
        given = {"ids": ids, "groups": groups}
        labels = {kind: _as_labels(part) for kind, part in given.items() if part is not None}
        if keep is not None:
            lonlat, people = lonlat[keep], people[keep]
            labels = {kind: _kept(part, keep) for kind, part in labels.items()}
        report.rows_kept = len(lonlat)
        if len(lonlat) == 0:
            reasons = "; ".join(f"{drop.count:,} with {drop.reason}" for drop in report.dropped)
            msg = f"No resident is left of {report.rows_read:,} rows: {reasons or 'the table is empty'}."
            raise ResidentsError(msg, report=report)
        report.total_weight = float(people.sum())
        if report.total_weight <= 0:
            msg = "The population is 0 in every row: choose another column (weight=), or none (weight=False)."
            raise ResidentsError(msg, needs="weight", report=report)
        sample = projection.survey(lonlat)
        crs = projection.local_crs(sample)
        report.crs = crs_name(crs)
        report.worst_error = projection.worst_error(sample, crs)
        if report.worst_error > 0.01:
            sentence = (
                f"The area is so large that straight distances are wrong by up to {report.worst_error:.0%}."
            )
            report.warnings.append(sentence)
        return cls(name, lonlat, people, crs, source_crs, report, labels)

    def __len__(self) -> int:
        return len(self.lonlat)

    @cached_property
    def xy(self) -> Floats:
        """Metres in `crs`, shape (n, 2); projected when first asked for."""
        xy = projection.transform(self.lonlat, projection.WGS84, self.crs)
        if not np.isfinite(xy).all():
            msg = "The points lie on opposite sides of the earth: no map in metres holds both. Plan one."
            raise ResidentsError(msg, report=self.report)
        return xy

    @cached_property
    def box(self) -> tuple[Floats, Floats]:
        """The south-western and the north-eastern corner of their extent, in degrees."""
        return self.lonlat.min(axis=0), self.lonlat.max(axis=0)

    @cached_property
    def ids(self) -> Labels | None:
        """The identifier of each point, as text, or None."""
        return _as_objects(self.labels.get("ids"))

    @cached_property
    def groups(self) -> Labels | None:
        """The group (district, income band) of each point, as text, or None."""
        return _as_objects(self.labels.get("groups"))

    @cached_property
    def fingerprint(self) -> str:
        """A digest of `lonlat` and `weights`: equal for equal data."""
        digest = blake2b(digest_size=16)
        for part in (self.lonlat, self.weights):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    @cached_property
    def origin(self) -> Floats:
        """The weighted mean of `xy`, shape (2,)."""
        return np.average(self.xy, axis=0, weights=self._mass)

    @property
    def _mass(self) -> Floats:
        """Weights times a power of two: a mean needs only their ratios, and so their sums stay finite."""
        return np.asarray(np.ldexp(self.weights, -int(np.frexp(self.weights.max())[1])))

    @cached_property
    def scale(self) -> float:
        """Metres per unit of `scaled`: the root mean squared distance per axis from the weighted mean."""
        squared = (self.xy[:, 0] - self.origin[0]) ** 2 + (self.xy[:, 1] - self.origin[1]) ** 2
        spread = float(np.sqrt(np.average(squared, weights=self._mass) / 2))
        return spread if spread > 1e-6 else 1.0  # a micrometre is rounding, not distance

    @cached_property
    def scaled(self) -> Floats:
        """`xy` about `origin` in units of `scale`: here t is a pure number; shape (n, 2)."""
        return (self.xy - self.origin) / self.scale

    def farthest(self, distance: Floats) -> int:
        """Row of the largest distance; places where nobody lives do not count."""
        return int(np.argmax(np.where(self.weights > 0, distance, -1.0)))

    def to_xy(self, scaled: npt.ArrayLike) -> Floats:
        """Undo `scaled`: back to metres."""
        return np.asarray(scaled, dtype=np.float64) * self.scale + self.origin

    def to_lonlat(self, xy: npt.ArrayLike) -> Floats:
        """Metres to degrees, any shape that ends in 2."""
        points = np.asarray(xy, dtype=np.float64)
        return projection.transform(points, self.crs, projection.WGS84).reshape(points.shape)

    def lonlat_to_xy(self, lonlat: npt.ArrayLike) -> Floats:
        """Degrees to metres in the map of these residents, any shape that ends in 2."""
        points = np.asarray(lonlat, dtype=np.float64)
        return projection.transform(points, projection.WGS84, self.crs).reshape(points.shape)


def _as_labels(part: Any) -> pa.Array | Labels:
    """Text stays in Arrow, which is compact; anything else becomes objects."""
    return part if isinstance(part, pa.Array) else np.asarray(part, dtype=object)


def _kept(part: pa.Array | Labels, keep: npt.NDArray[np.bool_]) -> pa.Array | Labels:
    return part.filter(pa.array(keep)) if isinstance(part, pa.Array) else part[keep]


def _as_objects(part: pa.Array | Labels | None) -> Labels | None:
    return part.to_numpy(zero_copy_only=False) if isinstance(part, pa.Array) else part


def crs_name(crs: CRS) -> str:
    """A reference system as people write it: its name, with its EPSG code where it has one."""
    code: Any = crs.to_epsg()
    if code is not None:
        return f"{crs.name} (EPSG:{code})"
    return str(crs.name)
