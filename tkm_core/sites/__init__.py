"""Choose among candidate sites for every t, with a proven bound; capacities, zones and travel tables."""

from tkm_core.sites.capacity import Capacity
from tkm_core.sites.cover import FewestSites, fewest_sites
from tkm_core.sites.path import SitePath, site_path, told_gap
from tkm_core.sites.plane import CapacityPath, capacity_path
from tkm_core.sites.plane_bound import Proof, prove
from tkm_core.sites.sharing import share_out
from tkm_core.sites.table import UnreachableError, distance_scale
from tkm_core.sites.travel import TravelTable, read_travel, travel_rows
from tkm_core.sites.zones import ZonePath, allowed, lattice, zone_path

__all__ = [
    "Capacity",
    "CapacityPath",
    "FewestSites",
    "Proof",
    "SitePath",
    "TravelTable",
    "UnreachableError",
    "ZonePath",
    "allowed",
    "capacity_path",
    "distance_scale",
    "fewest_sites",
    "lattice",
    "prove",
    "read_travel",
    "share_out",
    "site_path",
    "told_gap",
    "travel_rows",
    "zone_path",
]
