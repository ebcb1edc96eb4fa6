"""The table of measures: the name of each, its unit, which direction is better, and where it is shown.

A measure is computed in `tkm_core.evaluation` as a field of `Evaluation`. One entry in `MEASURES` adds it to the story,
the comparison of methods, the charts, How many?, the trade-off curve, the plan file and the command line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tkm_core.units import METRES, shown_standard, with_unit, worded

KEY, MORE = "key figures", "more figures"  # of the story, the report and the command line
COMPARED, COUNTED = "comparison of methods", "how many"
UTILITY, FAIRNESS = "trade-off across", "trade-off up"  # axes of the trade-off chart
SAVED, PRINTED = "plan file", "comparison on the command line"


@dataclass(frozen=True)
class Measure:
    """A measure and how it is shown.

    Attributes
    ----------
    key : str
        Its name in Evaluation.
    row : str
        Its label in a table of figures; ``{one}``, ``{many}`` and ``{standard}`` are filled in.
    column : str
        A short heading.
    axis : str
        Its label in a sentence or on an axis.
    power : int
        Power of the length unit; 0 for a pure number.
    worse : str
        Clause that says it got worse, with ``{length}``, ``{size}``, ``{one}``, ``{people}`` and ``{standard}``.
    places : frozenset of str
        Where it is shown.
    more_is_better : bool
    percent : bool
        Whether a share is shown in percent.
    decimals : int or None
        Decimals, if they do not follow from the values.
    along_dial : bool
        Whether it is measured at every setting of the dial.
    """

    key: str
    row: str
    column: str
    axis: str
    power: int
    worse: str
    places: frozenset[str]
    more_is_better: bool = False
    percent: bool = False
    decimals: int | None = None
    along_dial: bool = True

    def value(self, measured: Any, unit: str) -> Any:
        """A value or an array in metres or minutes, converted for display; NaN if it was not measured."""
        metres = np.nan if measured is None else np.asarray(measured, dtype=float)
        shown = metres * 100 if self.percent else metres / METRES[unit] ** self.power
        return float(shown) if np.ndim(shown) == 0 else shown

    def of(self, evaluation: object, unit: str) -> float:
        """The measure of an evaluation, converted for display; NaN if it was not measured."""
        return float(self.value(getattr(evaluation, self.key), unit))

    def heading(self, unit: str, standard: float | None = None) -> str:
        """The short heading with its unit: "Farthest, km"."""
        return self._labelled(self.column, unit, standard)

    def label(self, unit: str) -> str:
        """The words of the axis with the unit: "average distance, km"."""
        return self._labelled(self.axis, unit, None)

    def row_label(self, unit: str, words: Mapping[str, str]) -> str:
        """The label of a row with its unit: "Farthest home, km"."""
        return self._labelled(self.row.format(**words), unit, None)

    def words(self, unit: str) -> str:
        """The label in words that fit the unit: "average distance", "average travel time"."""
        return worded(self.axis, unit)

    def _labelled(self, words: str, unit: str, standard: float | None) -> str:
        """A label with its unit, or with the standard and a percent sign."""
        words = worded(words, unit)
        if self.percent:
            limit = "the standard" if standard is None else f"{shown_standard(standard, unit):g} {unit}"
            return f"{words.format(standard=limit)}, %"
        return with_unit(words, unit, self.power)


def _m(*places: str) -> frozenset[str]:
    """The places where a measure is shown."""
    return frozenset(places)


MEASURES: Mapping[str, Measure] = {
    measure.key: measure
    for measure in (
        Measure(
            "largest_distance", "Farthest {one}", "Farthest", "largest distance", 1,
            "the farthest {one} is {length} farther away", _m(KEY, COMPARED, COUNTED, FAIRNESS, SAVED, PRINTED),
        ),
        Measure(
            "mean_distance", "Average distance", "Average", "average distance", 1,
            "the average trip is {length} longer", _m(KEY, COMPARED, COUNTED, UTILITY, SAVED, PRINTED),
        ),
        Measure(
            "p95_distance", "95 % live within", "95 % within", "distance within which 95 % live", 1,
            "the distance within which 95 % live is {length} longer",
            _m(KEY, COMPARED, COUNTED, FAIRNESS, SAVED, PRINTED),
        ),
        Measure(
            "overall_variance_of_distance", "How unequal (variance of the distance)", "How unequal (variance)",
            "how unequal the distances are (variance)", 2, "the distances are more unequal",
            _m(KEY, COMPARED, COUNTED, FAIRNESS, SAVED, PRINTED),
        ),
        Measure(
            "share_within", "{many} within {standard}", "Within {standard}", "share within the standard", 0,
            "the share of {people} within {standard} is {size} points lower", _m(KEY, COMPARED, COUNTED),
            more_is_better=True, percent=True, decimals=1,
        ),
        Measure(
            "median_distance", "Half live within (median)", "Half within", "distance within which half live", 1,
            "the distance within which half live is {length} longer", _m(MORE, SAVED),
        ),
        Measure(
            "p90_distance", "90 % live within", "90 % within", "distance within which 90 % live", 1,
            "the distance within which 90 % live is {length} longer", _m(MORE),
        ),
        Measure(
            "worst_decile_mean", "Average of the worst-off 10 %", "Worst-off 10 %", "average of the worst-off 10 %", 1,
            "the worst-off 10 % travel {length} farther on average", _m(MORE, SAVED),
        ),
        Measure(
            "kolm_pollak_ede", "Average that counts long trips more (Kolm-Pollak)", "Kolm-Pollak",
            "average that counts long trips more (Kolm-Pollak)", 1,
            "the average that counts long trips more is {length} longer", _m(MORE),
        ),
        Measure(
            "gini", "How unequal, from 0 to 1 (Gini)", "Gini", "how unequal the distances are, from 0 to 1 (Gini)", 0,
            "the distances are less equal", _m(MORE, SAVED, PRINTED), decimals=3,
        ),
        Measure(
            "sse", "Mean squared distance (SSE)", "SSE", "mean squared distance (SSE)", 2,
            "the mean squared distance is larger", _m(MORE, COMPARED, UTILITY, SAVED, PRINTED),
        ),
        Measure(
            "overall_variance", "How unequal (variance of the squared distance)", "Variance of d²",
            "how unequal the squared distances are (variance)", 4,
            "the squared distances vary more", _m(MORE, FAIRNESS, SAVED),
        ),
        Measure(
            "tilted_sse", "Tilted SSE", "Tilted SSE", "tilted SSE", 2,
            "the tilted SSE is larger", _m(SAVED), along_dial=False,
        ),
        Measure(
            "fairness_ratio", "Neighbourhood ratio", "Neighbourhood ratio", "neighbourhood ratio", 0,
            "the neighbourhood ratio is larger", _m(COMPARED), along_dial=False,
        ),
    )
}  # fmt: skip


def shown_in(place: str) -> dict[str, Measure]:
    """The measures shown in a place, in the order of the table.

    Examples
    --------
    >>> list(shown_in(UTILITY))
    ['mean_distance', 'sse']
    """
    return {key: measure for key, measure in MEASURES.items() if place in measure.places}


def figure_decimals(*values: float) -> int:
    """Decimals that show at least three significant figures of the smallest value; at most six.

    Examples
    --------
    >>> figure_decimals(123.4, 0.0512), figure_decimals(0.0)
    (4, 2)
    """
    smallest = min((abs(value) for value in values if value), default=1.0)
    return int(np.clip(2 - np.floor(np.log10(smallest)), 0, 6))
