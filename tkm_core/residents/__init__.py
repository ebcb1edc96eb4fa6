"""Read residents, facilities, sites and zones from planners' files, check them, and project them to metres."""

from tkm_core.residents.clipping import keep_rows
from tkm_core.residents.columns import resolve
from tkm_core.residents.coordinates import chosen_crs
from tkm_core.residents.existing import MOST, Existing, nearby, read_existing, scaled_sites
from tkm_core.residents.file_format import Asked
from tkm_core.residents.formats import FORMATS
from tkm_core.residents.layers import from_wkb
from tkm_core.residents.loading import load_residents
from tkm_core.residents.model import OWN, Residents, ResidentsError, crs_name
from tkm_core.residents.numbers import guess_decimal
from tkm_core.residents.opening import open_source
from tkm_core.residents.projection import WGS84, local_crs, survey, transform
from tkm_core.residents.report import Column, Dropped, Report
from tkm_core.residents.samples import SAMPLES, find_sample, load_sample, sample_meant
from tkm_core.residents.sites import MOST_SITES, Sites, load_sites, read_sites
from tkm_core.residents.source import SHAPEFILE_PARTS, Buffer, Source
from tkm_core.residents.table import Table, as_text
from tkm_core.residents.text import read_text
from tkm_core.residents.zones import Zones, load_zones

__all__ = [
    "FORMATS",
    "MOST",
    "MOST_SITES",
    "OWN",
    "SAMPLES",
    "SHAPEFILE_PARTS",
    "WGS84",
    "Asked",
    "Buffer",
    "Column",
    "Dropped",
    "Existing",
    "Report",
    "Residents",
    "ResidentsError",
    "Sites",
    "Source",
    "Table",
    "Zones",
    "as_text",
    "chosen_crs",
    "crs_name",
    "find_sample",
    "from_wkb",
    "guess_decimal",
    "keep_rows",
    "load_residents",
    "load_sample",
    "load_sites",
    "load_zones",
    "local_crs",
    "nearby",
    "open_source",
    "read_existing",
    "read_sites",
    "read_text",
    "resolve",
    "sample_meant",
    "scaled_sites",
    "survey",
    "transform",
]
