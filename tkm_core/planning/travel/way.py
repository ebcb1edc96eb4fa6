"""The questions that the rest of the code asks about a way of travelling, with the answers of most ways."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from tkm_core.arrays import Floats, Ints
from tkm_core.progress import Progress
from tkm_core.residents import Residents

if TYPE_CHECKING:
    from tkm_core.streets import Streets

SAME_PLACE = 0.5  # metres: places nearer to each other than this are the same


class Travel:
    """A way to measure distances from residents to facilities.

    A new way is a subclass in a file of its own and a word in `registry.py`. It has to define `kind`, `unit`, `words`,
    `sentence`, `fingerprint` and `table`; every other question has an answer here.

    Attributes
    ----------
    kind : str
        Its name in plan files and addresses: "streets".
    needs_sites : bool
        Whether it measures only to candidate sites, which then have to be given.
    any_origin : bool
        Whether it can measure from any place, so that cells or a sample may stand for the residents.
    has_catchments : bool
        Whether `reached` can say which ground is within some minutes of a facility.
    """

    kind: ClassVar[str] = ""
    needs_sites: ClassVar[bool] = False
    any_origin: ClassVar[bool] = True
    has_catchments: ClassVar[bool] = False

    if TYPE_CHECKING:  # a property here would stand in the way of a dataclass field of that name

        @property
        def unit(self) -> str:
            """The unit: "m" or "min"."""

    @property
    def words(self) -> str:
        """How people travel, as in "12.3 minutes on foot along the streets"."""
        raise NotImplementedError

    @property
    def mode_words(self) -> str:
        """The same in short: "on foot"."""
        return self.words

    @property
    def sentence(self) -> str:
        """The same as a rule of the plan; "" for straight lines."""
        raise NotImplementedError

    @property
    def attribution(self) -> str:
        """The credit that must be shown with the distances; "" if none is required."""
        return ""

    @property
    def fingerprint(self) -> str:
        """A digest of everything the distances depend on."""
        raise NotImplementedError

    @property
    def settings(self) -> dict[str, str]:
        """The settings that name it in an address: {"by": "straight"}."""
        return {"by": self.kind}

    @property
    def where_words(self) -> str:
        """Where facilities stand if no sites are given, in short: "on junctions"; "" for anywhere."""
        return ""

    @property
    def places(self) -> Floats | None:
        """The only places where facilities may stand if no sites are given, shape (m, 2); None for anywhere."""
        return None

    @property
    def drawn_streets(self) -> "Streets | None":
        """The streets to draw below a map; None if there are none."""
        return None

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

        `columns` are the candidate sites' numbers of the places, which are their columns in the planner's table; -1 if
        a place is none of them.
        """
        raise NotImplementedError

    def check(self, residents: Residents) -> None:
        """Raise ValueError if the residents' trips cannot be measured this way."""

    def check_existing(self, residents: Residents, lonlat: Floats) -> None:
        """Raise ValueError if trips to one of the existing facilities cannot be measured this way."""

    def cut(self, residents: Residents) -> Residents:
        """The residents whose trips can be measured well; the report counts the others."""
        return residents

    def moved(self, residents: Residents, lonlat: Floats) -> Floats:  # noqa: ARG002 - where people live may matter
        """Places chosen by hand, moved to the nearest that can be measured."""
        return lonlat

    def taken(self, residents: Residents, lonlat: Floats, number: Ints, fixed: Floats) -> Ints:  # noqa: ARG002 - number
        """Indices of the places on which an existing facility stands; `number` are their candidate sites."""
        apart = cKDTree(residents.lonlat_to_xy(fixed)).query(residents.lonlat_to_xy(lonlat))[0]
        return np.flatnonzero(apart <= SAME_PLACE)

    def remarks(self, residents: Residents, sites: Floats | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """Remarks for planners on residents and candidate sites whose trips are measured less well."""
        return ()

    def candidates(self, residents: Residents, at_most: int) -> Ints:
        """Indices of some of its `places` near people, spread evenly."""
        raise NotImplementedError

    def neighbours(self, place: int) -> Ints:
        """Indices of the places next to one."""
        raise NotImplementedError

    def to_places(
        self, residents: Residents, which: Ints, dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Distances from every resident to some of its `places`, by their indices."""
        raise NotImplementedError

    def reached(
        self,
        residents: Residents,  # noqa: ARG002 - for ways that have catchments
        lonlat: Floats,  # noqa: ARG002
        minutes: Sequence[float],  # noqa: ARG002
    ) -> list[tuple[Any, Floats]]:
        """The catchment of places within each limit, and each resident's minutes; see `catchments`.

        Raises
        ------
        ValueError
            If this way of travelling has no catchments.
        """
        msg = "Catchments follow streets, and this plan is not measured along any: give streets."
        raise ValueError(msg)

    def route(self, home: npt.ArrayLike, site: npt.ArrayLike) -> Floats | None:  # noqa: ARG002
        """The line of a trip in degrees, shape (p, 2); None for a straight one."""
        return None


def shown(text: str, most: int = 80) -> str:
    """Untrusted text on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
