"""Read residents from pandas DataFrames (coordinates in columns) and GeoDataFrames."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyproj import CRS

from tkm_core.residents.layers import describe_kinds, to_points
from tkm_core.residents.table import LOOK_AT, Table, unique_names, whole


def as_frame(data: Any) -> pd.DataFrame | None:
    """A table in memory as a DataFrame; None for anything else.

    A DataFrame or GeoDataFrame stays as it is, a GeoSeries becomes a GeoDataFrame, and a table of another library
    (Polars, PyArrow, DuckDB) comes over through Arrow.

    Examples
    --------
    >>> as_frame(pa.table({"lon": [1.4], "lat": [43.6]})).columns.tolist()
    ['lon', 'lat']
    """
    if isinstance(data, pd.DataFrame):
        return data
    if hasattr(data, "collect") and hasattr(data, "lazy"):  # a lazy frame of Polars
        data = data.collect()
    if hasattr(data, "__arrow_c_stream__") and not isinstance(data, pd.Series):
        return pa.table(data).to_pandas()
    return data.to_frame("geometry") if isinstance(data, pd.Series) and hasattr(data, "crs") else None


def read_frame(frame: pd.DataFrame) -> Table:
    """Turn a frame into the `Table` that the readers of files return; the frame itself is not changed.

    Examples
    --------
    >>> read_frame(pd.DataFrame({"lon": [1.4], "lat": [43.6]})).names
    ['lon', 'lat']
    """
    geometry = _geometry_column(frame)
    plain = [place for place in range(frame.shape[1]) if frame.columns[place] != geometry]
    names = unique_names([str(frame.columns[place]) for place in plain])
    columns = pa.table(
        {name: _column(frame.iloc[:, place]) for name, place in zip(names, plain, strict=True)}
    )
    table = Table("DataFrame", names, columns.slice(0, LOOK_AT), whole(columns))
    if geometry is not None:
        shapes = np.asarray(frame[geometry], dtype=object)
        points, kinds = to_points(shapes)
        table.file_format = "GeoDataFrame"
        table.notes += describe_kinds(kinds)
        table.points, table.shapes = lambda: points, lambda: shapes
        table.crs = None if frame.crs is None else CRS.from_user_input(frame.crs)
    return table


def _geometry_column(frame: pd.DataFrame) -> Any:
    """The column of the active geometry, or None: a GeoDataFrame may have lost it."""
    name = getattr(frame, "active_geometry_name", None)
    return name if name is not None and name in frame.columns else None


def _column(values: pd.Series) -> pa.Array:
    """A column for Arrow; shapes and mixed objects, which Arrow does not know, become text."""
    try:
        found = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        found = pa.array(
            [None if pd.api.types.is_scalar(one) and pd.isna(one) else str(one) for one in values],
            pa.string(),
        )
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
