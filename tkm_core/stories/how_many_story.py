"""What one more facility buys, in words."""

from collections.abc import Sequence

from tkm_core.planning import Count
from tkm_core.units import METRES
from tkm_core.wording import article, ordinal, singular


def one_more(counts: Sequence[Count], k: int, *, unit: str, people: str, n_existing: int = 0) -> str:
    """What one more facility buys beside the existing ones, in a sentence; empty if k + 1 was not measured.

    Examples
    --------
    >>> before = Count(3, {"mean_distance": 5000.0, "largest_distance": 20000.0}, {})
    >>> after = Count(4, {"mean_distance": 4200.0, "largest_distance": 21000.0}, {})
    >>> one_more([before, after], 3, unit="km", people="homes")
    'A 4th facility makes the average trip 0.8 km shorter, but the farthest home ends up 1.0 km farther away. All 4
    were placed anew: at this setting of the dial the shorter trips of many outweigh that one. Adding a facility to the
    3 as they are would take nobody farther.'
    """
    by_k = {count.k: count for count in counts}
    if k not in by_k or k + 1 not in by_k:
        return ""
    gain = {
        name: (by_k[k].tilted[name] - by_k[k + 1].tilted[name]) / METRES[unit]
        for name in ("mean_distance", "largest_distance")
    }
    average, farthest = (f"{abs(gain[name]):.1f} {unit}" for name in ("mean_distance", "largest_distance"))
    shorter = "shorter" if gain["mean_distance"] >= 0 else "longer"
    new = "new facility" if n_existing else "facility"
    subject = f"{article(k + 1).capitalize()} {ordinal(k + 1)} {new}" if k else f"One {new}"
    told = f"{subject} makes the average trip {average} {shorter}"
    home = f"the farthest {singular(people)}"
    if gain["largest_distance"] >= 0 or farthest == f"0.0 {unit}":
        return f"{told}; {home} comes {farthest} closer."
    if k == 0:
        return f"{told}; {home} ends up {farthest} farther away."
    all_of_them = "Both" if k == 1 else f"All {k + 1}"
    before = f"the {k} as they are" if k > 1 else "the one as it is"
    return (
        f"{told}, but {home} ends up {farthest} farther away. {all_of_them} were placed anew: at this setting of the "
        f"dial the shorter trips of many outweigh that one. Adding a facility to {before} would take nobody farther."
    )
