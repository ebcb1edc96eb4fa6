"""The rules of a plan: how distance is measured, where facilities may stand, and how many people each may serve."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tkm_core.arrays import Bools, Floats
from tkm_core.planning.travel import NEEDS_SITES, STRAIGHT, Travel, as_travel, shown
from tkm_core.residents import Residents, Sites, Zones, load_sites
from tkm_core.sites import Capacity
from tkm_core.wording import counted, listed

NAMED = 4  # zones named in a sentence


@dataclass(frozen=True, eq=False)
class Rules:
    r"""The rules of a plan. `Rules()` means none: straight lines, anywhere, everyone to the nearest facility.

    Attributes
    ----------
    travel : StraightLines, AlongStreets or ByTable
        How distance is measured.
    sites : Sites or None
        Where facilities may be built; None: anywhere.
    only_in, not_in : Zones or None
        Where facilities must stand, and where they must not. Existing and pinned ones may stand anywhere.
    capacity : Capacity or None
        The most and the fewest people each facility may serve. A site's own capacity takes precedence.
    equal_groups : bool
        Whether every group of residents counts the same in placing, however many people it has.

    Examples
    --------
    >>> import shapely
    >>> rules = Rules(not_in=Zones((shapely.box(1.36, 43.62, 1.38, 43.64),), ("Airport",)), capacity=Capacity(40_000))
    >>> print(*rules.sentences(), sep="\n")
    No facility may stand in the zone “Airport”.
    Each facility serves at most 40,000 people.
    >>> Rules().plain, rules.plain, rules == Rules()
    (True, False, False)
    """

    travel: Travel = STRAIGHT
    sites: Sites | None = None
    only_in: Zones | None = None
    not_in: Zones | None = None
    capacity: Capacity | None = None
    equal_groups: bool = False

    def __post_init__(self) -> None:
        if self.travel.needs_sites and self.sites is None:
            raise ValueError(NEEDS_SITES)
        if self.capacity is not None:
            self.capacity.limits(1, math.inf)
        if self.limited and self.equal_groups:
            msg = "Groups cannot count the same where facilities have limited room: give up one of the two rules."
            raise ValueError(msg)

    @property
    def plain(self) -> bool:
        """Whether there are no rules: straight lines, anywhere, no limits. Groups may still count the same."""
        return self.straight and self.sites is None and not self.zoned and not self.limited

    @property
    def straight(self) -> bool:
        """Whether distances are straight lines."""
        return self.travel is STRAIGHT or self.travel == STRAIGHT

    @property
    def where_words(self) -> str:
        """Where facilities have to stand, in short: "on sites", "on junctions"; "" for anywhere."""
        return self.travel.where_words if self.sites is None else "on sites"

    @property
    def zoned(self) -> bool:
        """Whether zones say where facilities may stand."""
        return self.only_in is not None or self.not_in is not None

    @property
    def limited(self) -> bool:
        """Whether facilities have limited room."""
        own = self.sites is not None and self.sites.capacity is not None
        return self.capacity is not None or own

    @property
    def most(self) -> float:
        """The most people that a facility without a capacity of its own may serve."""
        return math.inf if self.capacity is None else float(np.asarray(self.capacity.most))

    @property
    def least(self) -> float:
        """The fewest people that a facility has to serve."""
        return 0.0 if self.capacity is None else float(np.asarray(self.capacity.least))

    @property
    def unit(self) -> str:
        """The unit of distances: "m" or "min"."""
        return self.travel.unit

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all rules: equal for equal rules."""
        parts = [self.travel.fingerprint]
        parts += [
            "" if part is None else part.fingerprint for part in (self.sites, self.only_in, self.not_in)
        ]
        return blake2b(
            repr((parts, self.most, self.least, self.equal_groups)).encode(), digest_size=16
        ).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def allows(self, lonlat: Floats) -> Bools:
        """Which places the zones allow."""
        good = np.ones(len(lonlat), np.bool_)
        if self.only_in is not None:
            good &= self.only_in.holds(lonlat)
        if self.not_in is not None:
            good &= ~self.not_in.holds(lonlat)
        return good

    def people(self, residents: Residents) -> Floats:
        """How much each row counts in placing: its people, or such that every group has the same total.

        Raises
        ------
        ValueError
            If groups have to count the same, and the residents have none.

        Examples
        --------
        >>> spots = [[1.40, 43.60], [1.41, 43.61], [1.42, 43.62]]
        >>> town = Residents.from_lonlat(spots, [1, 2, 9], groups=["a", "a", "b"])
        >>> Rules(equal_groups=True).people(town).tolist()
        [2.0, 4.0, 6.0]
        """
        if not self.equal_groups:
            return residents.weights
        if residents.groups is None:
            msg = "Groups cannot count the same: these residents have no groups. Choose the column of groups (group=)."
            raise ValueError(msg)
        codes, names = pd.factorize(pd.Series(residents.groups, dtype=object), use_na_sentinel=False)
        total = np.bincount(codes, residents.weights, len(names))
        share = np.divide(
            residents.weights.sum() / max((total > 0).sum(), 1),
            total,
            out=np.zeros(len(total)),
            where=total > 0,
        )
        return residents.weights * share[codes]

    def room(self, m: int, own: Floats | None = None) -> Capacity | None:
        """Limits of m facilities, some of which may have their own capacity."""
        if not self.limited:
            return None
        most = np.full(m, self.most)
        if own is not None:
            most = np.where(np.isfinite(own), own, most)
        return Capacity(most, np.minimum(self.least, most))

    @property
    def tags(self) -> tuple[str, ...]:
        """Each rule in a word or two, for the names of files; none for a free plan.

        Examples
        --------
        >>> Rules(sites=Sites(np.array([[1.4, 43.6]])), capacity=Capacity(60_000), equal_groups=False).tags
        ('sites', 'at-most-60000')
        """
        said = {
            "-".join(self.travel.words.split()): not self.straight,
            "sites": self.sites is not None,
            "zones": self.zoned,
            f"at-least-{self.least:.12g}": self.least > 0,
            f"at-most-{self.most:.12g}": math.isfinite(self.most),
            "room-of-sites": self.sites is not None and self.sites.capacity is not None,
            "equal-groups": self.equal_groups,
        }
        return tuple(tag for tag, follows in said.items() if follows)

    def sentences(self, people: str = "people") -> tuple[str, ...]:
        """Each rule as a plain sentence; none for a free plan.

        Parameters
        ----------
        people : str
            Who is served, in the plural.

        Returns
        -------
        tuple of str
        """
        told = [self.travel.sentence]
        if self.sites is not None:
            of = f" of “{shown(self.sites.name)}”" if self.sites.name else ""
            told.append(f"Facilities may stand on {counted(len(self.sites), 'candidate site')}{of}.")
        if self.only_in is not None:
            told.append(f"Facilities may stand only in {_zones(self.only_in)}.")
        if self.not_in is not None:
            told.append(f"No facility may stand in {_zones(self.not_in)}.")
        if self.capacity is not None:
            told.append(_limits(self.most, self.least, people))
        if self.sites is not None and self.sites.capacity is not None:
            own = int(np.isfinite(self.sites.capacity).sum())
            told.append(
                f"{counted(own, 'site')} {'has a capacity of its' if own == 1 else 'have a capacity of their'} own."
            )
        if self.equal_groups:
            told.append(
                f"Every group counts the same in placing, however large it is; the figures still count {people}."
            )
        return tuple(filter(None, told))


FREE = Rules()


def _zones(zones: Zones) -> str:
    """The names of zones for a sentence, shortened if there are many."""
    named = [f"“{shown(name, 40)}”" for name in zones.names if name.strip()]
    if len(named) < len(zones):
        of = f" of “{shown(zones.name)}”" if zones.name else ""
        return (
            (f"the zone{of}" if of else "one zone")
            if len(zones) == 1
            else f"{counted(len(zones), 'zone')}{of}"
        )
    if len(named) > NAMED:
        named = [*named[:NAMED], f"{len(named) - NAMED} more"]
    return f"the {'zone' if len(zones) == 1 else 'zones'} {listed(named)}"


def _limits(most: float, least: float, people: str) -> str:
    """The limits of capacity as a sentence."""
    parts = [f"at least {least:,.12g}"] if least > 0 else []
    if math.isfinite(most):
        parts.append(f"at most {most:,.12g}")
    return f"Each facility serves {' and '.join(parts)} {people}." if parts else ""


def as_rules(
    residents: Residents,
    fixed_lonlat: Floats,
    *,
    rules: Rules | None = None,
    streets: Any = None,
    travel: Any = None,
    sites: Any = None,
    only_in: Any = None,
    not_in: Any = None,
    capacity: Capacity | float | None = None,
    equal_groups: bool = False,
) -> Rules:
    """Make rules from the arguments of `make_plan`."""
    given = (streets, travel, sites, only_in, not_in, capacity)
    if rules is not None:
        if equal_groups or any(one is not None for one in given):
            msg = "Give either rules or the single rules (sites, streets, travel, zones, capacity), not both."
            raise ValueError(msg)
        return rules
    spots = None if sites is None else _sites(sites, residents)
    way = as_travel(streets, travel, spots, fixed_lonlat)
    zones = [None if one is None else Zones.of(one) for one in (only_in, not_in)]
    limits = capacity if capacity is None or isinstance(capacity, Capacity) else Capacity(_number(capacity))
    return Rules(way, spots, zones[0], zones[1], limits, equal_groups)


def _number(capacity: npt.ArrayLike) -> float:
    """Check that a capacity is a single number."""
    if np.ndim(capacity) != 0:
        msg = "capacity is one number for all facilities; what a site can hold belongs to the sites (Sites.capacity)."
        raise ValueError(msg)
    return float(np.asarray(capacity))


def _sites(sites: Any, residents: Residents) -> Sites:
    """Candidate sites from an array or a file."""
    if isinstance(sites, Sites):
        return sites
    if isinstance(sites, np.ndarray) or (isinstance(sites, Sequence) and not isinstance(sites, str | bytes)):
        return Sites(np.asarray(sites, dtype=np.float64))
    return load_sites(sites, residents)
