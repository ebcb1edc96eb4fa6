"""Scorers for scikit-learn's model selection, so that a grid search can optimise fairness."""

from dataclasses import dataclass, field
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from tkm_core.evaluation.evaluation import evaluate
from tkm_core.measures import MEASURES


@dataclass(frozen=True)
class MeasureScorer:
    """A measure of `evaluate` as a scorer for scikit-learn. Made by `scorer`.

    Attributes
    ----------
    measure : str
        A key of `tkm_core.measures.MEASURES`.
    t : float
        The tilt of "tilted_sse".
    standard : float or None
        The service standard of "share_within".
    """

    measure: str
    t: float = 0.0
    standard: float | None = None
    _requests: dict[str, bool | str | None] = field(default_factory=dict, repr=False, compare=False)

    def __call__(
        self,
        estimator: Any,
        X: ArrayLike,
        y: Any = None,  # noqa: ARG002 - part of the signature of every scorer
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """The measure of a fitted clustering on X; negative if less is better."""
        if isinstance(estimator, Pipeline):
            X, estimator = estimator[:-1].transform(X) if len(estimator) > 1 else X, estimator[-1]
        centers = estimator.cluster_centers_
        found = evaluate(X, centers, t=self.t, sample_weight=sample_weight, standard=self.standard)
        value = float(getattr(found, self.measure))
        return value if MEASURES[self.measure].more_is_better else -value

    def set_score_request(self, *, sample_weight: bool | str | None = True) -> Self:
        """Request weights when metadata routing is on, as with scikit-learn's own scorers."""
        self._requests["sample_weight"] = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """What `set_score_request` asked for."""
        routing = MetadataRequest(owner=self)
        routing.score.add_request(param="sample_weight", alias=self._requests.get("sample_weight"))
        return routing


def scorer(measure: str, *, t: float = 0.0, standard: float | None = None) -> MeasureScorer:
    """A scorer for ``GridSearchCV`` and the like, from any measure of `evaluate`.

    ``TiltedKMeans.score`` is minus the sum of squared distances, which is best at t = 0. With this scorer a search can
    look for the shortest longest trip instead, or for both.

    Parameters
    ----------
    measure : str
        "mean_distance", "largest_distance", "p95_distance", "gini", "worst_decile_mean", "tilted_sse", ...: a key of
        `tkm_core.measures.MEASURES`. If less is better, the score is its negative.
    t : float
        For "tilted_sse": the tilt at which all candidates are judged, whatever t they were fitted with.
    standard : float, optional
        For "share_within": the service standard, a distance.

    Returns
    -------
    MeasureScorer
        Works for every estimator with ``cluster_centers_``, also at the end of a pipeline (distances are then between
        the transformed rows).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from tkm_core import TiltedKMeans
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = TiltedKMeans(4, scale="auto", random_state=0)
    >>> scoring = {"farthest": scorer("largest_distance"), "average": scorer("mean_distance")}
    >>> search = GridSearchCV(model, {"t": [0.0, 1.0]}, scoring=scoring, refit="farthest", cv=3).fit(X)
    >>> sorted(name for name in search.cv_results_ if name.startswith("mean_test"))
    ['mean_test_average', 'mean_test_farthest']
    """
    if measure not in MEASURES or measure == "fairness_ratio":  # the ratio needs a radius for each resident
        known = ", ".join(key for key in MEASURES if key != "fairness_ratio")
        msg = f"There is no measure {measure!r} to score by. The measures are: {known}."
        raise ValueError(msg)
    if (measure == "share_within") != (standard is not None):
        msg = "A service standard belongs to the measure 'share_within', and only to that: standard=500, say."
        raise ValueError(msg)
    return MeasureScorer(measure, float(t), standard)
