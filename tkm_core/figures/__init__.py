"""Maps and charts: plain functions from plans and evaluations to figures."""

from tkm_core.figures.charts import CONFIG, FAIRNESS, UTILITY
from tkm_core.figures.crowd import COLOURS, POINTS_AT_MOST
from tkm_core.figures.distances_chart import distances
from tkm_core.figures.legend import distances_words, map_legend, map_words, tradeoff_words
from tkm_core.figures.look import LAYERS, Look
from tkm_core.figures.maps import MapGround, colour_scheme, plan_map, residents_map
from tkm_core.figures.tradeoff_chart import tradeoff

__all__ = [
    "COLOURS",
    "CONFIG",
    "FAIRNESS",
    "LAYERS",
    "POINTS_AT_MOST",
    "UTILITY",
    "Look",
    "MapGround",
    "colour_scheme",
    "distances",
    "distances_words",
    "map_legend",
    "map_words",
    "plan_map",
    "residents_map",
    "tradeoff",
    "tradeoff_words",
]
