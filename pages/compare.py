"""Compare: the seven methods on the same residents, in one table, the paper's charts and small maps."""

from collections.abc import Sequence

import streamlit as st

from pages.shared import address, compared_methods, markdown, session, sidebar
from tkm_core import figures
from tkm_core.figures import methods_charts, small_maps
from tkm_core.measures import MEASURES
from tkm_core.methods import METHODS, describe
from tkm_core.planning import Compared, Plan, facility_numbers, keeps_existing
from tkm_core.stories import freedom, left_out, other_arrangement, ratio_words, remarks, sampling, verdict
from tkm_core.units import with_unit

VARIANCES = {"variance": "squared distance", "variance_of_distance": "distance"}


def render() -> None:
    """Run the methods, then say, tabulate, chart and map what they do."""
    place = sidebar.problem()
    names, patience = _wishes()
    sidebar.units_and_standard()
    session.show_notices()
    k, t, look = address.get("k"), address.get("t"), session.look(place.people)
    if not names:
        st.info("Choose at least one method at the side.", icon=":material/info:")
        return
    if place.existing is not None:
        asked, names = names, [name for name in names if keeps_existing(name)]
        unable = left_out(asked, len(place.existing))
        if unable:
            st.info(unable, icon=":material/info:")
        if not names:
            return
    try:
        compared = compared_methods.run(place, k, t, names, patience)
    except session.StoppedError:
        compared = compared_methods.finished(place, k, t, names, patience)
    if not compared:
        return
    missing = [describe(name).title for name in names if name not in {one.name for one in compared}]
    _verdict(place, compared, missing, look)
    plan = compared_methods.plan_of(place, k)
    _table(compared, look)
    st.markdown(f":small[:gray[{other_arrangement(compared, plan.evaluation(plan.index(t)), look.unit)}]]")
    _charts(compared, look)
    _maps(place, plan, compared, look)
    _about(compared, look)


def _wishes() -> tuple[list[str], float]:
    """The dial, which methods, and how long each may take."""
    with st.sidebar:
        st.select_slider(
            "Fairness dial of TKM",
            options=address.DIAL,
            format_func=lambda t: f"t = {t:g}",
            key="t",
            persist_state="session",
        )
        chosen = st.pills(
            "Methods",
            list(METHODS),
            format_func=lambda name: describe(name).title,
            selection_mode="multi",
            default=list(METHODS),
            key="methods",
            persist_state="session",
        )
        limit = st.segmented_control(
            "Most time a method may take",
            list(compared_methods.PATIENCE),
            default=next(iter(compared_methods.PATIENCE)),
            required=True,
            key="patience",
            persist_state="session",
            width="stretch",
            help="A method that would need longer for everyone runs on a sample of 1,000 places instead; "
            "what it finds is still measured on everyone.",
        )
        st.segmented_control(
            "Variance per cluster",
            list(VARIANCES),
            format_func=VARIANCES.__getitem__,
            default=next(iter(VARIANCES)),
            required=True,
            key="variance",
            persist_state="session",
            width="stretch",
            help="The paper measures the squared distance; the Plan page tells the variance of the distance.",
        )
    return [name for name in METHODS if name in chosen], compared_methods.PATIENCE[str(limit)]


def _verdict(
    place: session.City, compared: Sequence[Compared], missing: list[str], look: figures.Look
) -> None:
    """Where tilted k-means stands, and what has to be known to read it fairly."""
    told = verdict(compared, look.unit)
    k = address.get("k")
    facilities = "1 facility" if k == 1 else f"{k} facilities"
    if place.existing is not None:
        facilities = f"{k} new and {place.existing.words}"
    with st.container(key="hero", gap="xsmall"):
        st.markdown(
            f"# {markdown.toned(told)}" if told else f"# {facilities} for {markdown.escaped(place.title)}",
            anchors=False,
        )
        fair = [
            f"{facilities} for {place.title}.",
            sampling(compared, len(place.residents), place.people),
            freedom(compared, place.people),
        ]
        st.markdown(f":gray[{markdown.escaped(' '.join(part for part in fair if part))}]")
    if missing:
        st.markdown(f":orange[Not run yet: {', '.join(missing)}.]")


def _table(compared: Sequence[Compared], look: figures.Look) -> None:
    """Every measure of every method, the best in each column marked."""
    st.html(methods_charts.method_table(compared, look, session.standard_metres()))
    st.markdown(
        ":small[:gray[:green[**Bold green**]: best in its column. Variance: of the distance. SSE: mean squared "
        f"distance. {ratio_words(compared)} Time: on this server, assigning everyone included.]]"
    )


def _charts(compared: Sequence[Compared], look: figures.Look) -> None:
    """The paper's four charts."""
    variance = st.session_state["variance"]
    sse, times = MEASURES["sse"], [max(one.solution.seconds, 1e-3) for one in compared]
    costs = [sse.of(one.evaluation, look.unit) for one in compared]
    label = sse.heading(look.unit)
    left, right = st.columns(2, gap="medium")
    with left, st.container(gap="xsmall"):
        _by_cluster(f"**Variance per cluster** :gray[of the {VARIANCES[variance]}]", compared, variance, look)
    with right, st.container(gap="xsmall"):
        _by_cluster("**Maximum distance per cluster**", compared, "max_distance", look)
    left, right = st.columns(2, gap="medium")
    with left, st.container(gap="xsmall"):
        st.markdown(f"**SSE** :gray[{with_unit('mean squared distance', look.unit, sse.power)}]")
        _per_method("sse", compared, costs, label, look, log=False)
    with right, st.container(gap="xsmall"):
        st.markdown("**Time** :gray[seconds, logarithmic]")
        _per_method("time", compared, times, "time, s", look, log=True)


def _by_cluster(title: str, compared: Sequence[Compared], measure: str, look: figures.Look) -> None:
    unit = methods_charts.cluster_label(measure, look.unit).rpartition(", ")[2]
    st.markdown(f"{title} :gray[in descending order, {unit}]")
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


def _maps(place: session.City, plan: Plan, compared: Sequence[Compared], look: figures.Look) -> None:
    """Small maps side by side; the same colour is the same part of the city on each."""
    reference = plan.path.centers[plan.index(address.get("t"))]
    numbers = [facility_numbers(reference, one.solution.centers) for one in compared]
    ground = compared_methods.ground_of(place)
    st.header("Where each method builds", anchor=False)
    st.html(small_maps(compared, numbers, ground, look, plan.k if plan.existing else None))


def _about(compared: Sequence[Compared], look: figures.Look) -> None:
    """Every figure behind the charts, what the runs remarked, and where the methods come from."""
    for remark in remarks(compared):
        st.markdown(f":small[:gray[{markdown.escaped(remark)}]]")
    with st.expander("Figures per cluster", icon=":material/table:"):
        st.dataframe(methods_charts.cluster_table(compared, look), hide_index=True, width="stretch")
    with st.expander("What the methods do, and who published them", icon=":material/menu_book:"):
        st.markdown(
            "\n".join(
                f"- **{method.title}**: {method.description} :gray[{method.source}]"
                for method in map(describe, METHODS)
            )
        )


if __name__ == "__main__":
    from app import main

    main()
