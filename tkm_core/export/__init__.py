"""Plans out: tables for the tools planners use, and a plan file that brings a plan back."""

from tkm_core.export.formats import FORMATS, csv_bytes, format_of, to_bytes, write, write_whole
from tkm_core.export.planfile import (
    LARGEST,
    PlanFile,
    PlanFileError,
    Restored,
    plan_document,
    plan_json,
    read_plan_file,
    restore_plan,
    write_plan_file,
)
from tkm_core.export.planfile import LARGEST as LARGEST_PLAN_FILE
from tkm_core.export.tables import TABLES, allocations, facilities, service_areas, table

__all__ = [
    "FORMATS",
    "LARGEST",
    "LARGEST_PLAN_FILE",
    "TABLES",
    "PlanFile",
    "PlanFileError",
    "Restored",
    "allocations",
    "csv_bytes",
    "facilities",
    "format_of",
    "plan_document",
    "plan_json",
    "read_plan_file",
    "restore_plan",
    "service_areas",
    "table",
    "to_bytes",
    "write",
    "write_plan_file",
    "write_whole",
]
