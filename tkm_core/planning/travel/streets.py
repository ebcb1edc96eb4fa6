"""Along streets, in minutes or metres."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.planning.travel.way import Travel, shown
from tkm_core.progress import Progress
from tkm_core.residents import Residents, keep_rows
from tkm_core.units import KINDS
from tkm_core.wording import counted, listed

if TYPE_CHECKING:
    from tkm_core.streets import Catchment, Joined, Streets

MEASURES = {"minutes": "min", "metres": "m"}
MOST_FAR = 0.2  # share of the people who may live far from any street
ELSEWHERE = 0.2  # degrees between the residents and the streets beyond which they belong to different cities
DIRECTIONS = {"there": "from home to the facility", "back": "from the facility to the home"}
NAMED = 3  # places named in a remark


class UncoveredError(ValueError):
    """The streets cover too little of the city."""


@dataclass(frozen=True, eq=False)
class AlongStreets(Travel):
    """Along streets, in minutes or metres.

    Attributes
    ----------
    streets : Streets
    measure : {"minutes", "metres"}
    direction : {"there", "back"}
        From home to the facility, or from the facility to the home, for services that drive out.

    Examples
    --------
    >>> from tkm_core.streets import sample_streets
    >>> AlongStreets(sample_streets("porto-alegre"), direction="back").unit
    'min'
    """

    kind: ClassVar[str] = "streets"
    has_catchments: ClassVar[bool] = True
    where_words: ClassVar[str] = "on junctions"
    streets: "Streets"
    measure: str = "minutes"
    direction: str = "there"
    _joined: dict[str, "Joined"] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.measure, MEASURES, "measure"),
            (self.direction, DIRECTIONS, "direction"),
        ):
            if value not in known:
                msg = f"The {what} of travel along streets is {' or '.join(known)}, not {value!r}."
                raise ValueError(msg)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_joined": {}}

    @property
    def unit(self) -> str:
        """The unit: "min" or "m"."""
        return MEASURES[self.measure]

    @property
    def mode_words(self) -> str:
        """How people travel: "on foot"."""
        return self.streets.mode_words

    @property
    def words(self) -> str:
        """How people travel: "on foot along the streets"."""
        return f"{self.mode_words} along the streets"

    @property
    def sentence(self) -> str:
        """The rule: "Travel times are on foot along the streets of “town.osm.pbf”, from home to the facility."."""
        what = KINDS[self.unit].many.capitalize()
        return f"{what} are {self.words} of “{shown(self.streets.name)}”, {DIRECTIONS[self.direction]}."

    @property
    def attribution(self) -> str:
        """The credit for the streets: "© OpenStreetMap contributors"."""
        return self.streets.attribution

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the network, the mode, the measure and the direction."""
        network = self.streets.network
        digest = blake2b(f"{self.streets.mode} {self.measure} {self.direction}".encode(), digest_size=16)
        for part in (
            network.lonlat,
            network.start,
            network.end,
            network.metres,
            network.forward,
            network.backward,
        ):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def check(self, residents: Residents) -> None:
        """Check that the streets are those of the residents' city and cover it.

        Raises
        ------
        ValueError
            If the streets are elsewhere.
        UncoveredError
            If more than a fifth of the people live more than 300 m from any street: their trips would be mostly
            straight lines, which nobody can walk.
        """
        from tkm_core.streets import FAR

        near = self.near(residents)
        people, total = float(residents.weights[near].sum()), float(residents.weights.sum())
        if people < (1 - MOST_FAR) * total:
            msg = (
                f"The streets of “{shown(self.streets.name)}” cover too little of the city: only {people:,.0f} of "
                f"{total:,.0f} people ({100 * people / total:.0f} %) live within {FAR:.0f} m of a street, and "
                f"{total - people:,.0f} do not. Take a road file of the whole city, or plan only for those near its "
                "streets."
            )
            raise UncoveredError(msg)

    def near(self, residents: Residents) -> Bools:
        """Which residents live within 300 m of a street.

        Raises
        ------
        ValueError
            If the streets are elsewhere.
        """
        near = np.ones(len(residents), np.bool_)
        near[self.joined(residents).far()] = False
        return near

    def cut(self, residents: Residents) -> Residents:
        """The residents within 300 m of a street; the report counts the others."""
        return keep_rows(residents, self.near(residents), "too far from any street")

    def _refuse_elsewhere(self, residents: Residents) -> None:
        """Raise ValueError if the streets are those of another city."""
        streets = self.streets.lonlat
        middle = np.median(residents.lonlat, axis=0)
        beyond = np.maximum(streets.min(axis=0) - middle, middle - streets.max(axis=0)).max()
        if beyond > ELSEWHERE:
            east, north = middle.tolist()
            msg = (
                f"The streets of “{shown(self.streets.name)}” are elsewhere: most residents live around longitude "
                f"{east:.2f} and latitude {north:.2f}, about {beyond * 111:,.0f} km from them. Take a road file of the "
                "same city."
            )
            raise ValueError(msg)

    def joined(self, residents: Residents) -> "Joined":
        """The points where residents join the streets."""
        found = self._joined.get(residents.fingerprint)
        if found is None:
            self._refuse_elsewhere(residents)
            found = self.streets.join(residents.lonlat)
            self._joined.clear()  # one city at a time
            self._joined[residents.fingerprint] = found
        return found

    def table(
        self,
        residents: Residents,
        lonlat: "Floats | Joined",
        *,
        columns: Ints | None = None,  # noqa: ARG002 - places are all it takes
        dtype: npt.DTypeLike = np.float64,
        progress: Progress | None = None,
    ) -> npt.NDArray[Any]:
        """Minutes or metres between every resident and every place."""
        ask = self.streets.travel_times if self.measure == "minutes" else self.streets.distances
        return ask(self.joined(residents), lonlat, direction=self.direction, dtype=dtype, progress=progress)

    @property
    def settings(self) -> dict[str, str]:
        """The settings of an address: mode, measure and direction."""
        return {"by": self.streets.mode, "measure": self.measure, "direction": self.direction}

    @property
    def places(self) -> Floats:
        """The junctions."""
        return self.streets.lonlat

    @property
    def drawn_streets(self) -> "Streets":
        """The streets themselves."""
        return self.streets

    def remarks(self, residents: Residents, sites: Floats | None = None) -> tuple[str, ...]:
        """Remarks on sites and on people far from any street."""
        return self._far_sites(sites) + self._far_people(residents)

    def _far_sites(self, sites: Floats | None) -> tuple[str, ...]:
        if sites is None:
            return ()
        far = self.streets.far(sites)
        if not len(far):
            return ()
        are = "is" if len(far) == 1 else "are"
        return (f"{counted(len(far), 'candidate site')} {are} more than 300 m from any street.",)

    def _far_people(self, residents: Residents) -> tuple[str, ...]:
        far = self.joined(residents).far()
        far = far[residents.weights[far] > 0]
        if not len(far):
            return ()
        number = round(float(residents.weights[far].sum()))
        people = f"{counted(number, 'person', 'people')} at {counted(len(far), 'place')}"
        live = "lives" if number == 1 else "live"
        named = ""
        if residents.ids is not None:
            names = [" ".join(str(residents.ids[row]).split())[:60] for row in far[:NAMED].tolist()]
            named = f" ({listed([*names, f'{len(far) - NAMED:,} more'] if len(far) > NAMED else names)})"
        begins = "their trip begins with a straight line to the nearest one"
        return (f"{people}{named} {live} more than 300 m from any street; {begins}.",)

    def candidates(self, residents: Residents, at_most: int) -> Ints:
        """Junctions near people, thinned out."""
        return self.streets.candidates(self.joined(residents), residents.weights, at_most=at_most)

    def neighbours(self, place: int) -> Ints:
        """The next junctions."""
        return self.streets.neighbours([place])

    def to_places(
        self, residents: Residents, which: Ints, dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Minutes or metres to some junctions."""
        return self.table(residents, self.streets.at_junctions(which), dtype=dtype)

    def reached(
        self, residents: Residents, lonlat: Floats, minutes: Sequence[float]
    ) -> list[tuple["Catchment", Floats]]:
        """The catchment of places within each limit, and each resident's minutes to the nearest of them."""
        joined = self.streets.join(lonlat)
        table = self.streets.travel_times(self.joined(residents), joined, direction=self.direction)
        # where people can come from in time, or where the facility's staff can get to
        outwards = "back" if self.direction == "there" else "there"
        nearest = table.min(axis=1)
        return [(one, nearest) for one in self.streets.catchments(joined, minutes, direction=outwards)]

    def route(self, home: npt.ArrayLike, site: npt.ArrayLike) -> Floats:
        """The way along the streets between a home and a facility."""
        return self.streets.route(home, site, direction=self.direction).lonlat
