"""The scikit-learn estimator `TiltedKMeans`, with the exact solver and the paper's SGD."""

import warnings
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tkm_core.arrays import Floats, Labels
from tkm_core.clustering.checks import (
    check_choice,
    check_clusters,
    check_fixed,
    check_number,
    check_points,
    check_t,
    check_weights,
    check_whole,
    named_weights,
    plain_table,
    warn_of_units,
)
from tkm_core.clustering.descent import Descent, descend
from tkm_core.clustering.frame import Framed, check_width, in_units_of, power_of_two, served
from tkm_core.clustering.given_starts import Init, given_starts
from tkm_core.clustering.search import Search
from tkm_core.clustering.sgd import descend_by_sgd
from tkm_core.partitions import rows_of
from tkm_core.wording import counted


class TiltedKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """K-means with exponential weight e^{t·distance²} on residents who are far away.

    With f_i the squared distance of resident i to the nearest facility, w_i their weight and W the sum of all weights,
    the cost of facility j is

        phi_j = (1/t) log[ (1/W) (sum over residents i of j: w_i e^{t f_i}  +  sum over all others: w_i e^0) ]:

    residents of other facilities count as if they lived at distance 0. ``criterion="cluster"`` looks for the lowest
    sum of the phi_j (the paper's tilted SSE), ``criterion="city"`` for the lowest city-wide cost
    (1/t) log[(1/W) sum_i w_i e^{t f_i}]. At t = 0 both are the mean squared distance, which k-means minimises; at
    infinity phi_j is the largest squared distance of facility j.

    Parameters
    ----------
    n_clusters : int
        Facilities to place.
    t : float
        The dial: 0 is plain k-means, infinity puts each facility in the centre of its cluster's minimum enclosing
        ball. Its unit is 1 / scale².
    solver : {"newton", "sgd"}
        The exact solver, or the paper's Algorithm 2 as printed.
    criterion : {"cluster", "city"}
        Which fixed point is chosen: the one with the lowest tilted SSE (the paper's objective) or with the lowest
        city-wide cost.
    init : "auto", "k-means++", array (n_clusters, d) or callable
        Where the descents start. "auto": several searches, each with starts of several kinds and moves from the best
        of them. "k-means++": ``n_init`` random seedings. An array: a single descent from those centres. A callable
        gets ``X, n_clusters, random_state`` and returns such an array; it is called ``n_init`` times.
    n_init : "auto" or int
        Number of independent searches ("auto": until several of them agree on the lowest cost), or of starts if
        ``init`` says how to draw them ("auto": 10).
    max_iter : int
        The most steps of one descent; for "sgd", its iterations.
    tol : float
        A descent ends when no facility has a longer step left than this share of its cluster's radius (with
        more than 65,536 rows: than its square root, where about ``tol`` of the cost is left to gain).
    fixed_centers : array (f, d), optional
        Existing facilities: they serve residents and never move. ``cluster_centers_`` lists them after the new ones.
    scale : "auto", float or None
        The length in which t is counted. None: the unit of X, with a ``TiltWarning`` if t is then far outside the range
        where it makes a difference. "auto": the spread of X (root mean squared distance per axis from the weighted
        mean), so that t is a pure number: about 0.01 is k-means, 10 nearly minimax. A number: that length.
    verbose : int
        1 prints the progress of the fit, and soon after its beginning about how long a search of a second or more will
        take: with many columns and a strong t it can be minutes.
    learning_rate, n_epochs, batch_size : float, int, int
        For "sgd" only.
    random_state : int, RandomState or None
        Makes the result repeatable.

    Attributes
    ----------
    cluster_centers_ : array (n_clusters + f, d)
    labels_ : array (n,)
        Nearest facility of each row.
    inertia_ : float
        Sum of weighted squared distances (as scikit-learn's ``KMeans``).
    tilted_sse_, city_cost_ : float
        The paper's objective and the city-wide cost of the result, at t divided by the square of ``scale_`` and in
        the units of X.
    scale_ : float
        The length in which t was counted.
    n_iter_ : int
        Assignments made by the winning descent.
    history_ : array (iterations, 2)
        City-wide cost and tilted SSE of each iterate of the winning descent.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0], [0, 1], [0, 2], [0, 9], [50, 0], [50, 1]])
    >>> sorted(TiltedKMeans(2, t=0, random_state=0).fit(X).cluster_centers_.round(1).tolist())
    [[0.0, 3.0], [50.0, 0.5]]
    >>> sorted(TiltedKMeans(2, t=float("inf"), random_state=0).fit(X).cluster_centers_.round(1).tolist())
    [[0.0, 4.5], [50.0, 0.5]]

    The same t for metres and kilometres:

    >>> TiltedKMeans(2, t=0.3, scale="auto", random_state=0).fit(1000 * X).cluster_centers_.round(-2).tolist() == (
    ...     TiltedKMeans(2, t=0.3, scale="auto", random_state=0).fit(X).cluster_centers_.round(1) * 1000).tolist()
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        t: float = 0.1,
        solver: str = "newton",
        criterion: str = "cluster",
        init: Init = "auto",
        n_init: str | int = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        fixed_centers: ArrayLike | None = None,
        scale: str | float | None = None,
        verbose: int = 0,
        learning_rate: float = 0.05,
        n_epochs: int = 5,
        batch_size: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.t = t
        self.solver = solver
        self.criterion = criterion
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.fixed_centers = fixed_centers
        self.scale = scale
        self.verbose = verbose
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | str | None = None) -> Self:  # noqa: ARG002
        """Place the facilities.

        Parameters
        ----------
        X : array (n, d), DataFrame, GeoDataFrame, Dask array or table, ParquetRows, or path of Parquet files
            Residents. A GeoDataFrame must have points in projected coordinates, not degrees. Data that are not in
            memory are read piece by piece (see the guide "Beyond one machine"); ``labels_`` is then lazy.
        y : ignored
        sample_weight : array (n,) or str, optional
            Population of each row, or the name of its column in a table or file; that column is no coordinate then.

        Returns
        -------
        self
        """
        self._check_settings()
        rows = rows_of(X, sample_weight)
        if rows is not None:
            from tkm_core.clustering.streamed.fitting import fit_streamed

            self._weight_column = sample_weight if isinstance(sample_weight, str) else None
            return fit_streamed(self, rows)
        X, sample_weight = named_weights(X, sample_weight)
        X = check_points(
            validate_data(self, plain_table(X), dtype=np.float64, order="C", ensure_all_finite=False)
        )
        weights = check_weights(sample_weight, len(X))
        k = check_clusters(self.n_clusters, len(X))
        fixed = check_fixed(self.fixed_centers, X.shape[1])
        random_state = check_random_state(self.random_state)
        framed = Framed.of(X, weights, k, fixed)
        search = Search(framed.problem, framed.fixed, self.criterion)
        tilt = self._tilt(framed, search)
        found = self._found(framed, search, tilt, random_state)
        found = framed.back(found, tilt)
        self.cluster_centers_: Floats = found.centers
        self.labels_: Labels = found.labels
        self.history_: Floats = found.history[:, :2]
        self.n_iter_: int = len(found.history)
        self.tilted_sse_ = found.tilted_sse
        self.city_cost_ = found.city_cost
        self.inertia_ = float(-self._score(X, weights))
        self._n_features_out = len(found.centers)  # required by ClassNamePrefixFeaturesOutMixin
        for step, (city, cluster) in enumerate(self.history_):
            self._say(f"step {step}: city-wide cost {city:.6g}, tilted SSE {cluster:.6g}")
        used = len(np.unique(found.labels[weights > 0]))
        if used < k and len(np.unique(X[weights > 0], axis=0)) < k:
            warnings.warn(
                f"Only {counted(used, 'distinct resident location')} for {k} facilities: the others serve nobody.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_settings(self) -> None:
        """Check every parameter that does not depend on the data."""
        check_t(self.t)
        check_choice(self.solver, "solver", ("newton", "sgd"))
        check_choice(self.criterion, "criterion", ("cluster", "city"))
        if isinstance(self.init, str):
            check_choice(self.init, "init", ("auto", "k-means++"))
        for name in ("max_iter", "n_epochs", "batch_size", "n_init"):
            if (name, getattr(self, name)) != ("n_init", "auto"):
                check_whole(getattr(self, name), name)
        check_number(self.tol, "tol", zero=True)
        check_number(self.learning_rate, "learning_rate")

    def _tilt(self, framed: Framed, search: Search) -> float:
        """The value of t in the solver's coordinates; sets ``scale_``, and warns of a useless t without a scale."""
        t, problem, unit = check_t(self.t), framed.problem, framed.frame.unit
        length = framed.length_of_t(self.scale)
        self.scale_ = length * unit
        tilt = framed.tilt(t, length)
        if self.scale is None:
            warn_of_units([t], float(np.sqrt(search.variance)) * unit, stacklevel=4)
        self._say(
            f"{len(problem.X):,} rows, {problem.n_free} facilities, t = {t:g}, t·spread² = {tilt * search.variance:.3g}"
        )
        return tilt

    def _found(self, framed: Framed, search: Search, tilt: float, random_state: RandomState) -> Descent:
        """The winning descent, in the solver's coordinates."""
        problem = framed.problem
        count = None if self.n_init == "auto" else int(self.n_init)
        rng = np.random.default_rng(random_state.randint(2**31 - 1))
        own = isinstance(self.init, str) and (self.init == "auto" or self.solver == "sgd")
        starts = None if own else given_starts(self.init, framed, count, random_state)
        if self.solver == "sgd":
            return descend_by_sgd(
                problem,
                tilt,
                rng,
                fixed=framed.fixed,
                start=None if starts is None else starts[0],
                learning_rate=self.learning_rate,
                n_epochs=self.n_epochs,
                batch_size=self.batch_size,
                n_iter=self.max_iter,
            )
        if starts is None:
            start = search.best(tilt, rng, count, self._say)
        else:
            start = starts[0] if len(starts) == 1 else search.lowest(starts, tilt)
        self._say("the search is done, now all rows")
        found = descend(problem, start, tilt, self.max_iter, self.tol)
        if found.n_iter == self.max_iter and found.left > np.sqrt(self.tol):
            warnings.warn(
                f"No fixed point within max_iter={self.max_iter} steps; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found

    def _say(self, text: str) -> None:
        """Print a message if verbose."""
        if self.verbose:
            print(f"TiltedKMeans: {text}")

    def _weights_of(self, X: Any) -> str | None:
        """The column of weights given to ``fit``, if X has it too, since it is not a coordinate."""
        column: str | None = getattr(self, "_weight_column", None)
        return column if isinstance(X, str | PathLike) or column in getattr(X, "columns", ()) else None

    def _checked(self, X: ArrayLike) -> Floats:
        """Check rows against the data of ``fit``."""
        check_is_fitted(self)
        table = plain_table(X)
        return check_points(
            validate_data(self, table, reset=False, dtype=np.float64, order="C", ensure_all_finite=False)
        )

    def predict(self, X: Any) -> Any:
        """Index of the nearest facility of each row; a lazy Dask array if X is not in memory."""
        rows = rows_of(X, self._weights_of(X))
        if rows is not None:
            from tkm_core.clustering.streamed.fitting import lazy_labels

            check_is_fitted(self)
            return lazy_labels(rows, self.cluster_centers_)
        return served(self._checked(X), self.cluster_centers_)[0]

    def transform(self, X: ArrayLike) -> Floats:
        """Distance of each row to each facility; the smallest is that of the facility from ``predict``."""
        check_is_fitted(self)
        points = validate_data(self, plain_table(X), reset=False, dtype=[np.float64, np.float32])
        low, high = (
            np.minimum(points.min(axis=0), self.cluster_centers_.min(axis=0)),
            np.maximum(points.max(axis=0), self.cluster_centers_.max(axis=0)),
        )
        unit = power_of_two(check_width(low, high, "X with the facilities"))
        rows = np.ascontiguousarray(points, dtype=np.float64)
        away = (cdist(rows / unit, self.cluster_centers_ / unit) * unit).astype(points.dtype)
        # far away all distances are nearly equal: rounding must not make another facility the nearest
        nearest = served(rows, self.cluster_centers_)[0]
        other = np.flatnonzero(away.argmin(axis=1) != nearest)
        away[other, nearest[other]] = np.nextafter(away[other].min(axis=1), away.dtype.type(0))
        return away

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | str | None = None) -> float:  # noqa: ARG002
        """Minus the weighted sum of squared distances, as scikit-learn's ``KMeans``.

        It ignores fairness: to choose t by a grid search, use ``tkm_core.scorer``.
        """
        X, sample_weight = named_weights(X, sample_weight)
        X = self._checked(X)
        return self._score(X, check_weights(sample_weight, len(X)))

    def _score(self, X: Floats, weights: Floats) -> float:
        """Minus the sum of squared distances, without overflow."""
        live = weights > 0
        if not live.all():
            X, weights = X[live], weights[live]
        _, f, unit = served(X, self.cluster_centers_)
        heaviest = power_of_two(float(weights.max()))
        total = in_units_of(np.dot(weights / heaviest, f), unit, 2, "The sum of squared distances")
        return -float(in_units_of(total, heaviest, 1, "The sum of squared distances"))
