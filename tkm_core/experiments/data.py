"""Data sets of the experiments: blobs, the bundled samples, and any numeric table."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from tkm_core.arrays import Floats
from tkm_core.experiments.model import Dataset
from tkm_core.experiments.tables import TABLES
from tkm_core.residents import (
    ResidentsError,
    as_text,
    guess_decimal,
    load_sample,
    open_source,
    read_text,
    resolve,
    sample_meant,
)

NUMERIC = 0.5  # share of a column's cells that must be numbers for it to be used by default


def standardise(X: Floats) -> Floats:
    """Columns with mean 0 and standard deviation 1, as the paper prepares its data.

    >>> standardise(np.array([[1.0, 10.0], [3.0, 30.0]]))
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def blobs(groups: int, seed: int, n: int = 200, strays: int = 6) -> Dataset:
    """Round groups of points in the plane and a few strays far outside, standardised.

    Examples
    --------
    >>> blobs(3, seed=0).X.shape
    (206, 2)
    """
    rng = np.random.default_rng([seed, groups])
    angle = 2 * np.pi * np.arange(groups) / groups + 0.5
    middles = 5 * np.column_stack([np.cos(angle), np.sin(angle)])
    X, _ = make_blobs(n, centers=middles, cluster_std=1.0, random_state=int(rng.integers(2**31)))
    away = rng.uniform(0, 2 * np.pi, strays)
    far = np.column_stack([np.cos(away), np.sin(away)]) * rng.uniform(9, 12, strays)[:, None]
    name = f"{groups} blobs, {n:,} points and {strays} strays"
    return Dataset(name, standardise(np.vstack([X, far])), columns=("x", "y"))


def sample(key: str, seed: int) -> Dataset:
    """A bundled city by its key; a generated one is drawn with ``seed``."""
    return Dataset.from_residents(load_sample(key, seed=seed))


def cities_and_blobs(seed: int) -> list[Dataset]:
    """Default data of the comparisons."""
    return [
        sample("sacramento", seed),
        sample("toulouse", seed),
        sample("generated", seed),
        blobs(4, seed, n=2000, strays=40),
    ]


def two_blobs(seed: int) -> list[Dataset]:
    """Default data of the trajectory: like the paper's two synthetic data sets, from our own generator."""
    return [blobs(2, seed), blobs(3, seed)]


def large_city(seed: int) -> list[Dataset]:
    """Default data of the running times."""
    return [sample("generated-1m", seed)]


def named_table(name: str, seed: int) -> Dataset:
    """A table by its name, standardised and without constant columns.

    Examples
    --------
    >>> named_table("iris", seed=0).X.shape
    (150, 4)
    """
    X = TABLES[name](seed)
    X = X[:, X.std(axis=0) > 0]
    return Dataset(name, standardise(X), columns=tuple(f"x{number}" for number in range(X.shape[1])))


def read_dataset(file: str, columns: Sequence[str] = (), *, seed: int = 0) -> Dataset:
    """A numeric table as standardised points, or a bundled sample or table by its name.

    Parameters
    ----------
    file : str
        A text file (any delimiter, with or without header, packed or not), the key of a sample, or the name of a table
        in `tkm_core.experiments.tables`, such as "iris" or "census-like".
    columns : sequence of str
        Names, or positions counted from 1, of the columns to use; by default all that hold numbers.
    seed : int
        Seed of a generated sample.

    Returns
    -------
    Dataset
        Its notes say which columns and how many rows were used, and what was left out.
    """
    if file in TABLES and not Path(file).exists():
        if columns:
            msg = f"{file} comes with this program: it has no columns to choose from, leave out --columns."
            raise ResidentsError(msg)
        return named_table(file, seed)
    if sample_meant(file) is not None:
        if columns:
            msg = f"{file} is a sample city: it has no columns to choose from, leave out --columns."
            raise ResidentsError(msg)
        return sample(file, seed)
    with open_source(Path(file)) as source:
        if source.kind != "text":
            msg = f"{file} is not a text table: save it as CSV."
            raise ResidentsError(msg)
        table = read_text(source)
        chosen = list(dict.fromkeys(_column(each, table.names) for each in columns)) or table.names
        cells = table.fetch(chosen)
        decimals = {name: guess_decimal(as_text(cells[name].slice(0, 200))) or "." for name in chosen}
        numbers = table.numbers(chosen, cells, decimals)
    return _dataset(Path(file).stem, chosen, numbers, asked=bool(columns))


def _column(choice: str, names: list[str]) -> str:
    """A column by its name, or by its position counted from 1 if no column has that name."""
    text = choice.strip()
    if text not in names and text.isdecimal() and 1 <= int(text) <= len(names):
        return names[int(text) - 1]
    return resolve(text, names, "columns")


def _dataset(name: str, columns: list[str], numbers: Floats, *, asked: bool) -> Dataset:
    """Leave out what cannot be used, note it, and standardise the rest."""
    finite = np.isfinite(numbers)
    usable = finite.mean(axis=0) >= NUMERIC if len(numbers) else np.zeros(len(columns), dtype=np.bool_)
    spread = np.array(
        [len(np.unique(numbers[finite[:, j], j])) > 1 for j in range(len(columns))], dtype=np.bool_
    )
    keep = usable & spread
    left = [column for column, kept in zip(columns, keep, strict=True) if not kept]
    if (asked and left) or not keep.any():
        why = f"{', '.join(left) or 'Its columns'}: not numbers, or the same number in every row."
        msg = f"{name} cannot be used as asked. {why} Choose numeric columns with --columns."
        raise ResidentsError(msg)
    whole = finite[:, keep].all(axis=1)
    if whole.sum() < 2:
        msg = f"{name} has {whole.sum()} rows with a number in every chosen column; choose fewer columns."
        raise ResidentsError(msg)
    X = numbers[np.ix_(whole, keep)]
    taken = tuple(column for column, kept in zip(columns, keep, strict=True) if kept)
    notes = [f"{name}: {len(X):,} rows of {', '.join(taken)}, each standardised."]
    if left:
        notes.append(f"{name}: left out as not numeric or constant: {', '.join(left)}.")
    if not whole.all():
        notes.append(f"{name}: {(~whole).sum():,} rows left out because of a gap in one of the columns.")
    constant = X.std(axis=0) == 0
    if constant.any():
        same = taken[int(constant.argmax())]
        msg = f"{name}: after leaving out rows with gaps, {same} is the same in every row."
        raise ResidentsError(msg)
    return Dataset(name, standardise(X), columns=taken, notes=tuple(notes))
