"""Residents: reading planners' files, checking what they say, and putting them on a map in metres."""

from tkm_core.residents.loading import load_residents
from tkm_core.residents.model import Residents, ResidentsError
from tkm_core.residents.report import Column, Dropped, Report

__all__ = ["Column", "Dropped", "Report", "Residents", "ResidentsError", "load_residents"]
