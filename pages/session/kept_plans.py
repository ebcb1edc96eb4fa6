"""Plans that a visitor keeps to compare: each is a name, the address that shows it, and the plan at one setting."""

import secrets
from dataclasses import replace

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.kept_plan import KeptPlan
from pages.session import address, cities, dial, state
from tkm_core.planning import Plan, one_setting
from tkm_core.wording import plain

MOST = 12  # plans that a visit keeps; the oldest goes first
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


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


def known(place: City) -> dict[str, KeptPlan]:
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
