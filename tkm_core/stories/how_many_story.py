"""Describe in words what one more facility brings, and how many are needed."""

import math
import re
from collections.abc import Mapping, Sequence

from tkm_core.planning import Count, Fewest
from tkm_core.units import METRES, WORDS, shown_standard
from tkm_core.wording import article, counted, ordinal, singular


def one_more(counts: Sequence[Count], k: int, *, unit: str, people: str, n_existing: int = 0) -> str:
    """What one more facility brings, in a sentence; empty if k + 1 was not measured.

    Examples
    --------
    >>> before = Count(3, {"mean_distance": 5000.0, "largest_distance": 20000.0}, {})
    >>> after = Count(4, {"mean_distance": 4200.0, "largest_distance": 21000.0}, {})
    >>> one_more([before, after], 3, unit="km", people="homes")
    'A 4th facility makes the average trip 0.8 km shorter, but the farthest home ends up 1.0 km farther away. All 4
    were placed afresh: at this setting of the dial the shorter trips of many outweigh that one. Adding a facility to
    the 3 as they are would make no trip longer.'
    """
    by_k = {count.k: count for count in counts}
    if k not in by_k or k + 1 not in by_k:
        return ""
    gain = {
        name: (by_k[k].tilted[name] - by_k[k + 1].tilted[name]) / METRES[unit]
        for name in ("mean_distance", "largest_distance")
    }
    average, farthest = (_length(gain[name], unit) for name in ("mean_distance", "largest_distance"))
    shorter = "shorter" if gain["mean_distance"] >= 0 else "longer"
    new = "new facility" if n_existing else "facility"
    subject = f"{article(k + 1).capitalize()} {ordinal(k + 1)} {new}" if k else f"One {new}"
    told = f"{subject} makes the average trip {average} {shorter}"
    if not average:
        told = f"{subject} leaves the average trip as it is"
    home = f"the farthest {singular(people)}"
    if not farthest:
        return f"{told}; {home} has as far to go as before."
    if gain["largest_distance"] >= 0:
        return f"{told}; {home} comes {farthest} closer."
    if k == 0:
        return f"{told}; {home} ends up {farthest} farther away."
    all_of_them = "Both" if k == 1 else f"All {k + 1}"
    afresh = (
        f"{told}, but {home} ends up {farthest} farther away. {all_of_them} were placed afresh: at this setting of the "
        "dial the shorter trips of many outweigh that one."
    )
    if by_k[k].limited:
        return afresh
    before = f"the {k} as they are" if k > 1 else "the one as it is"
    return f"{afresh} Adding a facility to {before} would make no trip longer."


def tell_fewest(found: Fewest, *, unit: str, people: str, n_existing: int = 0) -> str:
    """How many facilities are needed so that nobody is farther than a distance, and what is proven about it.

    Examples
    --------
    >>> import numpy as np
    >>> nowhere = np.empty((0, 2))
    >>> tell_fewest(Fewest(10_000.0, 7, 7, nowhere), unit="km", people="homes")
    'The fewest facilities that bring every home within 10 km: 7. It is proven that 6 are too few.'
    >>> tell_fewest(Fewest(15.0, 8, 6, nowhere, "these sites"), unit="min", people="residents")
    '8 facilities on these sites are enough to bring every resident within 15 min; it is proven that 5 are too few.
    Whether 6 or 7 would do is not known.'
    >>> tell_fewest(Fewest(4_000.0, None, 0, nowhere, "these sites", 4_251.0), unit="km", people="homes")
    'No number of facilities on these sites can bring every home within 4 km. With all of them open, the farthest home
    still has 4.26 km to go: allow that much, or add places nearer to it.'
    """
    within = f"bring every {singular(people)} within {shown_standard(found.reach, unit):,.6g} {unit}"
    new, on = ("new " if n_existing else ""), (f" on {found.among}" if found.among else "")
    facilities = f"{new}facilities{on}"
    if not found.possible:
        far = math.ceil(found.best / METRES[unit] * 100 - 1e-9) / 100  # rounded up, so that it can be kept
        stand = " beside those that stay" if n_existing else ""
        return (
            f"No number of {facilities} can {within}. With all of them open{stand}, the farthest {singular(people)} "
            f"still has {far:,.6g} {unit} to go: allow that much, or add places nearer to it."
        )
    fewer = found.bound - 1
    are = "is" if fewer == 1 else "are"
    few = f"it is proven that {fewer} {are} too few" if fewer > 0 else ""
    if found.number is None:
        known = f"; {few}" if few else ""
        return f"It is not known how many {facilities} are needed to {within}{known}."
    if found.number == 0:
        return f"No new facility is needed to {within}: those that exist are enough."
    if found.proved:
        proof = f" {few[:1].upper()}{few[1:]}." if few else ""
        return f"The fewest {facilities} that {within}: {found.number}.{proof}"
    enough = counted(found.number, f"{new}facility{on}", facilities)
    told = f"{enough} {'is' if found.number == 1 else 'are'} enough to {within}"
    open_ = [str(count) for count in range(max(found.bound, 1), found.number)]
    would = f"{open_[0]} to {open_[-1]}" if len(open_) > 2 else " or ".join(open_)
    return f"{told}{f'; {few}' if few else ''}. Whether {would} would do is not known."


def impossible(left_out: Mapping[int, str]) -> list[str]:
    """Which numbers of facilities the rules do not allow, and why; one sentence for numbers in a row.

    Numbers in a row share a sentence if their reasons are the same but for the figures in them; it gives those of the
    last, which is the nearest to being possible where there is too little room.

    Examples
    --------
    >>> impossible({1: "Too little room.", 2: "Too little room.", 9: "There are only 8 sites."})
    ['1 and 2 facilities are not shown: Too little room.', '9 facilities are not shown: There are only 8 sites.']
    >>> impossible({8: "Too little room.", 9: "There are only 8 sites."})
    ['8 facilities are not shown: Too little room.', '9 facilities are not shown: There are only 8 sites.']
    """
    told: list[tuple[list[int], str]] = []
    for k in sorted(left_out):
        if (
            told
            and told[-1][0][-1] == k - 1
            and _without_figures(told[-1][1]) == _without_figures(left_out[k])
        ):
            told[-1][0].append(k)
            told[-1] = (told[-1][0], left_out[k])
        else:
            told.append(([k], left_out[k]))
    return [f"{_facilities(numbers)} not shown: {why}" for numbers, why in told]


def _without_figures(reason: str) -> str:
    """A reason without its figures and plurals, to tell whether two say the same."""
    return re.sub(r"[\d.,]+", "#", reason).replace("facilities", "facility").replace("sites", "site")


def _facilities(numbers: list[int]) -> str:
    """A run of numbers as the subject of a sentence."""
    if len(numbers) == 1:
        return f"{counted(numbers[0], 'facility is', 'facilities are')}"
    between = "and" if len(numbers) == 2 else "to"
    return f"{numbers[0]} {between} {numbers[-1]} facilities are"


def _length(value: float, unit: str) -> str:
    """A change in words, in metres or with a second decimal instead of 0.0; "" if it is too small to mention."""
    size = abs(value)
    if round(size, 1):
        return f"{size:,.1f} {WORDS[unit]}"
    if unit == "km":
        return f"{10 * round(100 * size)} m" if round(100 * size) else ""
    return f"{size:.2f} {WORDS[unit]}" if round(size, 2) else ""
