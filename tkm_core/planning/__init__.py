"""Plans, and what can be asked of them: trade-off, how many, service areas, groups, comparison of methods."""

from tkm_core.planning.areas import service_areas
from tkm_core.planning.groups import by_group
from tkm_core.planning.how_many import Count, compare_counts, sampled, series
from tkm_core.planning.methods_compared import (
    FOR_EVERYONE,
    Compared,
    best,
    decimals,
    facility_numbers,
    judge,
    keeps_existing,
    neighbourhoods,
    solve,
)
from tkm_core.planning.plan import PLAN_CRITERION, PLAN_T, Plan, make_plan, most_facilities
from tkm_core.planning.rows import Row, Tone, distance_decimals, rounded_row

__all__ = [
    "FOR_EVERYONE",
    "PLAN_CRITERION",
    "PLAN_T",
    "Compared",
    "Count",
    "Plan",
    "Row",
    "Tone",
    "best",
    "by_group",
    "compare_counts",
    "decimals",
    "distance_decimals",
    "facility_numbers",
    "judge",
    "keeps_existing",
    "make_plan",
    "most_facilities",
    "neighbourhoods",
    "rounded_row",
    "sampled",
    "series",
    "service_areas",
    "solve",
]
