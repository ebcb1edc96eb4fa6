"""How distance is measured: in a straight line, along streets, or by the planner's own table."""

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.progress import Progress
from tkm_core.residents import Residents, keep_rows
from tkm_core.sites import TravelTable
from tkm_core.units import KINDS
from tkm_core.wording import counted

if TYPE_CHECKING:
    from tkm_core.streets import Joined, Streets

MODES = {"walk": "on foot", "bicycle": "by bicycle", "car": "by car"}
MEASURES = {"minutes": "min", "metres": "m"}
MOST_FAR = 0.2  # share of the people who may live far from any street
ELSEWHERE = 0.2  # degrees between the residents and the streets beyond which they belong to different cities
DIRECTIONS = {"there": "from home to the facility", "back": "from the facility to the home"}


class UncoveredError(ValueError):
    """The streets cover too little of the city."""


class Travel(Protocol):
    """A way to measure distances from residents to facilities."""

    @property
    def unit(self) -> str:
        """The unit: "m" or "min"."""

    @property
    def words(self) -> str:
        """How people travel, as in "12.3 minutes on foot along the streets"."""

    @property
    def sentence(self) -> str:
        """The same as a rule of the plan; "" for straight lines."""

    @property
    def attribution(self) -> str:
        """The credit that must be shown with the distances; "" if none is required."""

    @property
    def fingerprint(self) -> str:
        """A digest of everything the distances depend on."""

    def table(
        self,
        residents: Residents,
        lonlat: Floats,
        *,
        columns: Ints | None = None,
        dtype: npt.DTypeLike = np.float64,
        progress: Progress | None = None,
    ) -> npt.NDArray[Any]:
        """Distances from every resident to every place, shape (n, m); infinite if unreachable.

        `columns` are the columns of the places in the planner's table, if it has them.
        """


@dataclass(frozen=True)
class StraightLines:
    """Straight lines on the residents' map, in metres.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.40, 43.60], [1.41, 43.60]])
    >>> StraightLines().table(town, town.lonlat).round().tolist()
    [[0.0, 807.0], [807.0, 0.0]]
    """

    unit: ClassVar[str] = "m"
    words: ClassVar[str] = "in a straight line"
    sentence: ClassVar[str] = ""
    attribution: ClassVar[str] = ""
    fingerprint: ClassVar[str] = "straight"

    def table(
        self,
        residents: Residents,
        lonlat: Floats,
        *,
        columns: Ints | None = None,  # noqa: ARG002 - places are all it takes
        dtype: npt.DTypeLike = np.float64,
        progress: Progress | None = None,  # noqa: ARG002 - too quick to report
    ) -> npt.NDArray[Any]:
        """Metres from every resident to every place."""
        return cdist(residents.xy, residents.lonlat_to_xy(lonlat).reshape(-1, 2)).astype(dtype, copy=False)


STRAIGHT = StraightLines()


@dataclass(frozen=True, eq=False)
class AlongStreets:
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
        return MODES.get(self.streets.mode, self.streets.mode)

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


@dataclass(frozen=True, eq=False)
class ByTable:
    """By the planner's own table.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        From each resident to each place, in metres or minutes; infinite if unreachable.
    unit : {"m", "min"}
    lonlat : ndarray of shape (m, 2)
        The places in degrees: candidate sites, then existing facilities.
    name : str
        The file's name, not to be trusted as markup.
    missing : int
        Number of pairs that the table lacks.

    Examples
    --------
    >>> ByTable(np.array([[3.0, 9.0]]), "min", np.array([[1.4, 43.6], [1.5, 43.7]])).sentence
    'Travel times are taken from your table.'
    """

    values: Floats
    unit: str
    lonlat: Floats
    name: str = ""
    missing: int = 0

    def __post_init__(self) -> None:
        if self.unit not in KINDS:
            msg = f"A travel table is in m or min, not in {self.unit!r}; read_travel brings other units into these."
            raise ValueError(msg)
        if self.values.shape[1] != len(self.lonlat):
            msg = (
                f"The travel table has {self.values.shape[1]} columns, but there are {len(self.lonlat)} places: it "
                "needs one column for each candidate site, then one for each existing facility."
            )
            raise ValueError(msg)

    @classmethod
    def of(cls, table: "TravelTable | ByTable", lonlat: Floats, name: str = "") -> "ByTable":
        """Make it from the result of `read_travel` and the places its columns stand for."""
        if isinstance(table, ByTable):
            return table
        return cls(np.asarray(table.values), table.unit, lonlat, name, table.missing)

    @property
    def words(self) -> str:
        """How people travel: "by your table"."""
        return "by your table"

    @property
    def attribution(self) -> str:
        """No credit: it is the planner's own table."""
        return ""

    @property
    def sentence(self) -> str:
        """The rule: "Travel times are taken from your table “roads.csv”."."""
        named = f" “{shown(self.name)}”" if self.name else ""
        gaps = f"; it has no value for {counted(self.missing, 'pair')}" if self.missing else ""
        return f"{KINDS[self.unit].many.capitalize()} are taken from your table{named}{gaps}."

    @cached_property
    def fingerprint(self) -> str:
        """A digest of values, places and unit."""
        digest = blake2b(self.unit.encode(), digest_size=16)
        for part in (self.values, self.lonlat):
            digest.update(np.ascontiguousarray(part, dtype=np.float64).data)
        return digest.hexdigest()

    def columns(self, residents: Residents, lonlat: Floats) -> tuple[Ints, Floats]:
        """The table's nearest places, and their straight-line distances in metres."""
        apart, column = cKDTree(residents.lonlat_to_xy(self.lonlat)).query(residents.lonlat_to_xy(lonlat))
        return np.atleast_1d(column).astype(np.int64), np.atleast_1d(apart)

    def table(
        self,
        residents: Residents,
        lonlat: Floats,
        *,
        columns: Ints | None = None,
        dtype: npt.DTypeLike = np.float64,
        progress: Progress | None = None,  # noqa: ARG002 - too quick to report
    ) -> npt.NDArray[Any]:
        """The values for some places, from their own columns or those of the nearest places in the table."""
        if len(self.values) != len(residents):
            msg = (
                f"The travel table has {len(self.values):,} rows, but there are {len(residents):,} residents."
            )
            raise ValueError(msg)
        which = self.columns(residents, np.asarray(lonlat).reshape(-1, 2))[0] if columns is None else columns
        return self.values[:, which].astype(dtype, copy=False)


def shown(text: str, most: int = 80) -> str:
    """Untrusted text on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
