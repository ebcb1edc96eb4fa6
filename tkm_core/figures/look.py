"""Options for drawing figures: theme, unit, words, and what the map shows."""

from collections.abc import Collection
from dataclasses import dataclass, field

from tkm_core.figures.palette import Palette, palette
from tkm_core.units import LENGTHS
from tkm_core.wording import FACILITY

LAYERS = ("areas", "paths", "baseline", "farthest")


@dataclass(frozen=True)
class Look:
    """How a figure is drawn.

    Attributes
    ----------
    theme : {"light", "dark"}
    unit : {"km", "mi"}
        Unit of distances to a facility.
    colour : {"facility", "distance", "change"}
        What the residents' colour shows.
    layers : collection of str
        Which of `LAYERS` are shown.
    streets : bool
        True for a street map from the web (Carto), False for a plain background with a grid.
    people : str
        What residents are called ("homes").
    facility : str
        What a facility is called in the report ("library").
    lengths : {"", "km", "mi"}
        Unit of the scale bar and the grid if `unit` is not a length; see `length_unit`.

    Examples
    --------
    >>> Look(unit="mi").length_unit, Look(unit="min", lengths="mi").length_unit, Look(unit="min").length_unit
    ('mi', 'mi', 'km')
    """

    theme: str = "light"
    unit: str = "km"
    colour: str = "facility"
    layers: Collection[str] = field(default=LAYERS)
    streets: bool = False
    people: str = "residents"
    facility: str = FACILITY
    lengths: str = ""

    @property
    def length_unit(self) -> str:
        """The unit of the scale bar and the grid: always a length."""
        return next((unit for unit in (self.unit, self.lengths) if unit in LENGTHS), "km")

    @property
    def palette(self) -> Palette:
        """The colours of the theme."""
        return palette(self.theme)
