"""The methods run for a visitor: each kept by what it depends on, so that a stop or a change loses little."""

from collections.abc import Hashable, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
import streamlit as st

from pages.serving.jobs import tasks
from pages.shared import session
from tkm_core.figures import FAIRNESS, UTILITY, SmallGround
from tkm_core.methods import Solution, describe, estimate
from tkm_core.planning import FOR_EVERYONE, Compared, Plan, judge
from tkm_core.progress import Progress, silent

PATIENCE = {"20 s": 20.0, "2 min": 120.0, "10 min": 600.0}
WEIGHT = 50_000  # residents that make a result weigh as much as one that is small
DRAWN_ANYWAY = ("tkm", "kmeans++")  # the Plan page draws these two itself


def run(place: session.City, k: int, t: float, names: Sequence[str], patience: float) -> list[Compared]:
    """All the named methods, measured on everyone; a bar shows how far they are and a button stops them."""
    key = ("methods", *_who(place, k), t, tuple(names), patience)

    def work(progress: Progress) -> object:
        plan_of(place, k, lambda part, text: progress(0.2 * part, text))
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
                    0.2 + 0.75 * (done + seconds * part) / whole,
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
    session.long_work(session.shelves().results, key, label, work)
    return finished(place, k, t, names, patience)


def finished(place: session.City, k: int, t: float, names: Sequence[str], patience: float) -> list[Compared]:
    """Those of the named methods that have run already."""
    shelf = session.shelves().results
    kept = {name: shelf.get(_key(place, k, t, name, patience)) for name in names}
    found = [
        _judged(place, k, t, name, patience, cast("Solution", solution))
        for name, solution in kept.items()
        if solution is not None
    ]
    st.session_state.setdefault("marks", {})[_who(place, k)] = {
        one.short: {key: float(getattr(one.evaluation, key)) for key in (*UTILITY, *FAIRNESS)}
        for one in found
        if one.name not in DRAWN_ANYWAY
    }
    return found


def on_tradeoff(plan: Plan, utility: str, fairness: str) -> dict[str, tuple[float, float]]:
    """Where the methods that this visitor had run for this plan stand in the trade-off, in metres."""
    marks = st.session_state.get("marks", {}).get(_who(session.city(), plan.k), {})
    return {name: (found[utility], found[fairness]) for name, found in marks.items()}


def plan_of(place: session.City, k: int, progress: Progress = silent) -> Plan:
    """The plan of the Plan page, which the methods are run beside."""
    return place.opened(k) or session.quiet_plan(place, k, progress)


def ground_of(place: session.City) -> SmallGround:
    """What the small maps of a city share."""
    found = session.shelves().results.once(
        ("small ground", place.key, place.residents.fingerprint),
        lambda: SmallGround.of(place.residents),
        lambda: None,
        _weight(place),
    )
    return cast("SmallGround", found)


def _solution(
    place: session.City, k: int, t: float, name: str, patience: float, progress: Progress
) -> object:
    return session.shelves().results.once(
        _key(place, k, t, name, patience),
        lambda: tasks.solution(
            place.residents,
            name,
            k,
            t=t,
            patience=patience,
            existing=place.existing,
            random_state=session.SEED,
            progress=progress,
        ),
        lambda: progress(0.0, "waiting for the same work"),
        _weight(place),
    )


def _radius(place: session.City, k: int, progress: Progress) -> npt.NDArray[np.float64] | None:
    kept = session.shelves().results.once(
        ("radius", *_who(place, k)),
        lambda: (tasks.radius(place.residents, k + len(place.existing or ()), progress),),
        lambda: progress(0.0, "waiting for the same work"),
        _weight(place),
    )
    return cast("tuple[npt.NDArray[np.float64] | None]", kept)[0]


def _judged(
    place: session.City, k: int, t: float, name: str, patience: float, solution: Solution
) -> Compared:
    standard = session.standard_metres()
    found = session.shelves().results.once(
        ("judged", *_key(place, k, t, name, patience), standard),
        lambda: judge(
            place.residents,
            solution,
            t=t,
            standard=standard,
            neighbourhood=_radius(place, k, lambda *_: None),
        ),
        lambda: None,
        _weight(place),
    )
    return cast("Compared", found)


def _who(place: session.City, k: int) -> tuple[Hashable, ...]:
    return *place.key_with_existing, k


def _key(place: session.City, k: int, t: float, name: str, patience: float) -> tuple[Hashable, ...]:
    # more patience changes nothing for a method that had enough; FR and SFR may find out only on the way
    enough = name not in ("fr", "sfr") and (name in FOR_EVERYONE or _seconds(place, k, name) <= patience)
    return (
        "solution",
        *_who(place, k),
        name,
        t if name == "tkm" else None,
        "everyone" if enough else patience,
    )


def _weight(place: session.City) -> float:
    return max(1.0, len(place.residents) / WEIGHT)


def _seconds(place: session.City, k: int, name: str) -> float:
    return estimate(name, len(place.residents), 2, k).seconds


def _expected(place: session.City, k: int, name: str, patience: float) -> float:
    """Seconds, for the share of the bar; at least a little, so that it always moves."""
    return max(0.1, min(_seconds(place, k, name), patience))
