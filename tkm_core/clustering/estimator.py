"""TiltedKMeans: the estimator around the search, the descent and the paper's SGD."""

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from tkm_core.arrays import Floats, Labels
from tkm_core.clustering.checks import check_clusters, check_fixed, check_points, check_t, check_weights
from tkm_core.clustering.descent import descend
from tkm_core.clustering.frame import Framed, check_width, in_units_of, power_of_two, served
from tkm_core.clustering.search import Search
from tkm_core.clustering.sgd import descend_by_sgd


class TiltedKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """K-means with exponential weight e^{t·distance²} on residents who are far away.

    Parameters
    ----------
    n_clusters : int
        Facilities to place.
    t : float
        The dial, in the units of 1 / X²: 0 is plain k-means, infinity puts each facility in the centre of its
        cluster's minimum enclosing ball.
    solver : {"newton", "sgd"}
        The exact solver, or the paper's Algorithm 2 as printed.
    criterion : {"cluster", "city"}
        Which fixed point wins: the one with the lowest tilted SSE (the paper's objective) or the lowest
        city-wide cost.
    n_init : "auto" or int
        Number of independent searches ("auto": 4, and 8 where t is strong), each with starts of several kinds
        and moves from the best of them.
    max_iter : int
        Most steps of one descent; for "sgd", its iterations.
    tol : float
        A descent ends when no facility has a longer step left than this share of its cluster's radius (with
        more than 65,536 rows: than its square root, where about ``tol`` of the cost is left to gain).
    fixed_centers : array (f, d), optional
        Existing facilities: they serve and never move. ``cluster_centers_`` lists them after the new ones.
    learning_rate, n_epochs, batch_size : float, int, int
        Of "sgd" only.
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
        The paper's objective and the city-wide cost of the result.
    n_iter_ : int
        Assignments made by the descent that won.
    history_ : array (n_iter_, 2)
        City-wide cost and tilted SSE of each iterate of the descent that won.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0], [0, 1], [0, 2], [0, 9], [50, 0], [50, 1]])
    >>> sorted(TiltedKMeans(2, t=0, random_state=0).fit(X).cluster_centers_.round(1).tolist())
    [[0.0, 3.0], [50.0, 0.5]]
    >>> sorted(TiltedKMeans(2, t=float("inf"), random_state=0).fit(X).cluster_centers_.round(1).tolist())
    [[0.0, 4.5], [50.0, 0.5]]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's own form
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "t": [Interval(Real, 0, None, closed="both"), Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"newton", "sgd"})],
        "criterion": [StrOptions({"cluster", "city"})],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fixed_centers": ["array-like", None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        t: float = 0.1,
        solver: str = "newton",
        criterion: str = "cluster",
        n_init: str | int = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        fixed_centers: ArrayLike | None = None,
        learning_rate: float = 0.05,
        n_epochs: int = 5,
        batch_size: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.t = t
        self.solver = solver
        self.criterion = criterion
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.fixed_centers = fixed_centers
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Place the facilities.

        Parameters
        ----------
        X : array (n, d)
            Residents.
        y : ignored
        sample_weight : array (n,), optional
            Population of each row.
        """
        X = check_points(validate_data(self, X, dtype=np.float64, order="C", ensure_all_finite=False))
        weights = check_weights(sample_weight, len(X))
        t = check_t(self.t)
        k = check_clusters(self.n_clusters, len(X))
        fixed = check_fixed(self.fixed_centers, X.shape[1])
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        framed = Framed.of(X, weights, k, fixed)
        problem, tilt = framed.problem, framed.tilt(t)
        if self.solver == "sgd":
            found = descend_by_sgd(
                problem,
                tilt,
                rng,
                fixed=framed.fixed,
                learning_rate=self.learning_rate,
                n_epochs=self.n_epochs,
                batch_size=self.batch_size,
                n_iter=self.max_iter,
            )
        else:
            count = None if self.n_init == "auto" else int(self.n_init)
            start = Search(problem, framed.fixed, self.criterion).best(tilt, rng, count)
            found = descend(problem, start, tilt, self.max_iter, self.tol)
            if found.n_iter == self.max_iter and found.left > np.sqrt(self.tol):
                warnings.warn(
                    f"No fixed point within max_iter={self.max_iter} steps; raise max_iter or tol.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        found = framed.back(found, tilt)
        self.cluster_centers_: Floats = found.centers
        self.labels_: Labels = found.labels
        self.history_: Floats = found.history[:, :2]
        self.n_iter_: int = len(found.history)
        self.tilted_sse_ = found.tilted_sse
        self.city_cost_ = found.city_cost
        self.inertia_ = float(-self._score(X, weights))
        self._n_features_out = len(found.centers)
        used = len(np.unique(found.labels[weights > 0]))
        if used < k and len(np.unique(X[weights > 0], axis=0)) < k:
            warnings.warn(
                f"Only {used} distinct resident locations for {k} facilities: the others serve nobody.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: ArrayLike) -> Labels:
        """Index of the nearest facility of each row."""
        check_is_fitted(self)
        X = check_points(
            validate_data(self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite=False)
        )
        return served(X, self.cluster_centers_)[0]

    def transform(self, X: ArrayLike) -> Floats:
        """Distance of each row to each facility."""
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        low, high = (
            np.minimum(points.min(axis=0), self.cluster_centers_.min(axis=0)),
            np.maximum(points.max(axis=0), self.cluster_centers_.max(axis=0)),
        )
        unit = power_of_two(check_width(low, high, "X with the facilities"))
        away = cdist(points.astype(np.float64) / unit, self.cluster_centers_ / unit)
        return (away * unit).astype(points.dtype)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:  # noqa: ARG002
        """Minus the weighted sum of squared distances, as scikit-learn's ``KMeans``."""
        check_is_fitted(self)
        X = check_points(
            validate_data(self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite=False)
        )
        return self._score(X, check_weights(sample_weight, len(X)))

    def _score(self, X: Floats, weights: Floats) -> float:
        live = weights > 0
        if not live.all():
            X, weights = X[live], weights[live]
        _, f, unit = served(X, self.cluster_centers_)
        heaviest = power_of_two(float(weights.max()))
        total = in_units_of(np.dot(weights / heaviest, f), unit, 2, "The sum of squared distances")
        return -float(in_units_of(total, heaviest, 1, "The sum of squared distances"))
