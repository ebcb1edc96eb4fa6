"""Measures of a plan at every setting, and the change for residents against the reference."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.clustering import TiltedPath
from tkm_core.evaluation import Changes, Evaluation, Trips, at_standard, compare_trips
from tkm_core.planning.layout import Layout
from tkm_core.planning.trade_off import Curve, trade_off
from tkm_core.progress import Progress

SAMPLED = 20_000  # residents from which the scale of the map of gains and losses is found
FULL = 1e-9  # share of all people by which a facility may be over full, for rounding
KEPT_ROWS = 600_000  # residents times evaluations that a plan caches: about 15 MB


@dataclass(frozen=True, eq=False, repr=False)
class Measured(Layout):
    """Every measure of a plan, by its own rules: in metres, or in minutes. `Plan` builds on it."""

    _curves: dict[float | None, Curve] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # cached evaluations are recomputed faster than they are sent
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_evaluate")}

    @property
    def today(self) -> Evaluation | None:
        """Every measure of today's facilities; None if there are none, or not everyone can reach one."""
        return self.today_evaluation()

    def today_evaluation(self, standard: float | None = None) -> Evaluation | None:
        """Every measure of today's facilities, with the share within a service standard (metres or minutes)."""
        return self._evaluate_today(standard)

    def evaluation(self, i: int, standard: float | None = None) -> Evaluation:
        """Every measure at setting i, in metres or minutes; so is `standard`, a service standard."""
        return self._evaluate(int(i), standard)

    def baseline_evaluation(self, standard: float | None = None) -> Evaluation:
        """Every measure of the lowest-average plan, in metres or minutes."""
        return self._evaluate_baseline(standard)

    def reference_evaluation(self, standard: float | None = None) -> Evaluation:
        """Every measure of the reference, in metres or minutes."""
        return self._evaluate_reference(standard)

    @cached_property
    def _evaluate(self) -> Callable[[int, float | None], Evaluation]:
        """Cached evaluations by setting and standard."""
        keep = int(np.clip(KEPT_ROWS / len(self.residents), 4, 2 * len(self.t)))
        return self._kept(
            lambda i, standard: self._measure(
                self.centers_xy(i), float(self.t[i]), standard, places=self.places(i)
            ),
            keep,
        )

    @cached_property
    def _evaluate_baseline(self) -> Callable[[float | None], Evaluation]:
        """Cached evaluations of the lowest-average plan."""
        return self._kept(lambda standard: self._measure(self.baseline_xy, 0.0, standard))

    @cached_property
    def _evaluate_today(self) -> Callable[[float | None], Evaluation | None]:
        """Cached evaluations of today's facilities."""
        if not self.n_today or not self.serving.reaches_all(self.today_xy):
            return lambda _: None
        return self._kept(lambda standard: self._measure(self.today_xy, 0.0, standard, limited=False))

    @cached_property
    def _evaluate_reference(self) -> Callable[[float | None], Evaluation]:
        """Cached evaluations of the reference."""
        if self.reference.kind == "average":
            return self._evaluate_baseline
        return self._kept(
            lambda standard: self._measure(self.reference_xy, standard=standard, **self._reference_room)
        )

    @property
    def _reference_room(self) -> dict[str, Any]:
        """How people are shared out in the reference.

        Today is what people do now, whatever the limits of the plan; a saved plan has its own limits, or none; the
        facilities of other methods have those of the plan if they are enough for everyone.
        """
        kind, room = self.reference.kind, self.reference.room
        if kind == "saved" and room is not None:
            return {"limited": None, "room": room, "t": self.reference.t}
        return {"limited": {"average": True, "straight": None}.get(kind, False)}

    @property
    def reference_fits(self) -> bool:
        """Whether the reference has room for everyone; there are no limits today, nor in a saved plan without any."""
        how = self._reference_room
        return how["limited"] is not None or self.serving.fits(
            self.reference_xy, how.get("t", 0.0), how.get("room")
        )

    def overfull_today(self) -> int:
        """How many of today's facilities would be over full at the limits of the plan, if nobody went elsewhere."""
        found, room = self.today, self.serving.room(self.today_xy) if self.n_today else None
        if found is None or room is None:
            return 0
        return int((found.population > np.asarray(room.most) + FULL * self.people).sum())

    def _kept(self, measure: Callable[..., Evaluation], keep: int = 2) -> Callable[..., Evaluation]:
        """The same function with a cache. Its last argument is a service standard; one measuring serves all of them."""
        once = lru_cache(maxsize=keep)(lambda *what: measure(*what, None))

        def found(*what: Any) -> Evaluation:
            """An evaluation for a standard."""
            *which, standard = what
            return at_standard(once(*which), standard, self.residents.weights)

        return lru_cache(maxsize=keep)(found)

    def _measure(
        self, centers: Floats, t: float = 0.0, standard: float | None = None, **how: Any
    ) -> Evaluation:
        """Evaluate facilities anywhere on the map by the rules of the plan; options as in `Serving.evaluate`."""
        return self.serving.evaluate(centers, t, standard, **how)

    @property
    def curve(self) -> Curve:
        """Every measure at every t; computed at the first call and kept."""
        return self.trade_off()

    def trade_off(self, standard: float | None = None, progress: Progress | None = None) -> Curve:
        """The trade-off curve with the share within a service standard (metres or minutes); kept once computed."""
        curve = self._curves.get(standard)
        if curve is None:
            curve = self._traded(self.path, range(len(self)), standard, progress)
            while len(self._curves) >= 8:
                self._curves.pop(next(iter(self._curves)), None)
            self._curves[standard] = curve
        return curve

    def _traded(
        self, path: TiltedPath, settings: range, standard: float | None, progress: Progress | None
    ) -> Curve:
        """The measures at some settings of a path, and those of the lowest-average plan."""
        home = self.residents
        centers = home.to_xy(path.centers[settings.start : settings.stop])
        measure = None
        if not self.serving.plain:

            def measure(at: int, sites: Floats) -> Evaluation:
                """Evaluate one setting of the path, or the lowest-average plan after the last."""
                if at == len(settings):
                    return self._measure(sites, 0.0, standard)
                return self._measure(
                    sites, float(path.t[settings[at]]), standard, places=self.places(settings[at])
                )

        return trade_off(
            path.t[settings.start : settings.stop], home.xy, home.weights, centers, self.baseline_xy,
            standard=standard, measure=measure, progress=progress,
        )  # fmt: skip

    def trips(self, i: int) -> Trips:
        """Who goes where at setting i: all that tables and questions about many settings need."""
        return self.serving.trips(self.centers_xy(i), float(self.t[i]), places=self.places(i))

    def reference_trips(self) -> Trips:
        """Who goes where in the reference."""
        return self.serving.trips(self.reference_xy, **self._reference_room)

    def changes(self, i: int) -> Changes:
        """How far people go at setting i and in the reference."""
        people = self.residents.weights
        return compare_trips(self.reference_evaluation().trips(people), self.evaluation(i).trips(people))

    def farthest_corner(self, i: int) -> float:
        """The longest trip at setting i from any corner of an area, in metres by straight lines."""
        return self._farthest_corner(self.evaluation(i).trips(self.residents.weights), self.centers_xy(i))

    def reference_farthest_corner(self) -> float:
        """The same in the reference."""
        trips = self.reference_evaluation().trips(self.residents.weights)
        return self._farthest_corner(trips, self.reference_xy)

    def _farthest_corner(self, trips: Trips, sites: Floats) -> float:
        """The longest trip from any corner of an area to the facilities that serve it."""
        xy, row = self.residents.corners
        longest = float(trips.distance[trips.people > 0].max())
        for j in np.unique(trips.facility[trips.people > 0]):
            mine = trips.resident[(trips.facility == j) & (trips.people > 0)]
            corners = xy[np.isin(row, mine)]
            longest = max(longest, float(np.linalg.norm(corners - sites[j], axis=1).max(initial=0.0)))
        return longest

    @property
    def corner_reach(self) -> float:
        """How far the corners of inhabited areas are at most from the points at which their people are counted."""
        xy, row = self.residents.corners
        apart = np.linalg.norm(xy - self.residents.xy[row], axis=1)
        return float(apart[self.residents.weights[row] > 0].max(initial=0.0))

    def change(self, i: int) -> Floats:
        """Metres or minutes each place gains (+) or loses (-) on average at setting i, against the reference."""
        return self.reference_evaluation().distance - self.evaluation(i).distance

    @cached_property
    def change_reach(self) -> float:
        """Metres or minutes within which 98 % of people's gains and losses lie, over all settings."""
        home = self.residents
        rows = slice(None, None, -(-len(home) // SAMPLED))
        before = self.serving.nearest(self.reference_xy, rows)
        reaches = []
        for sites in home.to_xy(self.path.centers[:: max(1, len(self) // 12)]):
            change = np.abs(before - self.serving.nearest(sites, rows))
            order = np.argsort(change)
            people = np.cumsum(home.weights[rows][order])
            reaches.append(float(change[order][np.searchsorted(people, 0.98 * people[-1] * (1 - 1e-12))]))
        return max(reaches)
