"""What one more facility buys, in words."""

from collections.abc import Sequence

from tkm_core.planning import Count
from tkm_core.units import METRES
from tkm_core.wording import article, ordinal, singular


def one_more(counts: Sequence[Count], k: int, *, unit: str, people: str, existing: int = 0) -> str:
    """What one more facility buys beside the existing ones, in a sentence; empty if k + 1 was not measured.

    Examples
    --------
    >>> before = Count(3, {"mean_distance": 5000.0, "largest_distance": 20000.0}, {})
    >>> after = Count(4, {"mean_distance": 4200.0, "largest_distance": 21000.0}, {})
    >>> one_more([before, after], 3, unit="km", people="homes")
    'A 4th facility makes the average trip 0.8 km shorter; the farthest home ends up 1.0 km farther away.'
    """
    by_k = {count.k: count for count in counts}
    if k not in by_k or k + 1 not in by_k:
        return ""
    gain = {
        name: (by_k[k].tilted[name] - by_k[k + 1].tilted[name]) / METRES[unit]
        for name in ("mean_distance", "largest_distance")
    }
    average = f"{abs(gain['mean_distance']):.1f} {unit}"
    farthest = f"{abs(gain['largest_distance']):.1f} {unit}"
    shorter = "shorter" if gain["mean_distance"] >= 0 else "longer"
    closer = (
        f"comes {farthest} closer" if gain["largest_distance"] >= 0 else f"ends up {farthest} farther away"
    )
    new = "new facility" if existing else "facility"
    return (
        f"{article(k + 1).capitalize()} {ordinal(k + 1)} {new} makes the average trip {average} {shorter}; "
        f"the farthest {singular(people)} {closer}."
    )
