"""How many?: every measure against the number of facilities, and what one more buys."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from pages.serving.jobs import tasks
from pages.shared import address, session, sidebar
from pages.shared.markdown import escaped
from tkm_core import figures
from tkm_core.figures import COUNT_AXES, by_count, count_words, values
from tkm_core.planning import Count, Plan, compare_counts, sampled
from tkm_core.stories import one_more

MOST = 12


def render() -> None:
    """Solve for every number of facilities around the chosen one, and show what each buys."""
    place = sidebar.problem()
    sidebar.units_and_standard()
    session.show_notices()
    k, t, look = address.get("k"), address.get("t"), session.look(place.people)
    last = min(max(MOST, k + 3), len(place.residents))
    counts = _counts(place, range(1, last + 1), t)
    kept = 0 if place.existing is None else len(place.existing)
    sentence = one_more(counts, k, unit=look.unit, people=place.people, existing=kept)
    st.title(escaped(sentence or f"{k} facilities for {place.title}"), anchor=False)
    home = sampled(place.residents)
    note = (
        f"Tilted k-means at t = {t:g} and k-means++, each solved anew for every number of facilities, "
        f"for {place.title}."
    )
    if place.existing is not None:
        note += f" Counted are new facilities; {place.existing.words} {'stays' if kept == 1 else 'stay'} in every plan."
    if home is not place.residents:
        note += (
            f" There are {len(place.residents):,} {place.people}; these curves are measured on {len(home):,} of them, "
            "drawn at random, so the farthest may be missing here. The Plan page uses everyone."
        )
    st.markdown(f":gray[{escaped(note)} Turn the dial on the Plan page to change t.]")
    _charts(counts, look, k)
    st.header("The same in figures", anchor=False)
    st.dataframe(_table(counts, look), hide_index=True, width="stretch")


def _counts(place: session.City, numbers: range, t: float) -> list[Count]:
    standard = session.standard_metres()
    key = ("counts", *place.key_with_existing, numbers[-1], t, standard)

    def work(progress: Callable[[float, str], None]) -> object:
        home = sampled(place.residents)

        def plan_for(k: int, told: Callable[[float, str], None]) -> Plan:
            if home is place.residents:
                return session.quiet_plan(place, k, told)
            return tasks.plan(home, k, existing=place.existing, random_state=session.SEED, progress=told)

        return compare_counts(home, numbers, t, standard=standard, plan_for=plan_for, progress=progress)

    label = f"Trying 1 to {numbers[-1]} facilities"
    found = session.long_work(session.shelves().results, key, label, work)
    assert isinstance(found, list)  # noqa: S101  the key says what it is
    return found


def _charts(counts: list[Count], look: figures.Look, k: int) -> None:
    shown = [name for name in COUNT_AXES if name in counts[0].tilted]
    first, second = st.columns(3), st.columns(3)
    for spot, name in zip([*first, *second], shown, strict=False):
        spot.plotly_chart(
            by_count(counts, name, look, k=k),
            theme=None,
            config=figures.CONFIG,
            key=f"count_{name}",
            alt=count_words(counts, name, look),
        )
    with second[-1]:
        accent, muted = look.palette.accent, look.palette.muted
        st.html(
            f'<p style="margin-top:2.6rem"><span style="color:{accent}"><b>●━</b> tilted k-means</span><br>'
            f'<span style="color:{muted}"><b>○┄</b> k-means++</span></p>'
        )
        st.markdown(
            ":gray[The larger mark is the number you chose. Where the curves flatten, one more facility buys little.]"
        )


def _table(counts: list[Count], look: figures.Look) -> pd.DataFrame:
    columns: dict[str, object] = {"Facilities to site": [count.k for count in counts]}
    for name, axis in COUNT_AXES.items():
        if name in counts[0].tilted:
            label = axis.label(look.unit)
            for side, words in (("tilted", "tilted"), ("baseline", "k-means++")):
                title = f"{label[:1].upper()}{label[1:]} ({words})"
                columns[title] = values(counts, side, name, look.unit).round(2)
    return pd.DataFrame(columns)


if __name__ == "__main__":
    from app import main

    main()
