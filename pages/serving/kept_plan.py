"""Describe a plan that a visitor keeps to compare with others."""

from dataclasses import dataclass

from tkm_core.planning import Plan, Reference
from tkm_core.stories import facilities_text
from tkm_core.wording import dial_text


@dataclass(frozen=True)
class KeptPlan:
    """A plan as it was when it was kept.

    Attributes
    ----------
    token : str
        A secret that names it in the address.
    name : str
        "Plan A", or what the visitor calls it.
    query : dict
        The address that shows it.
    plan : Plan
        At its one setting of the dial.
    key : tuple
        Under which it is kept: it goes with the residents and the facilities it was made for.
    """

    token: str
    name: str
    query: dict[str, str]
    plan: Plan
    key: tuple[str, ...]

    @property
    def words(self) -> str:
        """What it is, in a line: "Plan A: 6 facilities, t = 0.25"."""
        told = f"{self.name}: {facilities_text(self.plan)}"
        return f"{told}, t = {dial_text(self.plan.t[0])}" if self.plan.k else told

    @property
    def reference(self) -> Reference:
        """What another plan is compared with, if this one is chosen."""
        return self.plan.as_reference(0, self.name)
