"""What plans are compared with: today, the lowest-average plan, or a plan that was kept. Every page follows it."""

from pages.serving.city import City
from pages.serving.plan_settings import AGAINST
from pages.session import address, kept_plans, notices
from tkm_core.planning import AVERAGE, BY_STRAIGHT_LINES, NONE_EXISTING, TODAY, Reference, usual_reference


def options(place: City) -> dict[str, Reference]:
    """What can be chosen, by its word in the address; the usual one has none."""
    usual = usual_reference(place.existing or NONE_EXISTING)
    first = usual if place.saved is None else place.saved.reference  # an opened plan opens as it was
    other = {one.kind: one for one in (usual, AVERAGE) if one != first}
    if not place.rules.straight:
        other["straight"] = BY_STRAIGHT_LINES
    return {
        "": first,
        **other,
        **{token: kept.reference for token, kept in kept_plans.known(place).items()},
    }


def chosen(place: City) -> Reference:
    """What the address names; the usual one, with a notice, where that cannot be."""
    offered, asked = options(place), address.get("against")
    if asked not in offered:
        if asked == "today" and offered[""] is not TODAY:
            notices.add("No facility exists here today: the plan is compared with the lowest-average plan.")
        elif asked not in AGAINST:
            notices.add(
                "The kept plan of this link is no longer here, or it was made for other data. "
                f"The plan is compared with {offered[''].words}."
            )
        asked = ""
        address.put("against", asked)
    return offered[asked]
