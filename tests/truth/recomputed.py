"""What is true of a plan at a setting, from residents, facilities and the exported choice of who goes where."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import shapely
from pyproj import Transformer

from tests.truth import slowly
from tests.truth.cities import Case
from tests.truth.slowly import Change, Trip
from tkm_core.export import allocations, facilities
from tkm_core.planning import Plan

STANDARDS = {"m": 2000.0, "min": 12.0}
METRES = {"km": 1000.0, "mi": 1609.344, "min": 1.0, "m": 1.0}
ALONE = 1e-6


@dataclass(frozen=True, eq=False)
class Truth:
    """Trips before and after, by the plain definitions."""

    case: Case
    plan: Plan
    i: int
    after: list[Trip]
    before: list[Trip]
    spots: np.ndarray
    overfull: int

    @property
    def people(self) -> float:
        return math.fsum(self.case.residents.weights)

    @property
    def standard(self) -> float:
        return STANDARDS[self.case.unit]

    @property
    def units(self) -> tuple[str, ...]:
        return ("km", "mi") if self.case.unit == "m" else ("min",)

    @property
    def figures(self) -> tuple[dict[str, float], dict[str, float]]:
        return slowly.measures(self.after, self.standard), slowly.measures(self.before, self.standard)

    @property
    def changes(self) -> list[Change]:
        return slowly.changes(self.before, self.after)

    def losing(self, least: float) -> list[Change]:
        return [one for one in self.changes if -one.gain >= least]

    def gaining(self, least: float) -> list[Change]:
        return [one for one in self.changes if one.gain >= least]


def limits(case: Case, plan: Plan, spots: np.ndarray, i: int | None) -> tuple[list[float], list[float]]:
    """The most and the fewest people of each facility; a site's own room goes first."""
    most = [case.capacity[0]] * len(spots)
    if case.own:
        lonlat = case.options["sites"].lonlat
        for j, spot in enumerate(spots):
            at = np.abs(lonlat - spot).sum(axis=1)
            if at.min() < 1e-6 and (i is None or j < case.k):
                most[j] = case.own[int(at.argmin())]
    return most, [min(case.capacity[1], one) for one in most]


def exported_trips(case: Case, plan: Plan, i: int) -> list[Trip]:
    """Who goes where, as the file says it, with our own distances."""
    table, sites = allocations(plan, i), facilities(plan, i)
    far = case.far(case.residents.lonlat, sites[["lon", "lat"]].to_numpy())
    number = {int(one): j for j, one in enumerate(sites["facility"])}
    names = case.residents.ids
    row = {
        str(name): at for at, name in enumerate(names if names is not None else range(1, len(case.residents) + 1))
    }  # fmt: skip
    trips = []
    for resident, facility, people in zip(table["resident"], table["facility"], table["people"], strict=True):
        at, j = row[str(resident)], number[int(facility)]
        trips.append(Trip(at, j, float(people), float(far[at, j])))
    return trips


@cache
def recomputed(case: Case, i: int) -> Truth:
    plan = case.make()
    home, people = case.residents.lonlat, case.residents.weights
    spots = facilities(plan, i)[["lon", "lat"]].to_numpy()
    far = case.far(home, spots)
    after = exported_trips(case, plan, i) if case.limited else slowly.to_the_nearest(far, people)
    there = reference_spots(case, plan)
    apart = case.far(home, there)
    before = None
    saved = case.against if case.against is not None and case.against.kind == "saved" else None
    if saved is not None and saved.most:
        before = slowly.with_room(apart, people, saved.most, saved.least, saved.t / plan.scale**2)
    elif case.limited and saved is None and plan.reference.kind != "today":
        before = slowly.with_room(apart, people, *limits(case, plan, there, None))
    if before is None:
        before = slowly.to_the_nearest(apart, people)
    overfull = 0
    if plan.reference.kind == "today" and math.isfinite(case.capacity[0]):
        load = [math.fsum(one.people for one in before if one.facility == j) for j in range(len(there))]
        overfull = sum(one > case.capacity[0] + 1e-9 * sum(load) for one in load)
    return Truth(case, plan, i, after, before, spots, overfull)


def reference_spots(case: Case, plan: Plan) -> np.ndarray:
    """Where the facilities of the reference stand."""
    if plan.reference.kind == "today":
        return case.today
    if plan.reference.kind == "saved":
        return plan.reference.lonlat
    if plan.reference.kind == "average":
        return plan.baseline_lonlat
    return case.residents.to_lonlat(plan.reference_xy)


def farthest_corner(case: Case, spots: np.ndarray, trips: list[Trip]) -> float:
    """The longest trip from any corner of an area to the facility that serves it, in metres."""
    flat = Transformer.from_crs(4326, case.residents.crs, always_xy=True)
    places = np.column_stack(flat.transform(*spots.T))
    longest = 0.0
    for trip in trips:
        if trip.people > 0:
            corners = shapely.get_coordinates(case.residents.areas[trip.resident])
            for corner in np.column_stack(flat.transform(*corners.T)):
                longest = max(longest, math.dist(corner, places[trip.facility]))
    return longest


def widest_area(case: Case) -> float:
    """The longest way from the point of an inhabited area to one of its corners, in metres."""
    flat = Transformer.from_crs(4326, case.residents.crs, always_xy=True)
    longest = 0.0
    for at, (home, people) in enumerate(zip(case.residents.lonlat, case.residents.weights, strict=True)):
        if people > 0:
            middle = flat.transform(*home)
            for corner in shapely.get_coordinates(case.residents.areas[at]):
                longest = max(longest, math.dist(middle, flat.transform(*corner)))
    return longest
