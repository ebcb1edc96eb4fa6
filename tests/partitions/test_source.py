"""Rows beyond memory: every source gives the same rows, and what cannot be used is named."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.partitions.towns import country, write
from tkm_core.partitions import ParquetRows, PartitionError, array_rows, rows_of

X, PEOPLE = country(5_000)


def gathered(rows):
    blocks = [block for piece in rows.pieces for block in piece.blocks()]
    return np.concatenate([block.X for block in blocks]), np.concatenate([block.weights for block in blocks])


def same(rows):
    points, weights = gathered(rows)
    np.testing.assert_array_equal(points, X)
    np.testing.assert_array_equal(weights, PEOPLE)


def test_files_arrays_and_tables_give_the_same_rows(tmp_path):
    import dask.array as da
    import dask.dataframe as dd

    where = write(tmp_path, X, PEOPLE, group=600)
    for path in (where, str(tmp_path), tmp_path, f"file://{where}"):
        rows = rows_of(path, "people")
        same(rows)
        assert rows.n_rows == len(X)
        np.testing.assert_array_equal(rows.box, [X.min(axis=0), X.max(axis=0)])
    lazy = da.from_array(X, chunks=(700, 1))
    same(rows_of(lazy, da.from_array(PEOPLE, chunks=500)))
    same(rows_of(lazy, PEOPLE))
    same(rows_of(dd.from_pandas(pd.DataFrame({"x": X[:, 0], "people": PEOPLE, "y": X[:, 1]}), 4), "people"))
    same(array_rows(X, PEOPLE, rows=900))
    assert rows_of(X) is None


def test_files_on_object_storage(tmp_path):
    """Through fsspec, as s3:// is: a folder and a glob of a store that has no disk."""
    import fsspec

    write(tmp_path, X, PEOPLE)
    store = fsspec.filesystem("memory")
    store.put(str(tmp_path), "/bucket/homes", recursive=True)
    try:
        for path in ("memory://bucket/homes", "memory://bucket/homes/part-*.parquet"):
            same(rows_of(path, "people"))
        with pytest.raises(PartitionError, match="No Parquet file is called “memory://bucket/towns"):
            rows_of("memory://bucket/towns/*.parquet")
        rows = rows_of("memory://bucket/homes", "people")
        store.rm("/bucket/homes/part-1.parquet")
        with pytest.raises(PartitionError, match=r"part-1.parquet” cannot be read"):
            gathered(rows)
    finally:
        store.rm("/bucket", recursive=True)


def test_object_storage_out_of_order(tmp_path, monkeypatch):
    """Clients of object storage have errors of their own, some without a word."""
    from fsspec.implementations.memory import MemoryFileSystem

    class EndpointError(Exception):
        pass

    def away(*_, **__):
        raise EndpointError

    write(tmp_path, X, PEOPLE, files=1)
    store = MemoryFileSystem()
    store.put(str(tmp_path), "/bucket/homes", recursive=True)
    try:
        rows = rows_of("memory://bucket/homes", "people")
        monkeypatch.setattr(MemoryFileSystem, "_open", away)
        with pytest.raises(
            PartitionError, match=r"part-0.parquet” cannot be read from row 0 on: EndpointError\."
        ):
            gathered(rows)
        with pytest.raises(
            PartitionError, match=r"part-0.parquet” is not a readable Parquet file: EndpointError"
        ):
            rows_of("memory://bucket/homes", "people")
        monkeypatch.setattr(MemoryFileSystem, "find", away)
        with pytest.raises(
            PartitionError, match=r"homes” cannot be listed: EndpointError\. Check the address"
        ):
            rows_of("memory://bucket/homes", "people")
        with pytest.raises(
            PartitionError, match=r"cannot be listed: .*nosuch.* the package for this storage"
        ):
            rows_of("nosuch://bucket/homes", "people")
    finally:
        monkeypatch.undo()
        store.rm("/bucket", recursive=True)


def test_partitions_in_folders_and_chosen_columns(tmp_path):
    table = pa.table(
        {"y": X[:, 1], "x": X[:, 0], "people": PEOPLE.astype(int), "town": np.arange(5_000) // 1_700}
    )
    pq.write_to_dataset(table, tmp_path, partition_cols=["town"])
    (tmp_path / "_SUCCESS").touch()
    same(rows_of(ParquetRows(str(tmp_path), ("x", "y"), "people")))


@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_points_of_geoparquet(tmp_path, encoding):
    points = gpd.GeoDataFrame({"people": PEOPLE}, geometry=gpd.points_from_xy(*X.T), crs=2056)
    points.to_parquet(tmp_path / "homes.parquet", geometry_encoding=encoding)
    same(rows_of(tmp_path / "homes.parquet", "people"))
    points.to_crs(4326).to_parquet(tmp_path / "degrees.parquet", geometry_encoding=encoding)
    with pytest.raises(PartitionError, match="in degrees"):
        rows_of(tmp_path / "degrees.parquet")
    shapes = points.set_geometry(points.buffer(1.0))
    shapes.to_parquet(tmp_path / "shapes.parquet")
    with pytest.raises(PartitionError, match=r"shapes.parquet” is not a column of points"):
        gathered(rows_of(tmp_path / "shapes.parquet"))


def test_what_cannot_be_used_is_named(tmp_path):
    with pytest.raises(PartitionError, match="No Parquet file is called"):
        rows_of(str(tmp_path / "*.parquet"))
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(PartitionError, match=r"text.parquet” is not a readable Parquet file"):
        rows_of(tmp_path / "text.parquet")
    where = tmp_path / "good"
    where.mkdir()
    write(where, X, PEOPLE)
    with pytest.raises(PartitionError, match="has no column “souls”; it has x, y, people"):
        rows_of(where, "souls")
    with pytest.raises(ValueError, match="it must be the name of the column"):
        rows_of(where, PEOPLE)


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("x", None, r"part-1.parquet” has no finite value in row 1234, column 0"),
        ("y", np.inf, r"part-1.parquet” has no finite value in row 1234, column 1"),
        ("people", -1.0, r"part-1.parquet” has the weight -1.0 in row 1234"),
        ("people", None, r"part-1.parquet” has the weight nan in row 1234"),
    ],
)
def test_a_bad_row_is_named(tmp_path, column, value, sentence):
    where = write(tmp_path, X, PEOPLE)
    table = pd.read_parquet(tmp_path / "part-1.parquet")
    table.loc[1234, column] = value
    table.to_parquet(tmp_path / "part-1.parquet", row_group_size=500)
    with pytest.raises(PartitionError, match=sentence):
        gathered(rows_of(where, "people"))


def test_a_file_that_is_damaged_or_changed_is_named(tmp_path):
    where = write(tmp_path, X, PEOPLE)
    rows = rows_of(where, "people")
    file = tmp_path / "part-2.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:4] + b"\xff" * 5_000 + whole[5_004:])
    with pytest.raises(PartitionError, match=r"part-2.parquet” cannot be read from row 0 on"):
        gathered(rows)
    pd.read_parquet(tmp_path / "part-1.parquet").head(10).to_parquet(file)
    with pytest.raises(PartitionError, match=r"part-2.parquet” has changed"):
        gathered(rows)
