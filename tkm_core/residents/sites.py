"""Candidate sites where facilities may be built, with names, capacities and costs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Bools, Floats
from tkm_core.residents.existing import nearby, read_places
from tkm_core.residents.loading import load_residents
from tkm_core.residents.model import Residents, ResidentsError
from tkm_core.residents.numbers import guess_decimal, read_number
from tkm_core.residents.report import Report
from tkm_core.wording import counted

MOST_SITES = 20_000
CAPACITY = (
    "capacity", "places", "seats", "room", "kapazität", "kapazitaet", "capacité", "capacite", "capacidad", "capacidade",
)  # fmt: skip
COST = (
    "cost", "price", "kosten", "preis", "coût", "cout", "prix", "coste", "precio", "custo", "preço", "preco",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sites:
    """Places where facilities may be built.

    Attributes
    ----------
    lonlat : ndarray of shape (m, 2)
        WGS84 degrees, longitude first.
    names : tuple of str
        Their names, not to be trusted as markup; empty if they have none.
    capacity : ndarray of shape (m,) or None
        The most people each can serve; infinite where none is given.
    cost : ndarray of shape (m,) or None
        What each costs, in the file's own unit; NaN where none is given.
    name : str
        The file's name, not to be trusted as markup.
    report : Report
        What was read, kept, left out and guessed.

    Examples
    --------
    >>> Sites(np.array([[1.44, 43.6], [1.5, 43.7]]), ("Depot", "Old mill"))
    <Sites: 2 sites>
    """

    lonlat: Floats
    names: tuple[str, ...] = ()
    capacity: Floats | None = None
    cost: Floats | None = None
    name: str = ""
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        lonlat = np.asarray(self.lonlat, dtype=np.float64)
        if lonlat.ndim != 2 or lonlat.shape[1] != 2 or not len(lonlat):
            msg = f"Sites must be pairs of longitude and latitude, at least one, not an array of shape {lonlat.shape}."
            raise ValueError(msg)
        wrong = ~((np.abs(lonlat[:, 0]) <= 180) & (np.abs(lonlat[:, 1]) <= 90))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            place = ", ".join(f"{degrees:g}" for degrees in lonlat[row])
            msg = f"Site {row + 1} is not a place on earth: longitude, latitude = {place}."
            raise ValueError(msg)
        object.__setattr__(self, "lonlat", lonlat)
        object.__setattr__(self, "names", tuple(map(str, self.names)))
        for what in ("names", "capacity", "cost"):
            given = getattr(self, what)
            if given is None or (what == "names" and not given):
                continue
            if len(given) != len(lonlat):
                msg = f"There are {counted(len(lonlat), 'site')}, but {what} for {len(given)}."
                raise ValueError(msg)
            if what != "names":
                object.__setattr__(self, what, np.asarray(given, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.lonlat)

    def __repr__(self) -> str:
        return f"<Sites: {counted(len(self), 'site')}>"

    @cached_property
    def fingerprint(self) -> str:
        """A digest of places, names, capacities and costs: equal for equal sites."""
        digest = blake2b(np.ascontiguousarray(self.lonlat).data, digest_size=16)
        for values in (self.capacity, self.cost):
            digest.update(b"-" if values is None else np.ascontiguousarray(values).data)
        digest.update(repr(self.names).encode(errors="surrogatepass"))
        return digest.hexdigest()

    def take(self, which: Bools | npt.NDArray[np.int64]) -> "Sites":
        """Some of the sites."""
        numbers = np.arange(len(self))[which]
        names = tuple(self.names[number] for number in numbers) if self.names else ()
        capacity, cost = (
            None if values is None else values[numbers] for values in (self.capacity, self.cost)
        )
        return Sites(self.lonlat[numbers], names, capacity, cost, self.name, self.report)


def load_sites(file: Any, residents: Residents, **options: Any) -> Sites:
    r"""Read candidate sites from any file that residents can be read from.

    Columns with the name, the capacity and the cost of a site are recognised by their headings.

    Parameters
    ----------
    file : path, bytes, DataFrame or GeoDataFrame
        As in `load_residents`.
    residents : Residents
        The people the sites are for: a file of sites nowhere near them is refused.
    **options
        As for `load_residents`; ``id`` is the column of names, ``capacity`` and ``cost`` name columns or are False.

    Returns
    -------
    Sites

    Raises
    ------
    ResidentsError
        With the sentence for the planner.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]])
    >>> table = b"name,lon,lat,capacity\nDepot,1.44,43.66,900\nOld mill,1.46,43.58,\n"
    >>> sites = load_sites(table, town)
    >>> sites.names, sites.capacity.tolist()
    (('Depot', 'Old mill'), [900.0, inf])
    """
    return read_sites(lambda asked: load_residents(file, **asked), residents, **options)


def read_sites(read: Callable[[dict[str, Any]], Residents], residents: Residents, **options: Any) -> Sites:
    """Read candidate sites through a given function, such as one that reads in another process.

    Parameters
    ----------
    read : callable
        Takes options of `load_residents` and returns what it returns.
    residents : Residents
    **options
        As for `load_sites`.

    Returns
    -------
    Sites
    """
    asked = {role: options.pop(role, None) for role in ("capacity", "cost")}
    found = read_places(read, residents, **options)
    if len(found) > MOST_SITES:
        msg = f"There are {len(found):,} places in this file; a plan can choose from up to {MOST_SITES:,} sites."
        raise ResidentsError(msg, report=found.report)
    if not nearby(residents, found.lonlat).any():
        lon, lat = found.lonlat.mean(axis=0)
        home = residents.lonlat.mean(axis=0)
        msg = (
            f"None of these sites is near the residents: they lie around latitude, longitude {lat:.2f}, {lon:.2f}, the "
            f"residents around {home[1]:.2f}, {home[0]:.2f}. Check which columns are the coordinates, and their "
            "reference system."
        )
        raise ResidentsError(msg, needs="crs", report=found.report)
    names = (
        tuple("" if name is None else str(name)[:200] for name in found.ids) if found.ids is not None else ()
    )
    columns: dict[str, Floats | None] = {}
    for role, words in (("capacity", CAPACITY), ("cost", COST)):
        column = _column(found.report, words, asked[role])
        if column is None:
            columns[role] = None
            continue
        again = read_places(read, residents, **options, group=column)
        columns[role] = _numbers(again, role, column)
        found.report.notes.append(f"“{column}” is taken as the {role} of a site.")
    return Sites(found.lonlat, names, columns["capacity"], columns["cost"], found.name, found.report)


def _column(report: Report, words: tuple[str, ...], asked: object) -> str | None:
    """The column asked for, or the first whose heading contains one of the words."""
    if asked is False:
        return None
    if isinstance(asked, str):
        return asked
    for column in report.columns:
        parts = column.name.casefold().replace("_", " ").split()
        if any(word in parts for word in words):
            return column.name
    return None


def _numbers(found: Residents, role: str, column: str) -> Floats:
    """A column of numbers; an empty cell means no limit for a capacity, and unknown for a cost."""
    texts = ["" if text is None else str(text) for text in (found.groups if found.groups is not None else [])]
    decimal = guess_decimal(texts) or "."
    values = np.array([read_number(text, decimal) if text.strip() else np.nan for text in texts])
    for row, text in enumerate(texts):
        if text.strip() and not values[row] >= 0:
            msg = f"“{column}” has {text[:40]!r} for site {row + 1}; a {role} is a number, 0 or more, or nothing."
            raise ResidentsError(msg)
    return np.where(np.isnan(values), np.inf, values) if role == "capacity" else values
