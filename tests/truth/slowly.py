"""Plain definitions of who goes where and of every measure, with nothing of tkm_core in them."""

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np
from scipy.optimize import linprog

KOLM_POLLAK = -1.0


@dataclass(frozen=True)
class Trip:
    """People of one place who go to one facility."""

    resident: int
    facility: int
    people: float
    distance: float


def to_the_nearest(far, people):
    """Everyone goes to the nearest facility, the first of equals."""
    trips = []
    for resident, (row, count) in enumerate(zip(far, people, strict=True)):
        facility = min(range(len(row)), key=lambda j: row[j])
        trips.append(Trip(resident, facility, float(count), float(row[facility])))
    return trips


def with_room(far, people, most, least, t=0.0):
    """The assignment of the least city-wide cost at t, by linear programming; None if room is short."""
    if math.isinf(t):
        return _shortest_longest(far, people, most, least)
    f = far**2
    price = f if t == 0 else np.exp(np.minimum(t * (f - f[np.isfinite(f)].max()), 0.0))
    return _transport(np.where(np.isfinite(f), price, np.nan), far, people, most, least)


def improvement(trips, far, most, least, t):
    """By what share of the city-wide cost's sum the best single exchange of people could lower it; 0 is the best."""
    k = far.shape[1]
    lived = [trip for trip in trips if trip.people > 0]
    top = max(trip.distance**2 for trip in lived)

    def price(distance):
        return distance**2 if t == 0 else math.exp(min(t * (distance**2 - top), 300.0))

    total = math.fsum(trip.people * price(trip.distance) for trip in lived)
    load = [math.fsum(trip.people for trip in lived if trip.facility == j) for j in range(k)]
    moves = {}
    for trip in lived:
        for j in range(k):
            if j != trip.facility and math.isfinite(far[trip.resident, j]):
                more = price(far[trip.resident, j]) - price(trip.distance)
                way = trip.facility, j
                moves[way] = min(moves.get(way, (math.inf, 0.0)), (more, trip.people))
    best = 0.0
    for length in range(2, k + 1):
        for chain in permutations(range(k), length):
            for closed in (False, True):
                ways = list(pairwise((*chain, chain[0]) if closed else chain))
                if any(way not in moves for way in ways):
                    continue
                count = min(moves[way][1] for way in ways)
                if not closed:
                    count = min(count, load[chain[0]] - least[chain[0]], most[chain[-1]] - load[chain[-1]])
                best = max(best, -math.fsum(moves[way][0] for way in ways) * count / total)
    return best


def _shortest_longest(far, people, most, least):
    """An assignment whose longest trip is as short as possible."""
    for reach in sorted(set(far[np.isfinite(far)].ravel().tolist())):
        allowed = np.where(far <= reach, far, np.nan)
        found = _transport(allowed, far, people, most, least)
        if found is not None:
            return found
    return None


def _transport(price, far, people, most, least):
    """People shared out at the lowest total price; NaN forbids."""
    n, k = far.shape
    allowed = ~np.isnan(price)
    cost = np.where(allowed, price, 0.0)
    bounds = [(0, None if ok else 0) for ok in allowed.ravel()]
    rows = np.kron(np.eye(n), np.ones(k))
    columns = np.kron(np.ones(n), np.eye(k))
    limits, room = [], []
    for j in range(k):
        if math.isfinite(most[j]):
            limits.append(columns[j])
            room.append(most[j])
        if least[j] > 0:
            limits.append(-columns[j])
            room.append(-least[j])
    found = linprog(
        cost.ravel() / max(np.abs(cost).max(), 1e-300), A_ub=np.array(limits) if limits else None,
        b_ub=room or None, A_eq=rows, b_eq=people, bounds=bounds, method="highs",
    )  # fmt: skip
    if found.status != 0:
        return None
    shared = found.x.reshape(n, k)
    trips = []
    for i in range(n):
        served = [j for j in range(k) if shared[i, j] > 1e-7 * max(people)]
        trips += [Trip(i, j, float(shared[i, j]), float(far[i, j])) for j in served]
        if not served:
            trips.append(Trip(i, int(np.nanargmin(far[i])), 0.0, float(np.nanmin(far[i]))))
    return trips


def cost(trips, t):
    """City-wide tilted cost, as it is defined."""
    lived = [trip for trip in trips if trip.people > 0]
    total = math.fsum(trip.people for trip in lived)
    if t == 0:
        return math.fsum(trip.people * trip.distance**2 for trip in lived) / total
    top = max(trip.distance**2 for trip in lived)
    if math.isinf(t):
        return top
    below = math.fsum(trip.people * math.expm1(t * (trip.distance**2 - top)) for trip in lived)
    return top + math.log1p(below / total) / t


def measures(trips, standard=None):
    """Every measure of the table, each by its definition."""
    lived = sorted((trip.distance, trip.people) for trip in trips if trip.people > 0)
    total = math.fsum(people for _, people in lived)

    def mean(value):
        return math.fsum(people * value(distance) for distance, people in lived) / total

    def within(share):
        """The shortest distance within which that share of the people live."""
        so_far = 0.0
        for distance, people in lived:
            so_far += people
            if so_far >= share * total * (1 - 1e-9):
                return distance
        return lived[-1][0]

    average, squared = mean(lambda d: d), mean(lambda d: d * d)
    apart = math.fsum(p * q * abs(d - e) for d, p in lived for e, q in lived) / total**2
    left, worst = 0.1 * total, 0.0
    for distance, people in reversed(lived):
        part = min(people, left)
        worst, left = worst + part * distance, left - part
    ede = 0.0
    if squared > 0:
        kappa = KOLM_POLLAK * average / squared
        ede = -math.log(mean(lambda d: math.exp(-kappa * d))) / kappa
    return {
        "largest_distance": lived[-1][0],
        "mean_distance": average,
        "p95_distance": within(0.95),
        "p90_distance": within(0.9),
        "median_distance": within(0.5),
        "overall_variance_of_distance": mean(lambda d: (d - average) ** 2),
        "overall_variance": mean(lambda d: (d * d - squared) ** 2),
        "sse": squared,
        "gini": apart / (2 * average) if average > 0 else 0.0,
        "worst_decile_mean": worst / (0.1 * total),
        "kolm_pollak_ede": ede,
        "share_within": None if standard is None else mean(lambda d: float(d <= standard)),
    }


@dataclass(frozen=True)
class Change:
    """People of one place, where they went and where they go."""

    resident: int
    was: int
    now: int
    people: float
    before: float
    after: float

    @property
    def gain(self):
        return self.before - self.after


def changes(before, after):
    """The nearest-served people of a place before are its nearest-served people after."""
    sides = []
    for trips in (before, after):
        places = defaultdict(list)
        for trip in trips:
            if trip.people > 0:
                places[trip.resident].append([trip.distance, trip.facility, trip.people])
        sides.append({place: sorted(rows) for place, rows in places.items()})
    found = []
    for place, then in sides[0].items():
        now = sides[1][place]
        small = 1e-9 * sum(people for *_, people in then)
        while then and now:
            people = min(then[0][2], now[0][2])
            if people > small:
                found.append(Change(place, then[0][1], now[0][1], people, then[0][0], now[0][0]))
            for rows in (then, now):
                rows[0][2] -= people
                if rows[0][2] <= small:
                    rows.pop(0)
    return found
