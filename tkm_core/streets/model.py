"""The `Streets` class: travel times, distances, routes and catchments on a street network."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tkm_core.arrays import Floats, Ints
from tkm_core.progress import Progress
from tkm_core.residents import WGS84, transform
from tkm_core.streets import reach
from tkm_core.streets.areas import Areas
from tkm_core.streets.drawing import Lines, make_lines
from tkm_core.streets.joining import FAR, Ground, Joined, Places, as_lonlat
from tkm_core.streets.network import Network
from tkm_core.streets.osm import ATTRIBUTION, TITLE
from tkm_core.streets.places import near_people, neighbours, thin_out
from tkm_core.streets.report import StreetsReport
from tkm_core.streets.rules import StreetsError, mode_words
from tkm_core.streets.travel import DIRECTIONS, Graph, cost_table, make_graph


class Streets:
    """A network of streets for one mode of travel; made by `load_streets`.

    A place is joined to the nearest point of a street; the straight way there is covered at walking pace. Two places
    that are nearer to each other than to their common street are connected straight. Methods take places as an array
    of longitudes and latitudes, or as the result of `join`.

    Attributes
    ----------
    mode : str
        A mode of rules.toml: "walk".
    mode_words : str
        How people travel: "on foot".
    name : str
        Name of the file.
    network : Network
        Junctions and edges as arrays.
    class_names : tuple of str
        Classes of streets.
    report : StreetsReport
        What was read, and what was cut off.
    areas : Areas or None
        Water and parks, if they were asked for.
    """

    def __init__(
        self,
        network: Network,
        *,
        mode: str,
        name: str,
        pace: float,
        class_names: tuple[str, ...],
        report: StreetsReport,
        areas: Areas | None = None,
        words: str = "",
    ) -> None:
        self.network = network
        self.mode = mode
        self.mode_words = words or mode_words().get(mode, mode)
        self.name = name
        self.pace = pace
        self.class_names = class_names
        self.report = report
        self.areas = areas
        self._graphs: dict[tuple[str, bool], Graph] = {}

    def __repr__(self) -> str:
        km = self.network.metres.sum() / 1000
        return f"<Streets “{self.name}”, {self.mode}: {len(self.lonlat):,} junctions, {km:,.0f} km>"

    def __getstate__(self) -> dict[str, Any]:
        kept = {key: value for key, value in self.__dict__.items() if key not in ("ground", "junctions_xy")}
        return {**kept, "_graphs": {}}  # all of this is rebuilt faster than it is sent

    @property
    def attribution(self) -> str:
        """The credit that maps and exports must show; empty if the file names no source."""
        return ATTRIBUTION if self.report.file_format in TITLE.values() else ""

    @property
    def lonlat(self) -> Floats:
        """Longitude and latitude of the junctions, shape (j, 2)."""
        return self.network.lonlat

    @cached_property
    def ground(self) -> Ground:
        """The edges on a map in metres."""
        return Ground(self.network)

    @cached_property
    def junctions_xy(self) -> Floats:
        """The junctions on the same map in metres."""
        return transform(self.network.lonlat, WGS84, self.ground.crs)

    def _graph(self, measure: str, *, reverse: bool) -> Graph:
        """The graph for a measure and a direction, built once."""
        key = measure, reverse
        if key not in self._graphs:
            self._graphs[key] = make_graph(self.network, self.pace, measure=measure, reverse=reverse)
        return self._graphs[key]

    def join(self, lonlat: "Places | Joined") -> Joined:
        """Find the nearest point of a street for every place.

        Parameters
        ----------
        lonlat : array-like of shape (n, 2)
            Longitude and latitude.

        Returns
        -------
        Joined
            With ``metres``, the straight distances to the street, and ``far()``, the places more than 300 m away.
        """
        return lonlat if isinstance(lonlat, Joined) else self.ground.join(as_lonlat(lonlat))

    def far(self, lonlat: "Places | Joined", beyond: float = FAR) -> Ints:
        """Indices of the places more than `beyond` metres from every street."""
        return self.join(lonlat).far(beyond)

    def at_junctions(self, junctions: npt.ArrayLike | None = None) -> Joined:
        """Junctions as places; all of them by default."""
        which = np.arange(len(self.lonlat)) if junctions is None else self._checked(junctions)
        network = self.network
        edge = np.empty(len(self.lonlat), dtype=np.int32)
        at = np.zeros(len(self.lonlat))
        numbers = np.arange(len(network.start), dtype=np.int32)
        edge[network.end], at[network.end] = numbers, network.metres
        edge[network.start], at[network.start] = numbers, 0.0
        return Joined(edge[which], at[which], np.zeros(len(which)), self.junctions_xy[which])

    def _checked(self, junctions: npt.ArrayLike) -> Ints:
        """Junction numbers as an array; invalid ones raise an error."""
        which = np.atleast_1d(np.asarray(junctions))
        if which.size == 0:
            return np.empty(0, dtype=np.int64)
        if (
            which.ndim != 1
            or which.dtype.kind not in "iu"
            or which.min() < 0
            or which.max() >= len(self.lonlat)
        ):
            msg = f"Junctions are whole numbers from 0 to {len(self.lonlat) - 1:,}."
            raise StreetsError(msg)
        return which.astype(np.int64)

    def travel_times(
        self,
        from_lonlat: "Places | Joined",
        to_lonlat: "Places | Joined",
        *,
        direction: str = "there",
        limit: float | None = None,
        dtype: npt.DTypeLike = np.float64,
        progress: Progress | None = None,
    ) -> npt.NDArray[Any]:
        """Travel times in minutes from every place of one list to every place of another.

        Parameters
        ----------
        from_lonlat : array-like of shape (n, 2)
            Longitude and latitude, for instance of residents.
        to_lonlat : array-like of shape (m, 2)
            Longitude and latitude, for instance of facilities.
        direction : {"there", "back"}
            "there": from the first to the second. "back": from the second to the first, for services that drive
            out to people. The shape of the table stays the same.
        limit : float, optional
            Longer travel times are not searched and become infinite.
        dtype : dtype
            float64, or float32 for a table of half the size.
        progress : callable, optional
            Called with the fraction done and a sentence; what it raises ends the work.

        Returns
        -------
        ndarray of shape (n, m)
        """
        return self._table("minutes", from_lonlat, to_lonlat, direction, limit, dtype, progress)

    def distances(
        self,
        from_lonlat: "Places | Joined",
        to_lonlat: "Places | Joined",
        *,
        direction: str = "there",
        limit: float | None = None,
        dtype: npt.DTypeLike = np.float64,
        progress: Progress | None = None,
    ) -> npt.NDArray[Any]:
        """Lengths in metres of the shortest paths; otherwise like `travel_times`."""
        return self._table("metres", from_lonlat, to_lonlat, direction, limit, dtype, progress)

    def _table(
        self,
        measure: str,
        rows: "Places | Joined",
        columns: "Places | Joined",
        direction: str,
        limit: float | None,
        dtype: npt.DTypeLike,
        progress: Progress | None,
    ) -> npt.NDArray[Any]:
        """The table of costs for a measure."""
        return cost_table(
            lambda reverse: self._graph(measure, reverse=reverse),
            self.join(rows),
            self.join(columns),
            direction=direction,
            limit=limit,
            dtype=dtype,
            progress=progress,
        )

    def route(self, from_lonlat: Places, to_lonlat: Places, *, direction: str = "there") -> reach.Route:
        """The quickest route from one place to another.

        Parameters
        ----------
        from_lonlat, to_lonlat : array-like of shape (2,)
            Longitude and latitude.
        direction : {"there", "back"}
            "back": the route from the second to the first, drawn in that order.

        Returns
        -------
        Route
            ``lonlat`` to draw, ``minutes`` and ``metres``.
        """
        if direction not in DIRECTIONS:
            msg = f"direction must be “there” or “back”, not {direction!r}."
            raise StreetsError(msg)
        ends = [as_lonlat(place) for place in (from_lonlat, to_lonlat)]
        if direction == "back":
            ends.reverse()
        if any(len(end) != 1 for end in ends):
            msg = "A route leads from one place to one place."
            raise StreetsError(msg)
        source, target = (self.join(end) for end in ends)
        minutes = float(self.travel_times(source, target)[0, 0])
        straight = float(np.hypot(*(target.xy - source.xy)[0]))
        graph = self._graph("minutes", reverse=False)
        nearer = straight <= max(source.metres[0], target.metres[0])
        if source.edge[0] == target.edge[0] and nearer and straight * graph.pace <= minutes:
            return reach.Route(np.concatenate(ends), minutes, straight)
        on_street = Joined(source.edge, source.at, np.zeros(1), source.xy)
        cost = self.travel_times(on_street, self.at_junctions())[0]
        stretches = reach.trace(graph, cost, source, target)
        line = np.concatenate([ends[0], reach.draw(self.network, stretches), ends[1]])
        metres = sum(abs(end - start) for _, start, end in stretches)
        return reach.Route(line, minutes, float(metres + source.metres[0] + target.metres[0]))

    def catchments(
        self,
        lonlat: "Places | Joined",
        minutes: Sequence[float] = (5, 10, 15),
        *,
        direction: str = "back",
        around: float = reach.AROUND,
    ) -> list[reach.Catchment]:
        """The area within given travel times of the nearest facility (isochrones).

        Parameters
        ----------
        lonlat : array-like of shape (n, 2)
            Facilities.
        minutes : sequence of float
            The limits.
        direction : {"there", "back"}
            "back": where people can reach the facility from in time. "there": where the facility's staff can get
            to in time.
        around : float
            Metres on either side of a street that count as reached, for the outlines.

        Returns
        -------
        list of Catchment
            One for each limit: the edges reached, their length, and outlines to draw.
        """
        places = self.join(lonlat)
        limits = [float(limit) for limit in minutes]
        if len(places) == 0 or not limits or not all(limit > 0 for limit in limits):
            msg = "Catchments need at least one place, and limits above 0 minutes."
            raise StreetsError(msg)
        options: dict[str, Any] = {"direction": direction, "limit": max(limits)}
        cost = self.travel_times(places, self.at_junctions(), **options).min(axis=0)
        graph = self._graph("minutes", reverse=direction == "back")
        return reach.catchments(self.ground, graph, cost, places, limits, around)

    def lines(self, *, simplify: float = 0.0, classes: Sequence[str] | None = None) -> Lines:
        """The streets as compact arrays for drawing.

        Parameters
        ----------
        simplify : float
            Metres by which a line may be simplified, such as the size of a pixel on the map.
        classes : sequence of str, optional
            Only these classes; see ``class_names``.
        """
        return make_lines(self.network, self.ground, self.class_names, simplify=simplify, classes=classes)

    def candidates(
        self, lonlat: "Places | Joined", weights: npt.ArrayLike | None = None, *, at_most: int = 2000
    ) -> Ints:
        """Junctions near people, evenly spread, where a facility could be built.

        Parameters
        ----------
        lonlat : array-like of shape (n, 2)
            Where people live.
        weights : array-like of shape (n,), optional
            How many live there.
        at_most : int
            The most junctions to choose: with n residents, a table of n × at_most travel times must fit in memory.

        Returns
        -------
        ndarray of int
            Indices of junctions in ``lonlat``; `at_junctions` turns them into places.
        """
        people = self.join(lonlat)
        if len(people) == 0 or at_most < 1:
            msg = "Candidates need at least one resident, and at_most of 1 or more."
            raise StreetsError(msg)
        many = np.ones(len(people)) if weights is None else np.asarray(weights, dtype=np.float64)
        if many.shape != (len(people),) or not np.all(np.isfinite(many) & (many >= 0)):
            msg = f"weights must be {len(people):,} numbers, 0 or more: one for each place."
            raise StreetsError(msg)
        lived_in = many > 0
        if lived_in.any():
            people, many = people.take(lived_in), many[lived_in]
        near = near_people(self.network, self.junctions_xy, people)
        return thin_out(near, self.junctions_xy[near], people.xy, many, at_most)

    def neighbours(self, junctions: npt.ArrayLike) -> Ints:
        """The junctions one edge away from the given ones, without those themselves."""
        return neighbours(self.network, self._checked(junctions))
