"""Plans that a visitor keeps to compare: each is a name, the address that shows it, and the plan at one setting."""

import secrets
from dataclasses import dataclass, replace

from pages.shared import address, cities, dial, state
from pages.shared.cache import caches
from pages.shared.markdown import plain
from tkm_core.planning import Plan, Reference, one_setting
from tkm_core.stories import facilities_text
from tkm_core.wording import dial_text

MOST = 12  # plans that a visit keeps; the oldest goes first
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


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


def keep(plan: Plan) -> KeptPlan:
    """Keep a plan as it stands now; a callback."""
    place, visit = cities.current(), state.visit()
    token = secrets.token_urlsafe(24)
    taken = {kept.name for kept in known(place).values()}
    name = next(
        (f"Plan {letter}" for letter in LETTERS if f"Plan {letter}" not in taken), f"Plan {token[:4]}"
    )
    settings = {
        name: value
        for name, value in address.query().items()
        if name not in ("a", "b", "compare", "present", "against")
    }
    setting = one_setting(plan, plan.index(dial.setting(plan)))
    kept = KeptPlan(token, name, settings, setting, (token, place.home, *place.key_with_existing))
    caches().kept_plans.put(kept.key, kept, max(len(place.residents), 1000))
    visit.kept_plans = [*visit.kept_plans, token][-MOST:]
    return kept


def known(place: cities.City) -> dict[str, KeptPlan]:
    """The kept plans for the same residents: those of this visit, and those that the address names."""
    named = (address.get(field) for field in ("against", "a", "b"))
    tokens = dict.fromkeys([*state.visit().kept_plans, *(token for token in named if len(token) > 9)])
    found = {token: kept for token in tokens for kept in caches().kept_plans.about(token)}
    here = place.residents.fingerprint
    return {token: kept for token, kept in found.items() if kept.plan.residents.fingerprint == here}


def rename(kept: KeptPlan, name: str) -> None:
    """Call it something else; a callback."""
    named = replace(kept, name=plain(name, kept.name)[:40])
    caches().kept_plans.put(kept.key, named, max(len(kept.plan.residents), 1000))


def drop(kept: KeptPlan) -> None:
    """Keep it no longer; a callback."""
    caches().kept_plans.remove(kept.key)
    visit = state.visit()
    visit.kept_plans = [token for token in visit.kept_plans if token != kept.token]
    for field in ("against", "a", "b"):
        if address.get(field) == kept.token:
            address.put(field, "")
