"""Compare: two plans of the visitor side by side, or the published methods on the same residents."""

from collections.abc import Sequence

import streamlit as st

from pages.serving.city import City
from pages.serving.scenario_content import small_ground
from pages.session import address, compared_methods, dial, markdown, notices, plans, screen
from pages.session.background_work import StoppedError
from pages.widgets import sidebar, two_plans
from tkm_core import figures
from tkm_core.figures import methods_charts, small_maps
from tkm_core.measures import MEASURES
from tkm_core.methods import FOR_ANYONE, OWN, describe
from tkm_core.planning import FREE, Compared, Plan, facility_numbers, methods_for
from tkm_core.stories import (
    beyond_standard,
    facilities_text,
    freedom,
    left_out,
    ratio_words,
    remarks,
    rules_apply,
    sampling,
    verdict,
)
from tkm_core.units import with_unit
from tkm_core.wording import listed

VARIANCES = {"variance": "squared distance", "variance_of_distance": "distance"}


def render() -> None:
    """Two plans of the visitor's own, or the published methods."""
    place = sidebar.problem()
    notices.show()
    st.segmented_control(
        "Compare",
        ["plans", "methods"],
        format_func={"plans": "My plans", "methods": "Published methods"}.__getitem__,
        key="compare",
        required=True,
        persist_state="session",
        label_visibility="collapsed",
    )
    if address.get("compare") == "plans":
        two_plans.render(place)
    else:
        _methods(place)


def _methods(place: City) -> None:
    """Run the methods, then say, tabulate, chart and map what they do."""
    k, look = address.get("k"), screen.look(place)
    if k == 0:
        st.info(
            "With no new facility there is nothing to place. Choose at least one.", icon=":material/info:"
        )
        return
    staying = place.staying
    plan = dial.with_setting(plans.plan_of(place, k))
    t, asked, patience, variance = _wishes(plan, keeping=staying is not None)
    sidebar.units_and_standard(place)
    if not asked:
        st.info("Choose at least one method in the sidebar.", icon=":material/info:")
        return
    names = [name for name in asked if staying is None or describe(name).keeps_existing]
    unable = [name for name in asked if name not in names]
    if not names:
        st.info(left_out(asked, len(staying or ())), icon=":material/info:")
        return
    try:
        compared = compared_methods.run(place, plan, t, names, patience)
    except StoppedError:
        compared = compared_methods.finished(place, plan, t, names, patience)
    if not compared:
        return
    missing = [describe(name).title for name in names if name not in {one.name for one in compared}]
    _verdict(place, plan, compared, missing, look)
    _table(place, plan, compared, left_out(unable, len(staying or ())), look)
    _charts(compared, variance, look)
    _maps(place, plan, compared, look)
    _about(plan, compared, look)


def _wishes(plan: Plan, *, keeping: bool) -> tuple[float, list[str], float, str]:
    """The dial, the methods, the time each may take, and whether variances are of d or of d²."""
    offered = methods_for(plan.residents)
    whole = [describe(name).title for name in offered if describe(name).scales]
    with st.sidebar:
        t = sidebar.dial_slider("Fairness dial (for tilted k-means, TKM)", plan)
        chosen = st.pills(
            "Methods",
            list(offered),
            format_func=lambda name: _method(name, keeping=keeping),
            selection_mode="multi",
            default=list(offered),
            key="methods" if offered == FOR_ANYONE else "methods_with_groups",
            persist_state="session",
        )
        limit = st.segmented_control(
            "Time limit for each method",
            list(compared_methods.PATIENCE),
            default=next(iter(compared_methods.PATIENCE)),
            required=True,
            key="patience",
            persist_state="session",
            width="stretch",
            help="A method that would take longer than this runs on a sample of 1,000 places instead; its plan is "
            f"still measured for everyone. {listed(whole)} always run on all places: their time only grows in step "
            "with the data.",
        )
        variance = st.segmented_control(
            "How unequal in each area: variance of",
            list(VARIANCES),
            format_func=VARIANCES.__getitem__,
            default=next(iter(VARIANCES)),
            required=True,
            key="variance",
            persist_state="session",
            width="stretch",
            help="How much the distances of people served by one facility differ. The paper takes the squared "
            "distance; the Plan page takes the distance.",
        )
    names = [name for name in offered if name in chosen]
    return t, names, compared_methods.PATIENCE[str(limit)], str(variance)


def _method(name: str, *, keeping: bool) -> str:
    """A method's name; struck through where it is left out because it cannot keep existing facilities."""
    title = describe(name).title
    return title if not keeping or describe(name).keeps_existing else f":gray[~~{title}~~]"


def _verdict(
    place: City, plan: Plan, compared: Sequence[Compared], missing: list[str], look: figures.Look
) -> None:
    """Where tilted k-means stands, and what has to be known to read it fairly."""
    standard, rank = screen.standard(place), verdict(compared, look.unit, plan)
    told = beyond_standard(compared, place.residents, standard, unit=look.unit, people=place.people) or rank
    facilities = facilities_text(plan)
    with st.container(key="hero", gap="xsmall"):
        st.markdown(
            f"# {markdown.toned(told)}" if told else f"# {facilities} for {markdown.escaped(place.title)}",
            anchors=False,
        )
        if rank and told != rank:
            st.markdown(markdown.toned(rank))
        fair = [
            f"{facilities} for {place.title}.",
            sampling(compared, len(place.residents), place.people),
            freedom(compared, place.people) if place.rules.plain else rules_apply(compared, place.rules),
        ]
        st.markdown(f":gray[{markdown.escaped(' '.join(part for part in fair if part))}]")
    if missing:
        st.markdown(f":orange[Not run yet: {', '.join(missing)}.]")


def _table(place: City, plan: Plan, compared: Sequence[Compared], absent: str, look: figures.Look) -> None:
    """Every measure of every method, the best in each column marked; a line below says what was left out."""
    st.html(methods_charts.method_table(compared, look, screen.standard(place), plan=plan))
    if absent:
        st.markdown(f":small[:gray[{markdown.escaped(absent)}]]")
    st.html('<p class="er-swipe">Swipe the table sideways to see every column.</p>')
    has_own = (place.rules == FREE or not place.rules.plain) and any(one.name == OWN for one in compared)
    own = " TKM is the plan on the Plan page." if has_own else ""
    ratio = ratio_words(compared) if place.rules.plain else ""
    st.markdown(
        f":small[:gray[:green[**Bold green**]: best in its column.{own} How unequal: the variance of the distances. "
        f"SSE: the mean squared distance, which k-means makes as small as it can. {ratio} "
        "Time: one run on its own on this server, including assigning people to facilities.]]"
    )


def _charts(compared: Sequence[Compared], variance: str, look: figures.Look) -> None:
    """The paper's four charts."""
    sse, times = MEASURES["sse"], [max(one.solution.seconds, 1e-3) for one in compared]
    costs = [sse.of(one.evaluation, look.unit) for one in compared]
    label = sse.heading(look.unit)
    left, right = st.columns(2, gap="medium")
    with left, st.container(gap="xsmall"):
        detail = f"variance of the {VARIANCES[variance]}, "
        _by_cluster("How unequal in each service area", detail, compared, variance, look)
    with right, st.container(gap="xsmall"):
        _by_cluster("Longest trip in each service area", "", compared, "max_distance", look)
    left, right = st.columns(2, gap="medium")
    with left, st.container(gap="xsmall"):
        st.markdown(
            f"**Mean squared distance** :gray[SSE, {with_unit('', look.unit, sse.power).strip(', ')}]"
        )
        _per_method("sse", compared, costs, label, look, log=False)
    with right, st.container(gap="xsmall"):
        st.markdown("**Time to compute** :gray[seconds; each line is ten times the one below]")
        _per_method("time", compared, times, "time, s", look, log=True)


def _by_cluster(
    title: str, detail: str, compared: Sequence[Compared], measure: str, look: figures.Look
) -> None:
    unit = methods_charts.cluster_label(measure, look.unit).rpartition(", ")[2]
    st.markdown(f"**{title}** :gray[{detail}largest first, {unit}]")
    st.plotly_chart(
        methods_charts.by_cluster(compared, measure, look),
        theme=None,
        config=figures.CONFIG,
        key=f"clusters_{measure}",
        alt=methods_charts.cluster_words(compared, measure, look),
    )


def _per_method(
    name: str, compared: Sequence[Compared], values: list[float], label: str, look: figures.Look, *, log: bool
) -> None:
    st.plotly_chart(
        methods_charts.per_method(compared, values, look, log=log),
        theme=None,
        config=figures.CONFIG,
        key=f"bars_{name}",
        alt=methods_charts.method_words(compared, values, label),
    )


def _maps(place: City, plan: Plan, compared: Sequence[Compared], look: figures.Look) -> None:
    """Small maps side by side; the same colour is the same part of the city on each."""
    reference = plan.path.centers[plan.index(address.get("t"))]
    numbers = [facility_numbers(reference, one.solution.centers, plan.n_existing) for one in compared]
    ground = small_ground(place)
    st.header("Where each method builds", anchor=False)
    st.html(small_maps(compared, numbers, ground, look, plan))


def _about(plan: Plan, compared: Sequence[Compared], look: figures.Look) -> None:
    """Every figure behind the charts, what the runs remarked, and where the methods come from."""
    for remark in remarks(compared):
        st.markdown(f":small[:gray[{markdown.escaped(remark)}]]")
    with st.expander("Figures for each service area (cluster)", icon=":material/table:"):
        st.dataframe(methods_charts.cluster_table(compared, look), hide_index=True, width="stretch")
    with st.expander("What the methods do, and who published them", icon=":material/menu_book:"):
        st.markdown(
            "\n".join(
                f"- **{method.title}**: {method.description} :gray[{method.source}]"
                for method in map(describe, methods_for(plan.residents))
            )
        )


if __name__ == "__main__":
    from app import main

    main()
