"""Stories: describe plans and comparisons in sentences."""

from tkm_core.stories.clauses import Part, farthest_one
from tkm_core.stories.how_many_story import impossible, one_more, tell_fewest
from tkm_core.stories.methods_story import (
    RATIO,
    beyond_standard,
    freedom,
    left_out,
    ratio_words,
    remarks,
    rules_apply,
    sampling,
    verdict,
)
from tkm_core.stories.plan_story import Story, facilities_text, tell_plan
from tkm_core.stories.portfolio_story import PortfolioStory, portfolio_story, tell_portfolio
from tkm_core.stories.setting_story import (
    tell_budget,
    tell_catchments,
    tell_move,
    tell_moves,
    tell_numbers,
    tell_pins,
    tell_setting,
    tell_straight_lines,
)

__all__ = [
    "RATIO",
    "Part",
    "PortfolioStory",
    "Story",
    "beyond_standard",
    "facilities_text",
    "farthest_one",
    "freedom",
    "impossible",
    "left_out",
    "one_more",
    "portfolio_story",
    "ratio_words",
    "remarks",
    "rules_apply",
    "sampling",
    "tell_budget",
    "tell_catchments",
    "tell_fewest",
    "tell_move",
    "tell_moves",
    "tell_numbers",
    "tell_pins",
    "tell_plan",
    "tell_portfolio",
    "tell_setting",
    "tell_straight_lines",
    "verdict",
]
