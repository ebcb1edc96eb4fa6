"""How figures are drawn: theme, unit, words, and what the map shows."""

from collections.abc import Collection
from dataclasses import dataclass, field

from tkm_core.figures.palette import Palette, palette

LAYERS = ("areas", "paths", "baseline", "farthest")


@dataclass(frozen=True)
class Look:
    """How a figure is drawn.

    Attributes
    ----------
    theme : {"light", "dark"}
    unit : {"km", "mi"}
    colour : {"facility", "distance", "change"}
        What the residents' colour tells.
    layers : collection of str
        Which of `LAYERS` are shown.
    streets : bool
        True takes the ground from the web (Carto), False is our own plain ground with a grid.
    people : str
        What residents are called ("homes").
    """

    theme: str = "light"
    unit: str = "km"
    colour: str = "facility"
    layers: Collection[str] = field(default=LAYERS)
    streets: bool = False
    people: str = "residents"

    @property
    def palette(self) -> Palette:
        """The colours of the theme."""
        return palette(self.theme)
