"""Plans over HTTP: made by the same workers, in the same line, as those of the pages."""

import math
from typing import Literal

from fastapi import APIRouter

from pages.serving.api import cities
from pages.serving.api.caller import Calls
from pages.serving.api.messages import FacilityAnswer, PlanAnswer, PlanWish, link
from pages.serving.city import City
from pages.serving.scenario_content import saved_figures
from tkm_core.export import facilities
from tkm_core.measures import SAVED, shown_in
from tkm_core.planning import PLAN_CRITERION, Plan
from tkm_core.progress import Progress
from tkm_core.stories import tell_plan

router = APIRouter(tags=["plans"])


@router.post("/plans")
async def plan(caller: Calls, wish: PlanWish) -> PlanAnswer:
    """Make a plan, and say where facilities go, what it means for people and what it costs.

    The answer comes when the plan is made; hang up to cancel it. Nothing is kept: see POST /scenarios for that.
    """

    def work(progress: Progress) -> PlanAnswer:
        return _answer(wish, *cities.planned(caller.actor, wish, progress))

    return await caller.long(work)


def _answer(wish: PlanWish, place: City, made: Plan, i: int) -> PlanAnswer:
    story = tell_plan(made, i, people=place.people)
    kept = saved_figures(made, i, place)
    before = made.reference_evaluation()
    return PlanAnswer(
        dataset=wish.dataset,
        k=wish.k,
        t=_number(made.t[i]),
        sentence=story.text,
        facilities=_facilities(made, i),
        measures=kept["measures"],
        compared_with=made.reference.technical,
        measures_compared_with={key: float(getattr(before, key)) for key in shown_in(SAVED)},
        dial=[_number(t) for t in made.t],
        curve=kept["curve"],
        unit=made.rules.unit,
        rules=list(made.rules.sentences(place.people)),
        remarks=list(made.remarks),
        proof=made.proof(i),
        link=link(cities.settings(wish)) if wish.criterion == PLAN_CRITERION else "",
    )


def _facilities(made: Plan, i: int) -> list[FacilityAnswer]:
    rows = facilities(made, i)
    open_today = made.k + made.n_existing - made.existing.pinned
    return [
        FacilityAnswer(
            number=int(row["facility"]),
            name=str(row.get("name") or ""),
            kind="new" if number < made.k else "existing" if number < open_today else "pinned",
            lon=float(row.geometry.x),
            lat=float(row.geometry.y),
            people=float(row["people"]),
        )
        for number, (_, row) in enumerate(rows.iterrows())
    ]


def _number(t: float) -> float | Literal["inf"]:
    return "inf" if math.isinf(t) else float(t)
