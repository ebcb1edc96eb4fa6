"""Tables by name for the experiments: scikit-learn's own, and generated ones shaped like the paper's."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets

from tkm_core.arrays import Floats

CENSUS_ROWS, HMDA_ROWS, ABALONE_ROWS = 2_000_000, 5_000_000, 4_177
CLASSES = 6  # kinds of people in a survey


def survey(n: int, levels: tuple[int, ...], seed: int) -> Floats:
    """A generated survey with answers coded as whole numbers; each kind of people has its own usual answers.

    Parameters
    ----------
    n : int
        Rows.
    levels : tuple of int
        How many answers each column has.
    seed : int

    Examples
    --------
    >>> table = survey(1_000, (2, 5, 17), seed=0)
    >>> table.shape, [len(np.unique(column)) for column in table.T]
    ((1000, 3), [2, 5, 17])
    """
    rng = np.random.default_rng([seed, len(levels)])
    kind = rng.choice(CLASSES, n, p=rng.dirichlet(np.full(CLASSES, 2.0)))
    table = np.empty((n, len(levels)))
    for column, count in enumerate(levels):
        # Every answer has some probability.
        usual = rng.dirichlet(np.full(count, 0.7), CLASSES) * 0.9 + 0.1 / count
        upto = np.cumsum(usual, axis=1)
        drawn = rng.random(n)
        table[:, column] = sum((drawn > upto[kind, answer]).astype(np.int8) for answer in range(count - 1))
    return table


def shells(n: int, seed: int) -> Floats:
    """Generated lengths and weights of growing animals: eight columns, nearly on a curve, with a few giants.

    >>> shells(100, seed=0).shape
    (100, 8)
    """
    rng = np.random.default_rng(seed)
    size = rng.beta(5, 3, n) * np.exp(0.05 * rng.standard_t(4, n))
    lengths = [size * factor * np.exp(0.05 * rng.normal(size=n)) for factor in (1.0, 0.8, 0.27)]
    weights = [size**3 * factor * np.exp(0.15 * rng.normal(size=n)) for factor in (1.6, 0.7, 0.35, 0.45)]
    rings = np.round(3 + 12 * size * np.exp(0.2 * rng.normal(size=n)))
    return np.column_stack([*lengths, *weights, rings])


def _bundled(load: Callable[[], Any]) -> Callable[[int], Floats]:
    """A table of scikit-learn, whatever the seed."""
    return lambda _seed: np.asarray(load().data, np.float64)


TABLES: dict[str, Callable[[int], Floats]] = {
    "iris": _bundled(datasets.load_iris),
    "wine": _bundled(datasets.load_wine),
    "breast-cancer": _bundled(datasets.load_breast_cancer),
    "digits": _bundled(datasets.load_digits),
    "abalone-like": lambda seed: shells(ABALONE_ROWS, seed),
    # like the paper's two tables of millions of rows: Census1990 with eleven columns, HMDA with eight
    "census-like": lambda seed: survey(CENSUS_ROWS, (2, 3, 5, 5, 8, 10, 13, 14, 17, 3, 5), seed),
    "hmda-like": lambda seed: survey(HMDA_ROWS, (2, 3, 4, 5, 5, 7, 9, 10), seed),
}
