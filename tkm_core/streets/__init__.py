"""Streets: turn a road file into a routable network, with travel times, routes and catchments."""

from tkm_core.streets.areas import Areas, check_areas, load_areas
from tkm_core.streets.drawing import Lines
from tkm_core.streets.joining import FAR, Joined
from tkm_core.streets.loading import load_streets
from tkm_core.streets.model import Streets
from tkm_core.streets.network import Network, check_network
from tkm_core.streets.reach import Catchment, Route
from tkm_core.streets.report import StreetsReport
from tkm_core.streets.rules import StreetsError, load_rules, mode_words, modes
from tkm_core.streets.samples import sample_streets

__all__ = [
    "FAR",
    "Areas",
    "Catchment",
    "Joined",
    "Lines",
    "Network",
    "Route",
    "Streets",
    "StreetsError",
    "StreetsReport",
    "check_areas",
    "check_network",
    "load_areas",
    "load_rules",
    "load_streets",
    "mode_words",
    "modes",
    "sample_streets",
]
