"""Positions, numbers, names and colours of a plan's facilities at every setting of the dial."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tkm_core.arrays import Floats, Ints
from tkm_core.clustering import TiltedPath
from tkm_core.planning.allowed import put_where_allowed
from tkm_core.planning.baseline import kmeans_sites
from tkm_core.planning.colours import apart
from tkm_core.planning.dial import nearest_stop
from tkm_core.planning.grounds import Grounds
from tkm_core.planning.reference import AVERAGE, Reference
from tkm_core.planning.rules import FREE, Rules
from tkm_core.planning.serving import Serving
from tkm_core.planning.shown import Shown
from tkm_core.residents import Existing, Report, Residents, scaled_sites
from tkm_core.units import KINDS, Kind

NONE_EXISTING = Existing(np.empty((0, 2)), (), Report())


@dataclass(frozen=True, eq=False, repr=False)
class Layout(Shown):
    """The facilities of a plan: where they are, what kind they are, and what they are called. `Plan` builds on it."""

    residents: Residents
    k: int
    random_state: int
    criterion: str
    path: TiltedPath
    baseline: Floats
    existing: Existing = NONE_EXISTING
    closed: tuple[int, ...] = ()
    reference: Reference = AVERAGE
    rules: Rules = FREE
    grounds: Grounds | None = None

    def __len__(self) -> int:
        return len(self.path.t)

    @property
    def t(self) -> Floats:
        """Settings of the dial, shape (m,): from 0 to infinity; they differ from plan to plan."""
        return self.path.t

    @property
    def n_existing(self) -> int:
        """Number of existing and pinned facilities that stay open; they never move."""
        return len(self.existing) - len(self.closed)

    @property
    def n_today(self) -> int:
        """Number of facilities that are there today, closed ones included; pinned ones are not."""
        return len(self.existing) - self.existing.pinned

    @property
    def is_today(self) -> bool:
        """Whether nothing is opened, closed or limited: the plan is what is there today."""
        return self.k == 0 and not self.closed and not self.existing.pinned and not self.rules.limited

    @property
    def only_adds(self) -> bool:
        """Whether the reference is today and the plan neither closes nor limits anything: nobody can travel farther."""
        return self.reference.kind == "today" and not self.closed and not self.rules.limited

    @property
    def kept(self) -> list[int]:
        """Which existing facilities stay open, counted from 0."""
        return [number for number in range(len(self.existing)) if number not in self.closed]

    @property
    def kind(self) -> Kind:
        """What trips are measured in, with its words and units: distances, or travel times."""
        return KINDS[self.rules.unit]

    @property
    def units(self) -> tuple[str, ...]:
        """The units in which trips can be shown, the usual one first: ("km", "mi"), or ("min",)."""
        return self.kind.units

    def shown_unit(self, unit: str | None = None) -> str:
        """The unit asked for if trips can be shown in it, or else the usual one."""
        return unit if unit in self.units else self.units[0]

    @property
    def scale(self) -> float:
        """Metres or minutes in whose units t is a pure number."""
        return self.residents.scale if self.grounds is None else self.grounds.scale

    @cached_property
    def serving(self) -> Serving:
        """How far everyone is from any facilities and who serves whom, under the rules of the plan."""
        known = None if self.grounds is None else self.grounds.known
        return Serving(self.residents, self.rules, self.scale, known)

    def places(self, i: int) -> Ints | None:
        """Indices of the facilities' places in `grounds.known` at setting i; None if they may be anywhere."""
        if self.grounds is None or self.grounds.places is None:
            return None
        return self.grounds.places[i]

    def site_of(self, i: int) -> Ints:
        """Index of the candidate site of each facility at setting i, counted from 0; -1 for one on no site."""
        places = self.places(i)
        if places is None or self.grounds is None or self.grounds.known is None:
            return np.full(self.k + self.n_existing, -1)
        return self.grounds.known.number[places]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks for planners: who lives far from any street, which sites were left out."""
        return () if self.grounds is None else self.grounds.remarks

    @property
    def bound(self) -> Floats | None:
        """Lower bound on the city-wide cost of any plan, shape (m,), in units of ``scale`` squared; None if unknown."""
        return None if self.grounds is None else self.grounds.bound

    @property
    def gap(self) -> Floats | None:
        """The largest share of its cost by which each plan could be improved, shape (m,); None if nothing is proven."""
        return None if self.grounds is None else self.grounds.gap

    def proof(self, i: int) -> str:
        """What is proven about the cost of the plan at setting i, in a sentence; "" if nothing is."""
        return "" if self.grounds is None or not self.k else self.grounds.proof(i)

    @property
    def average(self) -> Reference:
        """The lowest-average plan as a reference, with how it was made."""
        return AVERAGE if self.grounds is None else Reference("average", made=self.grounds.made)

    @cached_property
    def numbers(self) -> Ints:
        """The number each facility is known by, in the order of `centers_xy`.

        Existing facilities have the numbers of their file, whatever is opened or closed; new ones come after them.
        """
        return np.array([*range(len(self.existing), len(self.existing) + self.k), *self.kept], np.int64) + 1

    @cached_property
    def colours(self) -> Ints:
        """A colour for each facility, from 0: neighbours never share one, whatever the dial says."""
        return apart(self.path.centers)

    @property
    def kinds(self) -> list[str]:
        """What each facility is: "new", "existing" or "pinned"."""
        return ["new"] * self.k + ["existing" if number < self.n_today else "pinned" for number in self.kept]

    @property
    def names(self) -> list[str]:
        """What each facility is called: existing ones by their own names, "" where there is none."""
        own = self.existing.names or ("",) * len(self.existing)
        return [""] * self.k + [own[number] for number in self.kept]

    def names_at(self, i: int) -> list[str]:
        """What each facility is called at setting i: new ones by the site they stand on."""
        sites = self.rules.sites
        if sites is None or not sites.names:
            return self.names
        return [
            sites.names[site] if j < self.k and site >= 0 else own
            for j, (own, site) in enumerate(zip(self.names, self.site_of(i).tolist(), strict=True))
        ]

    def title(self, j: int, i: int | None = None) -> str:
        """Facility j in words: "New facility 25", "Existing facility 3, Main Library"; names are not escaped.

        With a setting of the dial, a new facility has the name of the site on which it stands.
        """
        kind = f"{self.kinds[j].capitalize()} facility" if self.existing else "Facility"
        name = (self.names if i is None else self.names_at(i))[j]
        return ", ".join(filter(None, (f"{kind} {self.numbers[j]}", " ".join(name.split()))))

    @cached_property
    def today_xy(self) -> Floats:
        """The facilities of today, including those the plan closes, in metres."""
        return self.residents.to_xy(scaled_sites(self.residents, self.existing.lonlat[: self.n_today]))

    @property
    def people(self) -> float:
        """How many people are served."""
        return float(self.residents.weights.sum())

    def index(self, t: float) -> int:
        """Index of the setting nearest to t by ratio."""
        return nearest_stop(self.t, t)

    def centers_xy(self, i: int) -> Floats:
        """Facilities at setting i in metres, shape (k + n_existing, 2)."""
        return self.residents.to_xy(self.path.centers[i])

    def centers_lonlat(self, i: int) -> Floats:
        """Facilities at setting i in degrees, longitude first."""
        return self.path_lonlat[i]

    @cached_property
    def path_lonlat(self) -> Floats:
        """Facilities at every setting in degrees, shape (m, k + n_existing, 2)."""
        return self.residents.to_lonlat(self.residents.to_xy(self.path.centers))

    @cached_property
    def baseline_xy(self) -> Floats:
        """Facilities of the lowest-average plan in metres."""
        return self.residents.to_xy(self.baseline)

    @cached_property
    def baseline_lonlat(self) -> Floats:
        """Facilities of the lowest-average plan in degrees."""
        return self.residents.to_lonlat(self.baseline_xy)

    @cached_property
    def straight_xy(self) -> Floats:
        """Facilities of k-means++ by straight lines, moved to where the rules allow them, in metres."""
        home, fixed = self.residents, self.baseline[self.k :]
        if not self.k:
            return self.baseline_xy
        lonlat = home.to_lonlat(home.to_xy(kmeans_sites(home, self.k, fixed, self.random_state)))
        lonlat[: self.k] = put_where_allowed(lonlat[: self.k], home, self.rules)
        return home.lonlat_to_xy(lonlat)

    @cached_property
    def reference_xy(self) -> Floats:
        """Facilities of the reference, in metres."""
        if self.reference.kind == "average":
            return self.baseline_xy
        if self.reference.kind == "today":
            return self.today_xy
        if self.reference.kind == "straight":
            return self.straight_xy
        return self.residents.to_xy(scaled_sites(self.residents, self.reference.lonlat))

    @cached_property
    def reference_lonlat(self) -> Floats:
        """Facilities of the reference that the plan does not have, in degrees, for the map."""
        if self.reference.kind == "average":
            return self.baseline_lonlat[: self.k]
        if self.reference.kind == "today":
            return self.existing.lonlat[list(self.closed)]
        if self.reference.kind == "straight":
            return self.residents.to_lonlat(self.straight_xy[: self.k])
        sites = self.reference_xy
        apart = np.linalg.norm(sites[:, None] - self.baseline_xy[None, self.k :], axis=2)
        return self.reference.lonlat[(apart > 1.0).all(axis=1)]
