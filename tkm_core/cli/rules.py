"""Read the rules of a plan from the command line."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tkm_core.cli.arguments import STREET_COLUMNS
from tkm_core.cli.terminal import progress_bar, say

if TYPE_CHECKING:
    from tkm_core.planning import Rules, Travel
    from tkm_core.residents import Existing, Residents, Sites
    from tkm_core.streets import Streets

SAMPLE = "sample"  # in place of a road file: the streets of the sample city


def read_rules(arguments: argparse.Namespace, residents: "Residents", existing: "Existing | None") -> "Rules":
    """Read the files that the rules name, and build the rules."""
    from tkm_core.planning import FREE, Rules
    from tkm_core.residents import Zones, load_sites
    from tkm_core.sites import Capacity

    asked = ("sites", "only_in", "not_in", "capacity", "at_least", "travel", "streets", "equal_groups")
    if not any(getattr(arguments, name) for name in asked):
        return FREE
    sites = load_sites(arguments.sites, residents) if arguments.sites else None
    limits = None
    if arguments.capacity or arguments.at_least:
        limits = Capacity(arguments.capacity or float("inf"), arguments.at_least or 0.0)
    zones = [Zones.of(name) if name else None for name in (arguments.only_in, arguments.not_in)]
    travel = _travel(arguments, residents, sites, existing)
    return Rules(travel, sites, zones[0], zones[1], limits, arguments.equal_groups)


def _travel(
    arguments: argparse.Namespace, residents: "Residents", sites: "Sites | None", existing: "Existing | None"
) -> "Travel":
    """How distance is measured: along streets, by a table, or in a straight line."""
    from pathlib import Path

    import numpy as np

    from tkm_core.planning import STRAIGHT, AlongStreets, ByTable
    from tkm_core.sites import read_travel

    if arguments.streets and arguments.travel:
        msg = "Give --streets or --travel, not both."
        raise ValueError(msg)
    if arguments.streets:
        return AlongStreets(_streets(arguments), arguments.measure, arguments.direction)
    if not arguments.travel:
        return STRAIGHT
    if sites is None or arguments.travel_unit is None:
        msg = "--travel needs the sites its columns stand for (--sites) and its unit (--travel-unit)."
        raise ValueError(msg)
    if residents.ids is None or not sites.names:
        msg = "--travel needs names: of the residents (--id), and of the sites."
        raise ValueError(msg)
    names, places = list(sites.names), sites.lonlat
    if existing is not None:
        names += [name for name in existing.names if name not in sites.names]
        other = [row for row, name in enumerate(existing.names) if name not in sites.names]
        places = np.concatenate([places, existing.lonlat[other]])
    table = read_travel(arguments.travel, residents.ids.tolist(), names, unit=arguments.travel_unit)
    return ByTable.of(table, places, Path(arguments.travel).name)


def cut_to_streets(arguments: argparse.Namespace, residents: "Residents", rules: "Rules") -> "Residents":
    """The residents near the streets, if that was asked for; prints how many were left out."""
    if not arguments.cut_to_streets:
        return residents
    if not arguments.streets:
        msg = "--cut-to-streets needs the road file: give it with --streets."
        raise ValueError(msg)
    kept = rules.travel.cut(residents)
    say(f"Near the streets: {kept.weights.sum():,.0f} of {residents.weights.sum():,.0f} people.")
    return kept


def fewest_asked(
    arguments: argparse.Namespace,
    residents: "Residents",
    existing: "Existing | None",
    closed: Sequence[int],
    rules: "Rules",
) -> int:
    """The fewest facilities for the distance asked for; prints what is proven."""
    from tkm_core.planning import fewest_facilities
    from tkm_core.stories import tell_fewest
    from tkm_core.units import METRES

    unit = "min" if rules.unit == "min" else arguments.unit
    rows = [] if existing is None else [row for row in range(len(existing)) if row not in closed]
    fixed = None if existing is None or not rows else existing.lonlat[rows]
    with progress_bar() as progress:
        found = fewest_facilities(
            residents, arguments.fewest * METRES[unit], rules=rules, fixed_lonlat=fixed,
            seconds=max(arguments.prove, 20.0), progress=progress,
        )  # fmt: skip
    told = tell_fewest(found, unit=unit, people=arguments.people or "residents", n_existing=len(rows))
    if found.number is None:
        raise ValueError(told)
    say(told)
    return found.number


def _streets(arguments: argparse.Namespace) -> "Streets":
    """Read the road file, or load the streets of the sample city, and print what was read."""
    from tkm_core.residents import sample_meant
    from tkm_core.streets import load_streets

    sample, file, name = sample_meant(arguments.file), arguments.streets, None
    if file == SAMPLE:
        if sample is None or sample.streets_path is None:
            msg = f"“{arguments.file}” is not a sample city with streets: give a road file with --streets."
            raise ValueError(msg)
        file, name = sample.streets_path, sample.title
    columns = {column: getattr(arguments, column) for column in STREET_COLUMNS}
    with progress_bar() as progress:
        found = load_streets(
            file, mode=arguments.mode, rules=arguments.street_rules, name=name, progress=progress, **columns
        )
    say(f"Streets: {found.report}")
    if found.attribution:
        say(found.attribution)
    return found
