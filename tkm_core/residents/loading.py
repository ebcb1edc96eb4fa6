"""Load residents from a planner's file: open it, recognise its columns, check the rows, project to metres."""

import errno
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tkm_core.arrays import Floats
from tkm_core.residents.areas import areas_in_degrees
from tkm_core.residents.clipping import area_of, outside
from tkm_core.residents.columns import Roles, find_roles, is_count, propose_counts
from tkm_core.residents.coordinates import Position, chosen_crs, compare, locate, split_pairs
from tkm_core.residents.file_format import Asked
from tkm_core.residents.formats import FORMATS
from tkm_core.residents.frames import as_frame, read_frame
from tkm_core.residents.model import Residents, ResidentsError, crs_name
from tkm_core.residents.opening import STREETS, open_source
from tkm_core.residents.own_columns import own_columns
from tkm_core.residents.report import Report
from tkm_core.residents.table import Table, as_text, plain_text
from tkm_core.wording import counted

PREVIEW = 20
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk is full, which is not the file's fault


def load_residents(
    file: Any,
    *,
    x: str | int | None = None,
    y: str | int | None = None,
    weight: str | int | bool | None = None,
    group: str | int | bool | None = None,
    id: str | int | bool | None = None,  # noqa: A002 - the natural name, and a promise to callers
    place: str | int | bool | None = None,
    crs: object = None,
    sheet: str | int | None = None,
    layer: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    within: Any = None,
    cells: int = Asked.cells,
    total: float | None = None,
    keep_suspect: bool = False,
    name: str | None = None,
) -> Residents:
    r"""Read where people live from almost any file, and report how it was understood.

    Whatever is not given is guessed, and every guess is listed in ``residents.report``.

    Parameters
    ----------
    file : path, bytes, file-like, list of these, DataFrame or GeoDataFrame
        CSV or other text, Excel, GeoJSON, GeoPackage, shapefile, KML, Parquet or GeoParquet, a population raster
        (GeoTIFF); also gzipped or zipped. The parts of an unzipped shapefile lie beside it or come in a list.
        A point inside stands for each area; each raster cell with people becomes one resident at its middle.
        The index of a table in memory is kept (``residents.index``).
    x, y : str or int, optional
        Columns of longitude (or easting) and latitude (or northing), by name or position. A column with both
        may be given as `x` alone.
    weight : str, int or False, optional
        Column with the number of people. By default a column is taken only if its name means population in
        some language *and* its values are counts; anything less sure is proposed in
        ``report.proposed_weights``, and each row counts as one. False: take none.
    group, id, place : str, int or False, optional
        Columns of a district or other group, of an identifier, and of the name of the place that a row stands for (a
        neighbourhood, a village), to be kept with each resident.
    crs : str, int or CRS, optional
        Reference system of the coordinates, for instance "EPSG:2056"; overrides what the file says.
    sheet, layer : str, optional
        Sheet of a workbook, layer of a map file, band of a raster or member of an archive.
    encoding, delimiter, decimal : str, optional
        For text files.
    within : shapely geometry, GeoDataFrame or file of polygons, optional
        Residents outside are left out. A bare geometry is in degrees.
    cells : int, default=100000
        For rasters: if more cells than this hold people, they are merged into larger ones.
    total : float, optional
        An official total to which all weights are scaled.
    keep_suspect : bool, default=False
        Keep points at (0, 0) and single points far away from all others.
    name : str, optional
        What to call the data; the file's name by default.

    Returns
    -------
    Residents

    Raises
    ------
    ResidentsError
        With a sentence that says what is wrong and what to do; ``needs`` names the argument that would help.

    Examples
    --------
    >>> table = b"name;Breite;Laenge;Einwohner\nMitte;52,52;13,40;1200\nPankow;52,57;13,41;800\n"
    >>> berlin = load_residents(table)
    >>> berlin.lonlat.tolist(), berlin.weights.tolist()
    ([[13.4, 52.52], [13.41, 52.57]], [1200.0, 800.0])
    >>> berlin.report.column_for("weight")
    'Einwohner'

    A table that is in memory goes in as it is:

    >>> homes = pd.DataFrame({"lon": [13.40, 13.41], "lat": [52.52, 52.57]}, index=["Mitte", "Pankow"])
    >>> load_residents(homes).index.tolist()
    ['Mitte', 'Pankow']
    """
    asked = Asked(sheet, layer, encoding, delimiter, crs=crs, cells=_wanted(cells))

    def understand(table: Table, shown: str, index: pd.Index | None = None) -> Residents:
        """Turn the table into residents; an error carries the report up to that point."""
        report = _begin_report(table)
        try:
            choices = {"x": x, "y": y, "weight": weight, "group": group, "id": id, "place": place}
            roles = find_roles(table, choices, decimal)
            _report_roles(report, roles)
            named = x is not None
            found = _load(
                table,
                roles,
                report,
                shown,
                asked,
                keep_suspect=keep_suspect,
                named=named,
                index=index,
                count_all=weight is False,
            )
            return found if total is None else _scaled(found, total)
        except ResidentsError as error:
            error.report = error.report or report
            raise

    with in_sentences(name):
        asked = replace(asked, within=None if within is None else area_of(within))
        frame = as_frame(file)
        if frame is not None:
            return understand(read_frame(frame), name or "residents", frame.index)
        rows = file if isinstance(file, list | tuple) else ()  # or the parts of a shapefile
        if isinstance(file, np.ndarray) or any(isinstance(row, list | tuple | float | int) for row in rows):
            msg = (
                "Plain numbers do not say which columns are longitude and latitude. Residents.from_lonlat(array) takes "
                "degrees, longitude first; run_method takes any array."
            )
            raise ResidentsError(msg)
        with open_source(file, name=name, layer=layer) as source:
            if source.kind in STREETS:
                msg = (
                    f"“{source.name}” is an OpenStreetMap file: it has streets, but not where people live. "
                    "Residents are a table, or a map layer of points or areas."
                )
                raise ResidentsError(msg)
            table = FORMATS[source.kind].read(source, asked)
            return understand(table, name or source.name)


@contextmanager
def in_sentences(name: str | None) -> Iterator[None]:
    """Turn any failure of a reader into an error that says what to do; a full disk stays an `OSError`."""
    try:
        yield
    except (ResidentsError, MemoryError, ModuleNotFoundError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        what = f"“{name}”" if name else "The file"
        msg = f"{what} cannot be read: it is damaged, or holds something unexpected. "
        raise ResidentsError(msg + "Export it again, or as CSV.") from error


def _wanted(cells: int) -> int:
    """Check the number of raster cells asked for."""
    if cells < 1:
        msg = f"At least one cell is needed, not {cells:,} (cells=)."
        raise ResidentsError(msg)
    return cells


def _scaled(residents: Residents, total: float) -> Residents:
    """The same residents with weights scaled to an official total."""
    found = residents.report.total_weight
    if not (math.isfinite(total) and total > 0):
        msg = f"The number of people to scale to must be more than 0, not {total:g} (total=)."
        raise ResidentsError(msg)
    residents.report.notes.append(
        f"The {found:,.0f} people were scaled to {total:,.0f}: each counts {total / found:.4g} times."
    )
    residents.report.total_weight = float(total)
    return replace(residents, weights=residents.weights * (total / found))


def _begin_report(table: Table) -> Report:
    """Start the report with what the reader knows: format, encoding, sheet or layer, and a preview."""
    report = Report(file_format=table.file_format, encoding=table.encoding, delimiter=table.delimiter)
    report.sheet, report.sheets, report.layer, report.layers = (
        table.sheet,
        table.sheets,
        table.layer,
        table.layers,
    )
    first = table.head.slice(0, PREVIEW)
    report.preview = pd.DataFrame({column: as_text(first[column]) for column in table.names}, dtype=object)
    report.preview.index = pd.RangeIndex(table.first_row, table.first_row + len(report.preview))
    report.notes, report.warnings = table.notes, table.warnings
    if not table.header:
        report.warnings.append("The file has no row with column names; the columns are numbered instead.")
    return report


def _report_roles(report: Report, roles: Roles) -> None:
    """Add to the report what was found out about the columns."""
    report.columns = list(roles.columns.values())
    report.proposed_weights, report.decimal = roles.proposed_weights, roles.decimal
    report.notes += roles.notes
    report.warnings += roles.warnings


def _load(
    table: Table,
    roles: Roles,
    report: Report,
    name: str,
    asked: Asked,
    *,
    keep_suspect: bool,
    named: bool,
    index: pd.Index | None,
    count_all: bool,
) -> Residents:
    """Read the columns that have a role, place them on earth, and build the residents."""
    numeric = [column for column in (roles.x, roles.y, roles.weight) if column]
    numeric += roles.second_pair or ()
    texts = [column for column in (roles.lonlat, roles.group, roles.id, roles.place) if column]
    table.plain_numbers.difference_update(texts)  # codes keep their zeros
    columns = table.fetch(list(dict.fromkeys(texts if table.pieces else numeric + texts)))
    position = _locate(table, roles, columns, name, crs=asked.crs, named=named)
    if roles.second_pair and table.pieces is None:
        compare(position, table.numbers(roles.second_pair, columns, roles.decimals), roles.second_pair)
    report.notes += position.notes
    report.warnings += position.warnings
    report.rows_read = len(position.lonlat)
    report.source_crs = crs_name(position.source_crs) if position.source_crs is not None else None
    weights = _weights(table, columns, roles, report)
    kept = {"ids": roles.id, "groups": roles.group, "places": roles.place}
    labels = {kind: _labels(columns, column) for kind, column in kept.items() if column}
    areas = _areas(table, roles, position)
    if areas is not None:
        labels["areas"] = areas
        if roles.weight is None and not count_all:
            _ask_for_people(roles, report)
    if len(table.head) == len(position.lonlat):  # a small table, of which every row was looked at
        labels |= own_columns(table.head)

    def describe(row: int, code: str) -> str:
        """What the file says in a row that is left out."""
        shown = [roles.weight] if code == "people" else [roles.x, roles.y, roles.lonlat]
        there = [column for column in shown if column in columns.column_names]
        if there:
            return ", ".join(
                f"{column} “{as_text(columns[column].slice(row, 1))[0][:40]}”" for column in there
            )
        lon, lat = position.lonlat[row]
        return "empty" if np.isnan(lon) else f"longitude {lon:g}, latitude {lat:g}"

    cut = None if asked.within is None or table.clipped else outside(position.lonlat, asked.within)
    return Residents.build(
        position.lonlat,
        weights,
        name,
        position.source_crs,
        report,
        labels,
        index,
        keep_suspect=keep_suspect,
        zero=position.zero,
        outside=cut,
        describe=describe,
        first_row=table.first_row,
    )


def _ask_for_people(roles: Roles, report: Report) -> None:
    """Propose columns that may count the people of each area, or say that there is none."""
    before = set(roles.notes)
    propose_counts(roles)
    report.proposed_weights = roles.proposed_weights
    report.notes[:] = [note for note in report.notes if note not in before - set(roles.notes)]
    report.notes += [note for note in roles.notes if note not in before]
    if not roles.proposed_weights:
        report.warnings.append(
            "Every area counts as one resident, however many people live in it: no column of the file counts people."
        )


def _areas(table: Table, roles: Roles, position: Position) -> pa.Array | None:
    """The polygons of a map file, if the residents are placed by its geometry."""
    if table.shapes is None or roles.x or roles.lonlat:
        return None
    return areas_in_degrees(table.shapes(), position.lonlat, position.source_crs)


def _locate(
    table: Table, roles: Roles, columns: pa.Table, name: str, *, crs: object, named: bool
) -> Position:
    """The coordinates in degrees, from two columns, one column or the geometry."""
    texts = [
        name,
        *table.names,
        *(sample for column in roles.columns.values() for sample in column.samples[:2]),
    ]
    chosen = chosen_crs(crs)
    names: list[str] = []
    certain = named
    if roles.x and roles.y:
        names = [roles.x, roles.y]
        points = table.numbers(names, columns, roles.decimals)
    elif roles.lonlat:
        names = [roles.lonlat]
        points, x_first, notes = split_pairs(columns[roles.lonlat])
        table.notes.extend(notes)
        if not x_first and not _longitude_first(roles.lonlat, points):
            points = points[:, ::-1].copy()
        certain = x_first
    elif table.points is not None:
        points, certain = table.points(), True
    stated = table.crs if not names else None
    order = {"certain_order": certain, "known_order": roles.known_order}
    return locate(points, chosen=chosen, stated=stated, names=names, texts=texts, **order)


def _longitude_first(name: str, points: Floats) -> bool:
    """Whether a column of pairs has longitude first; latitude first unless its name or values say otherwise."""
    if name.casefold().startswith(("lon", "lng", "x")):
        return True
    with np.errstate(invalid="ignore"):
        return bool(
            np.nanmax(np.abs(points[:, 0]), initial=0) > 90 >= np.nanmax(np.abs(points[:, 1]), initial=0)
        )


def _weights(table: Table, columns: pa.Table, roles: Roles, report: Report) -> Floats | None:
    """The column of people as numbers, or None; oddities go into the report."""
    if roles.weight is None:
        return None
    weights = table.numbers([roles.weight], columns, roles.decimals)[:, 0]
    if not np.isfinite(weights).any():
        msg = (
            f"“{roles.weight}” holds no numbers, so it cannot count people. Choose another column (weight=)."
        )
        raise ResidentsError(
            msg, needs="weight", suggestions=[(column, column) for column in roles.proposed_weights]
        )
    counts, reason = is_count(weights)
    if not counts and roles.weight != table.people:
        report.warnings.append(f"“{roles.weight}” was chosen as the population, but {reason}.")
    empty = int(np.sum(weights == 0))
    if empty:
        has = "has" if empty == 1 else "have"
        report.notes.append(
            f"{counted(empty, 'row')} {has} a population of 0: kept, but counting for nothing."
        )
    return weights


def _labels(columns: pa.Table, column: str) -> pa.Array:
    """A column as text."""
    return plain_text(columns[column]).combine_chunks()
