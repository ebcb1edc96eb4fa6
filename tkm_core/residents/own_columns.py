"""Keep a file's own columns with the residents, so that exports can include them."""

import pyarrow as pa
import pyarrow.compute as pc

from tkm_core.residents.model import OWN
from tkm_core.residents.table import is_plain, is_text, plain_text

MOST_BYTES = 20_000_000  # of all columns together; beyond that none is kept
MOST_KEPT = 300  # columns
# a number that begins with 0 is a code, and would lose the 0
NUMBER = r"^-?(0|[1-9]\d{0,14})(\.\d{1,12})?$"


def own_columns(table: pa.Table) -> dict[str, pa.Array]:
    """The columns of a table as labels of residents: numbers as numbers, all else as text.

    Examples
    --------
    >>> kept = own_columns(pa.table({"name": ["Gare"], "homes": ["12"], "code": ["007"]}))
    >>> {name: str(column.type) for name, column in kept.items()}
    {'column:name': 'string', 'column:homes': 'int64', 'column:code': 'string'}
    """
    names = [name for name in table.column_names if is_plain(table[name].type)][:MOST_KEPT]
    if sum(table[name].nbytes for name in names) > MOST_BYTES:
        return {}
    return {OWN + name: _column(table[name]) for name in names}


def _column(values: pa.ChunkedArray) -> pa.Array:
    """A column as numbers if all its values are, otherwise as text."""
    kind = values.type
    if pa.types.is_boolean(kind):
        found = values
    elif pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        found = pc.cast(values, pa.int64())
    elif pa.types.is_floating(kind):
        found = pc.cast(values, pa.float64())
    else:
        found = plain_text(values)
        if is_text(kind) and pc.all(pc.match_substring_regex(found, NUMBER), min_count=1).as_py():
            whole = not pc.any(pc.match_substring(found, ".")).as_py()
            found = pc.cast(found, pa.int64() if whole else pa.float64())
    return found.combine_chunks()
