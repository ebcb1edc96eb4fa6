"""Display of plans in notebooks: text, tables and pictures."""

from typing import TYPE_CHECKING, Any, cast

from tkm_core.measures import KEY, shown_in
from tkm_core.notebooks import data_frame, figure, html_table, quoted, room_above
from tkm_core.planning.portfolio import TOLERANCE, Choice, portfolio
from tkm_core.planning.spec import USUAL_T
from tkm_core.wording import dial_text

if TYPE_CHECKING:
    from tkm_core.planning.plan import Plan


class Shown:
    """The part of `Plan` for use in notebooks."""

    def __repr__(self) -> str:
        plan = cast("Plan", self)
        return (
            f"<Plan: {_facilities(plan)} for {quoted(plan.residents.name)} ({len(plan.residents):,} points), "
            f"{len(plan.t)} settings of t from {plan.t[0]:g} to {plan.t[-1]:g}>"
        )

    def _repr_html_(self) -> str:
        """The key figures of the reference and of a few settings of the dial."""
        plan = cast("Plan", self)
        settings = sorted({0, plan.index(USUAL_T), len(plan) - 1})
        found = [plan.reference_evaluation(), *(plan.evaluation(i) for i in settings)]
        unit = plan.units[0]
        rows = [
            (measure.heading(unit), *(figure(measure.of(one, unit)) for one in found))
            for key, measure in shown_in(KEY).items()
            if getattr(found[0], key) is not None
        ]
        title = f"Plan: {_facilities(plan)} for {plan.residents.name[:200]}"
        return html_table(
            title, ["", plan.reference.heading, *(f"t = {dial_text(plan.t[i])}" for i in settings)], rows
        )

    def portfolio(self, tolerance: float = TOLERANCE) -> tuple[Choice, ...]:
        """The fewest settings such that every setting is represented within ``tolerance`` of its own city-wide cost.

        Parameters
        ----------
        tolerance : float
            0.01 is one per cent.

        Returns
        -------
        tuple of Choice
            In the order of the dial; ``tkm_core.stories.tell_portfolio`` puts them into words.
        """
        return portfolio(cast("Plan", self), tolerance)

    def to_frame(self, standard: float | None = None) -> Any:
        """The trade-off as a table: a row for each t and a last one for k-means++, a column for each measure.

        Parameters
        ----------
        standard : float, optional
            A service standard in metres or minutes, for ``share_within``.

        Returns
        -------
        pandas.DataFrame
            Indexed by t; "k-means++" is the last label.

        Examples
        --------
        >>> import tkm_core as tkm
        >>> plan = tkm.make_plan(tkm.load_sample("generated", n=300), 3, t=[0, 1])
        >>> plan.to_frame()["largest_distance"].index.tolist()
        [0.0, 1.0, 'k-means++']
        """
        curve = cast("Plan", self).trade_off(standard)
        columns = {key: [*values, curve.baseline[key]] for key, values in curve.measured.items()}
        frame = data_frame(columns, [*curve.t.tolist(), "k-means++"]).rename_axis("t")
        return frame if standard is not None else frame.drop(columns="share_within", errors="ignore")

    def to_geodataframe(self, what: str = "facilities", t: float = USUAL_T, *, crs: Any = None) -> Any:
        """One of the plan's tables with geometry, as in the app's downloads.

        Parameters
        ----------
        what : {"facilities", "allocations", "areas"}
            The facilities and whom they serve; where each resident goes and how far, with the index of the residents;
            or the service areas.
        t : float
            The setting of the dial; the nearest one of the plan is taken.
        crs : str or CRS, optional
            "wgs84" (the default), "source" for the system of the residents, or any system PROJ knows.

        Returns
        -------
        geopandas.GeoDataFrame

        Examples
        --------
        >>> import tkm_core as tkm
        >>> plan = tkm.make_plan(tkm.load_sample("generated", n=300), 3, t=[0, 1])
        >>> plan.to_geodataframe("areas", t=1).geom_type.tolist()
        ['Polygon', 'Polygon', 'Polygon']
        """
        plan = cast("Plan", self)
        return room_above("export", "to_geodataframe").table(plan, plan.index(t), what, crs=crs)

    def plot(self, what: str = "map", t: float = USUAL_T, **options: Any) -> Any:
        """Draw the plan: its map, its trade-off curve, or the distribution of distances.

        Needs the extra "plot".

        Parameters
        ----------
        what : {"map", "tradeoff", "distances"}
        t : float
            The setting of the dial; the nearest one of the plan is taken.
        **options
            ``unit``, ``theme``, ``streets`` and others of `tkm_core.figures.Look`.

        Returns
        -------
        pydeck.Deck or plotly Figure
        """
        return room_above("figures", "plot").plot(self, what, t, **options)


def _facilities(plan: "Plan") -> str:
    """How many there are: "4 new and 24 existing facilities"."""
    kept = f" and {plan.n_existing} existing" if plan.n_existing else ""
    return f"{plan.k} new{kept} {'facility' if (plan.n_existing or plan.k) == 1 else 'facilities'}"
