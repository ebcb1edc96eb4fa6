"""The cities that are planned for: samples, uploads and opened plans, and which of them the address names."""

import math
from dataclasses import replace

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs.tasks import USUAL_T
from pages.serving.plan_settings import FIELDS, UPLOAD
from pages.serving.samples import sample
from pages.session import address, notices, rules, screen, state, stored_data
from tkm_core.planning import Plan
from tkm_core.residents import Existing, Residents, find_sample, nearby

OWN = ("k", "t", "pins", "units", "standard", "minutes")  # settings that each city has for itself
CARRIED = "carried "  # begins the key of residents that came with a plan file: they are nowhere else


def current() -> City:
    """The city that the address names, with the existing facilities if they are near it.

    Raises
    ------
    stored_data.GoneError
        If data that the address names cannot be opened: no other city stands in for them.
    """
    place, found = _named_city(), existing()
    _use_own_settings(place.key)
    if place.saved is None and found is not None and nearby(place.residents, found.lonlat).any():
        place = replace(place, existing=found)
    place = replace(place, closed=_closed(place))
    told = rules.of(place.residents, place.existing) if place.saved is None else place.saved.rules
    opened = stored_data.scenario()
    place = replace(place, rules=told, scenario="" if opened is None else opened[0].id)
    screen.fit_standard(place)
    return place


def _use_own_settings(key: str) -> None:
    """Give each city its own number of facilities, dial, units and standard; what a link says is for its own city."""
    visit = state.visit()
    before = enter(key)
    if before and before != key:
        own = visit.settings.get(key)
        visit.fitted, visit.untouched_t = None, USUAL_T if own is None else math.nan
        for name in OWN:
            address.put(name, FIELDS[name].default if own is None else own[name])


def enter(key: str) -> str:
    """Say that the settings are those of a city from now on; those of the last one are kept. Returns its key."""
    visit, before = state.visit(), state.visit().city
    if before != key:
        if before:
            visit.settings[before] = {name: address.get(name) for name in OWN}
        visit.city = key
    return before


def _closed(place: City) -> tuple[int, ...]:
    """Which of the existing facilities the address closes; a notice says which numbers do not exist."""
    if place.existing is None:
        return ()
    asked: list[int] = sorted(address.get("closed"))
    known = [number for number in asked if number <= len(place.existing)]
    if known != asked:
        notices.add(f"Here you have {place.existing.words}: number {asked[-1]} cannot be closed.")
        address.put("closed", known)
    return tuple(number - 1 for number in known)


def existing() -> Existing | None:
    """The existing facilities that the address names, wherever they are."""
    token = address.get("existing")
    found = named_existing(token)
    if token and found is None:
        raise stored_data.GoneError(field="existing", what="The existing facilities of this link are")
    return found


def named_existing(token: str) -> Existing | None:
    """The existing facilities that a token names, if they are here for this visitor."""
    if not token:
        return None
    known = caches().existing.get(token)
    if known is not None and stored_data.still_there(token, known[1]):
        return known[0]
    stored = stored_data.existing(token)
    if stored is None:
        return None
    row, found = stored
    caches().existing.put(token, (found, row.project_id or ""), len(found))
    return found


def keep_existing(found: Existing) -> None:
    """Take existing facilities into use: they get a new secret token, and the address names it."""
    token = state.new_token()
    stored = stored_data.write_existing(token, found)
    caches().existing.put(token, (found, "" if stored else None), len(found))
    address.put("existing", token)


def leave_existing() -> None:
    """Plan without the existing facilities; if they are this visitor's own, remove them from the server, too."""
    token = address.get("existing")
    found = caches().existing.get(token)
    if found is not None and owns(token):
        if not stored_data.remove(token):
            return
        caches().existing.remove(token)
        caches().remove_about(found[0].fingerprint)
    address.put("existing", "")
    address.put("closed", [])


def owns(token: str) -> bool:
    """Whether this visitor brought what a token names."""
    return token in state.visit().own or stored_data.owned(token)


def named(dataset: str, token: str) -> City | None:
    """The city that a saved address names; None if it cannot be opened."""
    if dataset == UPLOAD:
        return _uploaded(token)
    return None if find_sample(dataset) is None else sample(dataset)


def _named_city() -> City:
    """The city that the address names."""
    dataset, token = address.get("dataset"), address.get("upload")
    if dataset != UPLOAD:
        return sample(dataset)
    found = _uploaded(token)
    if found is None:
        raise stored_data.GoneError(field="upload", what="The uploaded data of this link are")
    return found


def _uploaded(token: str) -> City | None:
    """The city that a token names: from memory, or from the store, where another server may have put it."""
    found = caches().uploads.get(token)
    if found is not None and stored_data.still_there(found.home or token, found.project):
        return found
    stored = stored_data.residents(token)
    if stored is None:
        return None
    row, residents = stored
    place = City(token, row.title, row.people, residents, project=row.project_id or "")
    return caches().uploads.put(token, place, max(len(residents), 1000))


def keep_upload(residents: Residents, title: str, people: str, *, instead_of: str = "") -> City:
    """Take a checked upload into use: it gets a new secret token, and the address names it.

    Where it is this visitor's own data read anew, the token stays, so that links show them as they are now, and what
    was made of them before goes.
    """
    token = instead_of if owns(instead_of) else state.new_token()
    caches().remove_about(token)
    kept = City(token, title, people, residents)
    stored = stored_data.write_residents(token, residents, kept.title, kept.people)
    return _keep_city(replace(kept, project="" if stored else None))


def keep_cells(place: City) -> City:
    """Take a data set of this server into use, under a secret token; it is held in memory, and not in the store."""
    return _keep_city(replace(place, key=state.new_token()))


def keep_plan(place: City, plan: Plan) -> City:
    """Take a plan from a file into use: a city of its own, so that nobody else's plan is touched."""
    home = place.home or place.key
    kept = _keep_city(replace(place, key=state.new_token(), saved=plan, closed=plan.closed, home=home))
    address.put("existing", "")
    address.put("closed", [number + 1 for number in plan.closed])
    enter(kept.key)
    return kept


def kept_home(place: City) -> str:
    """The token of the residents of a plan that was opened from a file; those that came with the file are kept now."""
    if not place.home.startswith(CARRIED):
        return place.home
    token = state.new_token()
    stored_data.write_residents(token, place.residents, place.title, place.people)
    return token


def _keep_city(place: City) -> City:
    caches().uploads.put(place.key, place, max(len(place.residents), 1000))
    address.put("dataset", UPLOAD)
    address.put("upload", place.key)
    address.put("scenario", "")
    return place


def forget_upload() -> None:
    """Put this visitor's upload in the bin, forget what was made of it, and go back to the first sample.

    Plans that somebody opened for these residents go, too. Of another visitor's upload nothing is removed.
    """
    token = address.get("upload")
    if owns(token):
        known = caches().uploads.get(token)
        in_memory = known is not None and (known.project is None or known.saved is not None)
        if not in_memory and not stored_data.remove(token):
            return
        for key in [token, *(kept.key for kept in caches().uploads.values() if kept.home == token)]:
            caches().remove_about(key)
        state.visit().brought = None
    leave_upload()


def leave_upload() -> None:
    """Go back to the first sample."""
    address.put("dataset", FIELDS["dataset"].default)
    address.put("upload", "")
    address.put("scenario", "")
