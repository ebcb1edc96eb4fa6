"""What is kept between runs: residents and plans, by content, for this visitor only."""

import gc
import secrets
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import streamlit as st

from pages.serving.config import config
from pages.serving.jobs import tasks
from pages.shared import address
from pages.shared.cache import Shelf
from pages.shared.city import City as City  # pages know it by this name
from pages.shared.markdown import escaped
from tkm_core.export import PlanFile, Restored
from tkm_core.figures import DrawnDeck, DrawnFigure, Look, MapGround
from tkm_core.planning import Plan
from tkm_core.residents import Existing, Residents, ResidentsError, find_sample, load_sample, nearby

T = TypeVar("T")
D = TypeVar("D", DrawnDeck, DrawnFigure)
PATIENCE = 0.4  # seconds of work before a progress bar appears: shorter ones would only flicker
UPLOAD_HOURS = 24
FILE_HOURS = 0.5  # a large file that was made for a download
TIDY = 300.0  # seconds between two looks for what is too old
FIGURE_BYTES = 256e6  # of drawn figures that are kept: those who look at the same city share them
SEED = 0


@dataclass(frozen=True)
class Shelves:
    """What all sessions of this server share; uploads and what is made of them only by secret token."""

    cities: Shelf[City]
    uploads: Shelf[City]
    existing: Shelf[Existing]
    plans: Shelf[Plan]
    results: Shelf[object]
    figures: Shelf[DrawnDeck | DrawnFigure]
    files: Shelf[bytes]


@st.cache_resource(show_spinner=False)
def shelves() -> Shelves:
    """Make the shelves, once a process; weights are numbers of residents."""
    made = Shelves(
        cities=Shelf(4_000_000),
        uploads=Shelf(10_000_000, hours=UPLOAD_HOURS),
        existing=Shelf(200_000, hours=UPLOAD_HOURS),
        plans=Shelf(8_000_000, hours=UPLOAD_HOURS),
        results=Shelf(400, hours=UPLOAD_HOURS),
        figures=Shelf(FIGURE_BYTES, hours=UPLOAD_HOURS),
        files=Shelf(tasks.LARGEST_FILE, hours=FILE_HOURS),
    )
    threading.Thread(target=_keep_tidy, args=(made,), name="tidy", daemon=True).start()
    return made


def _keep_tidy(made: Shelves) -> None:
    """Let nothing outlive its hours because nobody comes by."""
    while True:
        time.sleep(TIDY)
        for shelf in vars(made).values():
            shelf.tidy()


@st.cache_resource(show_spinner=False)
def settle() -> None:
    """Put the libraries out of the garbage collector's sight, once a process, at the end of its first run.

    A full collection would visit each of their objects: tens of milliseconds in which nobody is served. For the same
    reason .streamlit/config.toml switches off the collection that Streamlit adds to every run: Python's own remains.
    """
    gc.collect()
    gc.freeze()


class StoppedError(Exception):
    """Long work was stopped by the planner."""


def city() -> City:
    """The city that the address names, with the existing facilities if they are near it."""
    place, found = _named_city(), existing()
    if place.saved is not None:
        return place
    if found is None or not nearby(place.residents, found.lonlat).any():
        return place
    return replace(place, existing=found)


def existing() -> Existing | None:
    """The existing facilities that the address names, wherever they are; if they are gone, a notice says so."""
    token = address.get("existing")
    if not token:
        return None
    found = shelves().existing.get(token)
    if found is None:
        notice(
            "The existing facilities of this link are no longer here: they were removed, the server was restarted, or "
            f"nobody used them for {UPLOAD_HOURS} hours. Please upload them again on the Data page."
        )
        address.put("existing", "")
    return found


def keep_existing(found: Existing) -> None:
    """Take existing facilities into use: they get a new secret token, and the address names it."""
    token = _new_token()
    shelves().existing.put(token, found, len(found))
    address.put("existing", token)


def leave_existing() -> None:
    """Plan without the existing facilities; if they are this visitor's own, remove them from the server, too."""
    token = address.get("existing")
    found = shelves().existing.get(token)
    if found is not None and owns(token):
        shelves().existing.remove(token)
        _forget_about(found.fingerprint)
    address.put("existing", "")


def _new_token() -> str:
    """A secret that names what this visitor brings: who has it may look, only this visitor may remove."""
    token = secrets.token_urlsafe(24)
    st.session_state.setdefault("own", set()).add(token)
    return token


def owns(token: str) -> bool:
    """Whether this visitor brought what a token names."""
    return token in st.session_state.get("own", ())


def _forget_about(word: str) -> None:
    for shelf in vars(shelves()).values():
        shelf.remove_about(word)


def _named_city() -> City:
    """The city that the address names; what cannot be opened falls back to the first sample, with a notice."""
    dataset, token = address.get("dataset"), address.get("upload")
    if dataset == address.UPLOAD:
        found = shelves().uploads.get(token)
        if found is not None:
            return found
        notice(
            "The uploaded data of this link is no longer here: it was removed, the server was restarted, or nobody "
            f"used it for {UPLOAD_HOURS} hours. Please upload it again on the Data page. Showing a sample city instead."
        )
        dataset = address.FIELDS["dataset"].default
        address.put("dataset", dataset)
        address.put("upload", "")
    return sample_city(dataset)


def sample_city(key: str) -> City:
    """A sample, loaded once a process."""
    sample = find_sample(key)
    if sample is None:
        msg = f"There is no sample called {key!r}."
        raise ResidentsError(msg)

    def load() -> City:
        return City(
            key, sample.title, sample.unit_name, load_sample(key), f"{sample.source} {sample.licence}"
        )

    return shelves().cities.once(key, load, lambda: None, weight=max(sample.size, 1000))


def keep_upload(residents: Residents, title: str, people: str) -> City:
    """Take a checked upload into use: it gets a new secret token, and the address names it."""
    return _keep_city(City(_new_token(), title, people, residents))


def keep_plan(place: City, plan: Plan) -> City:
    """Take a plan from a file into use: a city of its own, so that nobody else's plan is touched."""
    home = place.home or place.key
    kept = _keep_city(replace(place, key=_new_token(), saved=plan, home=home))
    address.put("existing", "")
    return kept


def _keep_city(place: City) -> City:
    shelves().uploads.put(place.key, place, max(len(place.residents), 1000))
    address.put("dataset", address.UPLOAD)
    address.put("upload", place.key)
    return place


def forget_upload() -> None:
    """Remove this visitor's upload and what was made of it from the server, and go back to the first sample.

    Plans that somebody opened for these residents go, too. Of another visitor's upload nothing is removed.
    """
    token = address.get("upload")
    if owns(token):
        for key in [token, *(kept.key for kept in shelves().uploads.values() if kept.home == token)]:
            _forget_about(key)
    address.put("dataset", address.FIELDS["dataset"].default)
    address.put("upload", "")


def notice(text: str) -> None:
    """Say something at the top of the page in this run; it is shown as plain text."""
    st.session_state.setdefault("notices", []).append(text)


def show_notices() -> None:
    """Show and forget what there is to say."""
    with st.container():  # always there, so that what follows keeps its place
        for text in st.session_state.pop("notices", []):
            st.warning(escaped(text), icon=":material/info:")


def long_work(
    shelf: Shelf[T],
    key: Hashable,
    label: str,
    work: Callable[[Callable[[float, str], None]], T],
    *,
    weight: float = 1.0,
) -> T:
    """Take a result from its shelf, or make it while a bar shows how far it is and a button stops it.

    Parameters
    ----------
    shelf : Shelf
        Where the result is kept.
    key : hashable
        Content key: everything the result depends on.
    label : str
        What is being done, for the planner.
    work : callable
        Gets a function ``progress(fraction, text)``, which it has to call often; that is where it can be stopped.
    weight : float
        Of the result on its shelf.

    Raises
    ------
    StoppedError
        If the planner stopped this work and has not asked for it again.
    """
    spot = st.empty()  # always there, so that what follows keeps its place
    found = shelf.get(key)
    if found is not None:
        return found
    name = f"{label}{hash(key)}"
    if st.session_state.get("stopped") == name:
        with spot.container(border=True):
            st.markdown(f"**Stopped:** {escaped(label)}.")
            if not st.button("Carry on", icon=":material/play_arrow:", key="carry_on"):
                raise StoppedError(label)
        st.session_state.pop("stopped", None)
    begun = time.monotonic()
    bar: list[st.delta_generator.DeltaGenerator] = []

    def progress(fraction: float, text: str) -> None:
        if not bar:
            if time.monotonic() - begun < PATIENCE:
                return
            with spot.container(border=True, key="long_work"):
                bar.append(st.progress(0.0, text=escaped(label)))
                st.button("Stop", icon=":material/stop:", key="stop", on_click=_stop, args=(name,))
        told = escaped(f"{label}: {text[:1].lower()}{text[1:]}")
        bar[0].progress(min(max(fraction, 0.0), 1.0), text=told)

    made = shelf.once(key, lambda: work(progress), lambda: progress(0.0, "waiting for the same work"), weight)
    spot.empty()
    return made


def _stop(name: str) -> None:
    st.session_state["stopped"] = name


def plan_of(place: City, k: int) -> Plan:
    """The plan for k facilities: computed once for these residents, whatever t is, or the one that was opened."""
    opened = place.opened(k)
    if opened is not None:
        return opened
    new = "" if place.existing is None else "new "
    facilities = f"1 {new}facility" if k == 1 else f"{k} {new}facilities"
    label = f"Placing {facilities} for {place.title}"
    weight = max(len(place.residents), 20_000)
    return long_work(shelves().plans, _plan_key(place, k), label, _planner(place, k), weight=weight)


def quiet_plan(place: City, k: int, progress: Callable[[float, str], None]) -> Plan:
    """The plan for k facilities, computed as part of other long work, which tells how far it is."""
    return shelves().plans.once(
        _plan_key(place, k),
        lambda: _planner(place, k)(progress),
        lambda: progress(0.0, "waiting for the same work"),
        max(len(place.residents), 20_000),
    )


def _plan_key(place: City, k: int) -> Hashable:
    return *place.key_with_existing, k, SEED


def _planner(place: City, k: int) -> Callable[[Callable[[float, str], None]], Plan]:
    return lambda progress: tasks.plan(
        place.residents, k, existing=place.existing, random_state=SEED, progress=progress
    )


def restored(place: City, digest: str, saved: PlanFile) -> Restored:
    """A plan brought back from a file, with a progress bar where it has to be made anew."""
    found = long_work(
        shelves().results,
        ("restored", *place.key_with_existing, digest),
        f"Opening the plan for {place.title}",
        lambda progress: tasks.restored(digest, saved, place.residents, progress),
        weight=max(1.0, len(place.residents) / 50_000),
    )
    return cast("Restored", found)


def page(name: str) -> st.Page:
    """A page of the app by its name, to go to."""
    return st.session_state["pages"][name]


def ground_of(place: City, *, width: int, height: int) -> MapGround:
    """View and cells of a city for a map of a size."""
    key = ("ground", *place.key_with_existing, width, height)
    sites = None if place.existing is None else place.existing.lonlat
    found = shelves().results.once(
        key, lambda: MapGround.of(place.residents, width=width, height=height, existing=sites), lambda: None
    )
    assert isinstance(found, MapGround)  # noqa: S101  the key says what it is
    return found


def drawn(place: City, plan: Plan, what: Hashable, draw: Callable[[], D]) -> D:
    """A figure of the plan of a city, drawn once for all who ask for the same; `what` says what else it depends on."""
    key = (_plan_key(place, plan.k), what)
    return cast("D", shelves().figures.once(key, draw, lambda: None, lambda made: made.size))


def look(people: str) -> Look:
    """How figures are drawn for this visitor now."""
    return Look(
        theme=theme(),
        unit=address.get("units"),
        colour=address.get("colour"),
        layers=tuple(address.get("show")),
        streets=address.get("ground") == "streets" and not config().offline_maps,
        people=people,
    )


def theme() -> str:
    """The visitor's theme: "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"


def on_phone() -> bool:
    """Whether the visitor's browser says it is a phone: maps are then fitted to a narrow screen."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def standard_metres() -> float:
    """The service standard in metres."""
    from tkm_core.units import METRES

    return float(address.get("standard")) * METRES[address.get("units")]
