"""Who is served by which facility, and how far it is, under any rules."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from tkm_core.arrays import Bools, Floats, Ints
from tkm_core.clustering import served
from tkm_core.evaluation import Evaluation, Trips, evaluate, evaluate_distances
from tkm_core.planning.rules import FREE, Rules
from tkm_core.planning.travel import SAME_PLACE
from tkm_core.residents import Residents
from tkm_core.sites import Capacity, UnreachableError, share_out
from tkm_core.wording import counted, listed

NAMED = 5  # residents named in a message
ROUNDING = 1e-12  # share of a place's people that is rounding, not people
NOBODY: Ints = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Known:
    """Places with known distances from all residents: those that a plan uses.

    Attributes
    ----------
    lonlat : ndarray of shape (p, 2)
    table : ndarray of shape (n, p) or None
        Distances from every resident to every place; None for straight lines.
    number : ndarray of shape (p,)
        Index of the candidate site at each place; -1 if there is none.
    own : ndarray of shape (p,)
        The capacity of each place; infinite if it has none of its own.
    """

    lonlat: Floats
    table: npt.NDArray[np.floating[Any]] | None
    number: Ints
    own: Floats


@dataclass(frozen=True, eq=False)
class Serving:
    """How far residents are from facilities and who serves whom, under the rules of a plan.

    Attributes
    ----------
    residents : Residents
    rules : Rules
    scale : float
        Metres or minutes in whose units t is a pure number.
    known : Known or None
        Places whose distances need not be measured again.
    """

    residents: Residents
    rules: Rules = FREE
    scale: float = 0.0
    known: Known | None = None
    _ways: dict[bytes, Floats] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ways": {}}

    @property
    def plain(self) -> bool:
        """Whether everyone goes to the nearest facility in a straight line."""
        return self.rules.straight and not self.rules.limited

    def evaluate(
        self,
        xy: Floats,
        t: float = 0.0,
        standard: float | None = None,
        *,
        places: Ints | None = None,
        neighbourhood: Floats | None = None,
        limited: bool | None = True,
        room: Capacity | None = None,
    ) -> Evaluation:
        """Every measure of facilities, in metres or minutes.

        Parameters
        ----------
        xy : ndarray of shape (f, 2)
            Facilities in metres on the residents' map.
        t : float
            The dial, a pure number.
        standard : float, optional
            A service standard, in metres or minutes.
        places : int ndarray of shape (f,), optional
            Their indices among the known places.
        neighbourhood : ndarray of shape (n,), optional
            As in `evaluate`; only for straight lines.
        limited : bool or None
            Whether facilities have only the room that the rules give them. False: everyone goes to the nearest. None:
            they have if that is enough for everyone (see `fits`).
        room : Capacity, optional
            The room of each facility, if it is not that of the rules.

        Raises
        ------
        UnreachableError
            If somebody cannot reach any of the facilities.
        """
        home = self.residents
        if self.plain and room is None:
            return evaluate(
                home.xy, xy, t=t / home.scale**2, sample_weight=home.weights, standard=standard,
                neighbourhood=neighbourhood,
            )  # fmt: skip
        apart = self.distances(xy, places)
        labels, far = self._nearest(apart)
        options: dict[str, Any] = {"t": t / self.scale**2, "n_facilities": len(xy), "standard": standard}
        shared = None
        room = self.room(xy, places) if room is None else room
        if room is not None and limited is not False:
            shared = self._shared(apart, room, t, required=limited is True)
        if shared is None:
            return evaluate_distances(far, labels, sample_weight=home.weights, **options)
        split = _trips(shared, apart, labels, far)
        found = evaluate_distances(split.distance, split.facility, sample_weight=split.people, **options)
        mean = np.divide(
            np.bincount(split.resident, split.people * split.distance, len(home)), home.weights,
            out=far.copy(), where=home.weights > 0,
        )  # fmt: skip
        most = np.where(home.weights > 0, shared.argmax(axis=1), labels)
        return replace(found, labels=most.astype(np.int32), distance=mean, split=split)

    def trips(self, xy: Floats, t: float = 0.0, *, room: Capacity | None = None, **how: Any) -> Trips:
        """Who goes where, as `evaluate` says it; of straight lines without measuring anything else.

        Parameters
        ----------
        xy, t, room, **how
            As in `evaluate`.
        """
        people = self.residents.weights
        if not self.plain or room is not None:
            return self.evaluate(xy, t, room=room, **how).trips(people)
        labels, f, unit = served(self.residents.xy, xy, people > 0)
        return Trips(np.arange(len(people)), labels.astype(np.int64), people, np.sqrt(f) * unit)

    def fits(self, xy: Floats, t: float = 0.0, room: Capacity | None = None) -> bool:
        """Whether these facilities have room for everyone."""
        room = self.room(xy) if room is None else room
        return room is None or self._shared(self.distances(xy), room, t, required=False) is not None

    def nearest(self, xy: Floats, rows: slice) -> Floats:
        """Distance to the nearest facility for some of the residents."""
        if self.rules.straight:
            return np.asarray(cKDTree(xy).query(self.residents.xy[rows])[0])
        return self._nearest(self.distances(xy))[1][rows]

    def distances(self, xy: Floats, places: Ints | None = None) -> Floats:
        """From every resident to every facility, shape (n, f)."""
        if self.known is not None and self.known.table is not None and places is not None:
            return np.asarray(self.known.table[:, places], dtype=np.float64)
        home, travel = self.residents, self.rules.travel
        lonlat = home.to_lonlat(xy)
        if self.rules.straight:
            return travel.table(home, lonlat)
        out = np.empty((len(home), len(xy)))
        where = self._find(xy)
        if self.known is not None and self.known.table is not None:
            out[:, where >= 0] = self.known.table[:, where[where >= 0]]
        for j in np.flatnonzero(where < 0):
            key = xy[j].round(2).tobytes()
            if key not in self._ways:
                while len(self._ways) * len(home) > 5_000_000:
                    self._ways.pop(next(iter(self._ways)), None)
                self._ways[key] = travel.table(home, lonlat[j : j + 1])[:, 0]
            out[:, j] = self._ways[key]
        return out

    def reaches_all(self, xy: Floats) -> bool:
        """Whether everyone can reach one of these facilities."""
        if self.rules.straight or not len(xy):
            return bool(len(xy))
        return bool(np.isfinite(self.distances(xy)[self.residents.weights > 0].min(axis=1)).all())

    @cached_property
    def _tree(self) -> cKDTree | None:
        """An index of the known places, to find them by position."""
        return None if self.known is None else cKDTree(self.residents.lonlat_to_xy(self.known.lonlat))

    def _find(self, xy: Floats) -> Ints:
        """Index of the known place of each facility; -1 if there is none."""
        if self._tree is None:
            return np.full(len(xy), -1)
        apart, place = self._tree.query(xy)
        return np.where(apart <= SAME_PLACE, place, -1)

    def _nearest(self, apart: Floats) -> tuple[Ints, Floats]:
        """The nearest facility of each resident and its distance; an error if somebody can reach none."""
        labels = apart.argmin(axis=1)
        far = apart[np.arange(len(apart)), labels]
        lost: Bools = np.isinf(far)
        if lost.any():
            peopled = self.residents.weights > 0
            if (lost & peopled).any():
                raise unreachable(self.residents, np.flatnonzero(lost & peopled), "any of these facilities")
            far = np.where(lost, far[~lost].max(), far)  # these rows have no people, so any number will do
        return labels, far

    def room(self, xy: Floats, places: Ints | None = None) -> Capacity | None:
        """The room of each facility; None if it is not limited."""
        where = self._find(xy) if places is None else places
        own = np.full(len(xy), np.inf)
        if self.known is not None:
            own[where >= 0] = self.known.own[where[where >= 0]]
        return self.rules.room(len(xy), own)

    def _shared(self, apart: Floats, room: Capacity, t: float, *, required: bool) -> Floats | None:
        """How many people of each row each facility serves, shape (n, f); None if room is short and not `required`."""
        people = self.residents.weights
        try:
            shares = share_out(apart, room, t=t / self.scale**2, sample_weight=people)
        except UnreachableError:
            raise
        except ValueError:
            if required:
                raise
            return None
        return _exactly(shares * people[:, None], people)


def _exactly(shared: Floats, people: Floats) -> Floats:
    """The same without rounding errors: whole people where that is possible, and rows that add up."""
    whole = shared.round()
    near = 1e-6 * max(float(people.max()), 1.0)
    if (np.abs(whole - shared) <= near).all() and (whole.sum(axis=1) == people).all():
        return whole
    shared = np.where(shared > ROUNDING * people[:, None], shared, 0.0)
    rows, most = np.arange(len(shared)), shared.argmax(axis=1)
    shared[rows, most] += people - shared.sum(axis=1)
    return shared


def _trips(shared: Floats, apart: Floats, labels: Ints, far: Floats) -> Trips:
    """Who goes where, from how many people of each row each facility serves; empty rows go to the nearest."""
    used = shared > 0
    empty = np.flatnonzero(~used.any(axis=1))
    used[empty, labels[empty]] = True
    resident, facility = np.nonzero(used)
    distance = apart[resident, facility]
    # a place where nobody lives may have no way to anywhere
    return Trips(
        resident,
        facility,
        shared[resident, facility],
        np.where(np.isfinite(distance), distance, far[resident]),
    )


def unreachable(residents: Residents, rows: Ints, what: str) -> UnreachableError:
    """The error that names the residents who cannot be reached.

    Examples
    --------
    >>> town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], [20, 5], ids=["Centre", "Island"])
    >>> str(unreachable(town, np.array([1]), "any of the 3 sites")).split(". ")[0]
    'There is no route to any of the 3 sites for 1 resident: Island (5 of 25 people)'
    """
    many = counted(len(rows), "resident")
    named = [" ".join(str(residents.ids[row] if residents.ids is not None else f"row {row + 1}").split())[:60]
             for row in rows[:NAMED].tolist()]  # fmt: skip
    if len(rows) > NAMED:
        named.append(f"{len(rows) - NAMED:,} more")
    people = f"{residents.weights[rows].sum():,.0f} of {residents.weights.sum():,.0f} people"
    msg = (
        f"There is no route to {what} for {many}: {listed(named)} ({people}). Add a site that can be reached, or "
        f"leave the {'resident' if len(rows) == 1 else 'residents'} out."
    )
    return UnreachableError(msg, rows)
