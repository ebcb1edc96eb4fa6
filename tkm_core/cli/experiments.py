"""The command ``evenreach experiment``: run one or all experiments, and write the results of each."""

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tkm_core.cli.arguments import STOPPED, dial, whole
from tkm_core.cli.terminal import progress_bar, say
from tkm_core.experiments import EXPERIMENTS, Dataset, Experiment, Result, page, read_dataset
from tkm_core.progress import part

EVERYTHING = "all"
MOST = 2**31 - 1  # the largest number accepted for any count
OPTIONS = ("repeats", "size", "k", "t", "methods", "solver", "sizes", "max_seconds", "iterations")


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``evenreach experiment ...``; returns the exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the word experiment; by default those of the process.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(given)
    if arguments.columns and len(arguments.data) != 1:
        msg = "--columns goes with one --data FILE."
        raise ValueError(msg)
    names = list(EXPERIMENTS) if arguments.name == EVERYTHING else [arguments.name]
    settings = {name: _settings(EXPERIMENTS[name], arguments, strict=len(names) == 1) for name in names}
    folder = Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    own = [read_dataset(file, _listed(arguments.columns), seed=arguments.seed) for file in arguments.data]
    for note in (note for each in own for note in each.notes):
        say(note)
    for number, name in enumerate(names):
        experiment = EXPERIMENTS[name]
        data = own or experiment.data(arguments.seed)
        with progress_bar(f"{name}: " if len(names) > 1 else "") as show:
            share = part(show, number / len(names), (number + 1) / len(names))
            result = experiment.run(data, seed=arguments.seed, progress=share, **settings[name])
        words = [name if word == EVERYTHING else word for word in _without_output(given)]
        command = shlex.join(["python", "-m", "tkm_core", "experiment", *words])
        for path in _write(folder, experiment, result, data, command):
            say(f"Wrote {path}.")
        for note in result.notes:
            say(f"  {note}")
        if not result.complete:
            return STOPPED
    return 0


def _parser() -> argparse.ArgumentParser:
    """The parser of the experiments."""
    listed = "\n".join(f"  {name:20}{each.title}" for name, each in EXPERIMENTS.items())
    parser = argparse.ArgumentParser(
        prog="evenreach experiment",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Repeat the paper's figures and table, on the bundled data or on your own.",
        epilog=f"experiments:\n{listed}\n  {EVERYTHING:20}all of them, one after the other\n\n"
        "Ctrl-C ends a run and writes what is finished.",
    )
    parser.add_argument(
        "name", choices=[*EXPERIMENTS, EVERYTHING], metavar="NAME", help="one of the names below"
    )
    parser.add_argument(
        "--data", metavar="FILE", action="append", default=[],
        help="numeric table, standardised as in the paper, a sample (sacramento, ...), or a table that comes along "
        "(iris, wine, abalone-like, census-like, hmda-like, ...); may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--columns", metavar="A,B,...", help="columns of FILE by name or position (default: all numeric)"
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="experiments", help="folder for .csv and .html files"
    )
    parser.add_argument("--quick", action="store_true", help="small settings, done in seconds")
    parser.add_argument(
        "--seed", type=whole(0, MOST), default=0, help="the same seed gives the same numbers (default 0)"
    )
    parser.add_argument(
        "--repeats", type=whole(1, MOST), help="samples of each data set (default 10, as in the paper)"
    )
    parser.add_argument(
        "--size", type=whole(2, MOST), help="points of a sample (default 1000, as in the paper)"
    )
    parser.add_argument("-k", metavar="K,...", type=_list(whole(1, MOST)), help="numbers of facilities")
    parser.add_argument("-t", metavar="T,...", type=_list(dial), help="values of the dial")
    parser.add_argument("--methods", metavar="A,B,...", type=_list(str.strip), help="some of the methods")
    parser.add_argument(
        "--solver", choices=("newton", "sgd"), help="of TKM: exact (default), or the paper's SGD"
    )
    parser.add_argument("--sizes", metavar="N,...", type=_list(whole(2, MOST)), help="of running-time")
    parser.add_argument(
        "--max-seconds", type=whole(1, MOST), help="of running-time, for one run (default 600)"
    )
    parser.add_argument(
        "--iterations", type=whole(1, MOST), help="iterations of the paper's SGD (default 500)"
    )
    return parser


def _settings(experiment: Experiment, arguments: argparse.Namespace, *, strict: bool) -> dict[str, Any]:
    """The experiment's settings with those given; `strict` refuses any that do not fit."""
    known = dict(experiment.settings)
    if arguments.quick:
        known |= experiment.quick
    for name in OPTIONS:
        value = getattr(arguments, name)
        if value is None:
            continue
        if name in known and isinstance(known[name], tuple) == isinstance(value, tuple):
            known[name] = value
        elif name in known and isinstance(value, tuple) and len(value) == 1:
            known[name] = value[0]
        elif strict:
            option = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
            why = f"takes one value of {option}" if name in known else f"has no {option}"
            msg = f"The experiment {experiment.name} {why}."
            raise ValueError(msg)
    return known


def _write(
    folder: Path, experiment: Experiment, result: Result, data: Sequence[Dataset], command: str
) -> Iterator[Path]:
    """Write numbers and figure, each in one step, so that nobody ever reads half a file."""
    from tkm_core.export import write_whole

    table = folder / f"{experiment.name}.csv"
    yield write_whole(table, lambda file: result.table.to_csv(file, index=False, float_format="%.7g"))
    text = page(experiment, result, data, command)
    yield write_whole(table.with_suffix(".html"), lambda file: _text(file, text))


def _text(file: Path, text: str) -> None:
    """Write a text file."""
    file.write_text(text, encoding="utf-8")


def _without_output(given: Sequence[str]) -> list[str]:
    """The arguments without the output folder, which does not affect the numbers."""
    kept: list[str] = []
    skip = False
    for word in given:
        if skip or word.startswith(("--output=", "-o")) or word == "--output":
            skip = not skip and word in ("-o", "--output")
            continue
        kept.append(word)
    return kept


def _listed(text: str | None) -> list[str]:
    """The parts of a text between commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _list(read: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Make a reader of values between commas."""

    def read_all(text: str) -> tuple[Any, ...]:
        """Read every value."""
        return tuple(read(each) for each in text.split(","))

    return read_all
