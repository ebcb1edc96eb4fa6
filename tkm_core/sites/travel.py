"""Read a planner's own table of distances or travel times, matched to residents and sites by name."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.extras import needs_extra
from tkm_core.wording import counted, listed

if TYPE_CHECKING:
    import pandas as pd

# Factor to the base unit, and that unit.
UNITS = {
    "m": (1.0, "m"),
    "km": (1000.0, "m"),
    "mi": (1609.344, "m"),
    "s": (1 / 60, "min"),
    "min": (1.0, "min"),
    "h": (60.0, "min"),
}
FROM = ("from", "origin", "origin_id", "from_id", "start", "resident")
TO = ("to", "destination", "destination_id", "to_id", "end", "site")
NAMED = 3  # names listed in a message
MOST_COLUMNS = 25_000  # somewhat more than there can be sites
FIRST = 1_000  # rows that are read to see whether a table is one
NO_WAY = ("", "-", "na", "n/a", "nan", "none", "null", "inf", "infinity", "unreachable")


@dataclass(frozen=True)
class TravelTable:
    """Distances or times from every resident to every site.

    Attributes
    ----------
    values : array (n, m)
        In metres or minutes; infinite where the table has no value.
    unit : str
        "m" or "min".
    missing : int
        Number of pairs that the table lacks: they count as unreachable.
    unreachable : int array
        Rows of residents who can reach no site.
    unused : tuple of str
        Names in the table that are neither residents nor sites.
    """

    values: Floats
    unit: str
    missing: int
    unreachable: Ints
    unused: tuple[str, ...]


def read_travel(
    table: "pd.DataFrame | str | Path | IO[Any]",
    residents: Sequence[object],
    sites: Sequence[object],
    *,
    unit: str,
) -> TravelTable:
    """Read a table of distances or travel times, in long form (from, to, value) or wide form (one column per site).

    Parameters
    ----------
    table : DataFrame, or a CSV file
        Long: columns "from" and "to" (or "origin" and "destination") and one more with the value. Wide: the first
        column has the residents' names, the headings of the others the sites'.
    residents, sites : sequences
        Their names, in the order of rows and columns of the result.
    unit : {"m", "km", "mi", "s", "min", "h"}
        Unit of the values.

    Returns
    -------
    TravelTable

    Examples
    --------
    >>> import pandas as pd
    >>> long = pd.DataFrame({"from": ["a", "a", "b"], "to": ["x", "y", "x"], "km": [1, 2, 3]})
    >>> found = read_travel(long, ["a", "b"], ["x", "y"], unit="km")
    >>> found.values.tolist(), found.missing
    ([[1000.0, 2000.0], [3000.0, inf]], 1)
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as missing:
        raise needs_extra(read_travel.__name__, missing) from missing

    if unit not in UNITS:
        msg = f"The unit of a travel table must be one of {listed(list(UNITS))}, not {unit!r}."
        raise ValueError(msg)
    frame = table if isinstance(table, pd.DataFrame) else _read(_text(table))
    rows, columns = _numbered(residents, "resident"), _numbered(sites, "site")
    starts, ends, texts, places = _pairs(frame, columns)
    row, column = (
        np.array([known.get(name, -1) for name in names])
        for known, names in ((rows, starts), (columns, ends))
    )
    known = (row >= 0) & (column >= 0)
    if not known.any():
        msg = (
            f"No row of the travel table names both a resident and a site. Residents are called {_some(rows)}, sites "
            f"{_some(columns)}; the table has {_some(starts)} and {_some(ends)}."
        )
        raise ValueError(msg)
    numbers = _numbers(texts, places)
    values = np.full((len(rows), len(columns)), np.inf)
    told = np.full(values.shape, -1)
    for at in np.flatnonzero(known):
        i, j = row[at], column[at]
        if told[i, j] >= 0 and values[i, j] != numbers[at]:
            msg = (
                f"The travel table has two values from {starts[at]!r} to {ends[at]!r}: {texts[told[i, j]]} "
                f"({places[told[i, j]]}) and {texts[at]} ({places[at]}). Keep one of them."
            )
            raise ValueError(msg)
        values[i, j], told[i, j] = numbers[at], at
    factor, base = UNITS[unit]
    unused = sorted(
        {
            *(n for n, r in zip(starts, row, strict=True) if r < 0),
            *(n for n, c in zip(ends, column, strict=True) if c < 0),
        }
    )
    return TravelTable(
        values * factor,
        base,
        int(np.isinf(values).sum()),
        np.flatnonzero(np.isinf(values).all(axis=1)),
        tuple(unused),
    )


def travel_rows(table: "str | Path | IO[Any]") -> int:
    r"""Count the rows of a travel table, of which only the first are read.

    Parameters
    ----------
    table : a CSV file
        As for `read_travel`.

    Raises
    ------
    ValueError
        If it cannot be a travel table, whatever residents and sites are called.

    Examples
    --------
    >>> travel_rows(io.StringIO("from,to,km\na,x,1\nb,x,2\n"))
    2
    """
    text = _text(table)
    first = _read(text, FIRST)
    if len(first.columns) < 2:
        msg = (
            "The travel table has only one column; it needs the columns 'from', 'to' and the value, or the residents' "
            "names and a column for each site."
        )
        raise ValueError(msg)
    return max(text.rstrip().count("\n"), 0)


def _text(table: "str | Path | IO[Any]") -> str:
    """The content of a file as text."""
    try:
        raw = Path(table).read_bytes() if isinstance(table, str | Path) else table.read()
        return raw.decode("utf-8-sig") if isinstance(raw, bytes) else str(raw)
    except UnicodeDecodeError as error:
        msg = f"The travel table cannot be read as CSV text: {error}."
        raise ValueError(msg) from None


def _read(text: str, rows: int | None = None) -> "pd.DataFrame":
    """Read CSV with the delimiter that its heading suggests; only the first rows if so many are asked for."""
    import pandas as pd

    heading = text[: text.find("\n") if "\n" in text else len(text)]
    mark = max(",;\t", key=heading.count)
    if heading.count(mark) >= MOST_COLUMNS:
        msg = f"The travel table has {heading.count(mark) + 1:,} columns; up to {MOST_COLUMNS:,} are read."
        raise ValueError(msg)
    try:
        names = [name.strip() for name in next(csv.reader([heading.rstrip("\r")], delimiter=mark), [])]
        twice = [name for name, many in Counter(names).items() if name and many > 1]
        if twice:
            msg = f"Several columns of the travel table are called {_some(twice)}; their names must differ."
            raise ValueError(msg)
        return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, sep=mark, nrows=rows)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        msg = f"The travel table cannot be read as CSV text: {str(error).strip().rstrip('.')}."
        raise ValueError(msg) from None


def _name(value: object) -> str:
    """A name as text: 12, 12.0 and " 12" are the same."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(value).strip()


def _numbered(names: Sequence[object], what: str) -> dict[str, int]:
    """The position of each name; two equal names are an error."""
    numbered: dict[str, int] = {}
    for number, name in enumerate(map(_name, names)):
        if name in numbered:
            msg = (
                f"Two {what}s are called {name!r} (rows {numbered[name]} and {number}); names must differ to match a "
                "travel table."
            )
            raise ValueError(msg)
        numbered[name] = number
    return numbered


def _some(names: Any) -> str:
    """The first few names, for a message."""
    shown = [repr(name) for name in list(dict.fromkeys(names))]
    return listed([*shown[:NAMED], *([f"{len(shown) - NAMED:,} more"] if len(shown) > NAMED else [])])


def _pairs(frame: "pd.DataFrame", sites: dict[str, int]) -> tuple[list[str], list[str], list[str], list[str]]:
    """From, to, the value as text and its position, for every entry of a long or wide table."""
    headings = [_name(column) for column in frame.columns]
    lower = [heading.lower() for heading in headings]
    start = next((lower.index(word) for word in FROM if word in lower), None)
    end = next((lower.index(word) for word in TO if word in lower), None)
    if start is not None and end is not None:
        values = [at for at in range(len(headings)) if at not in (start, end)]
        if len(values) != 1:
            others = [headings[at] for at in values]
            msg = (
                f"The travel table has {counted(len(values), 'column')} beside {headings[start]!r} and "
                f"{headings[end]!r} ({listed(others) or 'none'}); it needs one, with the value."
            )
            raise ValueError(msg)
        texts = [_name(value) for value in frame.iloc[:, values[0]]]
        return (
            [_name(value) for value in frame.iloc[:, start]],
            [_name(value) for value in frame.iloc[:, end]],
            texts,
            [f"row {number + 1}" for number in range(len(texts))],
        )
    if len(headings) < 2 or not any(heading in sites for heading in headings[1:]):
        msg = (
            "The travel table has neither the columns 'from' and 'to' nor a column for each site: its columns are "
            f"{_some(headings)}, and sites are called {_some(sites)}."
        )
        raise ValueError(msg)
    names = [_name(value) for value in frame.iloc[:, 0]]
    starts, ends, texts, places = [], [], [], []
    for at, heading in enumerate(headings[1:], start=1):
        starts += names
        ends += [heading] * len(names)
        texts += [_name(value) for value in frame.iloc[:, at]]
        places += [f"row {number + 1}, column {heading!r}" for number in range(len(names))]
    return starts, ends, texts, places


def _numbers(texts: list[str], places: list[str]) -> Floats:
    """Values as numbers, infinite if empty; an error for anything else."""
    numbers = np.full(len(texts), np.inf)
    for at, text in enumerate(texts):
        if text.lower() in NO_WAY:
            continue
        try:
            numbers[at] = float(text)
        except ValueError:
            msg = f"The travel table has {text!r} in {places[at]}; it must be a number, or empty if there is no route."
            raise ValueError(msg) from None
        if not numbers[at] >= 0:
            msg = f"The travel table has {text} in {places[at]}; a distance or a time is 0 or more."
            raise ValueError(msg)
    return numbers
