"""Plans out: tables for the tools planners use, and a plan file that brings a plan back."""

from tkm_core.export.formats import FORMATS, csv_bytes, to_bytes, write
from tkm_core.export.planfile import LARGEST as LARGEST_PLAN_FILE
from tkm_core.export.planfile import (
    PlanFile,
    PlanFileError,
    Restored,
    plan_document,
    plan_json,
    read_plan_file,
    restore_plan,
    write_plan_file,
)
from tkm_core.export.tables import TABLES, allocations, facilities, service_areas, table

__all__ = [
    "FORMATS",
    "LARGEST_PLAN_FILE",
    "TABLES",
    "PlanFile",
    "PlanFileError",
    "Restored",
    "allocations",
    "csv_bytes",
    "facilities",
    "plan_document",
    "plan_json",
    "read_plan_file",
    "restore_plan",
    "service_areas",
    "table",
    "to_bytes",
    "write",
    "write_plan_file",
]
