"""Report on a file that was read: columns and their roles, rows left out, notes and warnings."""

from dataclasses import dataclass, field, fields
from typing import Any

import pandas as pd

from tkm_core.wording import counted


@dataclass
class Column:
    """One column of the file and what it was taken as.

    Attributes
    ----------
    name : str
        As in the file (made unique if the file repeats a name).
    role : str or None
        "x", "y", "lonlat" (both in one), "weight", "group", "id", "place", "geometry", or None if not used.
    why : str
        The reason, as a sentence.
    candidate_for : tuple of str
        The roles it could also be given.
    samples : tuple of str
        A few of its values.
    """

    name: str
    role: str | None = None
    why: str = ""
    candidate_for: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()


@dataclass
class Dropped:
    """Rows left out for one reason; ``examples`` are pairs of row number and content."""

    reason: str
    count: int
    examples: tuple[tuple[int, str], ...] = ()
    code: str = ""


@dataclass
class Report:
    """What was read, kept, left out and guessed, and why.

    Examples
    --------
    >>> report = Report(rows_read=3, rows_kept=2, dropped=[Dropped("no coordinates", 1, ((3, "empty"),))])
    >>> print(report)
    3 rows read, 2 kept, 1 left out (33 %).
    Left out, 1 row: no coordinates (row 3: empty).
    """

    rows_read: int = 0
    rows_kept: int = 0
    dropped: list[Dropped] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    proposed_weights: list[str] = field(default_factory=list)
    preview: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)
    file_format: str = ""
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    sheets: list[str] = field(default_factory=list)
    layer: str | None = None
    layers: list[str] = field(default_factory=list)
    source_crs: str | None = None
    crs: str | None = None
    worst_error: float = 0.0
    total_weight: float = 0.0

    def candidates(self, role: str) -> list[str]:
        """Names of the columns that have or could have a role; the one taken comes first."""
        taken = [column.name for column in self.columns if column.role == role]
        return taken + [
            column.name for column in self.columns if role in column.candidate_for and column.role != role
        ]

    def column_for(self, role: str) -> str | None:
        """Name of the column that was given a role, or None."""
        return next((column.name for column in self.columns if column.role == role), None)

    @property
    def asks_for_people(self) -> bool:
        """Whether nothing says how many people each row stands for, although some column may count them."""
        return self.column_for("weight") is None and bool(self.proposed_weights)

    @property
    def share_left_out(self) -> float:
        """Share of the rows read that were left out, from 0 to 1."""
        return (self.rows_read - self.rows_kept) / self.rows_read if self.rows_read else 0.0

    @property
    def summary(self) -> str:
        """How many rows were read and kept, in a sentence."""
        left_out = self.rows_read - self.rows_kept
        share = f" ({_percent(self.share_left_out)})" if left_out else ""
        return (
            f"{counted(self.rows_read, 'row')} read, {self.rows_kept:,} kept, {left_out:,} left out{share}."
        )

    def __str__(self) -> str:
        lines = [self.summary]
        for drop in self.dropped:
            shown = "; ".join(f"row {row}: {text}" for row, text in drop.examples[:3])
            rows = counted(drop.count, "row")
            lines.append(f"Left out, {rows}: {drop.reason}{f' ({shown})' if shown else ''}.")
        lines += [f"{column.name}: {column.role}. {column.why}" for column in self.columns if column.role]
        return "\n".join(lines + self.warnings + self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the preview as plain types, fit for JSON."""
        plain: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in ("dropped", "columns"):
                value = [vars(entry).copy() for entry in value]
            if item.name != "preview":
                plain[item.name] = value
        return plain


def _percent(share: float) -> str:
    """A share as a percentage in words."""
    return "under 1 %" if share < 0.01 else f"{100 * share:.0f} %"
