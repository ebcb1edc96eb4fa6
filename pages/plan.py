"""Plan: the landing page, where the dial is turned and its consequences are seen."""

import streamlit as st

from pages.shared import address, compared_methods, downloads, errors, markdown, session, sidebar
from tkm_core import figures
from tkm_core.figures import DrawnDeck
from tkm_core.planning import Plan
from tkm_core.stories import tell_plan

MAP_HEIGHT, PHONE_HEIGHT = 588, 400
TICK, SLOWEST = 0.65, 5.2  # seconds between two steps of the dial while it plays
STRIDE = 2  # settings of the dial that one step takes


def render() -> None:
    """Controls at the side; the sentence, the dial, the map and the figures in one part that redraws alone."""
    place = sidebar.problem()
    session.show_notices()
    plan = session.plan_of(place, address.get("k"))
    sidebar.wishes(plan)
    beat = st.session_state["beat"] if st.session_state.get("playing") else None
    st.fragment(errors.told(_consequences), run_every=beat)(place, plan)


def _consequences(place: session.City, plan: Plan) -> None:
    """Everything that follows from t."""
    if st.session_state.get("playing"):
        _step()
    i = plan.index(address.get("t"))
    look, standard = session.look(place.people), session.standard_metres()
    evaluation, baseline = plan.evaluation(i, standard), plan.baseline_evaluation(standard)
    story = tell_plan(plan, i, unit=look.unit, standard=standard, people=place.people)

    with st.container(key="hero", gap="xsmall"):
        st.markdown(markdown.headline(story), anchors=False)
        st.markdown(markdown.detail(story, plan, i, address.get("budget")))
    left, right = st.container(key="body").columns([1.7, 1], gap="medium")
    with left:
        _dial()
        map_spot = st.container()
    with right, st.container(gap="xsmall"):
        st.table(markdown.figures_table(story), border="horizontal", hide_index=True)
        _tradeoff(place, plan, i, look)
        st.markdown(
            f"**Who lives how near** :gray[share of {markdown.escaped(place.people)} within a distance]"
        )
        st.plotly_chart(
            session.drawn(
                place,
                plan,
                ("distances", i, look, standard),
                lambda: figures.distances(
                    evaluation, baseline, plan.residents.weights, look, standard=standard, height=222
                ),
            ),
            theme=None,
            config=figures.CONFIG,
            key="distances",
            alt=figures.distances_words(evaluation, baseline, look),
        )
    height = PHONE_HEIGHT if session.on_phone() else MAP_HEIGHT
    ground = session.ground_of(place, width=360 if session.on_phone() else 690, height=height)
    with map_spot:
        st.pydeck_chart(
            session.drawn(
                place,
                plan,
                ("map", i, look, height),
                lambda: DrawnDeck(figures.plan_map(plan, i, evaluation, baseline, ground, look)),
            ),
            height=height,
            key="map",
            alt=figures.map_words(plan, i, evaluation, look),
        )
        st.html(figures.map_legend(figures.colour_scheme(plan, look), ground, look, existing=plan.existing))
    downloads.sidebar(place, plan, i, story, look)
    if not st.session_state.get("playing"):
        address.write()


def _dial() -> None:
    """The dial with its two ends in plain words, and the button that plays it."""
    with st.container(key="dial_row", horizontal=True, vertical_alignment="bottom", gap="small"):
        playing = st.session_state.get("playing", False)
        st.button(
            "Pause" if playing else "Play",
            icon=":material/pause:" if playing else ":material/play_arrow:",
            key="play",
            help="Turn the dial slowly from one end to the other.",
            on_click=_play,
            args=(not playing,),
        )
        st.select_slider(
            "Fairness dial",
            options=address.DIAL,
            format_func=lambda t: f"t = {t:g}",
            key="t",
            persist_state="session",
            on_change=_take_over,
        )
    with st.container(key="ends"):
        st.html(
            '<div class="er-ends er-pad"><span>lowest average distance</span><span>nobody left far behind</span></div>'
        )


def _take_over() -> None:
    """Stop playing when the planner turns the dial: a browser that lags behind only repeats a step already played."""
    t, played = address.get("t"), st.session_state.get("played", [])
    if t not in played:
        st.session_state["playing"] = False
    elif not st.session_state.get("playing"):  # a beat from before the pause: the browser's dial has to agree
        address.put("t", t)
        played.clear()


def _play(playing: bool) -> None:  # noqa: FBT001  a callback's only argument
    """Play from where the dial is (from the beginning if it is at its end), or pause at the step shown last."""
    st.session_state["playing"] = playing
    if playing:
        t = address.get("t")
        st.session_state["played"] = [address.DIAL[0] if t == address.DIAL[-1] else t]
        st.session_state["beat"], st.session_state["lags"] = TICK, False
    if st.session_state.get("played"):
        address.put("t", st.session_state["played"][-1])
    _draw_all()


def _draw_all() -> None:
    """Begin again with the whole page: only there the beat of the part that redraws can change."""
    st.session_state["between"] = True
    st.rerun()


def _step() -> None:
    """Turn the dial one step at a beat from the browser, once it shows the last one; at its end, stop."""
    if st.session_state.pop("between", False):
        return
    played = st.session_state["played"]
    at = address.DIAL.index(played[-1])
    lagged, lags = st.session_state["lags"], address.get("t") != played[-1]
    address.put("t", played[-1])
    if not address.settled():
        return
    st.session_state["lags"] = lags
    if lags and not lagged and st.session_state["beat"] < SLOWEST:
        # or beats would pile up in the browser, and a click on Pause behind them
        st.session_state["beat"] *= 2
        _draw_all()
    elif not lags and at >= len(address.DIAL) - 1:
        st.session_state["playing"] = False
        _draw_all()
    elif not lags:
        played.append(address.DIAL[min(at + STRIDE, len(address.DIAL) - 1)])
        address.put("t", played[-1])


def _tradeoff(place: session.City, plan: Plan, i: int, look: figures.Look) -> None:
    """What fairness costs; a click on the curve turns the dial."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown("**Trade-off** :gray[as the dial turns]", width="content")
        with st.popover("Axes", icon=":material/tune:", type="tertiary"):
            for name, label, axes in (
                ("x", "Across: utility", figures.UTILITY),
                ("y", "Up: fairness", figures.FAIRNESS),
            ):
                st.radio(
                    label,
                    list(axes),
                    format_func={key: axis.axis for key, axis in axes.items()}.__getitem__,
                    key=name,
                    persist_state="session",
                )
    x, y, budget = address.get("x"), address.get("y"), address.get("budget")
    others = compared_methods.on_tradeoff(plan, x, y)
    st.plotly_chart(
        session.drawn(
            place,
            plan,
            ("tradeoff", i, look, x, y, budget, tuple(others.items())),
            lambda: figures.tradeoff(
                plan, i, look, utility=x, fairness=y, budget=budget, others=others, height=236
            ),
        ),
        theme=None,
        config=figures.CONFIG,
        key="tradeoff",
        on_select=_take_clicked,
        selection_mode="points",
        alt=figures.tradeoff_words(plan, i, x, y, look),
    )


def _take_clicked() -> None:
    """Turn the dial to the plan that was clicked in the trade-off."""
    points = st.session_state["tradeoff"]["selection"]["points"]
    chosen = [point["customdata"][0] for point in points if point.get("customdata")]
    if chosen:
        address.put("t", address.nearest_on_dial(float(chosen[0])))


if __name__ == "__main__":
    from app import main

    main()
