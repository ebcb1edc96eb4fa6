"""Make plans and analyse them: trade-off, number of facilities, service areas, groups, comparison of methods."""

from tkm_core.planning.allowed import put_where_allowed
from tkm_core.planning.areas import MARGIN as AREAS_MARGIN
from tkm_core.planning.areas import served_areas, service_areas
from tkm_core.planning.beyond import ResidentCells, beyond_memory, condense_residents, measure_exactly
from tkm_core.planning.by_straight_lines import ByStraightLines, by_straight_lines
from tkm_core.planning.catchments import MINUTES, Reached, catchments
from tkm_core.planning.dial import PLAN_T, nearest_stop
from tkm_core.planning.fewest import Fewest, fewest_facilities
from tkm_core.planning.grounds import Grounds
from tkm_core.planning.groups import Group, by_group
from tkm_core.planning.how_many import Count, compare_counts, sampled, series
from tkm_core.planning.making import PLAN_CRITERION, at_columns, compared_as_usual, make_plan, most_facilities
from tkm_core.planning.methods_compared import (
    Compared,
    best,
    decimals,
    facility_numbers,
    group_numbers,
    judge,
    judge_by_rules,
    methods_for,
    neighbourhoods,
    solve,
)
from tkm_core.planning.places import PlaceChange, most_changed, place_names, stands_in
from tkm_core.planning.plan import NONE_EXISTING, Plan
from tkm_core.planning.portfolio import Choice, short_portfolio
from tkm_core.planning.reference import AVERAGE, BY_STRAIGHT_LINES, TODAY, Reference, usual_reference
from tkm_core.planning.rows import Row, Tone, distance_decimals, rounded_row
from tkm_core.planning.rules import FREE, Rules
from tkm_core.planning.serving import Known, Serving
from tkm_core.planning.side_by_side import Comparison, compare_methods
from tkm_core.planning.standard import usual_standard
from tkm_core.planning.travel import (
    STRAIGHT,
    WAYS,
    AlongStreets,
    ByTable,
    StraightLines,
    Travel,
    UncoveredError,
    check_written_travel,
    restored_travel,
    written_travel,
)
from tkm_core.planning.two_plans import Move, moves, one_setting, same_facilities
from tkm_core.planning.what_if import moved

__all__ = [
    "AREAS_MARGIN",
    "AVERAGE",
    "BY_STRAIGHT_LINES",
    "FREE",
    "MINUTES",
    "NONE_EXISTING",
    "PLAN_CRITERION",
    "PLAN_T",
    "STRAIGHT",
    "TODAY",
    "WAYS",
    "AlongStreets",
    "ByStraightLines",
    "ByTable",
    "Choice",
    "Compared",
    "Comparison",
    "Count",
    "Fewest",
    "Grounds",
    "Group",
    "Known",
    "Move",
    "PlaceChange",
    "Plan",
    "Reached",
    "Reference",
    "ResidentCells",
    "Row",
    "Rules",
    "Serving",
    "StraightLines",
    "Tone",
    "Travel",
    "UncoveredError",
    "at_columns",
    "best",
    "beyond_memory",
    "by_group",
    "by_straight_lines",
    "catchments",
    "check_written_travel",
    "compare_counts",
    "compare_methods",
    "compared_as_usual",
    "condense_residents",
    "decimals",
    "distance_decimals",
    "facility_numbers",
    "fewest_facilities",
    "group_numbers",
    "judge",
    "judge_by_rules",
    "make_plan",
    "measure_exactly",
    "methods_for",
    "most_changed",
    "most_facilities",
    "moved",
    "moves",
    "nearest_stop",
    "neighbourhoods",
    "one_setting",
    "place_names",
    "put_where_allowed",
    "restored_travel",
    "rounded_row",
    "same_facilities",
    "sampled",
    "series",
    "served_areas",
    "service_areas",
    "short_portfolio",
    "solve",
    "stands_in",
    "usual_reference",
    "usual_standard",
    "written_travel",
]
