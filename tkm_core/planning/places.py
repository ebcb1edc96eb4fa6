"""Named places: which gain and lose most under a plan, and which its facilities stand in."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import shapely
from scipy.spatial import cKDTree

from tkm_core.planning.plan import Plan
from tkm_core.residents import Residents


@dataclass(frozen=True)
class PlaceChange:
    """Change for one place: its people, and the metres they gain (+) or lose (-) on average."""

    name: str
    people: float
    change: float


def place_names(residents: Residents) -> list[str] | None:
    """The name of the place each resident lives in: the file's names or groups; None if it has only numbers.

    Examples
    --------
    >>> place_names(Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], ids=["Centre", "Gare"]))
    ['Centre', 'Gare']
    >>> place_names(Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], ids=["17", "18"])) is None
    True
    """
    for labels in (residents.places, residents.ids, residents.groups):
        if labels is None:
            continue
        names = ["" if pd.isna(label) else " ".join(str(label).split())[:80] for label in labels]
        if any(any(letter.isalpha() for letter in name) for name in names[:1000]):
            return names
    return None


def most_changed(plan: Plan, i: int, count: int = 5) -> tuple[list[PlaceChange], list[PlaceChange]]:
    """The places that gain most and those that lose most at setting i against the reference.

    Parameters
    ----------
    plan : Plan
    i : int
    count : int
        The most places of each; changes below a metre do not count.

    Returns
    -------
    tuple of two lists of PlaceChange
        Both empty if the residents have no names.
    """
    names = place_names(plan.residents)
    if names is None:
        return [], []
    weights = plan.residents.weights
    table = pd.DataFrame({"name": names, "people": weights, "metres": plan.change(i) * weights})
    sums = table[(weights > 0) & (table["name"] != "")].groupby("name", sort=True).sum()
    sums["change"] = sums["metres"] / sums["people"]
    ordered = sums.sort_values(["change", "people"], ascending=False, kind="stable")
    found = [
        PlaceChange(str(name), float(people), float(change))
        for name, people, change in zip(ordered.index, ordered["people"], ordered["change"], strict=True)
    ]
    gain = [place for place in found[:count] if place.change >= 1]
    lose = [place for place in found[::-1][:count] if place.change <= -1]
    return gain, lose


def stands_in(plan: Plan, i: int) -> list[str]:
    """The name of the place each facility stands in at setting i; "" if there is none.

    If residents are areas, it is the area around the facility; otherwise the place of the nearest resident.
    """
    names = place_names(plan.residents)
    sites = plan.centers_lonlat(i)
    if names is None:
        return [""] * len(sites)
    nearest = cKDTree(plan.residents.xy).query(plan.centers_xy(i))[1]
    found = [names[int(row)] for row in nearest]
    if plan.residents.areas is not None:
        known = np.flatnonzero(~shapely.is_missing(plan.residents.areas))
        tree = shapely.STRtree(plan.residents.areas[known])
        site, area = tree.query(shapely.points(sites), predicate="within")
        for j, number in zip(site.tolist(), known[area].tolist(), strict=True):
            found[j] = names[number]
    return found
