"""CSV that spreadsheets open as it is: UTF-8, and no text in it is run as a formula."""

import csv
import re
from collections.abc import Mapping
from io import BytesIO
from typing import BinaryIO

import pandas as pd

from tkm_core.export.file_format import FileFormat
from tkm_core.export.pieces import Pieces

# Where a spreadsheet may take text for a formula: at the start of a cell, and after a character that separates cells
# in other countries' settings; also in full width, and after blanks, quotes and invisible characters.
FORMULA = re.compile(
    r"""(^|[;|\t\r\n\v\f\x85\u2028\u2029])(?=[\s"'\u200b-\u200f\u2060\ufeff]*[=+\-@|%＝＋－＠｜％﹢﹣﹦﹫﹪]|^[\t\r\n])"""
)


def write(layers: Mapping[str, Pieces], target: BinaryIO) -> None:
    """Write CSV; points already have columns of coordinates, and other shapes become a column of WKT."""
    ((_, pieces),) = layers.items()
    for number, piece in enumerate(pieces):
        plain = pd.DataFrame(piece.drop(columns=piece.geometry.name))
        if not (piece.geometry.geom_type == "Point").all():
            plain["wkt"] = piece.geometry.to_wkt(rounding_precision=9)
        _write(plain, target, first=number == 0)


def csv_bytes(table: pd.DataFrame) -> bytes:
    """A table as CSV that spreadsheets open directly: UTF-8, and no text in it is run as a formula.

    Parameters
    ----------
    table : DataFrame
        Without geometry.

    Returns
    -------
    bytes
    """
    content = BytesIO()
    _write(table, content)
    return content.getvalue()


def _write(table: pd.DataFrame, target: BinaryIO, *, first: bool = True) -> None:
    """Write the CSV with harmless texts; only the first piece has the names of the columns."""
    plain = table.copy(deep=False)
    for column in plain.columns[[_is_text(plain[column]) for column in plain.columns]]:
        plain[column] = plain[column].map(_harmless, na_action="ignore")
    # The mark at the start tells spreadsheets that the text is UTF-8.
    encoding = "utf-8-sig" if first else "utf-8"
    plain.to_csv(target, index=False, header=first, encoding=encoding, quoting=csv.QUOTE_NONNUMERIC)


def _is_text(column: pd.Series) -> bool:
    """Whether a column is not numeric, and so may contain text."""
    return not pd.api.types.is_numeric_dtype(column)


def _harmless(cell: object) -> object:
    """Put a quote before anything that a spreadsheet would run as a formula.

    >>> [_harmless(cell) for cell in ("=1+1", "a;=1+1", "Rue 5; 2nd floor")]
    ["'=1+1", "a;'=1+1", 'Rue 5; 2nd floor']
    """
    return FORMULA.sub(r"\1'", cell) if isinstance(cell, str) else cell


FORMAT = FileFormat(suffix="csv", name="CSV", menu="CSV (spreadsheet)", media_type="text/csv", write=write)
