"""Finished figures as the data sent to the browser, so that they can be shown again without being redrawn.

Neither class calls the constructor of its base class: those check, copy and look for Jupyter, which takes longer than
the drawing. Tests compare what is sent with Plotly's and pydeck's own output.
"""

from collections.abc import Sequence
from typing import Any

import orjson
import plotly.graph_objects as go
import pydeck as pdk


class DrawnDeck(pdk.Deck):
    """A map as finished JSON, without its layers.

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
        self._tooltip = deck._tooltip
        self.text: str = deck.to_json()
        self.size = len(self.text)

    def to_json(self) -> str:
        """The map as JSON."""
        return self.text


class DrawnFigure(go.Figure):
    """A chart as the plain dictionaries that the browser reads.

    Parameters
    ----------
    data : sequence of dict
        Plotly traces made of plain numbers and text.
    layout : dict

    Examples
    --------
    >>> chart = DrawnFigure([{"type": "scatter", "x": [1, 2], "y": [3, 4]}], {"height": 200})
    >>> go.Figure(chart.to_dict()).data[0].y
    (3, 4)
    """

    def __init__(self, data: Sequence[dict[str, Any]], layout: dict[str, Any]) -> None:
        # Plotly's __setattr__ refuses attributes that are not its own
        object.__setattr__(self, "_content", {"data": list(data), "layout": layout})

    @property
    def size(self) -> int:
        """Bytes that are sent."""
        return len(orjson.dumps(self._content))

    def to_dict(self) -> dict[str, Any]:
        """The chart as plain dictionaries and lists; not to be changed."""
        content: dict[str, Any] = self._content
        return content
