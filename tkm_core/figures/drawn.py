"""Figures that are finished: only what is sent is kept, so that many can be shown the same without drawing it again."""

from typing import Any

import orjson
import plotly.graph_objects as go
import plotly.io as pio
import pydeck as pdk


class DrawnDeck(pdk.Deck):
    """The text of a map in place of its layers.

    Parameters
    ----------
    deck : pydeck.Deck

    Examples
    --------
    >>> deck = pdk.Deck(layers=[pdk.Layer("ScatterplotLayer", [{"p": [1, 2]}], id="homes")], map_style="")
    >>> DrawnDeck(deck).to_json() == deck.to_json()
    True
    """

    def __init__(self, deck: pdk.Deck) -> None:
        super().__init__(layers=[], tooltip=deck._tooltip)
        self.text: str = deck.to_json()
        self.size = len(self.text)

    def to_json(self) -> str:
        """The map as JSON."""
        return self.text


class DrawnFigure(go.Figure):
    """The plain content of a chart, checked once, in place of its many objects.

    Parameters
    ----------
    figure : plotly Figure

    Examples
    --------
    >>> chart = go.Figure(go.Scatter(x=[1, 2], y=[3, 4]))
    >>> DrawnFigure(chart).to_dict() == orjson.loads(pio.to_json(chart))
    True
    """

    def __init__(self, figure: go.Figure) -> None:
        super().__init__()
        text = pio.to_json(figure, validate=False)
        self._content: dict[str, Any] = orjson.loads(text)
        self._size = len(text)

    @property
    def size(self) -> int:
        """Bytes that are sent."""
        return self._size

    def to_dict(self) -> dict[str, Any]:
        """The chart as plain dictionaries and lists; not to be changed."""
        return self._content
