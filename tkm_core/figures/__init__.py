"""Maps and charts (pydeck, Plotly, SVG) and the HTML report, drawn from plans and evaluations."""

from tkm_core.figures.charts import CONFIG, FAIRNESS, FONT, UTILITY, layout
from tkm_core.figures.comparison_report import comparison_report
from tkm_core.figures.convergence import ACROSS, COST_WORDS, convergence, convergence_words
from tkm_core.figures.crowd import COLOURS, POINTS_AT_MOST
from tkm_core.figures.distances_chart import distances
from tkm_core.figures.drawing import scenarios_svg
from tkm_core.figures.drawn import DrawnDeck, DrawnFigure
from tkm_core.figures.followed import followed
from tkm_core.figures.how_many_chart import COUNT_AXES, by_count, count_words, values
from tkm_core.figures.legend import distances_words, map_legend, map_words, tradeoff_words
from tkm_core.figures.live import (
    TOLD_AT_MOST,
    live_legend,
    live_plan,
    live_stories,
    live_streets,
    live_words,
)
from tkm_core.figures.live_catchments import live_catchments
from tkm_core.figures.live_place import live_areas, live_ground, live_place, live_residents, live_roads
from tkm_core.figures.live_service import live_service, street_ground
from tkm_core.figures.look import LAYERS, Look
from tkm_core.figures.maps import MapGround, colour_scheme, plan_map, residents_map
from tkm_core.figures.palette import LIGHT, palette, to_hex
from tkm_core.figures.plotting import plot
from tkm_core.figures.report import html_report
from tkm_core.figures.scenario_chart import scenario_words, scenarios_chart
from tkm_core.figures.small_maps import SmallGround, small_maps, small_plan_map
from tkm_core.figures.tradeoff_chart import tradeoff

__all__ = [
    "ACROSS",
    "COLOURS",
    "CONFIG",
    "COST_WORDS",
    "COUNT_AXES",
    "FAIRNESS",
    "FONT",
    "LAYERS",
    "LIGHT",
    "POINTS_AT_MOST",
    "TOLD_AT_MOST",
    "UTILITY",
    "DrawnDeck",
    "DrawnFigure",
    "Look",
    "MapGround",
    "SmallGround",
    "by_count",
    "colour_scheme",
    "comparison_report",
    "convergence",
    "convergence_words",
    "count_words",
    "distances",
    "distances_words",
    "followed",
    "html_report",
    "layout",
    "live_areas",
    "live_catchments",
    "live_ground",
    "live_legend",
    "live_place",
    "live_plan",
    "live_residents",
    "live_roads",
    "live_service",
    "live_stories",
    "live_streets",
    "live_words",
    "map_legend",
    "map_words",
    "palette",
    "plan_map",
    "plot",
    "residents_map",
    "scenario_words",
    "scenarios_chart",
    "scenarios_svg",
    "small_maps",
    "small_plan_map",
    "street_ground",
    "to_hex",
    "tradeoff",
    "tradeoff_words",
    "values",
]
