"""The command line ``evenreach``: make a plan, compare methods, or run an experiment.

Slow imports are made where they are used, so that a mistyped option is reported at once.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tkm_core.cli.arguments import BAD_INPUT, READING, STOPPED, USUAL_T, parser
from tkm_core.cli.reading import read_residents
from tkm_core.cli.rules import cut_to_streets, fewest_asked, read_rules
from tkm_core.cli.terminal import complain, progress_bar, say, say_table
from tkm_core.extras import needs_extra

if TYPE_CHECKING:
    from tkm_core.planning import Plan
    from tkm_core.residents import Existing, Residents

MOST_GROUPS = 20  # that are listed


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        0, or 2 after a sentence on what is wrong, or 130 if interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an arrow must not crash the program in an old terminal
    try:
        given = list(sys.argv[1:] if argv is None else argv)
        if given[:1] == ["experiment"]:
            return _experiment(given[1:])
        arguments = parser(_plan, _compare).parse_args(given)
        run: Callable[[argparse.Namespace], int] = arguments.run
        return run(arguments)
    except KeyboardInterrupt:
        complain("Stopped.")
        return STOPPED
    except BrokenPipeError:  # the program that reads our output has ended, such as head
        sys.stderr.close()
        return 0
    except (ValueError, OSError) as problem:
        needs = getattr(problem, "needs", None)
        complain(f"{problem} Say so with --{needs}." if needs in READING else str(problem))
        return BAD_INPUT
    except ModuleNotFoundError as missing:
        complain(str(needs_extra("This command", missing)))
        return BAD_INPUT
    except MemoryError:
        complain("The data do not fit into memory. Use a part of them, or cells with their population.")
        return BAD_INPUT


def _plan(arguments: argparse.Namespace) -> int:
    """Make a plan, describe it, and write the files asked for."""
    from tkm_core.planning import measure_exactly
    from tkm_core.stories import tell_plan
    from tkm_core.units import METRES

    if arguments.t is not None and arguments.budget is not None:
        msg = "Give -t or --budget, not both: the budget chooses t."
        raise ValueError(msg)
    if arguments.fewest is not None and (arguments.k is not None or arguments.load):
        msg = "Give --fewest without -k and --load: it chooses k."
        raise ValueError(msg)
    if arguments.k == 0 and not arguments.existing and not arguments.load:
        msg = "-k 0 asks how things stand today: give the existing facilities with --existing."
        raise ValueError(msg)
    targets = _targets(arguments)
    residents, people = read_residents(arguments)
    say(residents.report)
    plan, i = _made(arguments, residents)
    if arguments.budget is not None:
        i = plan.within_budget(arguments.budget)
        if not plan.meets_budget(i, arguments.budget):
            say(
                f"No plan keeps the average trip within {arguments.budget:+g} % of the lowest; this one comes nearest."
            )
    unit = plan.shown_unit(arguments.unit)
    standard = None if arguments.standard is None else arguments.standard * METRES[unit]
    with progress_bar() as progress:
        plan = measure_exactly(plan, i, standard, progress)
    story = tell_plan(plan, i, unit=unit, standard=standard, people=arguments.people or people)
    told = (*plan.rules.sentences(arguments.people or people), *plan.remarks)
    told = tuple(sentence for sentence in told if sentence not in story.context)
    say(
        "\n".join(
            ["", *told, story.context, story.text, *filter(None, [_proof(plan, i, arguments.prove)]), ""]
        )
    )
    head = ("", "this plan", story.reference.heading, "change", "")
    rows = [
        (r.label, r.plan_text, r.reference_text, r.change_text, r.tone) for r in (*story.rows, *story.more)
    ]
    say_table([head, *rows])
    _say_groups(plan, i, unit)
    if arguments.portfolio:
        from tkm_core.stories import tell_portfolio

        say("\n" + "\n".join(tell_portfolio(plan, unit=unit, people=arguments.people or people)) + "\n")
    _say_sites(plan, i, unit)
    _write(plan, i, targets, arguments)
    return 0


def _made(arguments: argparse.Namespace, residents: "Residents") -> "tuple[Plan, int]":
    """Make the plan, or restore a saved one."""
    from tkm_core.planning import PLAN_CRITERION, STRAIGHT, make_plan

    if arguments.load:
        from tkm_core.export import read_plan_file, restore_plan

        saved = read_plan_file(arguments.load)
        with progress_bar() as progress:
            travel = read_rules(arguments, residents, None).travel
            restored = restore_plan(
                saved, residents, travel=None if travel == STRAIGHT else travel, progress=progress
            )
        say(restored.message)
        if arguments.k not in (None, saved.k):
            new = "1 new facility" if saved.k == 1 else f"{saved.k} new facilities"
            msg = f"The saved plan has {new}, not {arguments.k}: leave out -k or --load."
            raise ValueError(msg)
        i = restored.i if arguments.t is None else restored.plan.index(arguments.t)
        return _compared(restored.plan, arguments.compare_with), i
    dial = USUAL_T if arguments.t is None else arguments.t
    existing = _existing(arguments, residents)
    rules = read_rules(arguments, residents, existing)
    residents = cut_to_streets(arguments, residents, rules)
    closed = _closed(arguments.close or [], existing)
    k = 8 if arguments.k is None else arguments.k
    if arguments.fewest is not None:
        k = fewest_asked(arguments, residents, existing, closed, rules)
    with progress_bar() as progress:
        plan = make_plan(
            residents,
            k,
            with_t=dial,
            criterion=arguments.criterion or PLAN_CRITERION,
            fixed_lonlat=None if existing is None else existing.lonlat,
            fixed_names=() if existing is None else existing.names,
            closed=closed,
            rules=rules,
            prove=arguments.prove,
            random_state=arguments.seed,
            progress=progress,
        )
    return _compared(plan, arguments.compare_with), plan.index(dial)


def _proof(plan: "Plan", i: int, seconds: float) -> str:
    """What is proven about the plan; one whose facilities may stand anywhere is proven here if time is given."""
    if not (seconds and plan.k and plan.rules.plain):
        return plan.proof(i)
    with progress_bar() as progress:
        return plan.prove(i, seconds, progress).sentence


def _compared(plan: "Plan", what: str | None) -> "Plan":
    """The plan with the reference asked for."""
    from tkm_core.planning import AVERAGE, BY_STRAIGHT_LINES, TODAY

    if what is None:
        return plan
    named = {"today": TODAY, "average": AVERAGE, "straight": BY_STRAIGHT_LINES}.get(what)
    if named is None:
        from tkm_core.export import read_plan_file, saved_reference

        named = saved_reference(read_plan_file(what), Path(what).name.split(".")[0])
    return plan.against(named)


def _closed(asked: Sequence[str], existing: "Existing | None") -> list[int]:
    """Which existing facilities are meant, by number or name."""
    if asked and existing is None:
        msg = "--close names an existing facility: give the file that lists them with --existing."
        raise ValueError(msg)
    numbers = []
    for text in asked:
        assert existing is not None  # noqa: S101  checked above
        named = [
            j for j, name in enumerate(existing.names) if name.strip().casefold() == text.strip().casefold()
        ]
        if len(named) == 1:
            numbers += named
        elif text.strip().isdecimal() and 1 <= int(text) <= len(existing):
            numbers.append(int(text) - 1)
        else:
            found = "several facilities have" if named else "no facility has"
            msg = (
                f"--close {text}: {found} that name. Give its number in the file, from 1 to {len(existing)}."
            )
            raise ValueError(msg)
    return numbers


def _existing(arguments: argparse.Namespace, residents: "Residents") -> "Existing | None":
    """Read the existing facilities, if a file is given."""
    if not arguments.existing:
        return None
    from tkm_core.residents import load_residents, read_existing

    existing = read_existing(lambda options: load_residents(arguments.existing, **options), residents)
    say(f"Existing facilities: {existing.report}")
    return existing


def _targets(arguments: argparse.Namespace) -> dict[str, Path]:
    """The file for each table, checked before the work starts."""
    asked = {"facilities": arguments.output, "allocations": arguments.allocations, "areas": arguments.areas}
    targets = {what: Path(path) for what, path in asked.items() if path}
    if targets:
        from tkm_core.export import FORMATS, format_of

        for path in targets.values():
            several = sum(other.resolve() == path.resolve() for other in targets.values()) > 1
            if several and not FORMATS[format_of(path)].many_tables:
                msg = f"{path} can hold one table: give each its own file, or use a .gpkg file for all."
                raise ValueError(msg)
    if arguments.all and Path(arguments.all).suffix.lower() != ".gpkg":
        msg = f"Only a .gpkg file holds all layers, not {arguments.all}."
        raise ValueError(msg)
    for path in (*targets.values(), *(Path(asked) for asked in (arguments.all, arguments.save) if asked)):
        if not path.parent.is_dir():
            msg = f"The folder {path.parent} does not exist."
            raise ValueError(msg)
    return targets


def _write(plan: "Plan", i: int, targets: dict[str, Path], arguments: argparse.Namespace) -> None:
    """Write the tables, those for the same GeoPackage together, and the plan file."""
    for path in dict.fromkeys(targets.values()):
        from tkm_core.export import layers, write

        named = [what for what, target in targets.items() if target == path]
        write({what: layers(plan, i, what, crs=arguments.out_crs)["plan"] for what in named}, path)
        say(f"Wrote {path} ({', '.join(named)}).")
    if arguments.all:
        from tkm_core.export import layers, write

        all_of_them = layers(plan, i, crs=arguments.out_crs)
        say(f"Wrote {write(all_of_them, arguments.all)} ({', '.join(all_of_them)}).")
    if arguments.save:
        from tkm_core.export import write_plan_file

        say(
            f"Wrote {write_plan_file(plan, i, arguments.save, residents=arguments.with_residents)} (plan file)."
        )


def _compare(arguments: argparse.Namespace) -> int:
    """Run every method on the same residents and print their measures."""
    from tkm_core.measures import PRINTED, shown_in
    from tkm_core.methods import describe
    from tkm_core.planning import compare_methods, make_plan, methods_for
    from tkm_core.stories import left_out, rules_apply
    from tkm_core.units import KINDS

    asked = [name.strip() for name in (arguments.methods or "").split(",") if name.strip()]
    for name in asked:
        describe(name)
    if arguments.output and Path(arguments.output).suffix.lower() != ".csv":
        msg = f"The comparison is written as .csv, not to {arguments.output}."
        raise ValueError(msg)
    residents, _ = read_residents(arguments)
    chosen = asked or list(methods_for(residents))
    say(residents.report)
    k = 8 if arguments.k is None else arguments.k
    if k == 0:
        msg = "The methods are compared on new facilities: choose -k 1 or more."
        raise ValueError(msg)
    existing = _existing(arguments, residents)
    if existing is not None:
        unable = left_out(chosen, len(existing))
        chosen = [name for name in chosen if describe(name).keeps_existing]
        if not chosen:
            raise ValueError(unable)
        if unable:
            say(unable)
    rules = read_rules(arguments, residents, existing)
    with progress_bar() as progress:
        compared = compare_methods(
            residents,
            k,
            t=arguments.t,
            methods=chosen,
            fixed_lonlat=None if existing is None else existing.lonlat,
            rules=rules,
            random_state=arguments.seed,
            progress=progress,
        )
    possible = KINDS[rules.unit].units
    unit = arguments.unit if arguments.unit in possible else possible[0]
    shown = shown_in(PRINTED).values()
    labels = [_printed(measure.heading(unit)) for measure in shown]
    head = ("method", "sites", *labels, "seconds")
    values = [
        [*(measure.of(one.evaluation, unit) for measure in shown), one.solution.seconds] for one in compared
    ]
    titles = [(one.title, str(len(one.solution.centers))) for one in compared]
    if existing is not None:
        fixed = make_plan(residents, 0, fixed_lonlat=existing.lonlat, rules=rules)
        if fixed.today is not None:
            titles.insert(0, ("today", str(len(existing))))
            values.insert(0, [*(measure.of(fixed.today, unit) for measure in shown), float("nan")])
    sites = f"{k} facilities" if existing is None else f"{k} new facilities and {existing.words}"
    say(f"\n{sites}, every method measured in the same way; less is better.\n")
    if not rules.plain:
        say("\n".join([*rules.sentences("residents"), rules_apply(compared, rules), ""]))
    printed = [
        (*title, *("" if value != value else f"{value:,.3g}" for value in row))
        for title, row in zip(titles, values, strict=True)
    ]
    say_table([head, *printed])
    for note in (note for one in compared for note in one.solution.notes):
        say(note)
    if arguments.output:
        import pandas as pd

        from tkm_core.export import write_whole

        rows = [(*title, *row) for title, row in zip(titles, values, strict=True)]
        table = pd.DataFrame(rows, columns=head)
        write_whole(Path(arguments.output), lambda file: table.to_csv(file, index=False))
        say(f"Wrote {arguments.output}.")
    return 0


def _printed(heading: str) -> str:
    """A heading in the form used on a terminal: "average km"."""
    words = heading.replace(", ", " ")
    return words if words[:2].isupper() or words.startswith("Gini") else words[:1].lower() + words[1:]


def _experiment(argv: list[str]) -> int:
    """Pass the arguments to the experiments."""
    from tkm_core.cli.experiments import main as run

    return int(run(argv) or 0)


def _say_sites(plan: "Plan", i: int, unit: str) -> None:
    """Print where the facilities are and whom they serve."""
    from tkm_core.planning import stands_in
    from tkm_core.units import METRES

    found, lonlat = plan.evaluation(i), plan.centers_lonlat(i)
    about = [
        f"{kind} {name}".rstrip() + (f", in {where}" if where and kind == "new" else "")
        for kind, name, where in zip(plan.kinds, plan.names_at(i), stands_in(plan, i), strict=True)
    ]
    head = ("facility", "longitude", "latitude", "people", f"farthest, {unit}", "")
    rows = [
        (str(plan.numbers[j]), f"{lon:.5f}", f"{lat:.5f}", f"{found.population[j]:,.0f}",
         f"{found.max_distance[j] / METRES[unit]:,.2f}", about[j])
        for j, (lon, lat) in enumerate(lonlat)
    ]  # fmt: skip
    say("")
    say_table([head, *rows])


def _say_groups(plan: "Plan", i: int, unit: str) -> None:
    """Print how each group fares, with the worst-off first, if the residents have groups."""
    if plan.residents.groups is None:
        return
    from tkm_core.planning import by_group

    groups = by_group(plan, i, unit=unit)
    head = (
        "group",
        "people",
        f"average, {unit}",
        plan.reference.heading,
        "change",
        "farthest",
        plan.reference.heading,
        "travel farther",
    )
    rows = [
        (
            group.name[:40],
            f"{group.people:,.0f}",
            group.average.plan_text,
            group.average.reference_text,
            group.average.change_text,
            group.farthest.plan_text,
            group.farthest.reference_text,
            f"{group.losers:.0%}",
        )
        for group in groups[:MOST_GROUPS]
    ]
    say("")
    say_table([head, *rows])
    if len(groups) > MOST_GROUPS:
        say(f"and {len(groups) - MOST_GROUPS} more groups, whose average trips are shorter.")
