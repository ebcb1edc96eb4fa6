"""The `Plan` class: facilities at every setting of the fairness dial, and the reference they are compared with."""

from dataclasses import dataclass, field, replace

import numpy as np
import shapely

from tkm_core.clustering import city_cost
from tkm_core.planning import areas
from tkm_core.planning.dial import chosen_between, stop_between
from tkm_core.planning.grounds import PROVED
from tkm_core.planning.layout import NONE_EXISTING
from tkm_core.planning.measured import Measured
from tkm_core.planning.reference import Reference
from tkm_core.planning.trade_off import Curve
from tkm_core.progress import Progress
from tkm_core.sites import Proof, prove

PLACED_AT_ONCE = 200_000  # up to this many residents, adding a setting takes well under a second
SAME = 0.002  # relative: figures that differ by less are the same to a planner
__all__ = ["NONE_EXISTING", "Plan"]


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Measured):
    """Facilities for residents at every setting of the dial, and their reference. Made by `make_plan`.

    Attributes
    ----------
    residents : Residents
    k : int
        Number of new facilities, 0 or more; existing ones come on top.
    random_state : int
    criterion : {"cluster", "city"}
    path : TiltedPath
        In scaled coordinates; new facilities first, then the existing ones that stay open.
    baseline : ndarray of shape (k + n_existing, 2)
        Facilities of the lowest-average plan (k-means++) in scaled coordinates, numbered like the plan's.
    existing : Existing
        The facilities of today, including those the plan closes; may be empty.
    closed : tuple of int
        Those of them that the plan closes, counted from 0.
    reference : Reference
        What the plan is compared with; see `against`.
    rules : Rules
        How distance is measured, where facilities may stand, how many people each may serve.
    grounds : Grounds or None
        What a plan under rules is based on: its places, its scale, what is proven.

    Examples
    --------
    >>> from tkm_core.planning import make_plan
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3, with_t=0.3)
    >>> i = plan.index(0.3)
    >>> float(plan.t[i]), plan.centers_lonlat(i).shape
    (0.3, (3, 2))
    """

    _stops: dict[float, "Plan"] = field(default_factory=dict, repr=False)

    def against(self, reference: Reference) -> "Plan":
        """The same plan, compared with something else.

        Raises
        ------
        ValueError
            If it is to be compared with today but nothing exists today, or with straight lines although it uses them.
        """
        if reference.kind == "today" and not self.n_today:
            msg = "No facility exists today, so there is nothing to compare with. Choose the lowest-average plan."
            raise ValueError(msg)
        if reference.kind == "today" and self.today is None:
            msg = "Not everyone can reach one of today's facilities, so a plan cannot be compared with today."
            raise ValueError(msg)
        if reference.kind == "straight" and self.rules.straight:
            msg = "This plan is itself measured in straight lines. Choose the lowest-average plan to compare with."
            raise ValueError(msg)
        if reference.kind == "average":
            reference = self.average
        if reference == self.reference and reference.made == self.reference.made:
            return self
        self._evaluate, self._evaluate_baseline  # noqa: B018  created here so that both plans share them
        other = replace(self, reference=reference, _stops={})
        kept = {name: value for name, value in self.__dict__.items() if name in SHARED}
        other.__dict__.update(kept)
        return other

    def as_reference(self, i: int, title: str) -> Reference:
        """Setting i as a reference for other plans for the same residents, with the room that its facilities have.

        Parameters
        ----------
        i : int
        title : str
            What the plan is called.

        Returns
        -------
        Reference
        """
        room = self.serving.room(self.centers_xy(i), self.places(i))
        most, least = (
            ((), ())
            if room is None
            else (tuple(np.asarray(room.most).tolist()), tuple(np.asarray(room.least).tolist()))
        )
        return Reference("saved", title, self.centers_lonlat(i), most=most, least=least, t=float(self.t[i]))

    def with_stop(self, t: float) -> "Plan":
        """The same plan with t added to the settings of the dial, found from the neighbouring settings.

        With very many residents the plan is returned unchanged: use the nearest setting.

        Examples
        --------
        >>> from tkm_core.planning import make_plan
        >>> from tkm_core.residents.samples import load_sample
        >>> plan = make_plan(load_sample("generated", n=300), 3, t=[0, 0.1, 1])
        >>> plan.with_stop(0.3).t.tolist()
        [0.0, 0.1, 0.3, 1.0]
        """
        if self.k == 0 or not t >= 0 or t in self.t or len(self.residents) > PLACED_AT_ONCE:
            return self
        if t not in self._stops:
            other = self._with_stop(t)
            known = self._curves.get(None)
            if known is not None:
                other._curves[None] = self._measured_with(known, other, t)
            while len(self._stops) >= 4:
                self._stops.pop(next(iter(self._stops)), None)
            self._stops[t] = other
        return self._stops[t]

    def _with_stop(self, t: float) -> "Plan":
        """Add a setting: by descent on a free map, or by choosing among neighbouring plans under rules."""
        if self.grounds is None:
            people = self.rules.people(self.residents)
            path = stop_between(self.path, self.residents, self.k, t, self.criterion, people)
            return replace(self, path=path, _curves={}, _stops={})
        path, settings = chosen_between(self.path, t, lambda i: self.cost_at(i, t))
        grounds = self.grounds.at(settings)
        at = int(np.flatnonzero(path.t == t)[0])
        i = int(settings[at])
        found = self._measure(self.centers_xy(i), t, None, places=self.places(i))
        for name in ("tilted_sse", "sse", "city_cost"):
            getattr(path, name)[at] = getattr(found, name) / self.scale**2
        if grounds.cost is not None and grounds.bound is not None:
            grounds.cost[at] = self.cost_at(i, t)
            # a bound at a smaller t also holds at a larger one
            grounds.bound[at] = grounds.bound[at - 1] if at else 0.0
        return replace(self, path=path, grounds=grounds, _curves={}, _stops={})

    def cost_at(self, i: int, t: float) -> float:
        """City-wide cost at t of the facilities of setting i, counted as in placing, in units of ``scale`` squared."""
        trips = self.serving.trips(self.centers_xy(i), t, places=self.places(i))
        people = self.rules.people(self.residents) if self.rules.equal_groups else trips.people
        lived = people > 0
        return float(city_cost((trips.distance[lived] / self.scale) ** 2, people[lived], t))

    def _measured_with(self, known: Curve, other: "Plan", t: float) -> Curve:
        """The trade-off curve with one more setting, without measuring the others again."""
        at = int(np.flatnonzero(other.t == t)[0])
        own = other._traded(other.path, range(at, at + 1), None, None)
        measured = {
            name: np.insert(values, at, own.measured[name][0]) for name, values in known.measured.items()
        }
        return Curve(other.t, measured, known.baseline, known.error)

    def within_budget(self, percent: float) -> int:
        """Index of the fairest plan that a budget allows.

        Parameters
        ----------
        percent : float
            How much longer than in the lowest-average plan (k-means++) the average trip may be.

        Returns
        -------
        int
            Among the plans within the budget, the one with the shortest longest trip; among equals, the one with the
            lower average. If none is within it, the plan with the lowest average (see `meets_budget`).
        """
        curve = self.curve
        allowed = np.flatnonzero([self.meets_budget(i, percent) for i in range(len(self))])
        if len(allowed) == 0:
            return int(np.argmin(curve.mean_distance))
        order = np.lexsort((curve.mean_distance[allowed], np.round(curve.largest_distance[allowed], 3)))
        return int(allowed[order[0]])

    def meets_budget(self, i: int, percent: float) -> bool:
        """Whether the average trip at setting i is at most `percent` % longer than at its lowest."""
        return self.cost_percent(i) <= percent + 1e-7

    def cost_percent(self, i: int) -> float:
        """How many percent longer the average trip at setting i is than in the lowest-average plan."""
        usual = self.curve.baseline["mean_distance"]
        return float(100 * (self.curve.mean_distance[i] / usual - 1)) if usual > 0 else 0.0

    def knee(self) -> int:
        """Index of the knee of the trade-off: beyond it fairness starts to cost more than it brings.

        Average and largest distance are scaled to 0 to 1 over the undominated plans; the knee is the plan farthest
        below the straight line between the two ends.
        """
        cost, harm = self.curve.mean_distance, self.curve.largest_distance
        order = np.lexsort((np.arange(len(cost)), harm, cost))
        lowest_before = np.concatenate([[np.inf], np.minimum.accumulate(harm[order])[:-1]])
        front = order[harm[order] < lowest_before]
        if len(front) < 3:
            return int(front[0])
        across, down = (
            (values[front] - values[front].min()) / np.ptp(values[front]) for values in (cost, harm)
        )
        return int(front[np.argmin(across + down)])

    def dominated(self, i: int) -> int | None:
        """Index of a setting with a shorter average trip and no longer longest trip than setting i.

        Figures within 0.2 % of each other count as equal. None if there is no such setting.
        """
        mean, most = self.curve.mean_distance, self.curve.largest_distance
        better = (most <= most[i] * (1 + SAME)) & (mean < mean[i] * (1 - SAME))
        return int(np.argmin(np.where(better, mean, np.inf))) if better.any() else None

    def improved(self, seconds: float = 30.0, progress: Progress | None = None) -> "Plan":
        """The same plan with a better proof, and with better sites if the proof finds some.

        Parameters
        ----------
        seconds : float
            How long to work on the proof.
        progress : callable, optional
            As in `make_plan`; an exception raised in it ends the work.

        Returns
        -------
        Plan
            This one if there is nothing to prove.
        """
        from tkm_core.planning.making import make_plan

        if self.gap is None or not self.gap.any() or not self.k:
            return self
        plan = make_plan(
            self.residents, self.k, t=self.t, fixed_lonlat=self.existing.lonlat, fixed_names=self.existing.names,
            closed=self.closed, pinned=self.existing.pinned, rules=self.rules, prove=seconds,
            random_state=self.random_state, progress=progress,
        )  # fmt: skip
        return self.with_proof_of(plan.against(self.reference))

    def prove(self, i: int, seconds: float = 30.0, progress: Progress | None = None) -> Proof:
        """Prove how good setting i is among all plans whose new facilities may stand anywhere.

        Parameters
        ----------
        i : int
        seconds : float
            How long to work on the proof at most.
        progress : callable, optional
            As in `make_plan`; an exception raised in it ends the work.

        Returns
        -------
        Proof
            About the city-wide cost, in square metres.

        Raises
        ------
        ValueError
            Under rules: `proof` says what is proven about plans on sites. For residents beyond memory.

        Examples
        --------
        >>> from tkm_core.planning import make_plan
        >>> from tkm_core.residents.samples import load_sample
        >>> make_plan(load_sample("san-francisco"), 3, t=[0]).prove(0).sentence
        'No plan with 3 facilities anywhere has a lower city-wide cost at this setting of the dial.'
        """
        from tkm_core.planning.beyond import ResidentCells

        if not self.rules.plain or self.grounds is not None:
            told = " ".join(self.rules.sentences())
            msg = f"Only plans in straight lines whose facilities may stand anywhere can be proven this way. {told}"
            raise ValueError(msg.strip())
        if isinstance(self.residents, ResidentCells):
            msg = f"The {self.residents.count:,} residents are not in memory; a proof needs them there."
            raise ValueError(msg)  # noqa: TRY004  it is about their number, not a wrong type
        return prove(
            self.residents.xy, self.centers_xy(i), t=float(self.t[i]), scale=self.scale, seconds=seconds,
            sample_weight=self.rules.people(self.residents), random_state=self.random_state, progress=progress,
            fixed_centers=self.centers_xy(i)[self.k :] if self.n_existing else None,
        )  # fmt: skip

    @property
    def open_proof(self) -> bool:
        """Whether some setting is not yet proven to be optimal."""
        return self.gap is not None and bool((self.gap > PROVED).any())

    def with_proof_of(self, other: "Plan") -> "Plan":
        """The better of two plans for the same problem, with the better bound of the two at every setting.

        Parameters
        ----------
        other : Plan
            With the same settings and the same reference.

        Returns
        -------
        Plan
            The other one, unless it costs more at some setting.
        """
        mine, found = self.grounds, other.grounds
        if mine is None or found is None or not np.array_equal(self.t, other.t):
            return self
        if mine.cost is None or mine.bound is None or found.cost is None or found.bound is None:
            return self
        better = bool((found.cost <= mine.cost * (1 + PROVED)).all())
        best, grounds, cost = (other, found, found.cost) if better else (self, mine, mine.cost)
        bound = np.minimum(np.maximum(mine.bound, found.bound), cost)
        return replace(best, grounds=replace(grounds, bound=bound), _stops={})

    def service_areas(self, i: int) -> list[shapely.Geometry]:
        """The area that each facility serves at setting i, in degrees.

        With straight lines and no limits, this is the ground nearest to it; under other rules, where the residents it
        serves live.
        """
        if self.serving.plain:
            return areas.service_areas(self.residents, self.centers_xy(i))
        labels = self.evaluation(i).labels
        return areas.served_areas(self.residents, labels, self.k + self.n_existing)


# caches that plans may share if they differ only in their reference
SHARED = (
    "_evaluate",
    "_evaluate_baseline",
    "path_lonlat",
    "baseline_xy",
    "baseline_lonlat",
    "straight_xy",
    "today_xy",
    "_evaluate_today",
    "colours",
    "serving",
)
