"""Ways to measure how far it is: in a straight line, along streets, by the planner's own table; one file each."""

from tkm_core.planning.travel.registry import (
    NEEDS_SITES,
    WAYS,
    as_travel,
    check_written_travel,
    restored_travel,
    written_travel,
)
from tkm_core.planning.travel.straight import STRAIGHT, StraightLines
from tkm_core.planning.travel.streets import AlongStreets, UncoveredError
from tkm_core.planning.travel.table import ByTable
from tkm_core.planning.travel.way import SAME_PLACE, Travel, shown

__all__ = [
    "NEEDS_SITES",
    "SAME_PLACE",
    "STRAIGHT",
    "WAYS",
    "AlongStreets",
    "ByTable",
    "StraightLines",
    "Travel",
    "UncoveredError",
    "as_travel",
    "check_written_travel",
    "restored_travel",
    "shown",
    "written_travel",
]
