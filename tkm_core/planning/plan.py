"""A plan: where facilities go at every setting of the fairness dial, next to k-means++."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import shapely

from tkm_core.arrays import Floats
from tkm_core.clustering import TiltedPath, tilted_path
from tkm_core.evaluation import Evaluation, evaluate
from tkm_core.planning import areas
from tkm_core.planning.baseline import kmeans_sites, numbered_like
from tkm_core.planning.trade_off import Curve, trade_off
from tkm_core.progress import Progress, never_falling, part
from tkm_core.residents import Residents, scaled_sites

STEPS = (1, 1.2, 1.5, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)
PLAN_T: Floats = np.array(
    [0.0, *(float(f"{step}e{decade}") for decade in (-2, -1, 0, 1) for step in STEPS), 100.0]
)
PLAN_T.flags.writeable = False
# The paper's tilted SSE adds up clusters: as the dial turns up it may let the farthest resident down again for the sake
# of smaller clusters elsewhere. The city-wide cost hardly does (benchmarks/criterion.py).
PLAN_CRITERION = "city"
KEPT_ROWS = 600_000  # residents times evaluations that a plan keeps: about 15 MB


@dataclass(frozen=True, eq=False)
class Plan:
    """Facilities for residents at every t, and those of k-means++. Made by `make_plan`.

    Attributes
    ----------
    residents : Residents
    k : int
        Number of new facilities; existing ones come on top.
    random_state : int
    criterion : {"cluster", "city"}
    path : TiltedPath
        In scaled coordinates; new facilities first, then the existing ones.
    baseline : ndarray of shape (k + existing, 2)
        Facilities of k-means++ in scaled coordinates, numbered like the plan's facilities near them.
    existing_names : tuple of str
        What the existing facilities are called, text from outside; empty if nobody said.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 3)
    >>> i = plan.index(0.3)
    >>> float(plan.t[i]), plan.centers_lonlat(i).shape
    (0.3, (3, 2))
    """

    residents: Residents
    k: int
    random_state: int
    criterion: str
    path: TiltedPath
    baseline: Floats
    _curves: dict[float | None, Curve] = field(default_factory=dict, repr=False)
    existing_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.path.t)

    @property
    def t(self) -> Floats:
        """Settings of the dial, shape (m,)."""
        return self.path.t

    @property
    def existing(self) -> int:
        """Number of existing facilities, which never move."""
        return int(self.path.centers.shape[1]) - self.k

    @property
    def kinds(self) -> list[str]:
        """What each facility is: "new" or "existing"."""
        return ["new"] * self.k + ["existing"] * self.existing

    @property
    def names(self) -> list[str]:
        """What each facility is called: existing ones by their own names, "" where there is none."""
        own = self.existing_names or ("",) * self.existing
        return [""] * self.k + list(own)

    @cached_property
    def today(self) -> Evaluation | None:
        """Every measure of the existing facilities alone, in metres; None if there are none."""
        return self._measure(self.baseline_xy[self.k :], 0.0, None) if self.existing else None

    @property
    def people(self) -> float:
        """How many people are served."""
        return float(self.residents.weights.sum())

    def index(self, t: float) -> int:
        """Index of the setting nearest to t."""
        if np.isnan(t):
            msg = "t must be a number from 0 upwards."
            raise ValueError(msg)
        return int(np.argmin(np.abs(self.t - np.clip(t, self.t[0], self.t[-1]))))

    def centers_xy(self, i: int) -> Floats:
        """Facilities at setting i in metres, shape (k + existing, 2)."""
        return self.residents.to_xy(self.path.centers[i])

    def centers_lonlat(self, i: int) -> Floats:
        """Facilities at setting i in degrees, longitude first."""
        return self.path_lonlat[i]

    @cached_property
    def path_lonlat(self) -> Floats:
        """Facilities at every setting in degrees, shape (m, k + existing, 2)."""
        return self.residents.to_lonlat(self.residents.to_xy(self.path.centers))

    @cached_property
    def baseline_xy(self) -> Floats:
        """Facilities of k-means++ in metres."""
        return self.residents.to_xy(self.baseline)

    @cached_property
    def baseline_lonlat(self) -> Floats:
        """Facilities of k-means++ in degrees."""
        return self.residents.to_lonlat(self.baseline_xy)

    def evaluation(self, i: int, standard: float | None = None) -> Evaluation:
        """Every measure at setting i, in metres; `standard` is a service standard in metres."""
        return self._evaluate(int(i), standard)

    def baseline_evaluation(self, standard: float | None = None) -> Evaluation:
        """Every measure of k-means++, in metres."""
        return self._evaluate_baseline(standard)

    @cached_property
    def _evaluate(self) -> Callable[[int, float | None], Evaluation]:
        keep = int(np.clip(KEPT_ROWS / len(self.residents), 4, 2 * len(self.t)))
        return lru_cache(maxsize=keep)(
            lambda i, standard: self._measure(self.centers_xy(i), float(self.t[i]), standard)
        )

    @cached_property
    def _evaluate_baseline(self) -> Callable[[float | None], Evaluation]:
        return lru_cache(maxsize=2)(lambda standard: self._measure(self.baseline_xy, 0.0, standard))

    def _measure(self, centers: Floats, t: float, standard: float | None) -> Evaluation:
        """Evaluate in metres; t, a pure number on the scaled map, is one over square metres there."""
        home = self.residents
        return evaluate(home.xy, centers, t=t / home.scale**2, sample_weight=home.weights, standard=standard)

    @property
    def curve(self) -> Curve:
        """Every measure at every t; computed at the first call and kept."""
        return self.trade_off()

    def trade_off(self, standard: float | None = None, progress: Progress | None = None) -> Curve:
        """The trade-off curve with the share within a service standard (metres); kept once computed."""
        curve = self._curves.get(standard)
        if curve is None:
            home = self.residents
            centers = home.to_xy(self.path.centers)
            curve = trade_off(
                self.t, home.xy, home.weights, centers, self.baseline_xy, standard=standard, progress=progress
            )
            while len(self._curves) >= 8:
                self._curves.pop(next(iter(self._curves)), None)
            self._curves[standard] = curve
        return curve

    def within_budget(self, percent: float) -> int:
        """Index of the fairest plan that a budget allows.

        Parameters
        ----------
        percent : float
            How much longer than under k-means++ the average trip may be.

        Returns
        -------
        int
            Of the plans within the budget the one with the shortest longest trip; of equals the one with the
            lower average. If none is within it, the plan with the lowest average (see `meets_budget`).
        """
        curve = self.curve
        allowed = np.flatnonzero([self.meets_budget(i, percent) for i in range(len(self))])
        if len(allowed) == 0:
            return int(np.argmin(curve.mean_distance))
        order = np.lexsort((curve.mean_distance[allowed], np.round(curve.largest_distance[allowed], 3)))
        return int(allowed[order[0]])

    def meets_budget(self, i: int, percent: float) -> bool:
        """Whether the average trip at setting i is at most `percent` % longer than under k-means++."""
        return self.cost_percent(i) <= percent + 1e-7

    def cost_percent(self, i: int) -> float:
        """How much longer the average trip at setting i is than under k-means++."""
        usual = self.curve.baseline["mean_distance"]
        return float(100 * (self.curve.mean_distance[i] / usual - 1)) if usual > 0 else 0.0

    def knee(self) -> int:
        """Index of the knee of the trade-off: beyond it fairness starts to cost more than it brings.

        Average and largest distance are taken from 0 to 1 over the undominated plans; the knee is the plan that lies
        farthest below the straight line between the two ends.
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

    def change(self, i: int) -> Floats:
        """Metres each resident gains (+) or loses (-) at setting i against k-means++, shape (n,)."""
        return self.baseline_evaluation().distance - self.evaluation(i).distance

    def service_areas(self, i: int) -> list[shapely.Geometry]:
        """The area nearest to each facility at setting i, in degrees."""
        return areas.service_areas(self.residents, self._hull, self.centers_xy(i))

    @cached_property
    def _hull(self) -> shapely.Geometry:
        closed = np.concatenate([self.residents.xy, self.residents.xy[:1]])
        return shapely.convex_hull(
            shapely.linestrings(closed)
        )  # one line is built far faster than many points


def make_plan(
    residents: Residents,
    k: int,
    *,
    t: npt.ArrayLike | None = None,
    criterion: str = PLAN_CRITERION,
    fixed_lonlat: npt.ArrayLike | None = None,
    fixed_names: Sequence[str] = (),
    random_state: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Plan facilities for residents at every setting of the fairness dial.

    Parameters
    ----------
    residents : Residents
    k : int
        Number of new facilities.
    t : array-like of shape (m,), optional
        Settings of the dial; by default 0 and round values from 0.01 to 100.
    criterion : {"city", "cluster"}, default="city"
        Which solution wins at each t: by the city-wide cost, or by the paper's tilted SSE.
    fixed_lonlat : array-like of shape (f, 2), optional
        Existing facilities in degrees, longitude first: they serve residents and never move.
    fixed_names : sequence of str, optional
        What they are called.
    random_state : int, default=0
        The same number gives the same plan.
    progress : callable, optional
        Called with a fraction from 0 to 1 and a text; an exception raised in it cancels.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If k facilities cannot be placed, with a sentence that says why.

    Examples
    --------
    >>> from tkm_core.residents.samples import load_sample
    >>> plan = make_plan(load_sample("generated", n=300), 2, t=[0, 0.1, 1])
    >>> len(plan), plan.baseline.shape
    (3, (2, 2))
    """
    _check(residents, k, random_state)
    settings, fixed = _dial(t), scaled_sites(residents, fixed_lonlat)
    if len(fixed_names) not in (0, len(fixed)):
        msg = f"There are {len(fixed)} existing facilities but {len(fixed_names)} names for them."
        raise ValueError(msg)
    report = never_falling(progress)
    report(0.0, "Finding the k-means++ sites")
    baseline = kmeans_sites(residents, k, fixed, random_state)
    report(0.15, "Turning the dial")
    path = tilted_path(
        residents.scaled,
        k,
        t=settings,
        criterion=criterion,
        sample_weight=residents.weights,
        fixed_centers=fixed if len(fixed) else None,
        random_state=random_state,
        progress=part(report, 0.15, 1.0),
    )
    baseline = numbered_like(path.centers[0], baseline, k)
    names = tuple(map(str, fixed_names))
    return Plan(residents, int(k), int(random_state), criterion, path, baseline, existing_names=names)


def most_facilities(residents: Residents, limit: int) -> int:
    """How many new facilities residents can have: one for each different place where somebody lives, up to a limit.

    Examples
    --------
    >>> twice = Residents.from_lonlat([[1.40, 43.60], [1.40, 43.60], [1.41, 43.61]])
    >>> most_facilities(twice, 60), most_facilities(twice, 1)
    (2, 1)
    """
    for rows in (slice(100 * limit), slice(None)):  # the first few are enough where places differ
        peopled = residents.xy[rows][residents.weights[rows] > 0]
        places = len(np.unique(peopled, axis=0))
        if places >= limit:
            return limit
    return places


def _check(residents: Residents, k: int, random_state: int) -> None:
    """Say why k facilities cannot be placed, if so."""
    for value, least, name in ((k, 1, "number of facilities"), (random_state, 0, "seed")):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value < 2**32:
            msg = f"The {name} must be a whole number from {least} upwards, not {value!r}."
            raise ValueError(msg)
    places = most_facilities(residents, k)
    if places < k:
        where = "one place" if places == 1 else f"{places} different places"
        msg = f"{k} facilities are too many for residents in {where}. Choose k up to {places}."
        raise ValueError(msg)


def _dial(t: npt.ArrayLike | None) -> Floats:
    """The settings of the dial in order, each once."""
    settings = PLAN_T if t is None else np.unique(np.asarray(t, dtype=np.float64))
    if settings.size == 0 or not np.isfinite(settings).all() or settings[0] < 0:
        msg = "The settings of the dial, t, must be numbers from 0 upwards, and at least one."
        raise ValueError(msg)
    return settings
