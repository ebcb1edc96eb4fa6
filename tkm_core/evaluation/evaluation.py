"""`evaluate`: compute every measure of a set of facilities, whatever method placed them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tkm_core.arrays import Floats, Labels
from tkm_core.clustering import (
    check_centers,
    check_points,
    check_t,
    check_weights,
    city_cost,
    in_units_of,
    level_weights,
    named_weights,
    served,
    tilt,
    tilted_sse_by_cluster,
    unit_for,
)
from tkm_core.evaluation.distribution import gini, kolm_pollak_ede, quantile, worst_share_mean
from tkm_core.evaluation.trips import Trips
from tkm_core.measures import MEASURES
from tkm_core.notebooks import data_frame, figure, html_table
from tkm_core.partitions import over_rows, rows_of


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Every measure of a set of facilities, weighted by people; distances in the units of X.

    Attributes
    ----------
    labels, distance : arrays (n,)
        The facility of each resident, and how far it is; where the people of a place go to several, the facility of
        most of them and the average distance (see `trips`).
    population : array (k,)
        Total weight served by each facility.
    sse, tilted_sse, city_cost : float
        Mean squared distance, the paper's tilted SSE, and the city-wide tilted cost, at ``t``.
    tilted_sse_by_cluster, variance, variance_of_distance, max_distance : arrays (k,)
        Per facility: phi_j, variance of the squared distance (the paper's measure), variance of the distance,
        and largest distance.
    overall_variance, overall_variance_of_distance : float
        The same variances over all residents.
    mean_distance, median_distance, p90_distance, p95_distance, largest_distance : float
    gini : float
        Inequality of distance: 0 when all are equally far.
    kolm_pollak_ede : float
        The equally-distributed equivalent: if everyone had this distance, it would be as bad as the distribution.
    worst_decile_mean : float
        Mean distance of the worst-off 10 % of the population.
    share_within : float or None
        Share of the population within ``standard``.
    fairness_ratio : float or None
        The largest distance divided by the resident's own neighbourhood radius.
    split : Trips or None
        Who goes where, if the people of some places go to several facilities.
    """

    t: float
    labels: Labels
    distance: Floats
    population: Floats
    sse: float
    tilted_sse: float
    city_cost: float
    tilted_sse_by_cluster: Floats
    variance: Floats
    variance_of_distance: Floats
    max_distance: Floats
    overall_variance: float
    overall_variance_of_distance: float
    mean_distance: float
    median_distance: float
    p90_distance: float
    p95_distance: float
    largest_distance: float
    gini: float
    kolm_pollak_ede: float
    worst_decile_mean: float
    standard: float | None
    share_within: float | None
    fairness_ratio: float | None
    split: Trips | None = None

    def trips(self, people: Floats) -> Trips:
        """Who goes where, one row for each place and facility.

        Parameters
        ----------
        people : array (n,)
            As in `evaluate`.

        Returns
        -------
        Trips

        Examples
        --------
        >>> evaluate([[0.0], [1.0], [5.0]], [[0.0], [4.0]]).trips(np.ones(3)).facility.tolist()
        [0, 0, 1]
        """
        if self.split is not None:
            return self.split
        return Trips(np.arange(len(people)), self.labels.astype(np.int64), people, self.distance)

    @property
    def count(self) -> int:
        """Number of residents."""
        return len(self.labels)

    @property
    def _measures(self) -> dict[str, float]:
        """Every measure that was computed, by key."""
        return {key: getattr(self, key) for key in MEASURES if getattr(self, key) is not None}

    def __repr__(self) -> str:
        shown = (
            f"{key} {figure(getattr(self, key))}" for key in ("mean_distance", "largest_distance", "gini")
        )
        return (
            f"<Evaluation: {len(self.population)} facilities, {self.count:,} residents, t = {self.t:.3g}; "
            f"{', '.join(shown)}>"
        )

    def _repr_html_(self) -> str:
        """Every measure, by name."""
        rows = [(MEASURES[key].axis, key, figure(value)) for key, value in self._measures.items()]
        title = f"Evaluation: {len(self.population)} facilities, {self.count:,} residents, t = {self.t:.3g}"
        return html_table(title, ["", "name", "value"], rows, ["Distances are in the units of X."])

    def to_frame(self, of: str = "measures") -> Any:
        """The evaluation as a table.

        Parameters
        ----------
        of : {"measures", "facilities", "residents"}
            One row for each measure, facility, or resident.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> evaluate([[0.0], [1.0], [5.0]], [[0.0], [4.0]]).to_frame("residents")["distance"].tolist()
        [0.0, 1.0, 1.0]
        """
        if of == "facilities":
            names = (
                "population", "max_distance", "variance", "variance_of_distance", "tilted_sse_by_cluster",
            )  # fmt: skip
            return data_frame({name: getattr(self, name) for name in names}).rename_axis("facility")
        if of == "residents":
            return data_frame({"facility": self.labels, "distance": self.distance})
        if of != "measures":
            msg = f"An evaluation has a table of measures, facilities and residents, not of {of!r}."
            raise ValueError(msg)
        values = list(self._measures.values())
        return data_frame({"value": values}, list(self._measures)).rename_axis("measure")


def evaluate(
    X: Any,
    centers: ArrayLike,
    *,
    t: float = 0.0,
    sample_weight: ArrayLike | str | None = None,
    standard: float | None = None,
    neighbourhood: ArrayLike | None = None,
) -> Evaluation:
    """Measure how well facilities at ``centers`` serve residents ``X``, each going to the nearest.

    With f_i the squared distance of resident i, w_i their weight and W the sum of all weights, the tilted cost of
    facility j is

        phi_j = (1/t) log[ (1/W) (sum over residents i of j: w_i e^{t f_i}  +  sum over all others: w_i e^0) ]:

    residents of other facilities count as if they lived at distance 0. ``tilted_sse`` is the sum of the phi_j,
    ``city_cost`` is (1/t) log[(1/W) sum_i w_i e^{t f_i}]. At t = 0 both are the mean squared distance.

    Parameters
    ----------
    X : array (n, d), GeoDataFrame of points on a plane map, Dask array or table, ParquetRows, or path of Parquet files
        Residents. For rows that are not in memory, ``labels`` and ``distance`` stay empty, and quantiles are exact to
        within 0.05 %: see the guide "Beyond one machine".
    centers : array (k, d)
        Facilities, whatever method placed them.
    t : float
        The tilt for ``tilted_sse`` and ``city_cost``, in the unit of 1/X²; may be infinite.
    sample_weight : array (n,) or str, optional
        Population of each resident point, or the name of its column in a table or file.
    standard : float, optional
        A service standard (a distance) for ``share_within``.
    neighbourhood : array (n,), optional
        Neighbourhood radius of each resident, from ``neighbourhood_radius``, for ``fairness_ratio``.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> found = evaluate([[0.0], [1.0], [5.0]], [[0.0], [4.0]], standard=1.0)
    >>> found.mean_distance, found.largest_distance, found.share_within
    (0.666..., 1.0, 1.0)
    """
    rows = rows_of(X, sample_weight)
    if rows is not None:
        from tkm_core.evaluation.streamed import evaluate_settings

        if neighbourhood is not None:
            msg = "neighbourhood needs a radius for each row, so the rows must be in memory."
            raise ValueError(msg)
        sites = check_centers(centers, rows.n_columns, "centers")
        with over_rows(rows) as passes:
            return evaluate_settings(passes, sites[None], np.array([check_t(t)]), standard)[0]
    X, sample_weight = named_weights(X, sample_weight)
    points = check_points(X)
    sites = check_centers(centers, points.shape[1], "centers")
    people = check_weights(sample_weight, len(points))
    # lengths in units of the farthest, so that nothing overflows or underflows
    labels, f, unit = served(points, sites, people > 0)
    return _measured(labels, f, unit, len(sites), people, check_t(t), standard, neighbourhood)


def evaluate_distances(
    distance: ArrayLike,
    labels: ArrayLike,
    *,
    t: float = 0.0,
    sample_weight: ArrayLike | None = None,
    n_facilities: int | None = None,
    standard: float | None = None,
    neighbourhood: ArrayLike | None = None,
) -> Evaluation:
    """Measure a plan from given distances: along streets, in minutes, from a table.

    Parameters
    ----------
    distance : array (n,)
        From each resident to the facility that serves them.
    labels : int array (n,)
        The number of that facility, from 0.
    t : float
        The tilt for ``tilted_sse`` and ``city_cost``, in the unit of 1/distance²; may be infinite.
    sample_weight : array (n,), optional
        Population of each resident point.
    n_facilities : int, optional
        How many facilities there are, if some at the end serve nobody.
    standard : float, optional
        A service standard (a distance) for ``share_within``.
    neighbourhood : array (n,), optional
        Neighbourhood radius of each resident in the same distances, for ``fairness_ratio``.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> found = evaluate_distances([3.0, 1.0, 2.0], [0, 1, 1], standard=2.0)
    >>> found.mean_distance, found.population.tolist(), found.share_within
    (2.0, [1.0, 2.0], 0.666...)
    """
    far = check_points(np.ravel(np.asarray(distance))[:, None], "distance")[:, 0]
    people = check_weights(sample_weight, len(far))
    if far.min() < 0:
        msg = f"distance is {far.min()} in row {int(far.argmin())}; a distance is 0 or more."
        raise ValueError(msg)
    served_by = np.asarray(labels)
    if served_by.shape != far.shape or not np.issubdtype(served_by.dtype, np.integer):
        msg = f"labels has shape {served_by.shape}; it needs the number of a facility for each of the {len(far)} rows."
        raise ValueError(msg)
    k = int(served_by.max()) + 1 if n_facilities is None else n_facilities
    if served_by.min() < 0 or served_by.max() >= k:
        msg = f"labels reach from {served_by.min()} to {served_by.max()}; facilities are numbered from 0 to {k - 1}."
        raise ValueError(msg)
    live = people > 0
    unit = unit_for(float(far[live].max()))
    f = (far / unit) ** 2
    return _measured(served_by.astype(np.int32), f, unit, k, people, check_t(t), standard, neighbourhood)


def _measured(
    labels: Labels,
    f: Floats,
    unit: float,
    k: int,
    people: Floats,
    t: float,
    standard: float | None,
    neighbourhood: ArrayLike | None,
) -> Evaluation:
    """Every measure, computed from each resident's facility and squared distance in units of unit²."""
    live = people > 0
    # weights scaled to the middle of the number range, so that no share underflows
    weights, tilted = level_weights(people), tilt(t, unit)
    distance = np.sqrt(f)
    total = float(weights.sum())
    peopled = np.where(live, f, 0.0), np.where(live, distance, 0.0)

    def carried(values: Floats | float, power: int) -> Floats:
        """A measure back in the units of X."""
        return in_units_of(values, unit, power, "A measure of the distances")

    def per_cluster(values: Floats) -> Floats:
        """Weighted sums over the residents of each facility."""
        return np.bincount(labels, weights * values, minlength=k).astype(np.float64)

    def variance_by_cluster(values: Floats) -> Floats:
        """Weighted variance among the residents of each facility."""
        mean = np.divide(per_cluster(values), population, out=np.zeros(k), where=population > 0)
        spread = per_cluster((values - mean[labels]) ** 2)
        return np.divide(spread, population, out=np.zeros(k), where=population > 0)

    def overall(values: Floats) -> float:
        """Weighted variance over all residents."""
        mean = float(np.dot(weights, values)) / total
        return float(np.dot(weights, (values - mean) ** 2)) / total

    population = per_cluster(np.ones(len(f)))
    max_distance = np.zeros(k)
    np.maximum.at(max_distance, labels[live], distance[live])
    order = np.argsort(peopled[1], kind="stable")
    sorted_distance, sorted_weights = peopled[1][order], weights[order]
    cumulative = np.cumsum(sorted_weights)
    median, p90, p95 = (quantile(sorted_distance, cumulative, q) for q in (0.5, 0.9, 0.95))
    phi = tilted_sse_by_cluster(f, labels, weights, k, tilted)
    ratio = None
    if neighbourhood is not None:
        radius = np.asarray(neighbourhood, dtype=np.float64)
        if radius.shape != distance.shape:
            msg = f"neighbourhood has shape {radius.shape}; it needs one for each of the {len(f)} residents."
            raise ValueError(msg)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = np.where(distance[live] == 0, 0.0, distance[live] / (radius[live] / unit))
        ratio = float(ratios.max())
    return Evaluation(
        t=t,
        labels=labels,
        distance=carried(distance, 1),
        population=np.bincount(labels, people, minlength=k).astype(np.float64),
        sse=float(carried(np.dot(weights, peopled[0]) / total, 2)),
        tilted_sse=float(carried(phi.sum(), 2)),
        city_cost=float(carried(city_cost(f, weights, tilted), 2)),
        tilted_sse_by_cluster=carried(phi, 2),
        variance=carried(variance_by_cluster(peopled[0]), 4),
        variance_of_distance=carried(variance_by_cluster(peopled[1]), 2),
        max_distance=carried(max_distance, 1),
        overall_variance=float(carried(overall(peopled[0]), 4)),
        overall_variance_of_distance=float(carried(overall(peopled[1]), 2)),
        mean_distance=float(carried(np.dot(weights, peopled[1]) / total, 1)),
        median_distance=float(carried(median, 1)),
        p90_distance=float(carried(p90, 1)),
        p95_distance=float(carried(p95, 1)),
        largest_distance=float(carried(max_distance.max(), 1)),
        gini=gini(sorted_distance, sorted_weights, cumulative),
        kolm_pollak_ede=float(carried(kolm_pollak_ede(peopled[1], weights), 1)),
        worst_decile_mean=float(
            carried(worst_share_mean(sorted_distance, sorted_weights, cumulative, 0.1), 1)
        ),
        standard=standard,
        share_within=_share_within(carried(distance, 1), weights, standard),
        fairness_ratio=ratio,
    )


def at_standard(found: Evaluation, standard: float | None, people: Floats) -> Evaluation:
    """The same evaluation for another service standard, on which only one measure depends.

    Parameters
    ----------
    found : Evaluation
    standard : float or None
    people : array (n,)
        As in `evaluate`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> people = np.ones(3)
    >>> at_standard(evaluate([[0.0], [1.0], [5.0]], [[0.0], [4.0]], sample_weight=people), 0.5, people).share_within
    0.333...
    """
    trips = found.trips(people)
    within = _share_within(trips.distance, level_weights(trips.people), standard)
    return replace(found, standard=standard, share_within=within)


def _share_within(distance: Floats, weights: Floats, standard: float | None) -> float | None:
    """Share of the population within a service standard."""
    return None if standard is None else float(weights[distance <= standard].sum()) / float(weights.sum())
