"""Rows of a table: a figure of the plan and of the reference, rounded so that their difference adds up."""

from dataclasses import dataclass
from typing import Literal

from tkm_core.evaluation import Evaluation
from tkm_core.measures import MEASURES
from tkm_core.units import METRES

Tone = Literal["better", "worse", "same", ""]


@dataclass(frozen=True)
class Row:
    """One figure of the plan and of the reference, rounded to the same decimals.

    Attributes
    ----------
    key : str
        The measure's name in Evaluation.
    label : str
        With the unit: "Farthest home, km".
    plan, reference, change : float
        Rounded; `change` is the difference of the rounded values, so that the table adds up.
    tone : {"better", "worse", "same"}
        What the change means for people.
    decimals : int
        Digits to show.
    """

    key: str
    label: str
    plan: float
    reference: float
    change: float
    tone: Tone
    decimals: int

    @property
    def plan_text(self) -> str:
        """The plan's value as shown."""
        return f"{self.plan:,.{self.decimals}f}"

    @property
    def reference_text(self) -> str:
        """The value of the reference as shown."""
        return f"{self.reference:,.{self.decimals}f}"

    @property
    def size_text(self) -> str:
        """The size of the change, without its sign."""
        return f"{abs(self.change):,.{self.decimals}f}"

    @property
    def arrow(self) -> str:
        """▲ for a higher, ▼ for a lower number, = for the same."""
        return "=" if self.change == 0 else "▲" if self.change > 0 else "▼"

    @property
    def change_text(self) -> str:
        """Arrow and size: "▼ 6.0", or "=" where nothing changes."""
        return "=" if self.change == 0 else f"{self.arrow} {self.size_text}"


def rounded_row(key: str, label: str, plan: float, reference: float, *, decimals: int) -> Row:
    """Round both values, then take their difference, so that the table adds up.

    Examples
    --------
    >>> rounded_row("largest_distance", "Farthest home, km", 16.14, 18.06, decimals=1).change_text
    '▼ 2.0'
    """
    after, before = (round(value, decimals) + 0.0 for value in (plan, reference))
    change = round(after - before, decimals) + 0.0
    better = (change > 0) == MEASURES[key].more_is_better
    tone: Tone = "same" if change == 0 else "better" if better else "worse"
    return Row(key, label, after, before, change, tone, decimals)


def distance_decimals(plan: Evaluation, reference: Evaluation, unit: str) -> int:
    """Decimals for all distances of a table, by the average trip: three for a hamlet, none for a continent."""
    mean = max(reference.mean_distance, plan.mean_distance) / METRES[unit]
    if mean >= 100:
        return 0
    return 1 if mean >= 1 or mean == 0 else 2 if mean >= 0.1 else 3
