"""What the command line takes: its commands, their options and what each value may be."""

import argparse
import math
from collections.abc import Callable
from typing import NoReturn

from tkm_core.version import VERSION

BAD_INPUT, STOPPED = 2, 130  # exit status
READING = {
    "x": "column of longitude or easting",
    "y": "column of latitude or northing",
    "weight": "column of population",
    "group": "column of a group, such as a district",
    "id": "column of names or numbers",
    "crs": "reference system of the coordinates, such as EPSG:2154",
    "encoding": "of a text file",
    "delimiter": "between the columns of a text file",
    "decimal": "sign in the numbers of a text file",
    "sheet": "of a workbook",
    "layer": "of a GeoPackage",
}
Command = Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """A parser that answers a mistake with one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message[:1].upper()}{message[1:]}. Try --help.\n")


def parser(plan_command: Command, compare_command: Command) -> argparse.ArgumentParser:
    """Build the parser; the experiments read their own arguments."""
    top = _Parser(
        prog="python -m tkm_core", description="Where to put facilities so that everyone is reached evenly."
    )
    top.add_argument("--version", action="version", version=f"EvenReach {VERSION}")
    commands = top.add_subparsers(required=True, metavar="{plan,compare,experiment}")
    plan = commands.add_parser("plan", help="place facilities and write them out")
    _add_data(plan)
    plan.add_argument(
        "-t", type=dial, help="the fairness dial: 0 is k-means, 10 nearly minimax (default 0.3)"
    )
    plan.add_argument(
        "--budget",
        type=_number,
        metavar="PERCENT",
        help="choose t: the fairest plan whose average trip is at most so much longer than with k-means++",
    )
    plan.add_argument(
        "--criterion",
        choices=("city", "cluster"),
        help="what the best of several searches is lowest in: the city-wide cost (default), or the paper's tilted SSE",
    )
    plan.add_argument("--standard", type=_positive, metavar="DISTANCE", help="service standard, in --unit")
    plan.add_argument("--people", metavar="WORD", help='who is served, in the plural (default "residents")')
    plan.add_argument("--load", metavar="PLAN.json", help="bring back a saved plan for FILE")
    plan.add_argument("-o", "--output", metavar="FILE", help="facilities: .geojson .gpkg .csv .kml .parquet")
    plan.add_argument("--allocations", metavar="FILE", help="who goes where; the same formats")
    plan.add_argument("--areas", metavar="FILE", help="service areas; the same formats")
    plan.add_argument("--out-crs", metavar="CRS", default="wgs84", help='"wgs84", "source" or a code')
    plan.add_argument("--save", metavar="PLAN.json", help="write a plan file")
    plan.set_defaults(run=plan_command)
    compare = commands.add_parser("compare", help="compare the published methods")
    _add_data(compare)
    compare.add_argument("-t", type=dial, default=0.3, help="dial of tilted k-means (default 0.3)")
    compare.add_argument("--methods", help="some of them, with commas between")
    compare.add_argument("-o", "--output", metavar="FILE", help="write the table (.csv)")
    compare.set_defaults(run=compare_command)
    commands.add_parser("experiment", help="the paper's figures and table", add_help=False)
    return top


def _add_data(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say what to read and how many facilities to place."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="residents: a file, or a sample (sacramento, san-francisco, toulouse, generated)",
    )
    parser.add_argument("-k", type=whole(1), help="number of new facilities (default 8)")
    parser.add_argument("--existing", metavar="FILE", help="existing facilities, which never move")
    parser.add_argument(
        "--seed", type=whole(0, 2**32 - 1), default=0, help="the same seed gives the same result (default 0)"
    )
    parser.add_argument("--unit", choices=("km", "mi"), default="km", help="unit of distances")
    reading = parser.add_argument_group(
        "reading", "guessed where not said; an empty --weight, --group or --id means none"
    )
    for name, meaning in READING.items():
        reading.add_argument(f"--{name}", metavar="NAME", help=meaning)
    reading.add_argument("--keep-suspect", action="store_true", help="keep points that look wrong")


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        msg = f"{text!r} is not a number"
        raise argparse.ArgumentTypeError(msg)
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if value <= 0:
        msg = f"{text} is not above 0"
        raise argparse.ArgumentTypeError(msg)
    return value


def dial(text: str) -> float:
    """Read a setting of the fairness dial."""
    value = _number(text)
    if not 0 <= value <= 1e6:
        msg = f"the dial goes from 0 upwards (100 is nearly the end), not to {text}"
        raise argparse.ArgumentTypeError(msg)
    return value


def whole(least: int, most: float = math.inf) -> Callable[[str], int]:
    """A reader of whole numbers."""

    def read(text: str) -> int:
        if not text.strip().isdecimal() or not least <= int(text) <= most:
            end = "upwards" if most == math.inf else f"to {most}"
            msg = f"{text!r} is not a whole number from {least} {end}"
            raise argparse.ArgumentTypeError(msg)
        return int(text)

    return read
