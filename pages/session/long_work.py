"""Run long work with a progress bar and a Stop button; cache the result."""

import time
from collections.abc import Callable, Hashable
from typing import TypeVar

import streamlit as st

from pages.serving.cache import Cache
from pages.serving.plan_cache import WAITING
from pages.session import background_work, state
from pages.session.background_work import StoppedError
from pages.session.markdown import escaped
from tkm_core.progress import Progress

T = TypeVar("T")


def result(
    cache: Cache[T], key: Hashable, label: str, work: Callable[[Progress], T], *, weight: float = 1.0
) -> T:
    """Take a result from its cache, or make it while a bar shows how far it is and a button stops it.

    Parameters
    ----------
    cache : Cache
        Where the result is kept.
    key : hashable
        Content key: everything the result depends on.
    label : str
        What is being done, for the planner.
    work : callable
        Gets a function ``progress(fraction, text)``, which it has to call often; that is where it can be stopped.
    weight : float
        Of the result in its cache.

    Raises
    ------
    StoppedError
        If the planner stopped this work and has not asked for it again.
    """
    spot = st.empty()  # always there, so that what follows keeps its place
    found = cache.get(key)
    if found is not None:
        return found
    name = f"{label}{hash(key)}"
    own = f"{hash(name) & 0xFFFFFFFF:x}"  # a page may have several such works in one run
    if state.visit().stopped == name:
        with spot.container(border=True):
            st.markdown(f"**Stopped:** {escaped(label)}.")
            if not st.button("Carry on", icon=":material/play_arrow:", key="carry_on"):
                raise StoppedError(label)
        state.visit().stopped = ""
    begun = time.monotonic()
    bar: list[st.delta_generator.DeltaGenerator] = []

    def progress(fraction: float, text: str) -> None:
        if not bar:
            if time.monotonic() - begun < background_work.PATIENCE:
                return
            with spot.container(border=True, key=f"long_work_{own}"):
                bar.append(st.progress(0.0, text=escaped(label)))
                st.button("Stop", icon=":material/stop:", key=f"stop_{own}", on_click=_stop, args=(name,))
        bar[0].progress(min(max(fraction, 0.0), 1.0), text=escaped(sentence(label, text)))

    made = cache.once(key, lambda: work(progress), lambda: progress(0.0, WAITING), weight)
    spot.empty()
    return made


def sentence(label: str, text: str) -> str:
    """What is being done, and how far it is, as one sentence.

    >>> sentence("Placing 3 facilities", "Trying starts")
    'Placing 3 facilities: trying starts'
    """
    return f"{label}: {text[:1].lower()}{text[1:]}"


def _stop(name: str) -> None:
    state.visit().stopped = name
