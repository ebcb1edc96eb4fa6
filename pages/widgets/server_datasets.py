"""Data sets of this server, to choose from; one is condensed to cells by a worker, or by the cluster behind it."""

from collections.abc import Callable

import streamlit as st

from pages.serving.cache import caches
from pages.serving.city import City
from pages.serving.jobs import tasks
from pages.serving.server_datasets import ServerDataset, listed
from pages.session import cities, long_work, state
from pages.session.markdown import escaped
from tkm_core.progress import Progress

SOURCE = (
    "A data set of this server. Facilities come from passes over all of its rows; maps, charts and figures show cells "
    "that stand for them."
)


def offer(row: Callable[[], st.delta_generator.DeltaGenerator]) -> None:
    """A button for each data set; `row` makes the place of one, with its words beside it."""
    found = listed()
    if not found:
        return
    st.markdown("**Data sets of this server**")
    for dataset in found:
        with row():
            taken = st.button(dataset.name[:60], key=f"take_server_{dataset.name}", width=210)
            st.markdown(f":small[:gray[Parquet, {dataset.megabytes:,.1f} MB]]", width="stretch")
        if taken:
            cities.keep_cells(_condensed(dataset))
            st.switch_page(state.page("plan"))


def _condensed(dataset: ServerDataset) -> City:
    """The data set as cells; made once for all visitors, and anew when its files have changed."""

    def make(progress: Progress) -> City:
        cells = tasks.condensed(dataset.path, dataset.stamp, progress=progress)
        return City("", dataset.name, "residents", cells, SOURCE)

    key = f"server {dataset.path} {dataset.stamp}"
    label = f"Reading {escaped(dataset.name)}"
    return long_work.result(caches().cities, key, label, make, weight=262_144)
