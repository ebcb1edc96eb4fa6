"""Describe a city that is planned for: its residents, existing facilities and rules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tkm_core.planning import FREE, Plan, ResidentCells, Rules
from tkm_core.residents import Existing, Report, Residents
from tkm_core.wording import plain


@dataclass(frozen=True)
class City:
    """The residents that are planned for, and what to call them.

    Attributes
    ----------
    key : str
        The sample's key, or a secret token: everything that is kept is kept under it, so what came from a visitor is
        found only by those who have the token.
    title, people : str
        Plain words, whatever they are made from.
    existing : Existing or None
        Facilities that are there already; all but the closed ones stay.
    closed : tuple of int
        Which of them the plan closes, counted from 0.
    saved : Plan or None
        A plan that was opened from a file; it is shown for its number of facilities, its existing ones are `existing`.
    home : str
        Key of the city whose residents a saved plan is for.
    rules : Rules
        What a plan has to follow.
    project : str or None
        The project whose data these are: only for those who may see it. "" for an upload in the store that belongs to
        none, None for what is only in memory.
    scenario : str
        The scenario that is open: its plan is shown as it was saved.
    """

    key: str
    title: str
    people: str
    residents: Residents
    source: str = ""
    existing: Existing | None = None
    closed: tuple[int, ...] = ()
    saved: Plan | None = None
    home: str = ""
    rules: Rules = FREE
    project: str | None = None
    scenario: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", plain(self.title, "Your data"))
        object.__setattr__(self, "people", plain(self.people, "residents"))

    @property
    def key_with_existing(self) -> tuple[str, ...]:
        """Everything a result depends on but the settings: residents, existing facilities, closed ones, rules."""
        kept = () if self.existing is None else (self.existing.fingerprint,)
        shut = (f"closed {self.closed}",) if self.closed else ()
        told = () if self.rules == FREE else (self.rules.fingerprint,)
        opened = (f"scenario {self.scenario}",) if self.scenario else ()
        return self.key, self.residents.fingerprint, *kept, *shut, *told, *opened

    @property
    def staying(self) -> Existing | None:
        """The existing facilities that the plan does not close; None if there are none."""
        if self.existing is None:
            return None
        keep = [number for number in range(len(self.existing)) if number not in self.closed]
        names = tuple(self.existing.names[number] for number in keep) if self.existing.names else ()
        return replace(self.existing, lonlat=self.existing.lonlat[keep], names=names) if keep else None

    def with_pins(self, pins: Sequence[tuple[float, float]]) -> "City":
        """With facilities pinned by hand, longitude first: they stay where they are, and are not there today."""
        if not pins:
            return self
        before = self.existing
        lonlat = np.array(pins) if before is None else np.concatenate([before.lonlat, np.array(pins)])
        names = () if before is None or not before.names else (*before.names, *("",) * len(pins))
        return replace(self, existing=Existing(lonlat, names, Report(), len(pins)))

    def opened(self, k: int) -> Plan | None:
        """The plan that was opened from a file, if it opens and closes as many facilities."""
        saved = self.saved
        return saved if saved is not None and (saved.k, saved.closed) == (k, self.closed) else None

    @property
    def size(self) -> str:
        """How many there are, in a few words."""
        count, total = len(self.residents), float(self.residents.weights.sum())
        if isinstance(self.residents, ResidentCells):
            return f"{total:,.0f} {self.people}; {count:,} cells stand for {self.residents.count:,} rows"
        if abs(total - count) < 1e-9:
            return f"{count:,} {self.people}, each counted once"
        return f"{total:,.0f} {self.people} in {count:,} places"
