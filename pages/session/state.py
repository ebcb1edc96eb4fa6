"""What the server remembers of one visitor between two runs of a page, in one typed object.

What a link shows is in the address (address.py), results are in the caches (cache.py). Nothing but this module touches
Streamlit's session state: `visit` for what is ours, `widget` and its neighbours for the values of widgets.
"""

import math
import secrets
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages.serving.store import Project, Scenario
from pages.session.background_work import BackgroundWork
from tkm_core.export import PlanFile

_VISIT = "visit"


@dataclass
class LiveMap:
    """What the live map of the Plan page said last.

    Attributes
    ----------
    seen : int
        The number of the planner's last action that the page takes into account.
    turned : int
        How often the page itself turned the dial: to the budget, or by a click on a chart.
    trial : tuple or None
        A facility that was dragged away: its number, longitude and latitude.
    replan : bool
        Whether a facility was pinned or set free since: the whole page follows, not only the part that redraws alone.
    drawn : int
        The number of the last edit on the Sites page that is taken into account.
    """

    seen: int = 0
    turned: int = 0
    trial: tuple[int, float, float] | None = None
    replan: bool = False
    drawn: int = 0


@dataclass
class Draft:
    """An upload that is not in use yet: the files by name, and what was read from them.

    `token` names the data in use that it is about to replace, if it was read before.
    """

    files: list[tuple[str, bytes]] = field(default_factory=list)
    token: str = ""
    key: str = ""
    read: object = None


@dataclass
class Brought:
    """The files of the data in use and the planner's answers about them, so that the answers can be changed."""

    token: str
    files: list[tuple[str, bytes]]
    answers: dict[str, Any]


@dataclass
class Visit:
    """One visitor's memory.

    Attributes
    ----------
    pages : dict
        The pages of the app by name, to go to.
    page : str
        The page that was drawn last.
    window : str
        The window that is open over it.
    window_drawn : bool
        Whether it is on the screen since it was asked for.
    saving : str or None
        The name under which the plan on the screen is to be saved, "" for the usual one; None if it is not.
    address : dict or None
        The address as it was read or written last; None before the first run.
    notices : list of str
        Sentences for the top of the page in this run.
    own : set of str
        Tokens of what this visitor brought that is only in this server's memory: only the owner may remove it.
    browser : str
        What this visitor's uploads belong to where the browser has no cookie for it.
    keys : list of str
        Secrets of the links to projects that this visitor came with.
    let_in : dict
        Projects this visitor was let into, and when.
    scenario : tuple or None
        The scenario that was opened last, and its project.
    project : str
        The project that was chosen last.
    projects_from, scenarios_from : int
        Where the parts of the lists on the Scenarios page begin.
    undo : tuple of str
        The scenario that was deleted last, and its name.
    places_undo : tuple or None
        The token of the sites and zones before the last change of many, the one after it, and the change in words.
    emptied : dict
        Keys of the widgets of file uploaders that were emptied: only a new one has no file.
    new_link, new_token : str
        A link or a token that was just made; it is shown once.
    drafts : dict
        Uploads that are not in use yet, by the key of their uploader.
    brought : Brought or None
        The last files that were taken into use.
    plan_file : tuple or None
        The digest of the plan file that was read last, and what it says.
    live_map : LiveMap
    began : hashable
        The city that was opened on its suggested plan last.
    untouched_t : float
        Where the dial stands unless a link or a hand has turned it.
    stop : float or None
        A setting of the dial that a link named and the plan does not have by itself.
    stopped : str
        The long work that the planner stopped.
    background : BackgroundWork or None
        Work beside the page, running or done.
    proof : BackgroundWork or None
        Work on the proof of the plan that was looked at last.
    proof_seen : BackgroundWork or None
        The work whose result is shown already.
    fewest : BackgroundWork or None
        The search for the fewest facilities within the standard that was looked at last.
    proven : dict
        Seconds that were spent on the proof of each plan.
    city : str
        Key of the city whose settings are in use; "" if they come from a link.
    settings : dict
        By key, the settings of the cities that were looked at before.
    usual_standard : float
        The service standard that fits the city as it is now, in metres.
    fitted : tuple or None
        The city for which a service standard was chosen, and that standard; None before.
    kept_plans : list of str
        Tokens of the plans that were kept to compare, the oldest first.
    compared : dict
        By city and number of facilities, for each method that ran: its measures, for the trade-off chart.
    experiment : hashable
        The run of an experiment that was asked for.
    """

    pages: dict[str, st.Page] = field(default_factory=dict)
    page: str = ""
    window: str = ""
    window_drawn: bool = True
    saving: str | None = None
    address: dict[str, str] | None = None
    notices: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    browser: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    keys: list[str] = field(default_factory=list)
    let_in: dict[str, float] = field(default_factory=dict)
    scenario: tuple[Scenario, Project] | None = None
    project: str = ""
    projects_from: int = 0
    scenarios_from: int = 0
    undo: tuple[str, str] | None = None
    places_undo: tuple[str, str, str] | None = None
    emptied: dict[str, str] = field(default_factory=dict)
    new_link: str = ""
    new_token: str = ""
    drafts: dict[str, Draft] = field(default_factory=dict)
    brought: Brought | None = None
    plan_file: tuple[str, PlanFile] | None = None
    live_map: LiveMap = field(default_factory=LiveMap)
    began: Hashable = None
    untouched_t: float = math.nan
    stop: float | None = None
    stopped: str = ""
    background: BackgroundWork | None = None
    proof: BackgroundWork | None = None
    proof_seen: BackgroundWork | None = None
    fewest: BackgroundWork | None = None
    proven: dict[Hashable, float] = field(default_factory=dict)
    city: str = ""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    usual_standard: float = 0.0
    fitted: tuple[Hashable, float] | None = None
    kept_plans: list[str] = field(default_factory=list)
    compared: dict[Hashable, dict[str, dict[str, float]]] = field(default_factory=dict)
    experiment: Hashable = None


def visit() -> Visit:
    """The memory of the visitor whose page is drawn."""
    if _VISIT not in st.session_state:
        st.session_state[_VISIT] = Visit()
    found: Visit = st.session_state[_VISIT]
    return found


def new_token() -> str:
    """A secret that names what this visitor brings: who has it may look, only this visitor may remove."""
    token = secrets.token_urlsafe(24)
    visit().own.add(token)
    return token


def still_here(*_: object) -> None:
    """End this run if its visitor has left or asked for another: Streamlit looks whenever its state is touched."""
    st.session_state.get(_VISIT)


def page(name: str) -> st.Page:
    """A page of the app by its name, to go to."""
    return visit().pages[name]


def widget(key: str, default: Any = None) -> Any:
    """The value of a widget, also in a callback or before it is drawn."""
    return st.session_state.get(key, default)


def set_widget(key: str, value: Any) -> None:
    """Set a widget, before it is drawn or in a callback."""
    st.session_state[key] = value


def forget_widgets(*keys: str) -> None:
    """Let widgets start afresh."""
    for key in keys:
        st.session_state.pop(key, None)
