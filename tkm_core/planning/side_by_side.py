"""`compare_methods`: run several methods and compare them in one result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy.typing as npt

from tkm_core.measures import MEASURES, PRINTED, shown_in
from tkm_core.methods import MAX_SECONDS, describe
from tkm_core.notebooks import data_frame, figure, html_table
from tkm_core.planning.making import make_plan
from tkm_core.planning.methods_compared import Compared, judge, judge_by_rules, methods_for, solve
from tkm_core.planning.rules import FREE, Rules
from tkm_core.planning.spec import USUAL_T
from tkm_core.progress import Progress, part, silent
from tkm_core.residents import Residents, load_residents
from tkm_core.units import KINDS


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Sequence[Compared]):
    """The facilities and measures of several methods for the same residents. Made by `compare_methods`.

    Attributes
    ----------
    residents : Residents
    k : int
        New facilities that each method may open.
    compared : tuple of Compared
    rules : Rules
        Rules by which they are measured.
    """

    residents: Residents
    k: int
    compared: tuple[Compared, ...]
    rules: Rules = FREE

    @overload
    def __getitem__(self, i: int) -> Compared: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Compared, ...]: ...
    def __getitem__(self, i: int | slice) -> Compared | tuple[Compared, ...]:
        return self.compared[i]

    def __len__(self) -> int:
        return len(self.compared)

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.compared)

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.compared)
        return f"<Comparison: {self.k} facilities for {len(self.residents):,} points by {names}>"

    def _repr_html_(self) -> str:
        """The same measures as on the command line, in kilometres or minutes."""
        shown, unit = shown_in(PRINTED).values(), KINDS[self.rules.unit].units[0]
        rows = [(one.title, *(figure(measure.of(one.evaluation, unit)) for measure in shown)) for one in self]
        title = f"{self.k} facilities for {self.residents.name[:200]}; less is better"
        notes = [note for one in self for note in one.solution.notes]
        return html_table(title, ["", *(measure.heading(unit) for measure in shown)], rows, notes)

    def to_frame(self) -> Any:
        """One row for each method: its measures in metres or minutes, number of facilities and seconds taken.

        Returns
        -------
        pandas.DataFrame
        """
        columns: dict[str, list[Any]] = {"facilities": [len(one.solution.centers) for one in self]}
        for key in MEASURES:
            if all(getattr(one.evaluation, key) is not None for one in self):
                columns[key] = [getattr(one.evaluation, key) for one in self]
        columns["seconds"] = [one.solution.seconds for one in self]
        return data_frame(columns, [one.name for one in self]).rename_axis("method")


def compare_methods(
    residents: Any,
    k: int,
    *,
    t: float = USUAL_T,
    methods: Sequence[str] | None = None,
    standard: float | None = None,
    fixed_lonlat: npt.ArrayLike | None = None,
    patience: float = MAX_SECONDS,
    rules: Rules = FREE,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Run several methods on the same residents and measure all in the same way.

    Parameters
    ----------
    residents : Residents, DataFrame, GeoDataFrame, or path of a file
        As in `make_plan`.
    k : int
        Number of new facilities.
    t : float
        The dial, for the methods that have one.
    methods : sequence of str, optional
        Names from ``METHODS``; by default all that apply: group-based methods only if the residents have groups, and
        with existing facilities only methods that can keep them.
    standard : float, optional
        A service standard in metres, for ``share_within``.
    fixed_lonlat : array-like of shape (f, 2), optional
        Existing facilities in degrees, longitude first.
    patience : float
        Seconds; a method that would take longer runs on a sample, and says so in its notes.
    rules : Rules
        Along streets, on sites and so on: tilted k-means then plans by the rules, and the facilities of the other
        methods are moved to the nearest junction or site. All are measured by the rules.
    random_state : int
    progress : callable, optional
        Called with a fraction from 0 to 1 and a text; an exception raised in it cancels.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import tkm_core as tkm
    >>> found = compare_methods(tkm.load_sample("generated", n=200), 3, methods=["tkm", "mv"])
    >>> found
    <Comparison: 3 facilities for 200 points by tkm, mv>
    >>> found.to_frame()["largest_distance"].idxmin()
    'tkm'
    """
    people = residents if isinstance(residents, Residents) else load_residents(residents)
    able = [name for name in methods_for(people) if fixed_lonlat is None or describe(name).keeps_existing]
    chosen = able if methods is None else list(methods)
    compared = []
    report, plan = progress or silent, None
    if not rules.plain:
        plan = make_plan(
            people, k, rules=rules, fixed_lonlat=fixed_lonlat, with_t=t, random_state=random_state,
            progress=part(report, 0.0, 0.5),
        )  # fmt: skip
        report = part(report, 0.5, 1.0)
    for place, name in enumerate(chosen):
        share = part(report, place / len(chosen), (place + 1) / len(chosen))
        found = solve(
            people,
            name,
            k,
            t=t,
            patience=patience,
            fixed_lonlat=fixed_lonlat,
            random_state=random_state,
            progress=share,
        )
        if plan is None:
            compared.append(judge(people, found, t=t, standard=standard))
        else:
            compared.append(judge_by_rules(plan, found, t=t, standard=standard))
    return Comparison(people, k, tuple(compared), rules)
