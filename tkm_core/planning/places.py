"""Named places: which gain and lose most under a plan, and which its facilities stand in."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import shapely
from scipy.spatial import cKDTree

from tkm_core.arrays import Floats, Ints
from tkm_core.planning.plan import Plan
from tkm_core.residents import Residents

ALL = slice(None)
LOOKED_AT = 1000  # labels that show whether they are names
# what Python's str.split takes for blanks
BLANKS = r"[\s\v\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+"
Labels = npt.NDArray[np.object_]


@dataclass(frozen=True)
class PlaceChange:
    """Change for one place: its people, and the metres they gain (+) or lose (-) on average."""

    name: str
    people: float
    change: float


def place_names(residents: Residents, rows: slice | Ints = ALL) -> list[str] | None:
    """The names of the places that residents live in: the file's names or groups; None if it has only numbers.

    Parameters
    ----------
    residents : Residents
    rows : slice or ndarray of int
        Which of them; all by default.

    Examples
    --------
    >>> place_names(Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], ids=["Centre", "Gare"]))
    ['Centre', 'Gare']
    >>> place_names(Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], ids=["17", "18"])) is None
    True
    """
    kind = _named_by(residents)
    if kind is None:
        return None
    names: list[str] = _cleaned(residents.labels_at(kind, rows)).to_pylist()
    return names


def _named_by(residents: Residents) -> str | None:
    """Which labels name places: the first kind with letters among its first thousand."""
    for kind in ("places", "ids", "groups"):
        first = residents.labels_at(kind, slice(LOOKED_AT))
        if first is not None and any(
            letter.isalpha() for name in _cleaned(first).to_pylist() for letter in name
        ):
            return kind
    return None


def _cleaned(labels: pa.Array | Labels) -> pa.Array:
    """Labels as names in a line, at most 80 characters long; "" where there is none."""
    if not isinstance(labels, pa.Array):
        told = (None if pd.isna(label) else str(label).encode("utf-8", "replace") for label in labels)
        labels = pa.array(told, pa.large_binary())
    text = pc.fill_null(pc.cast(labels, pa.large_string()), "")
    return pc.utf8_slice_codeunits(pc.utf8_trim(pc.replace_substring_regex(text, BLANKS, " "), " "), 0, 80)


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
    kind = _named_by(plan.residents)
    if kind is None:
        return [], []
    named = _cleaned(plan.residents.labels[kind]).dictionary_encode()
    place, names = named.indices.to_numpy(), named.dictionary
    weights = plan.residents.weights
    people = np.bincount(place, weights, len(names))
    metres = np.bincount(place, plan.change(i) * weights, len(names))
    change = np.divide(metres, people, out=np.zeros(len(names)), where=people > 0)
    change[pc.equal(names, "").to_numpy(zero_copy_only=False)] = 0.0
    few = np.flatnonzero((change >= _largest(change, count)) | (-change >= _largest(-change, count)))
    found = [PlaceChange(str(names[n]), float(people[n]), float(change[n])) for n in few.tolist()]
    found.sort(key=lambda place: (-place.change, -place.people, place.name))
    gain = [place for place in found[:count] if place.change >= 1]
    lose = [place for place in found[::-1][:count] if place.change <= -1]
    return gain, lose


def _largest(values: Floats, count: int) -> float:
    """The last of the `count` largest values; 1 if it is less."""
    return max(1.0, float(np.partition(values, -count)[-count])) if len(values) > count else 1.0


def stands_in(plan: Plan, i: int) -> list[str]:
    """The name of the place each facility stands in at setting i; "" if there is none.

    If residents are areas, it is the area around the facility; otherwise the place of the nearest resident.
    """
    home, sites = plan.residents, plan.centers_lonlat(i)
    if _named_by(home) is None:
        return [""] * len(sites)
    # an index that is made for few questions
    tree = cKDTree(home.xy, balanced_tree=False, compact_nodes=False)
    rows = np.asarray(tree.query(plan.centers_xy(i))[1])
    if home.areas is not None:
        known = np.flatnonzero(~shapely.is_missing(home.areas))
        site, area = shapely.STRtree(home.areas[known]).query(shapely.points(sites), predicate="within")
        rows[site] = known[area]
    return place_names(home, rows) or []
