"""Data that do not fit into memory: rows read piece by piece, in this process or on a Dask cluster."""

from tkm_core.partitions.block import Block, PartitionError
from tkm_core.partitions.running import SCHEDULER, Passes, cluster_client, over_rows
from tkm_core.partitions.source import Change, ParquetRows, Piece, Rows, array_rows, parquet_head, rows_of

__all__ = [
    "SCHEDULER",
    "Block",
    "Change",
    "ParquetRows",
    "PartitionError",
    "Passes",
    "Piece",
    "Rows",
    "array_rows",
    "cluster_client",
    "over_rows",
    "parquet_head",
    "rows_of",
]
