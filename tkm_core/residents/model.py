"""The `Residents` class: where people live, in degrees and in metres, and how many they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import shapely
from pyproj import CRS

from tkm_core.arrays import Floats, Ints
from tkm_core.notebooks import figure, html_table, quoted
from tkm_core.residents import projection
from tkm_core.residents.areas import outer_corners
from tkm_core.residents.report import Report
from tkm_core.residents.suspects import check_positions
from tkm_core.spread import spread

Labels = npt.NDArray[np.object_]
OWN = "column:"  # prefix of the file's own columns among the labels


class ResidentsError(ValueError):
    """A file that cannot be used as it is; the message is a sentence for the planner.

    Attributes
    ----------
    needs : str or None
        The argument that would help: "crs", "x", "y", "weight", "sheet", "layer", "encoding", "delimiter", or None.
    suggestions : list of tuple of (str, str)
        Likely answers with their names, the likeliest first; for "crs" for instance
        ("EPSG:3435", "NAD83 / Illinois East (ftUS)").
    report : Report or None
        What had been understood up to that point (columns, preview), so that a page can ask for the rest.

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


@dataclass(frozen=True, eq=False, repr=False)
class Residents:
    """Where people live, ready to plan with.

    Attributes
    ----------
    name : str
        Name of the file or sample; to be shown as text, not trusted as markup.
    lonlat : ndarray of shape (n, 2)
        WGS84 degrees, longitude first.
    weights : ndarray of shape (n,)
        People at each point; all 1 if no column was chosen.
    crs : CRS
        The local metric system of `xy`.
    source_crs : CRS or None
        The reference system of the file, if it was projected.
    report : Report
        What was read, kept, left out and guessed.
    labels : dict
        Stores what `ids`, `groups`, `places`, `areas` and `attributes` return.
    index : pandas.Index or None
        Index of the rows that were kept, if the residents came as a DataFrame.

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
    index: pd.Index | None = None

    @classmethod
    def from_lonlat(
        cls,
        lonlat: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        name: str = "residents",
        ids: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        places: npt.ArrayLike | None = None,
        source_crs: CRS | None = None,
        report: Report | None = None,
        areas: pa.Array | None = None,
        own: dict[str, pa.Array] | None = None,
        keep_suspect: bool = False,
    ) -> "Residents":
        """Build residents from degrees; points that cannot be right are left out.

        Parameters
        ----------
        lonlat : array-like of shape (n, 2)
            Longitude and latitude in degrees.
        weights : array-like of shape (n,), optional
            People at each point; 1 each by default.
        name, ids, groups, places, source_crs
            As in the attributes.
        report : Report, optional
            A report to complete; a new one by default.
        areas : pyarrow.Array of binary, optional
            The polygon each point stands for, as well-known binary in degrees; null where there is none.
        own : dict of str to pyarrow.Array, optional
            The file's own columns, each under its name with the prefix `OWN`.
        keep_suspect : bool, default=False
            Keep points at (0, 0) and single points far away from all others. Points without a valid position
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
        given = {"ids": ids, "groups": groups, "places": places, "areas": areas, **(own or {})}
        labels = {kind: _as_labels(part) for kind, part in given.items() if part is not None}
        return cls.build(points, people, name, source_crs, report, labels, keep_suspect=keep_suspect)

    @classmethod
    def build(
        cls,
        lonlat: Floats,
        weights: Floats | None,
        name: str,
        source_crs: CRS | None,
        report: Report,
        labels: dict[str, pa.Array | Labels],
        index: pd.Index | None = None,
        **checks: Any,
    ) -> "Residents":
        """Check the positions (options as in `check_positions`), project them and complete the report."""
        people = np.ones(len(lonlat)) if weights is None else weights
        keep, dropped = check_positions(lonlat, people, **checks)
        report.dropped.extend(dropped)
        if keep is not None:
            lonlat, people = lonlat[keep], people[keep]
            labels = {kind: filter_labels(part, keep) for kind, part in labels.items()}
            index = None if index is None else index[keep]
        report.rows_kept = len(lonlat)
        if len(lonlat) == 0:
            reasons = "; ".join(f"{drop.count:,} with {drop.reason}" for drop in report.dropped)
            msg = f"None of the {report.rows_read:,} rows can be used: {reasons or 'the table is empty'}."
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
            percent = f"{100 * report.worst_error:.0f} %"
            sentence = f"The area is so large that straight-line distances are wrong by up to {percent}."
            report.warnings.append(sentence)
        return cls(name, lonlat, people, crs, source_crs, report, labels, index)

    def __len__(self) -> int:
        return len(self.lonlat)

    def __repr__(self) -> str:
        return (
            f"<Residents {quoted(self.name)}: {len(self):,} points, {figure(float(self.weights.sum()))} people, "
            f"{crs_name(self.crs)}>"
        )

    def _repr_html_(self) -> str:
        """How many there are, where, and what was left out."""
        (west, south), (east, north) = self.box
        rows = [
            ("points", f"{len(self):,}"),
            ("people", figure(float(self.weights.sum()))),
            ("longitude", f"{west:.4f} to {east:.4f}"),
            ("latitude", f"{south:.4f} to {north:.4f}"),
            ("map in metres", crs_name(self.crs)),
            ("left out", f"{self.report.rows_read - self.report.rows_kept:,} rows"),
        ]
        return html_table(f"Residents: {self.name[:200]}", [], rows, self.report.warnings)

    def to_frame(self) -> pd.DataFrame:
        """One row for each point: lon, lat, people, and id and group where there are any.

        Returns
        -------
        pandas.DataFrame
            With the index of the DataFrame the residents came from, if they did.
        """
        columns: dict[str, Any] = {"lon": self.lonlat[:, 0], "lat": self.lonlat[:, 1], "people": self.weights}
        named = {"id": self.ids, "group": self.groups}
        columns |= {name: part for name, part in named.items() if part is not None}
        return pd.DataFrame(columns, index=self.index)

    def to_geodataframe(self, crs: Any = None) -> Any:
        """The same table with points as geometry, in degrees (WGS 84) or in the system asked for.

        Returns
        -------
        geopandas.GeoDataFrame
        """
        import geopandas as gpd  # imported here: it takes half a second, and reading files does not need it

        table = self.to_frame()
        points = gpd.points_from_xy(table["lon"], table["lat"], crs=projection.WGS84)
        placed = gpd.GeoDataFrame(table.drop(columns=["lon", "lat"]), geometry=points)
        return placed if crs is None else placed.to_crs(crs)

    @cached_property
    def xy(self) -> Floats:
        """Metres in `crs`, shape (n, 2); projected when first asked for."""
        xy = projection.transform(self.lonlat, projection.WGS84, self.crs)
        if not np.isfinite(xy).all():
            msg = "The points lie on opposite sides of the earth: no map in metres holds both. Plan one side."
            raise ResidentsError(msg, report=self.report)
        return xy

    @cached_property
    def box(self) -> tuple[Floats, Floats]:
        """The south-western and north-eastern corners of the residents' extent, in degrees."""
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
    def places(self) -> Labels | None:
        """The name of the place each point stands for, as text, or None."""
        return _as_objects(self.labels.get("places"))

    def labels_at(self, kind: str, rows: slice | Ints) -> Labels | None:
        """The labels of some points only ("ids", "groups", "places"): those of all take much memory as objects."""
        part = self.labels.get(kind)
        if isinstance(part, pa.Array) and not isinstance(rows, slice):
            return _as_objects(part.take(pa.array(rows)))
        return None if part is None else _as_objects(part[rows])

    @property
    def attributes(self) -> dict[str, pa.Array]:
        """The columns of the file as they were, by name; empty where there were too many rows to keep them."""
        return {kind.removeprefix(OWN): part for kind, part in self.labels.items() if kind.startswith(OWN)}

    @cached_property
    def areas(self) -> Labels | None:
        """The polygon that each point stands for, in degrees and simplified, or None if the file had points.

        Some may be None.
        """
        stored = self.labels.get("areas")
        return None if stored is None else np.asarray(shapely.from_wkb(_as_objects(stored)))

    @cached_property
    def corners(self) -> tuple[Floats, Ints]:
        """The outer corners of all `areas` in metres, and the row of each."""
        return outer_corners(np.array([]) if self.areas is None else self.areas, self.lonlat_to_xy)

    @cached_property
    def outline(self) -> shapely.Geometry | None:
        """The union of all `areas`, in metres; None if there are none."""
        if self.areas is None:
            return None
        shapes = shapely.transform(self.areas[self.areas != np.array(None)], self.lonlat_to_xy)
        west, south, east, north = shapely.total_bounds(shapes)
        # Closes the slits that simplifying leaves between neighbours.
        gap = max(east - west, north - south) / 1000
        return shapely.union_all(shapely.buffer(shapely.make_valid(shapes), gap)).buffer(-gap)

    @cached_property
    def hull(self) -> shapely.Geometry:
        """The convex hull of all residents and their `areas`, in metres."""
        # Far faster than one geometry for each point.
        closed = shapely.linestrings(np.concatenate([self.xy, self.xy[:1]]))
        ground = shapely.convex_hull(closed)
        return ground if self.outline is None else shapely.convex_hull(shapely.union(ground, self.outline))

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
        """Weights times a power of two, so that their sums stay finite; a mean needs only ratios."""
        return np.asarray(np.ldexp(self.weights, -int(np.frexp(self.weights.max())[1])))

    @cached_property
    def scale(self) -> float:
        """Metres per unit of `scaled`: the spread of the residents."""
        length = spread(self.xy, self._mass)
        return length if length > 1e-6 else 1.0  # below a micrometre it is rounding, not distance

    @cached_property
    def scaled(self) -> Floats:
        """`xy` about `origin` in units of `scale`: here t is a pure number; shape (n, 2)."""
        return (self.xy - self.origin) / self.scale

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


def filter_labels(part: pa.Array | Labels, keep: npt.NDArray[np.bool_]) -> pa.Array | Labels:
    """The labels of the rows that are kept."""
    return part.filter(pa.array(keep)) if isinstance(part, pa.Array) else part[keep]


def _as_objects(part: pa.Array | Labels | None) -> Labels | None:
    """Labels as an array of Python objects."""
    return part.to_numpy(zero_copy_only=False) if isinstance(part, pa.Array) else part


def crs_name(crs: CRS) -> str:
    """A reference system as people write it: its name, with its EPSG code where it has one."""
    code: Any = crs.to_epsg()
    if code is not None:
        return f"{crs.name} (EPSG:{code})"
    return str(crs.name)
