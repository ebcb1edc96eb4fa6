"""Residents: reading planners' files, checking what they say, and putting them on a map in metres."""

from tkm_core.residents.columns import resolve
from tkm_core.residents.existing import MOST, Existing, nearby, read_existing, scaled_sites
from tkm_core.residents.loading import load_residents
from tkm_core.residents.model import Residents, ResidentsError, crs_name
from tkm_core.residents.numbers import guess_decimal
from tkm_core.residents.report import Column, Dropped, Report
from tkm_core.residents.samples import SAMPLES, find_sample, load_sample, sample_meant
from tkm_core.residents.source import SHAPEFILE_PARTS, open_source
from tkm_core.residents.table import as_text
from tkm_core.residents.text import read_text

__all__ = [
    "MOST",
    "SAMPLES",
    "SHAPEFILE_PARTS",
    "Column",
    "Dropped",
    "Existing",
    "Report",
    "Residents",
    "ResidentsError",
    "as_text",
    "crs_name",
    "find_sample",
    "guess_decimal",
    "load_residents",
    "load_sample",
    "nearby",
    "open_source",
    "read_existing",
    "read_text",
    "resolve",
    "sample_meant",
    "scaled_sites",
]
