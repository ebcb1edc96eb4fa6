"""Removing data: a question first, and a bin from which they can be restored."""

from collections.abc import Callable
from datetime import UTC, datetime

import streamlit as st

from pages.serving.city import City
from pages.serving.plan_settings import UPLOAD
from pages.serving.store import BIN_DAYS, Dataset, StoreError, store
from pages.session import address, cities, stored_data
from pages.session.markdown import escaped
from pages.widgets import windows

KINDS = {
    "residents": "residents",
    "existing": "existing facilities",
    "places": "candidate sites and zones",
    "roads": "streets",
    "table": "travel table",
}


def ask_about_upload(place: City) -> None:
    """Ask whether the residents in use are to be removed."""
    if place.project is None:
        what = "They are only in this server's memory, so they cannot be restored."
    elif place.project:
        what = (
            "They belong to a project. They can be removed once no scenario uses them, and restored on the Scenarios "
            f"page for {BIN_DAYS:.0f} days. Copies that others made in their own projects go, too."
        )
    else:
        what = (
            "Whoever has the link no longer sees them, and copies that others made in their own projects go, too; "
            "scenarios that you saved yourself keep their own copy until you delete their project. "
            f"You can restore them on this page for {BIN_DAYS:.0f} days."
        )
    _ask(f"{escaped(place.title)}: {escaped(place.size)}. {what}", cities.forget_upload)


def ask_about_existing(place: City) -> None:
    """Ask whether the existing facilities in use are to be removed."""
    what = "" if place.existing is None else f"{place.existing.words.capitalize()}. "
    _ask(f"{what}You can restore them on this page for {BIN_DAYS:.0f} days.", cities.leave_existing)


@st.dialog("Remove these data?", icon=":material/delete:", on_dismiss=windows.close)
def _ask(text: str, remove: Callable[[], None]) -> None:
    st.markdown(text)
    with st.container(horizontal=True, gap="small"):
        yes = st.button("Remove them", key="remove_yes", type="primary", on_click=_close_and, args=(remove,))
        no = st.button("Keep them", key="remove_no", on_click=windows.close)
    if yes or no:
        address.hold()
        st.rerun()  # without the window


def _close_and(remove: Callable[[], None]) -> None:
    windows.close()
    remove()


def bin_of_uploads() -> None:
    """What this visitor removed and can restore; nothing where there is none."""
    try:
        found = store().bin_of(stored_data.actor())
    except StoreError:
        return
    if found:
        with st.expander(f"Removed data ({len(found)})", icon=":material/restore_from_trash:"):
            rows(found)


def rows(found: list[Dataset]) -> None:
    """Data in the bin, each with a button to restore it and one to delete it for good."""
    for one in found:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            left = max(0.0, (one.deleted or 0.0) + BIN_DAYS * 86_400)
            until = f"{datetime.fromtimestamp(left, UTC):%d %b %Y}"
            named = f"**{escaped(one.title)}**, " if one.title else ""
            st.markdown(f"{named}{KINDS.get(one.kind, 'data')}: until {until}", width="stretch")
            st.button("Restore", key=f"restore_{one.id}", on_click=_restore, args=(one,))
            st.button(
                "Delete for good",
                key=f"erase_{one.id}",
                type="tertiary",
                on_click=stored_data.done,
                args=(
                    "Deleted for good.",
                    lambda one=one: store().erase_dataset(stored_data.actor(), one.token),
                ),
                help="At once, and without a way back.",
            )


def _restore(one: Dataset) -> None:
    def show() -> None:
        if one.project_id is None and one.kind == "residents":
            address.put("dataset", UPLOAD)
            address.put("upload", one.token)
        elif one.project_id is None and one.kind == "existing":
            address.put("existing", one.token)

    stored_data.done("Restored.", lambda: store().restore_dataset(stored_data.actor(), one.token), show)
