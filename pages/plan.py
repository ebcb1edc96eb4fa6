"""Plan: the landing page, where the dial is turned and its consequences are seen."""

import streamlit as st

from pages.serving.city import City
from pages.serving.plan_cache import plan_key
from pages.session import address, compared_methods, dial, markdown, notices, plans, screen, state
from pages.widgets import (
    downloads,
    errors,
    live_plan,
    proofs,
    scenarios,
    sidebar,
    straight_lines,
    styles,
    windows,
)
from tkm_core import figures
from tkm_core.planning import Plan, by_group
from tkm_core.stories import Story, portfolio_story, tell_plan


def render() -> None:
    """Controls at the side; the sentence, the dial, the map and the figures in one part that redraws alone."""
    place = sidebar.problem()
    sidebar.reference(place)
    notices.show()
    k = address.get("k")
    with_pins, new = live_plan.pinned(place, k)
    plan = proofs.newest(with_pins, new)
    if place.existing is not None and place.saved is None and not place.scenario:
        dial.begin((place.key, place.existing.fingerprint), plan)
    _presentation()
    sidebar.keep(plan)
    scenarios.at_the_side(with_pins, plan)
    sidebar.wishes(place, plan)
    look = screen.look(place)
    with st.spinner("Measuring what the plan means for everyone"):  # with millions of places it takes a while
        live_plan.prepared(with_pins, plan, look, screen.standard(place))
    if not screen.presenting():
        live_plan.pins(place, plan, k, look)
    st.fragment(errors.show_problems(_consequences))(with_pins, plan)
    if not screen.presenting():
        downloads.sidebar(with_pins, plan)


def _presentation() -> None:
    """The button that starts and ends the presentation, always in the same corner."""
    now = screen.presenting()
    if now:
        st.html(styles.PRESENTATION)
    st.button(
        "Leave presentation" if now else "Present",
        key="present_button",
        icon=":material/close:" if now else ":material/slideshow:",
        type="tertiary",
        on_click=lambda: address.put("present", "" if now else "1"),
        help="Back to the plan with all its controls."
        if now
        else "For a projector: only the sentence, the dial, the map and the legend, in larger type.",
    )


def _consequences(place: City, plan: Plan) -> None:
    """Everything that follows from t."""
    live_plan.replan_if_asked()
    windows.draw_if_asked("shortlist")
    i = plan.index(dial.setting(plan))
    look, standard = screen.look(place), screen.standard(place)
    story = tell_plan(plan, i, unit=look.unit, standard=standard, people=place.people)

    if screen.presenting():
        _presented(place, plan, i, story, look)
        return
    charts = _charts(place, plan, i, look)
    with st.container(key="hero"):
        live_plan.sentence(place, plan, i, story, look, standard, charts)
    left, right = st.container(key="body").columns([1.7, 1], gap="medium")
    with left:
        live_plan.dial_and_map(place, plan, i, look, standard)
    with right, st.container(gap="xsmall"):
        _key_figures(plan, story)
        if plan.k:
            _tradeoff(place, plan, i, look, charts)
        _distances(place, plan, i, look, charts)
    _under_rules(place, plan, i)
    straight_lines.show(place, plan, i, look)
    _groups(place, plan, i, look)
    address.write()


def _under_rules(place: City, plan: Plan, i: int) -> None:
    """The rules of the plan, what was left out because of them, and how good it is proven to be."""
    told = [*plan.rules.sentences(place.people), *plan.remarks]
    if not told:
        return
    proofs.show(plan, i, plan_key(place, plan.k))
    st.markdown("\n".join(f"- :gray[{markdown.escaped(sentence)}]" for sentence in told))


def _presented(place: City, plan: Plan, i: int, story: Story, look: figures.Look) -> None:
    """The map with its dial, and the sentence beside it: what a room can read from the back row."""
    left, right = st.container(key="slide").columns([2.1, 1], gap="medium")
    with left:
        live_plan.dial_and_map(place, plan, i, look, screen.standard(place))
    with right:
        with st.container(key="hero"):
            live_plan.sentence(place, plan, i, story, look, screen.standard(place))
        _key_figures(plan, story)
    address.write()


def _key_figures(plan: Plan, story: Story) -> None:
    """The table of key figures; it follows the dial by its key."""
    with st.container(key="key_figures"):
        st.table(markdown.figures_table(story, alone=_is_today(plan)), border="horizontal", hide_index=True)


def _is_today(plan: Plan) -> bool:
    """Whether the plan is what it is compared with: how things stand."""
    return plan.is_today and plan.reference.kind == "today"


def _charts(place: City, plan: Plan, at: int, look: figures.Look) -> live_plan.Charts:
    """How the two charts are drawn at a setting of the dial, which now is `at`."""
    x, y, budget, standard = address.get("x"), address.get("y"), address.get("budget"), screen.standard(place)
    straight = straight_lines.on_tradeoff(place, plan, at, x, y)
    others = compared_methods.on_tradeoff(plan, x, y) | straight
    before = plan.reference_evaluation(standard)

    def tradeoff(i: int) -> figures.DrawnFigure:
        return figures.tradeoff(
            plan, i, look, utility=x, fairness=y, budget=budget, others=others, height=212
        )

    def distances(i: int) -> figures.DrawnFigure:
        now = plan.evaluation(i, standard)
        return figures.distances(
            now,
            now if _is_today(plan) else before,
            plan.residents.weights,
            look,
            heading=plan.reference.heading,
            standard=standard,
            height=196,
        )

    return live_plan.Charts(
        {"tradeoff": tradeoff, "distances": distances},
        (x, y, budget, tuple(others.items())),
        # the plan by straight lines would have to be measured anew at every setting
        ("distances",) if straight else ("tradeoff", "distances"),
    )


def _chart(
    name: str, charts: live_plan.Charts, place: City, plan: Plan, i: int, look: figures.Look
) -> figures.DrawnFigure:
    """A chart at setting i, drawn once for all who look at the same."""
    what = (name, i, look, screen.standard(place), charts.depend_on)
    return plans.drawn(place, plan, what, lambda: charts.drawn[name](i))


def _distances(place: City, plan: Plan, i: int, look: figures.Look, charts: live_plan.Charts) -> None:
    """Which share of people lives within a distance, in this plan and in what it is compared with."""
    standard = screen.standard(place)
    evaluation = plan.evaluation(i, standard)
    before = evaluation if _is_today(plan) else plan.reference_evaluation(standard)
    st.markdown(
        f"**How near people live** :gray[share of {markdown.escaped(place.people)} within a {plan.kind.one}]"
    )
    st.plotly_chart(
        _chart("distances", charts, place, plan, i, look),
        theme=None,
        config=figures.CONFIG,
        key="distances",
        alt=figures.distances_words(evaluation, before, look, words=plan.reference.words),
    )


@st.dialog("Plans worth discussing", width="medium", icon=":material/forum:", on_dismiss=windows.close)
def _shortlist(place: City, plan: Plan, i: int, look: figures.Look) -> None:
    """The few plans that need discussing, each with its sentence and a button that turns the dial there."""
    with st.spinner("Comparing all settings of the dial"):  # every plan is measured at every setting
        told = plans.kept(
            place,
            plan,
            ("portfolio", look.unit, place.people),
            lambda: portfolio_story(plan, unit=look.unit, people=place.people),
        )
    st.markdown(markdown.escaped(told.heading))
    for setting, name, what in zip(told.settings, told.names, told.sentences, strict=True):
        words, button = st.columns([5, 1], vertical_alignment="center")
        words.markdown(f"**{markdown.escaped(name)}** :gray[·] {markdown.escaped(what)}")
        if button.button(
            "On the map" if setting == i else "Show",
            key=f"portfolio_{setting}",
            disabled=setting == i,
            on_click=_take_from_shortlist,
            args=(float(plan.t[setting]),),
            width="stretch",
        ):
            st.rerun()  # without the window


def _take_from_shortlist(t: float) -> None:
    windows.close()
    dial.turn_to(t)


def _groups(place: City, plan: Plan, i: int, look: figures.Look) -> None:
    """How each group of residents fares, where the file names groups."""
    if plan.residents.groups is None:
        return
    groups = plans.kept(place, plan, ("groups", i, look.unit), lambda: by_group(plan, i, unit=look.unit))
    equal = bool(address.get("equal"))
    part = st.expander(
        f"How each of the {len(groups)} groups fares",
        icon=":material/groups:",
        expanded=equal,
        key="groups_part",
        on_change="rerun",
    )
    if not part.open:  # else it would be sent at every turn of the dial
        return
    with part:
        if place.saved is None and not plan.rules.limited:
            st.toggle(
                "Every group counts the same",
                value=equal,
                key="equal_here",
                on_change=_weigh_groups,
                help="A small group then weighs as much as a large one when facilities are placed. The figures still "
                "count people. It cannot be combined with limited room.",
            )
        st.dataframe(
            markdown.groups_table(groups, plan.reference.heading, place.people),
            hide_index=True,
            width="stretch",
        )
        st.markdown(
            ":small[:gray[The group with the longest average trip comes first. The groups are those of your file.]]"
        )


def _weigh_groups() -> None:
    """Let every group count the same, or everyone: the plan is another one then."""
    address.put("equal", "1" if state.widget("equal_here") else "")
    live_plan.replan()


def _tradeoff(place: City, plan: Plan, i: int, look: figures.Look, charts: live_plan.Charts) -> None:
    """What fairness costs; a click on the curve turns the dial."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown("**Trade-off** :gray[as the dial turns]", width="content")
        st.button(
            "Shortlist",
            key="shortlist",
            icon=":material/forum:",
            type="tertiary",
            on_click=windows.ask,
            args=("shortlist",),
            help="The few plans worth discussing, which between them stand for every setting of the dial.",
        )
        if windows.is_open("shortlist"):
            _shortlist(place, plan, i, look)
        with st.popover("Axes", icon=":material/tune:", type="tertiary"):
            for name, label, axes in (
                ("x", "Across: how short trips are (utility)", figures.UTILITY),
                ("y", "Up: how evenly people are reached (fairness)", figures.FAIRNESS),
            ):
                st.radio(
                    label,
                    list(axes),
                    format_func={key: axis.axis for key, axis in axes.items()}.__getitem__,
                    key=name,
                    persist_state="session",
                )
    st.plotly_chart(
        _chart("tradeoff", charts, place, plan, i, look),
        theme=None,
        config=figures.CONFIG,
        key="tradeoff",
        on_select=lambda: _take_clicked(plan),
        selection_mode="points",
        alt=figures.tradeoff_words(plan, i, address.get("x"), address.get("y"), look),
    )


def _take_clicked(plan: Plan) -> None:
    """Turn the dial to the plan that was clicked in the trade-off."""
    points = state.widget("tradeoff")["selection"]["points"]
    chosen = [point["point_index"] for point in points if point.get("customdata")]
    if chosen:
        dial.turn_to(float(plan.t[int(chosen[0])]))


if __name__ == "__main__":
    from app import main

    main()
