"""Export plans: tables for GIS and spreadsheets, and the plan file from which a plan can be restored."""

from tkm_core.export.carried import MOST_CARRIED
from tkm_core.export.file_format import FileFormat
from tkm_core.export.formats import FORMATS, format_of, to_bytes, write, write_whole
from tkm_core.export.naming import as_file_name, file_stem
from tkm_core.export.pieces import Pieces
from tkm_core.export.planfile import plan_document, plan_json, write_plan_file
from tkm_core.export.planfile_reading import (
    LARGEST,
    PlanFile,
    PlanFileError,
    Shown,
    check_plan_file,
    read_plan_file,
    saved_reference,
)
from tkm_core.export.planfile_reading import LARGEST as LARGEST_PLAN_FILE
from tkm_core.export.planfile_restoring import Restored, restore_plan, same_rules
from tkm_core.export.spreadsheet import csv_bytes
from tkm_core.export.tables import TABLES, all_layers, allocations, facilities, layers, service_areas, table

__all__ = [
    "FORMATS",
    "LARGEST",
    "LARGEST_PLAN_FILE",
    "MOST_CARRIED",
    "TABLES",
    "FileFormat",
    "Pieces",
    "PlanFile",
    "PlanFileError",
    "Restored",
    "Shown",
    "all_layers",
    "allocations",
    "as_file_name",
    "check_plan_file",
    "csv_bytes",
    "facilities",
    "file_stem",
    "format_of",
    "layers",
    "plan_document",
    "plan_json",
    "read_plan_file",
    "restore_plan",
    "same_rules",
    "saved_reference",
    "service_areas",
    "table",
    "to_bytes",
    "write",
    "write_plan_file",
    "write_whole",
]
