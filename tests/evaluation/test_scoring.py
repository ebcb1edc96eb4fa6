"""Scorers: measures as scikit-learn's model selection calls them."""

import pickle

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tkm_core import TiltedKMeans, evaluate, scorer
from tkm_core.measures import MEASURES

X = np.random.default_rng(5).standard_t(3, size=(400, 2))
MODEL = TiltedKMeans(4, t=0.3, scale="auto", random_state=0).fit(X)


@pytest.mark.parametrize("key", [key for key in MEASURES if key != "fairness_ratio"])
def test_every_measure_scores_higher_where_it_is_better(key):
    standard = 1.0 if key == "share_within" else None
    found = evaluate(X, MODEL.cluster_centers_, t=0.5, standard=standard)
    sign = 1 if MEASURES[key].more_is_better else -1
    assert scorer(key, t=0.5, standard=standard)(MODEL, X) == sign * getattr(found, key)


def test_a_grid_search_over_t_sees_fairness():
    grid = {"t": [0.0, 0.1, 1.0, 10.0]}
    everyone = [(np.arange(400), np.arange(400))]

    def chosen(scoring):
        return GridSearchCV(MODEL, grid, scoring=scoring, cv=everyone).fit(X).best_params_["t"]

    assert chosen(None) == 0.0
    assert chosen(scorer("sse")) == 0.0
    assert chosen(scorer("largest_distance")) >= 1.0


def test_pipelines_and_other_estimators():
    pipe = make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)).fit(X)
    rows = StandardScaler().fit_transform(X)
    away = np.linalg.norm(rows[:, None] - pipe[-1].cluster_centers_, axis=2).min(axis=1)
    assert scorer("largest_distance")(pipe, X) == pytest.approx(-away.max())
    assert scorer("mean_distance")(make_pipeline(pipe[-1]), rows) == pytest.approx(-away.mean())
    assert len(cross_val_score(pipe, X, scoring=scorer("gini"), cv=3)) == 3


def test_scorers_travel_to_other_processes():
    again = pickle.loads(pickle.dumps(scorer("tilted_sse", t=0.5)))
    assert again(MODEL, X) == scorer("tilted_sse", t=0.5)(MODEL, X)
    assert repr(again) == "MeasureScorer(measure='tilted_sse', t=0.5, standard=None)"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"measure": "beauty"}, "no measure 'beauty'.*The measures are: largest_distance, mean_distance"),
        ({"measure": "fairness_ratio"}, "no measure"),
        ({"measure": "share_within"}, "standard=500"),
        ({"measure": "gini", "standard": 5.0}, "only to that"),
    ],
)
def test_impossible_scorers_get_a_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        scorer(**arguments)
