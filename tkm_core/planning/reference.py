"""The reference of a plan: today, the lowest-average plan, one by straight lines, or a saved one."""

from dataclasses import dataclass, field

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.residents import Existing
from tkm_core.sites import Capacity


@dataclass(frozen=True, eq=False)
class Reference:
    """What a plan is compared with. Story, map, charts, report and exports all follow it.

    Attributes
    ----------
    kind : {"today", "average", "straight", "saved"}
        The facilities that exist today; the lowest-average plan with as many new ones; for a plan along streets,
        k-means++ by straight lines with each facility moved to the nearest junction; or a saved plan.
    title : str
        Title of a saved plan, not to be trusted as markup.
    lonlat : ndarray of shape (f, 2)
        Facilities of a saved plan in degrees, longitude first.
    made : str
        How the lowest-average plan was made; it does not matter for equality.
    most, least : tuple of float
        The room of each facility of a saved plan; empty if it was not limited, and everyone goes to the nearest.
    t : float
        The setting of a saved plan, by which people are shared out where its room is limited.

    Examples
    --------
    >>> AVERAGE.words, AVERAGE.heading
    ('the lowest-average plan', 'Lowest average')
    >>> Reference("saved", "Option B", np.array([[1.44, 43.6]])).words
    'the plan “Option B”'
    >>> Reference("saved", "Plan A", np.array([[1.44, 43.6]])).than
    'in “Plan A”'
    """

    kind: str
    title: str = ""
    lonlat: Floats = field(default_factory=lambda: np.empty((0, 2)))
    made: str = "k-means++"
    most: tuple[float, ...] = ()
    least: tuple[float, ...] = ()
    t: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in WORDS:
            msg = f"A plan can be compared with {', '.join(WORDS)}, not with {self.kind!r}."
            raise ValueError(msg)
        if self.kind == "saved" and not len(self.lonlat):
            msg = "A saved plan without facilities is nothing to compare with."
            raise ValueError(msg)
        if self.most and not len(self.most) == len(self.least) == len(self.lonlat):
            msg = f"A saved plan with {len(self.lonlat)} facilities needs the room of each of them."
            raise ValueError(msg)

    @property
    def room(self) -> Capacity | None:
        """The room of each facility of a saved plan; None if it is not limited."""
        return Capacity(self.most, self.least) if self.most else None

    @property
    def words(self) -> str:
        """For a sentence: "against the lowest-average plan"."""
        if self.kind != "saved" or not self.title:
            return WORDS[self.kind]
        says_so = self.title.lower().startswith("plan")
        return f"“{self.title}”" if says_so else f"the plan “{self.title}”"

    @property
    def than(self) -> str:
        """For a comparison: "farther than today", "farther than in the lowest-average plan"."""
        return self.words if self.kind == "today" else f"in {self.words}"

    @property
    def heading(self) -> str:
        """For the head of a column or a label: "Today"."""
        return self.title if self.kind == "saved" and self.title else HEADINGS[self.kind]

    @property
    def technical(self) -> str:
        """The words with the name that experts know: "the lowest-average plan (k-means++)"."""
        if self.kind == "straight":
            return f"{self.words} (k-means++, moved to the nearest junctions or sites)"
        return f"{self.words} ({self.made})" if self.kind == "average" else self.words

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        """What makes two references equal."""
        return (
            self.kind,
            self.title,
            self.lonlat.tobytes(),
            self.most,
            self.least,
            self.t if self.most else 0.0,
        )


WORDS = {
    "today": "today",
    "average": "the lowest-average plan",
    "straight": "the plan by straight lines",
    "saved": "a saved plan",
}
HEADINGS = {
    "today": "Today",
    "average": "Lowest average",
    "straight": "By straight lines",
    "saved": "Saved plan",
}
TODAY, AVERAGE, BY_STRAIGHT_LINES = Reference("today"), Reference("average"), Reference("straight")


def usual_reference(existing: Existing) -> Reference:
    """The default reference: today, if anything exists today."""
    return TODAY if len(existing) > existing.pinned else AVERAGE
