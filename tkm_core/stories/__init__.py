"""What a plan or a comparison says, in words."""

from tkm_core.stories.how_many_story import one_more
from tkm_core.stories.methods_story import (
    freedom,
    left_out,
    other_arrangement,
    ratio_words,
    remarks,
    sampling,
    verdict,
)
from tkm_core.stories.plan_story import Part, Story, tell_plan

__all__ = [
    "Part",
    "Story",
    "freedom",
    "left_out",
    "one_more",
    "other_arrangement",
    "ratio_words",
    "remarks",
    "sampling",
    "tell_plan",
    "verdict",
]
