"""`make_plan`: find the lowest-average plan, choose the stops of the dial, and place facilities at each stop."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Floats
from tkm_core.clustering import TiltedPath, tilted_path
from tkm_core.evaluation import evaluate
from tkm_core.planning.baseline import kmeans_sites, numbered_like
from tkm_core.planning.beyond import ResidentCells, beyond_memory, condense_residents
from tkm_core.planning.dial import dial_stops, distinct
from tkm_core.planning.on_sites import place_on_sites
from tkm_core.planning.placing import Placed, Task, place_nothing, place_on_map
from tkm_core.planning.plan import NONE_EXISTING, Plan
from tkm_core.planning.reference import AVERAGE, TODAY, usual_reference
from tkm_core.planning.rules import Rules, as_rules
from tkm_core.progress import Progress, never_falling, part
from tkm_core.residents import Existing, Report, Residents, load_residents, scaled_sites
from tkm_core.sites import Capacity
from tkm_core.wording import counted

# The paper's tilted SSE sums over clusters, so a larger t may move the farthest resident farther away again in favour
# of smaller clusters elsewhere. With the city-wide cost that hardly happens (benchmarks/criterion.py).
PLAN_CRITERION = "city"


def make_plan(
    residents: Any,
    k: int,
    *,
    t: npt.ArrayLike | None = None,
    criterion: str = PLAN_CRITERION,
    fixed_lonlat: npt.ArrayLike | None = None,
    fixed_names: Sequence[str] = (),
    closed: Sequence[int] = (),
    pinned: int = 0,
    with_t: float | None = None,
    streets: Any = None,
    travel: Any = None,
    sites: Any = None,
    only_in: Any = None,
    not_in: Any = None,
    capacity: Capacity | float | None = None,
    equal_groups: bool = False,
    rules: Rules | None = None,
    prove: float = 0.0,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Plan facilities for residents at every setting of the fairness dial.

    Parameters
    ----------
    residents : Residents, DataFrame, GeoDataFrame, or path of a file
        Anything but `Residents` goes through `load_residents` with its guesses; to choose columns, call it yourself.
        A folder or glob of Parquet files, or one too large for memory, is condensed to cells instead.
    k : int
        Number of new facilities; 0 evaluates existing facilities alone.
    t : array-like of shape (m,), optional
        Settings of the dial; by default up to 45 from 0 to infinity, placed where the plan changes.
    criterion : {"city", "cluster"}, default="city"
        Which solution wins at each t: by the city-wide cost, or by the paper's tilted SSE.
    fixed_lonlat : array-like of shape (f, 2), optional
        Existing facilities in degrees, longitude first: they serve residents and never move.
    fixed_names : sequence of str, optional
        What they are called.
    closed : sequence of int, optional
        Which of the existing facilities the plan closes, counted from 0.
    pinned : int, default=0
        How many at the end of `fixed_lonlat` are pinned by hand: they stay as well, but do not exist yet.
    with_t : float, optional
        A setting that is added to those of the default dial.
    streets : Streets, AlongStreets or path of a road file, optional
        Measure distances along these streets; `AlongStreets` chooses minutes or metres, and the direction.
    travel : TravelTable, optional
        The planner's own table of distances or times, from `read_travel`: one column for each site, then one for each
        existing facility that is not among the sites.
    sites : Sites, array-like of shape (m, 2), or path of a file, optional
        Facilities may stand only there.
    only_in, not_in : Zones, shapely geometry in degrees, GeoDataFrame or path of a file, optional
        Where facilities must stand, and where they must not. Existing and pinned ones may stand anywhere.
    capacity : float or Capacity, optional
        The most people a facility may serve; ``Capacity(most, least)`` for both limits.
    equal_groups : bool, default=False
        Whether every group counts the same in placing, however many people it has. Measures still count people.
    rules : Rules, optional
        All these rules in one object, instead of the single arguments.
    prove : float, default=0
        Seconds to spend on proving how good a plan on sites is; see `Plan.proof`.
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
    report = never_falling(progress)
    if beyond_memory(residents):
        residents = condense_residents(residents, progress=part(report, 0.0, 0.4))
        report = part(report, 0.4, 1.0)
    elif not isinstance(residents, Residents):
        residents = load_residents(residents)
    given = np.empty((0, 2)) if fixed_lonlat is None else np.asarray(fixed_lonlat, np.float64).reshape(-1, 2)
    follow = as_rules(
        residents, given, rules=rules, streets=streets, travel=travel, sites=sites, only_in=only_in, not_in=not_in,
        capacity=capacity, equal_groups=equal_groups,
    )  # fmt: skip
    if criterion != PLAN_CRITERION and not follow.plain:
        msg = "Plans on sites, along streets, in zones or with limited room go by the city-wide cost: criterion='city'."
        raise ValueError(msg)
    existing = _existing(at_columns(given, pinned, follow, residents), fixed_names, pinned)
    shut = _closed(closed, existing)
    _check(residents, k, random_state, least=0 if len(existing) else 1, anywhere=follow.sites is None)
    stay = [number for number in range(len(existing)) if number not in shut]
    if k == 0 and not stay:
        msg = "This plan closes every facility and opens none: open one, or leave one open."
        raise ValueError(msg)
    task = Task(
        residents, int(k), follow, scaled_sites(residents, existing.lonlat)[stay], follow.people(residents), t,
        with_t, int(random_state), report, prove,
    )  # fmt: skip
    if follow.plain:
        path, baseline = _anywhere(task, criterion)
        grounds = None
    else:
        placed = _under_rules(task)
        path, baseline, grounds = placed.path, placed.baseline, placed.grounds
    if k:
        baseline = numbered_like(path.centers[0], baseline, k)
    task.report(1.0, "Done")
    plan = Plan(
        residents,
        int(k),
        int(random_state),
        criterion,
        path,
        baseline,
        existing,
        shut,
        AVERAGE,
        follow,
        grounds,
    )
    return compared_as_usual(plan)


def compared_as_usual(plan: Plan) -> Plan:
    """A plan next to what it is compared with by default: today, where something exists and everyone gets there."""
    usual = usual_reference(plan.existing)
    return plan.against(AVERAGE if usual == TODAY and plan.today is None else usual)


def _anywhere(task: Task, criterion: str) -> tuple[TiltedPath, Floats]:
    """A plan without rules: facilities at every setting, and those of the lowest-average plan."""
    residents, k, fixed, report = task.residents, task.k, task.fixed, task.report
    if not k:
        return _standing(residents, fixed), fixed
    report(0.0, "Finding the lowest-average sites")
    baseline = kmeans_sites(residents, k, fixed, task.random_state)
    report(0.1, "Looking where the plan changes")
    settings, asked = task.settings(lambda: dial_stops(residents, k, baseline, task.people))
    report(0.15, "Turning the dial")
    path = tilted_path(
        residents.scaled,
        k,
        t=settings,
        criterion=criterion,
        sample_weight=task.people,
        fixed_centers=fixed if len(fixed) else None,
        scale=1.0,
        random_state=task.random_state,
        progress=part(report, 0.15, 0.5 if isinstance(residents, ResidentCells) else 1.0),
    )
    if task.free:
        path = _only(path, distinct(path.centers, path.sse, asked))
    if isinstance(residents, ResidentCells) and task.people is residents.weights:
        path = residents.exact_path(path, k, criterion, part(report, 0.5, 1.0))
    return path, baseline


def _under_rules(task: Task) -> Placed:
    """A plan under rules: on sites, along streets, in zones, with limited room."""
    if not task.k:
        return place_nothing(task)
    rules = task.rules
    on_map = rules.straight and rules.sites is None and not (rules.zoned and rules.limited)
    return place_on_map(task) if on_map else place_on_sites(task)


def at_columns(given: Floats, pinned: int, rules: Rules, residents: Residents) -> Floats:
    """Move pinned facilities to the nearest places to which the way of travelling can measure."""
    if not 0 < pinned <= len(given):
        return given
    return np.concatenate([given[:-pinned], rules.travel.moved(residents, given[-pinned:])])


def most_facilities(residents: Residents, limit: int) -> int:
    """The most new facilities that make sense: one for each distinct place where somebody lives, up to a limit.

    Examples
    --------
    >>> twice = Residents.from_lonlat([[1.40, 43.60], [1.40, 43.60], [1.41, 43.61]])
    >>> most_facilities(twice, 60), most_facilities(twice, 1)
    (2, 1)
    """
    for rows in (slice(100 * limit), slice(None)):  # if places differ, the first rows are enough
        peopled = residents.xy[rows][residents.weights[rows] > 0]
        places = len(np.unique(peopled, axis=0))
        if places >= limit:
            return limit
    return places


def _check(residents: Residents, k: int, random_state: int, *, least: int, anywhere: bool) -> None:
    """Raise an error that says why k facilities cannot be placed."""
    for value, lowest, name in ((k, least, "number of facilities"), (random_state, 0, "seed")):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not lowest <= value < 2**32:
            msg = f"The {name} must be a whole number from {lowest} upwards, not {value!r}."
            raise ValueError(msg)
    places = most_facilities(residents, k) if k and anywhere else k
    if places < k:
        where = "one place" if places == 1 else f"{places} different places"
        msg = f"{k} facilities are too many for residents in {where}. Choose k up to {places}."
        raise ValueError(msg)


def _existing(lonlat: Floats, names: Sequence[str], pinned: int) -> Existing:
    """The existing facilities, with a name for each or none at all."""
    sites = lonlat
    if len(names) not in (0, len(sites)):
        msg = f"There are {len(sites)} existing facilities but {len(names)} names for them."
        raise ValueError(msg)
    if not 0 <= pinned <= len(sites):
        msg = f"{pinned} facilities cannot be pinned: {len(sites)} stay where they are."
        raise ValueError(msg)
    return Existing(sites, tuple(map(str, names)), Report(), pinned) if len(sites) else NONE_EXISTING


def _closed(closed: Sequence[int], existing: Existing) -> tuple[int, ...]:
    """The closed facilities, sorted and without repeats; one that does not exist is an error."""
    wrong = [number for number in closed if not 0 <= number < len(existing)]
    if wrong:
        there = counted(len(existing), "existing facility", "existing facilities")
        are = "is" if len(existing) == 1 else "are"
        msg = f"Facility {wrong[0]} (counted from 0) cannot be closed: there {are} {there}."
        raise ValueError(msg)
    return tuple(sorted({int(number) for number in closed}))


def _standing(residents: Residents, fixed: Floats) -> TiltedPath:
    """The path of a plan without new facilities: a single setting with the existing ones."""
    found = evaluate(residents.scaled, fixed, sample_weight=residents.weights)
    cost = np.array([found.sse])
    return TiltedPath(np.zeros(1), fixed[None], cost, cost, cost, np.zeros(1), np.zeros(1, np.int64))


def _only(path: TiltedPath, keep: npt.NDArray[np.bool_]) -> TiltedPath:
    """The path at some of its settings."""
    return TiltedPath(**{part.name: getattr(path, part.name)[keep] for part in fields(path)})
