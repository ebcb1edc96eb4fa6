"""The city that is planned for: its residents, what to call them, and the secret it is kept under."""

from dataclasses import dataclass

from pages.shared.markdown import plain
from tkm_core.planning import Plan
from tkm_core.residents import Existing, Residents


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
        Facilities that are there already and stay.
    saved : Plan or None
        A plan that was opened from a file; it is shown for its number of facilities, its existing ones are `existing`.
    home : str
        Key of the city whose residents a saved plan is for.
    """

    key: str
    title: str
    people: str
    residents: Residents
    source: str = ""
    existing: Existing | None = None
    saved: Plan | None = None
    home: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", plain(self.title, "Your data"))
        object.__setattr__(self, "people", plain(self.people, "residents"))

    @property
    def key_with_existing(self) -> tuple[str, ...]:
        """Everything a result depends on but the settings: the residents, and the existing facilities if any."""
        kept = () if self.existing is None else (self.existing.fingerprint,)
        return self.key, self.residents.fingerprint, *kept

    def opened(self, k: int) -> Plan | None:
        """The plan that was opened from a file, if it has so many facilities."""
        return self.saved if self.saved is not None and self.saved.k == k else None

    @property
    def size(self) -> str:
        """How many there are, in a few words."""
        count, total = len(self.residents), float(self.residents.weights.sum())
        if abs(total - count) < 1e-9:
            return f"{count:,} {self.people}, each counted once"
        return f"{total:,.0f} {self.people} in {count:,} places"
