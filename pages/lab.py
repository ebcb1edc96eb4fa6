"""Lab: the paper's experiments, and the solver's convergence, Newton and SGD compared."""

import time
from collections.abc import Callable
from typing import Any, cast

import streamlit as st

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs import lab
from pages.serving.plan_cache import SEED
from pages.session import address, long_work, markdown, notices, screen, state
from pages.session.background_work import StoppedError
from pages.widgets import experiment_settings, sidebar
from tkm_core import export, figures
from tkm_core.experiments import EXPERIMENTS, Dataset, Experiment, Result, blobs, one_below_another
from tkm_core.figures import ACROSS, COST_WORDS, convergence, convergence_words
from tkm_core.methods import SolverComparison
from tkm_core.progress import Progress

SOLVERS = "solvers"
CITY, OWN = "city", "own"
EFFORTS = {"quick": "Quick, in seconds", "paper": "As in the paper"}
PART = "part"
NOTICING, GATHERING = 15, 100  # tenths of a second to wait for a stopped run
WIDTH = 160  # pixels
LARGEST = 20_000  # points of a sample: beyond this, SGD takes minutes a run


def render() -> None:
    """Choose an experiment and its data in the sidebar; its settings, figure and numbers are on the page."""
    place = sidebar.problem()
    name = _experiment()
    notices.show()
    if place.existing is not None:
        left_out = f"your {place.existing.words} {'is' if len(place.existing) == 1 else 'are'} left out here."
        st.info(f"The Lab places every facility anew: {left_out}", icon=":material/info:")
    if name == SOLVERS:
        _solvers(place)
    else:
        _paper(place, EXPERIMENTS[name])


def _experiment() -> str:
    with st.sidebar:
        chosen = st.selectbox(
            "Experiment",
            [SOLVERS, *EXPERIMENTS],
            format_func=lambda name: (
                "Newton and SGD compared" if name == SOLVERS else EXPERIMENTS[name].title
            ),
            key="experiment",
            persist_state="session",
        )
        own = "Four blobs" if chosen == SOLVERS else "The experiment’s own"
        st.radio(
            "Data",
            [CITY, OWN],
            format_func={CITY: "The data set above", OWN: own}.__getitem__,
            key="lab_data",
            persist_state="session",
            help="The paper’s experiments have data of their own: sample cities and generated points. "
            "Or run them on the data set chosen above, your upload included.",
        )
        if chosen != SOLVERS:
            st.radio(
                "Effort",
                list(EFFORTS),
                format_func=EFFORTS.__getitem__,
                key="effort",
                persist_state="session",
                help="Quick settings give a first picture in seconds; the paper’s (1,000 points, 10 samples) take "
                "minutes.",
            )
    return str(chosen)


def _solvers(place: City) -> None:
    """The convergence of both solvers from the same starts, with all its settings."""
    hero = st.container(key="hero", gap="xsmall")
    asked = _solver_settings()
    found, name = _compared(place, asked)
    with hero:
        st.markdown(f"# {found.sentence()}", anchors=False)
        st.markdown(
            ":gray[Both solvers start from the same k-means++ seeds and lower the same cost. Newton finds each "
            "facility’s best place in every step; the paper’s SGD takes many small steps on random batches. "
            f"{markdown.escaped(name)}; t = {found.t:g}, {found.k} facilities.]"
        )
    look = screen.look(place)
    with st.container(horizontal=True, gap="medium"):
        cost = st.segmented_control(
            "Cost",
            list(COST_WORDS),
            format_func=COST_WORDS.__getitem__,
            default="tilted_sse",
            required=True,
            key="solvers_cost",
        )
        across = st.segmented_control(
            "Across", list(ACROSS), default="steps", required=True, key="solvers_across"
        )
    st.plotly_chart(
        convergence(found, look, cost=str(cost), across=str(across)),
        theme=None,
        config=figures.CONFIG,
        key="solvers_chart",
        alt=convergence_words(found, str(cost)),
    )
    st.markdown(
        ":small[:gray[Tilted SSE is the paper’s objective; it may rise in a step even of the exact solver, because "
        "reassigning a resident changes two clusters. The city-wide cost never rises with Newton. Seconds are those of "
        "the whole descent, spread evenly over its steps.]]"
    )
    st.dataframe(found.table().round(5), hide_index=True, width="stretch")


def _solver_settings() -> dict[str, Any]:
    with st.sidebar:
        t = sidebar.dial_slider("Fairness dial")
    row = st.container(horizontal=True, gap="small")  # wraps on a phone, where columns would stack
    whole = {
        "starts": ("Starts", 5, 20),
        "n_iter": ("SGD iterations", 500, 5000),
        "n_epochs": ("SGD epochs", 5, 50),
        "batch_size": ("SGD batch", 100, LARGEST),
        "size": ("Points", 1000, LARGEST),
    }
    asked: dict[str, Any] = {"t": t}
    for name, (label, usual, most) in whole.items():
        asked[name] = int(
            row.number_input(
                label,
                min_value=1,
                max_value=most,
                value=usual,
                step=1,
                key=f"solvers_{name}",
                persist_state="session",
                width=WIDTH,
            )
        )
    asked["learning_rate"] = row.number_input(
        "Learning rate",
        min_value=0.001,
        max_value=10.0,
        value=0.05,
        step=0.01,
        format="%g",
        key="solvers_rate",
        persist_state="session",
        width=WIDTH,
    )
    return asked


def _compared(place: City, asked: dict[str, Any]) -> tuple[SolverComparison, str]:
    k, size = address.get("k"), int(asked["size"])
    source = _city(place) if _on_city() else blobs(4, SEED, n=2000, strays=40)
    points, weights = source.draw(size, SEED)
    options = {name: value for name, value in asked.items() if name != "size"}

    key = ("solvers", _data_key(place), k, size, tuple(options.items()))

    def work(progress: Progress) -> object:
        count, seed = min(k, len(points)), SEED
        return lab.solvers(
            key, points, count, weights=weights, random_state=seed, progress=progress, **options
        )

    found = long_work.result(caches().results, key, "Running both solvers", work)
    drawn = f"{source.name}, a sample of {len(points):,} of {len(source.X):,} points"
    everyone = f"{source.name}, {len(points):,} points"
    return cast("SolverComparison", found), drawn if len(points) < len(source.X) else everyone


def _paper(place: City, experiment: Experiment) -> None:
    """One experiment of the paper: settings, a button, and what came of it."""
    st.title(experiment.title, anchor=False)
    st.markdown(f":gray[{experiment.description} In the paper: {experiment.paper_figure}.]")
    asked = _settings(experiment)
    key = ("experiment", experiment.name, _data_key(place), screen.theme(), repr(sorted(asked.items())))
    results = caches().results
    wanted = _asked_for(key)
    if results.get(key) is None and not wanted:
        st.info("Not run yet with these settings. You can stop a run at any time and keep what is finished.")
        return
    try:
        result = cast(
            "Result", long_work.result(results, key, experiment.title, _work(place, experiment, asked, key))
        )
    except StoppedError:
        kept = _finished_part(key)
        if kept is None:
            return
        result = kept
    _show(experiment, result, asked)


def _settings(experiment: Experiment) -> dict[str, Any]:
    """The experiment's settings; on the chosen city it starts from the number of facilities chosen at the side."""
    effort, k = state.widget("effort"), address.get("k")
    usual = {**experiment.settings, **(experiment.quick if effort == "quick" else {})}
    city = _on_city() and isinstance(usual.get("k"), int)
    with st.expander("Settings", icon=":material/tune:"):
        if not city:
            return experiment_settings.settings(f"{experiment.name}_{effort}", usual)
        return experiment_settings.settings(f"{experiment.name}_{effort}_{k}", {**usual, "k": k})


def _asked_for(key: tuple[Any, ...]) -> bool:
    """Whether this very run was asked for; the button stays on the page."""
    if st.button("Run", type="primary", icon=":material/play_arrow:", key="run_experiment"):
        state.visit().experiment, state.visit().stopped = key, ""
    return state.visit().experiment == key


def _work(
    place: City, experiment: Experiment, asked: dict[str, Any], key: tuple[Any, ...]
) -> Callable[[Progress], object]:
    """The run; when the planner stops it, what is finished is kept."""
    results, theme = caches().results, screen.theme()
    data = _city(place) if _on_city() else None

    def work(progress: Progress) -> object:
        results.remove((PART, key))
        return lab.experiment(
            key,
            experiment.name,
            data,
            seed=SEED,
            theme=theme,
            settings=asked,
            progress=progress,
            rest=lambda part: results.put((PART, key), part),
        )

    return work


def _finished_part(key: tuple[Any, ...]) -> Result | None:
    """What was finished when the run was stopped; the run needs a moment to notice, and another to gather it."""
    results, comes = caches().results, False
    with st.spinner("Gathering what is finished"):
        for tries in range(GATHERING):
            found = results.get((PART, key))
            if found is not None:
                return cast("tuple[Result | None]", found)[0]
            comes = lab.give_up(key) or comes
            if not comes and tries >= NOTICING:
                break
            time.sleep(0.1)
    return None


def _show(experiment: Experiment, result: Result, asked: dict[str, Any]) -> None:
    """The figure in the paper's form, what the numbers say, and the numbers."""
    said = " ".join(result.notes)
    st.plotly_chart(
        one_below_another(result.figure) if screen.on_phone() else result.figure,
        theme=None,
        config=figures.CONFIG,
        key=f"figure_{experiment.name}",
        alt=f"{experiment.title}. {said}",
    )
    if "size" in asked:
        times = f"{asked['repeats']} times" if asked["repeats"] > 1 else "once"
        st.markdown(
            f":small[:gray[On samples of at most {asked['size']:,} points of each data set, drawn {times}; distances "
            "are in units of the data’s spread.]]"
        )
    st.header("What the numbers say", anchor=False)
    st.markdown("\n".join(f"- {markdown.escaped(note)}" for note in result.notes))
    with st.expander(f"The numbers, {len(result.table):,} rows", icon=":material/table:"):
        st.dataframe(result.table.head(10_000), hide_index=True, width="stretch")
        st.download_button(
            "Download all as CSV",
            lambda: export.csv_bytes(result.table),
            file_name=f"{experiment.name}.csv",
            mime="text/csv",
            on_click="ignore",
            icon=":material/download:",
        )


def _on_city() -> bool:
    """Whether the experiment runs on the chosen city, not on data of its own."""
    return bool(state.widget("lab_data") == CITY)


def _city(place: City) -> Dataset:
    return Dataset.from_residents(place.residents, place.title)  # its name stands in figures


def _data_key(place: City) -> tuple[str, ...]:
    if _on_city():
        return place.key, place.residents.fingerprint
    return (OWN,)


if __name__ == "__main__":
    from app import main

    main()
