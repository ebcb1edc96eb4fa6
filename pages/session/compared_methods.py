"""The methods run for a visitor: each kept by what it depends on, so that a stop or a change loses little."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs import tasks
from pages.serving.plan_cache import SEED, WAITING
from pages.session import cities, long_work, screen, state
from tkm_core.figures import FAIRNESS, UTILITY
from tkm_core.methods import BASELINE, OWN, Solution, describe, estimate
from tkm_core.planning import FREE, Compared, Plan, judge, judge_by_rules
from tkm_core.progress import Progress

PATIENCE = {"20 s": 20.0, "2 min": 120.0, "10 min": 600.0}
# Residents per unit of weight in a cache: for a result that has everything about each of them, and for a measured
# method, which keeps only who goes where and how far
WEIGHT, SLIM = 50_000, 400_000


def run(place: City, plan: Plan, t: float, names: Sequence[str], patience: float) -> list[Compared]:
    """All the named methods, measured on everyone; a bar shows how far they are and a button stops them.

    Tilted k-means has the facilities of the plan, so that its figures are those of the Plan page; its time is that of a
    run by itself.
    """
    k = plan.k
    key = ("methods", *_who(place, k), t, tuple(names), patience)

    def work(progress: Progress) -> object:
        expected = [_expected(place, k, name, patience) for name in names]
        whole, done = sum(expected), 0.0
        for number, (name, seconds) in enumerate(zip(names, expected, strict=True), start=1):
            title = describe(name).title
            which = f"method {number} of {len(names)}, {title}"

            def told(
                part: float,
                text: str,
                *,
                done: float = done,
                seconds: float = seconds,
                title: str = title,
                which: str = which,
            ) -> None:
                progress(
                    0.95 * (done + seconds * part) / whole,
                    f"{which}: {text.removeprefix(f'{title}: ')}",
                )

            told(0.0, "starting")
            _solution(place, k, t, name, patience, told)
            done += seconds
        _radius(place, k, lambda part, text: progress(0.95 + 0.05 * part, text))
        return names

    label = (
        f"Running {len(names)} methods for {place.title}" if len(names) > 1 else f"Running for {place.title}"
    )
    long_work.result(caches().results, key, label, work)
    return finished(place, plan, t, names, patience)


def finished(place: City, plan: Plan, t: float, names: Sequence[str], patience: float) -> list[Compared]:
    """Those of the named methods that have run already."""
    k = plan.k
    kept = {name: caches().results.get(_key(place, k, t, name, patience)) for name in names}
    found = [
        _judged(place, plan, t, name, patience, cast("Solution", solution))
        for name, solution in kept.items()
        if solution is not None
    ]
    state.visit().compared[_who(place, k)] = {
        one.short: {key: float(getattr(one.evaluation, key)) for key in (*UTILITY, *FAIRNESS)}
        for one in found
        if one.name not in (OWN, BASELINE)  # which the Plan page draws itself
    }
    return found


def on_tradeoff(plan: Plan, utility: str, fairness: str) -> dict[str, tuple[float, float]]:
    """Where the methods that this visitor had run for this plan stand in the trade-off, in metres."""
    everything = state.visit().compared
    if not everything:
        return {}
    compared = everything.get(_who(cities.current(), plan.k), {})
    return {name: (found[utility], found[fairness]) for name, found in compared.items()}


def _solution(place: City, k: int, t: float, name: str, patience: float, progress: Progress) -> object:
    def solved() -> Solution:
        found = tasks.solution(
            place.residents,
            name,
            k,
            t=t,
            patience=patience,
            existing=place.staying,
            random_state=SEED,
            progress=progress,
        )
        # who goes where is measured anew; with it, the methods for a large city would drive each other out
        return replace(found, labels=found.labels[:0].copy())

    return caches().results.once(_key(place, k, t, name, patience), solved, lambda: progress(0.0, WAITING))


def _radius(place: City, k: int, progress: Progress) -> npt.NDArray[np.float64] | None:
    kept = caches().results.once(
        ("radius", *_who(place, k)),
        lambda: (tasks.radius(place.residents, k + len(place.staying or ()), progress),),
        lambda: progress(0.0, WAITING),
        _weight(place),
    )
    return cast("tuple[npt.NDArray[np.float64] | None]", kept)[0]


def _judged(place: City, plan: Plan, t: float, name: str, patience: float, solution: Solution) -> Compared:
    standard, k = screen.standard(place), plan.k
    if name == OWN and place.rules == FREE:
        solution = replace(solution, centers=plan.path.centers[plan.index(t)])

    def measured() -> Compared:
        if not place.rules.plain:
            return _slim(judge_by_rules(plan, solution, t=t, standard=standard))
        near = _radius(place, k, lambda *_: None)
        return _slim(judge(place.residents, solution, t=t, standard=standard, neighbourhood=near))

    found = caches().results.once(
        ("judged", *_key(place, k, t, name, patience), standard, solution.centers.tobytes()),
        measured,
        weight=max(1.0, len(place.residents) / SLIM),
    )
    return cast("Compared", found)


def _slim(one: Compared) -> Compared:
    """The same with half the memory: of the distances, only the maps are still to be drawn."""
    distance = cast("npt.NDArray[np.float64]", one.evaluation.distance.astype(np.float32))
    return replace(one, evaluation=replace(one.evaluation, distance=distance))


def _who(place: City, k: int) -> tuple[Hashable, ...]:
    return *place.key_with_existing, k


def _key(place: City, k: int, t: float, name: str, patience: float) -> tuple[Hashable, ...]:
    # more patience changes nothing for a method that had enough
    method = describe(name)
    enough = method.scales or (not method.may_give_up and _seconds(place, k, name) <= patience)
    return (
        "solution",
        *_who(place, k),
        name,
        t if method.has_dial else None,
        "everyone" if enough else patience,
    )


def _weight(place: City) -> float:
    return max(1.0, len(place.residents) / WEIGHT)


def _seconds(place: City, k: int, name: str) -> float:
    return estimate(name, len(place.residents), 2, k).seconds


def _expected(place: City, k: int, name: str, patience: float) -> float:
    """Seconds, for the share of the bar; at least a little, so that it always moves."""
    return max(0.1, min(_seconds(place, k, name), patience))
