"""How many?: every measure against the number of facilities, and what one more buys."""

from collections.abc import Callable
from html import escape
from typing import cast

import pandas as pd
import streamlit as st

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs import tasks
from pages.serving.plan_cache import SEED
from pages.session import address, long_work, notices, plans, references, screen
from pages.session.markdown import escaped
from pages.widgets import fewest, sidebar
from tkm_core import figures
from tkm_core.figures import COUNT_AXES, by_count, count_words, values
from tkm_core.planning import Count, Plan, compare_counts, sampled
from tkm_core.stories import impossible, one_more
from tkm_core.wording import counted, dial_text

MOST = 12


def render() -> None:
    """Solve for every number of facilities around the chosen one, and show what each buys."""
    place = sidebar.problem()
    sidebar.reference(place)
    sidebar.units_and_standard(place)
    notices.show()
    k, t, look = address.get("k"), address.get("t"), screen.look(place)
    last = min(max(MOST, k + 3), sidebar.most_new(place))
    staying = place.staying
    counts, left_out = _counts(place, range(0 if staying else 1, last + 1), t)
    kept = 0 if staying is None else len(staying)
    sentence = one_more(counts, k, unit=look.unit, people=place.people, n_existing=kept)
    st.title(escaped(sentence or f"{counted(k, 'facility', 'facilities')} for {place.title}"), anchor=False)
    fewest.show(place, look)
    home = sampled(place.residents, rules=place.rules)
    note = (
        f"For {place.title}, with the fairness dial at t = {dial_text(t)}, compared with "
        f"{counts[0].against.technical}. "
        "For every number, all new facilities are placed anew."
    )
    if staying is not None:
        note += f" The number counts new facilities; {staying.words} {'stays' if kept == 1 else 'stay'} in every plan."
    if home is not place.residents:
        note += (
            f" The data have {len(place.residents):,} places; these curves are measured on {len(home):,} of them, "
            "drawn at random, so the most remote ones may be missing here. The Plan page uses all of them."
        )
    st.markdown(f":gray[{escaped(note)} Turn the dial on the Plan page for another balance.]")
    told = [*place.rules.sentences(place.people), *impossible(left_out)]
    if told:
        st.markdown("\n".join(f"- :gray[{escaped(one)}]" for one in told))
    _charts(counts, look, k)
    st.header("The same in figures", anchor=False)
    st.dataframe(_table(counts, look), hide_index=True, width="stretch")


def _counts(place: City, numbers: range, t: float) -> tuple[list[Count], dict[int, str]]:
    standard = screen.standard(place)
    reference = references.chosen(place)
    key = ("counts", *place.key_with_existing, numbers[0], numbers[-1], t, standard, reference)

    def work(progress: Callable[[float, str], None]) -> object:
        home = sampled(place.residents, rules=place.rules)
        left_out: dict[int, str] = {}

        def plan_for(k: int, told: Callable[[float, str], None]) -> Plan:
            if home is place.residents:
                made = plans.part_of_other_work(place, k, told)
            else:
                made = tasks.plan(
                    home,
                    k,
                    existing=place.existing,
                    closed=place.closed,
                    rules=place.rules,
                    random_state=SEED,
                    progress=told,
                )
            return made.against(reference)

        counts = compare_counts(
            home, numbers, t, standard=standard, plan_for=plan_for, left_out=left_out, progress=progress
        )
        return counts, left_out

    label = f"Trying {numbers[0]} to {numbers[-1]} facilities"
    found = long_work.result(caches().results, key, label, work)
    return cast("tuple[list[Count], dict[int, str]]", found)


def _charts(counts: list[Count], look: figures.Look, k: int) -> None:
    shown = [name for name in COUNT_AXES if name in counts[0].tilted]
    spots = [spot for _ in range(0, len(shown) + 1, 3) for spot in st.columns(3)]  # one more for the legend
    for spot, name in zip(spots, shown, strict=False):
        spot.plotly_chart(
            by_count(counts, name, look, k=k),
            theme=None,
            config=figures.CONFIG,
            key=f"count_{name}",
            alt=count_words(counts, name, look),
        )
    with spots[len(shown)]:
        accent, muted = look.palette.accent, look.palette.muted
        st.html(
            f'<p style="margin-top:2.6rem"><span style="color:{accent}"><b>●━</b> this plan</span><br>'
            f'<span style="color:{muted}"><b>○┄</b> {escape(counts[0].against.words)}</span></p>'
        )
        st.markdown(
            ":gray[The larger mark is the number you chose. Where the curves flatten, one more facility brings little.]"
        )


def _table(counts: list[Count], look: figures.Look) -> pd.DataFrame:
    columns: dict[str, object] = {
        "New facilities" if counts[0].k == 0 else "Facilities": [count.k for count in counts]
    }
    for name, axis in COUNT_AXES.items():
        if name in counts[0].tilted:
            label = axis.label(look.unit)
            for side, words in (("tilted", "this plan"), ("reference", counts[0].against.heading)):
                title = f"{label[:1].upper()}{label[1:]} ({words})"
                columns[title] = values(counts, side, name, look.unit).round(2)
    return pd.DataFrame(columns)


if __name__ == "__main__":
    from app import main

    main()
