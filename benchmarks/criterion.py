"""Compare the two criteria: how often turning the dial up moves the farthest resident farther away again."""

from typing import Any

import numpy as np
from tqdm import tqdm

from tkm_core.planning import Plan, make_plan
from tkm_core.residents import SAMPLES, load_sample

COUNTS = (4, 6, 8, 12)
SEEN = 0.02  # relative rise of the largest distance that a planner notices
NAMES = {"city": "by the city-wide cost (the app)", "cluster": "by the paper's tilted SSE"}


def rise(plan: Plan) -> float:
    """The largest relative increase of the largest distance compared with a smaller t."""
    largest = plan.curve.largest_distance
    return float(np.max(largest / np.minimum.accumulate(largest)) - 1)


def run() -> list[dict[str, Any]]:
    """Make plans for every sample by both criteria, with and without two existing facilities.

    Returns
    -------
    list of dict
        With case, measured, unit and target.
    """
    towns = {key: load_sample(key) for key in SAMPLES}
    cases = [(key, k, kept) for key in towns for k in COUNTS for kept in (False, True)]
    plans: dict[str, list[Plan]] = {criterion: [] for criterion in NAMES}
    for key, k, kept in tqdm(cases, desc="criterion", leave=False):
        town = towns[key]
        sites = town.lonlat[[5, len(town) // 2]] if kept else None
        for criterion in NAMES:
            plans[criterion].append(make_plan(town, k, criterion=criterion, fixed_lonlat=sites))
    rows: list[dict[str, Any]] = []
    for criterion, words in NAMES.items():
        rises = np.array([rise(plan) for plan in plans[criterion]])
        ends = np.array([plan.curve.largest_distance[-1] for plan in plans[criterion]])
        other = np.array([plan.curve.largest_distance[-1] for plan in plans["cluster"]])
        for what, value, unit in (
            ("farthest resident over 2 % worse off again as t grows", int((rises > SEEN).sum()), "plans"),
            ("most that the farthest resident is let down again", 100 * rises.max(), "%"),
            ("largest distance at t = 100 against the tilted SSE's, mean", float(np.mean(ends / other)), "×"),
        ):
            rows.append({"case": f"{what}, of {len(rises)} plans, {words}", "measured": value, "unit": unit})
    return rows
