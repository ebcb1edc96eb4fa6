"""Choose the settings of t on the fairness dial: evenly spaced along the trade-off curve."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Floats, Ints
from tkm_core.clustering import Descent, Problem, TiltedPath, descend, level_weights
from tkm_core.evaluation import evaluate
from tkm_core.planning.trade_off import gather
from tkm_core.residents import Residents

STEPS = (1, 1.2, 1.5, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)
PLAN_T: Floats = np.array(
    [0.0, *(float(f"{step}e{decade}") for decade in (-2, -1, 0, 1) for step in STEPS), 100.0]
)
"""Round settings, for where t is chosen without a plan."""
PLAN_T.flags.writeable = False
STOPS = 45
CELLS = 3_000  # cells that stand for more residents while the stops are chosen
# In units of 1 / (mean squared distance at t = 0), the same range of t suits every city and every k.
WEAKEST, STRONGEST, SCANNED = 0.01, 300.0, 25
# The largest share of the trade-off counted between two scanned t, since a jump needs no extra stops.
STEEPEST = 0.06
EVENLY = 0.3  # share of the stops spread evenly over log t, since the scan is coarser than the plan
FIGURES = 2  # significant digits of t: short enough to be read out
MOVED = 0.004  # share of the root mean squared distance: if no facility moves farther, it is the same plan


def dial_stops(residents: Residents, k: int, baseline: Floats, people: Floats | None = None) -> Floats:
    """Settings of t between which a plan changes by about the same amount.

    A quick scan follows the trade-off from the lowest-average plan up and down 25 values of t, by descent alone.
    Stops are then spaced evenly along the curve of average trip against longest trip.

    Parameters
    ----------
    residents : Residents
    k : int
        Number of new facilities.
    baseline : ndarray of shape (k + f, 2)
        Facilities of the lowest-average plan in scaled coordinates, existing ones last.
    people : ndarray of shape (n,), optional
        How much everyone counts in placing; by default their weights.

    Returns
    -------
    ndarray of shape (m,)
        From 0 to infinity, in the units of the scaled map; only 0 if there is nothing to choose.

    Examples
    --------
    >>> from tkm_core.planning.baseline import kmeans_sites
    >>> from tkm_core.residents.samples import load_sample
    >>> city = load_sample("generated", n=300)
    >>> stops = dial_stops(city, 3, kmeans_sites(city, 3, np.empty((0, 2)), 0))
    >>> float(stops[0]), float(stops[-1]), len(stops) <= STOPS
    (0.0, inf, True)
    """
    if k == 0:
        return np.zeros(1)
    counted = residents.weights if people is None else people
    peopled = counted > 0
    points, weights = residents.scaled[peopled], level_weights(counted[peopled])
    if len(points) > CELLS:
        cells = gather(points, weights, CELLS)
        points, weights = cells.xy, cells.weights
    unit = evaluate(points, baseline, sample_weight=weights).sse
    if not unit > 1e-12:  # everyone lives at a facility
        return np.zeros(1)
    tilts = np.array([0.0, *np.geomspace(WEAKEST, STRONGEST, SCANNED), np.inf])
    across = np.linspace(0.0, 1.0, len(tilts))  # by log t, with 0 and infinity one step beyond
    curve = _scan(Problem.of(points, weights, k), baseline, tilts / unit)
    spread = np.ptp(curve, axis=0)
    steps = np.linalg.norm(np.diff(curve / np.where(spread > 0, spread, 1.0), axis=0), axis=1)
    if steps.sum() > 0:
        steps = np.minimum(steps / steps.sum(), STEEPEST)
        steps = steps / steps.sum()
    share = np.append(0.0, np.cumsum((1 - EVENLY) * steps)) + EVENLY * across
    places = np.interp(np.linspace(0, share[-1], STOPS)[1:-1], share, across)
    step = across[1]
    log_t = np.log(WEAKEST) + (places - step) / (1 - 2 * step) * np.log(STRONGEST / WEAKEST)
    inner = [float(f"{value:.{FIGURES}g}") for value in np.exp(log_t) / unit]
    return np.unique([0.0, *inner, np.inf])


def site_stops(unit: float) -> Floats:
    """Candidate settings of t for plans on sites; those at which nothing changes are dropped later.

    Parameters
    ----------
    unit : float
        Mean squared distance of a plan at t = 0, in the units of 1/t.

    Examples
    --------
    >>> stops = site_stops(0.25)
    >>> float(stops[0]), float(stops[1]), float(stops[-2]), float(stops[-1]), len(stops)
    (0.0, 0.04, 1200.0, inf, 45)
    """
    if not unit > 1e-12:
        return np.array([0.0, np.inf])
    inner = np.geomspace(WEAKEST, STRONGEST, STOPS - 2) / unit
    return np.unique([0.0, *(float(f"{value:.{FIGURES}g}") for value in inner), np.inf])


def settings_of(
    t: npt.ArrayLike | None, with_t: float | None, stops: Callable[[], Floats]
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The settings of the dial, sorted and without repeats, and which of them were asked for.

    Examples
    --------
    >>> settings, asked = settings_of(None, 0.3, lambda: np.array([0.0, np.inf]))
    >>> settings.tolist(), asked.tolist()
    ([0.0, 0.3, inf], [False, True, False])
    """
    given: Any = [] if t is None and with_t is None else with_t if t is None else t
    asked = np.ravel(np.asarray(given, dtype=np.float64))
    if np.isnan(asked).any() or (asked < 0).any() or (t is not None and not asked.size):
        msg = "The settings of the dial, t, must be numbers from 0 upwards, and at least one."
        raise ValueError(msg)
    settings = np.unique(asked if t is not None else np.append(stops(), asked))
    return settings, np.isin(settings, asked)


def _scan(problem: Problem, start: Floats, grid: Floats) -> Floats:
    """Average and longest trip at every t of a grid, by descent up from `start` and down again, keeping the cheaper."""
    best: list[Descent] = []
    for t in grid:
        best.append(descend(problem, best[-1].centers if best else start, t))
    for i in range(len(grid) - 2, -1, -1):
        found = descend(problem, best[i + 1].centers, grid[i])
        if found.city_cost < best[i].city_cost:
            best[i] = found
    measured = [evaluate(problem.X, each.centers, sample_weight=problem.weights) for each in best]
    return np.array([[found.mean_distance, found.largest_distance] for found in measured])


def distinct(centers: Floats, sse: Floats, asked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which settings to keep: both ends, those asked for, and those at which a facility has visibly moved.

    Parameters
    ----------
    centers : ndarray of shape (m, k, 2)
    sse : ndarray of shape (m,)
        Mean squared distance.
    asked : bool ndarray of shape (m,)

    Examples
    --------
    >>> way = np.array([0.0, 0.001, 0.5, 0.5, 1.0])[:, None, None] * np.ones((1, 1, 2))
    >>> distinct(way, np.ones(5), np.zeros(5, bool)).tolist()
    [True, False, True, False, True]
    """
    keep = asked.copy()
    keep[[0, -1]] = True
    last = centers[0]
    for i in range(1, len(centers) - 1):
        moved = float(np.sqrt(((centers[i] - last) ** 2).sum(axis=-1).max()))
        if keep[i] or moved > MOVED * float(np.sqrt(sse[i])):
            keep[i], last = True, centers[i]
    return keep


def stop_between(
    path: TiltedPath, residents: Residents, k: int, t: float, criterion: str, people: Floats | None = None
) -> TiltedPath:
    """A path with one more setting: the cheaper of the descents from the plans on either side.

    Parameters
    ----------
    path : TiltedPath
        In scaled coordinates, t in order.
    residents : Residents
    k : int
        Number of new facilities.
    t : float
        Not yet on the path.
    criterion : {"city", "cluster"}
    people : ndarray of shape (n,), optional
        How much everyone counts in placing; by default their weights.
    """
    at = int(np.searchsorted(path.t, t))
    problem = Problem.of(residents.scaled, level_weights(residents.weights if people is None else people), k)
    sides = [side for side in (at - 1, at) if 0 <= side < len(path.t)]
    found = {side: descend(problem, path.centers[side], t) for side in sides}
    cost = {"city": "city_cost", "cluster": "tilted_sse"}[criterion]
    side = min(sides, key=lambda each: getattr(found[each], cost))
    best = found[side]
    own = {
        "t": t, "centers": best.centers, "tilted_sse": best.tilted_sse, "sse": best.sse,
        "city_cost": best.city_cost, "error": best.left, "arrangement": path.arrangement[side],
    }  # fmt: skip
    return TiltedPath(
        **{
            part.name: np.insert(getattr(path, part.name), at, own[part.name], axis=0)
            for part in fields(path)
        }
    )


def chosen_between(path: TiltedPath, t: float, cost: Callable[[int], float]) -> tuple[TiltedPath, Ints]:
    """A path with one more setting, which repeats the cheaper of its neighbours; and the index of each plan's source.

    Parameters
    ----------
    path : TiltedPath
        t in order.
    t : float
        Not yet on the path.
    cost : callable
        Cost at t of the facilities of a setting.
    """
    at = int(np.searchsorted(path.t, t))
    sides = [side for side in (at - 1, at) if 0 <= side < len(path.t)]
    side = min(sides, key=cost)
    settings = np.insert(np.arange(len(path.t)), at, side)
    parts = {part.name: getattr(path, part.name)[settings] for part in fields(path)}
    parts["t"][at] = t
    return TiltedPath(**parts), settings


def nearest_stop(stops: Floats, t: float) -> int:
    """Index of the stop nearest to t by ratio; more than twice the last finite stop counts as infinity.

    Examples
    --------
    >>> dial = np.array([0.0, 0.1, 1.0, 10.0, np.inf])
    >>> [nearest_stop(dial, t) for t in (0.0, 0.04, 0.3, 0.4, 12.0, 30.0, np.inf)]
    [0, 0, 1, 2, 3, 4, 4]
    """
    if np.isnan(t):
        msg = "t must be a number from 0 upwards."
        raise ValueError(msg)
    finite = stops[(stops > 0) & np.isfinite(stops)]
    low, high = (finite[0] / 4, finite[-1] * 4) if len(finite) else (0.5, 2.0)
    return int(np.argmin(np.abs(np.log(np.clip(stops, low, high)) - np.log(np.clip(t, low, high)))))
