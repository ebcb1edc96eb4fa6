"""Argument parser of the command line: commands, options and their values."""

import argparse
import math
from collections.abc import Callable
from typing import NoReturn

from tkm_core.version import VERSION

USUAL_T = 0.25  # as in the app; --help would wait seconds for the planning room, a test holds them equal
BAD_INPUT, STOPPED = 2, 130  # exit status
READING = {
    "x": "column of longitude or easting",
    "y": "column of latitude or northing",
    "weight": "column of population",
    "group": "column of a group, such as a district",
    "id": "column of names or numbers",
    "place": "column of the names of places, such as neighbourhoods",
    "crs": "reference system of the coordinates, such as EPSG:2154",
    "encoding": "of a text file",
    "delimiter": "between the columns of a text file",
    "decimal": "sign in the numbers of a text file",
    "sheet": "of a workbook",
    "layer": "of a GeoPackage, or band of a raster",
    "within": "file of polygons: residents outside them are left out",
}
Command = Callable[[argparse.Namespace], int]
STREET_COLUMNS = {
    "road_class": "the class of a street in OpenStreetMap's words (residential, primary ...)",
    "oneway": "its direction",
    "speed": "its speed in km/h",
}  # columns of a layer of lines


class _Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print the sentence and exit."""
        self.exit(BAD_INPUT, f"{self.prog}: {message[:1].upper()}{message[1:]}. Try --help.\n")


def parser(plan_command: Command, compare_command: Command) -> argparse.ArgumentParser:
    """Build the parser; experiments parse their own arguments."""
    top = _Parser(prog="evenreach", description="Where to put facilities so that everyone is reached evenly.")
    top.add_argument("--version", action="version", version=f"EvenReach {VERSION}")
    commands = top.add_subparsers(required=True, metavar="{plan,compare,experiment}")
    plan = commands.add_parser("plan", help="place facilities and write them out")
    _add_data(plan)
    plan.add_argument(
        "-t",
        type=dial,
        help="the fairness dial: 0 is the lowest average, inf the shortest longest trip (default 0.25)",
    )
    plan.add_argument(
        "--budget",
        type=_number,
        metavar="PERCENT",
        help="choose t: the fairest plan whose average trip is at most this much longer than the lowest",
    )
    plan.add_argument(
        "--portfolio",
        action="store_true",
        help="also list the fewest plans such that, at every setting of the dial, one of them costs at most 1 %% more "
        "than that setting's own",
    )
    plan.add_argument(
        "--criterion",
        choices=("city", "cluster"),
        help="the cost by which the best plan is chosen: the city-wide cost (default), or the paper's tilted SSE",
    )
    plan.add_argument(
        "--compare-with",
        metavar="WHAT",
        help="today (default with --existing), average (the lowest-average plan, k-means++; default without), "
        "straight (along streets: what k-means++ plans by straight lines), or a plan file",
    )
    plan.add_argument(
        "--close",
        action="append",
        metavar="FACILITY",
        help="close an existing facility, by its number in the file or its name; may be repeated",
    )
    plan.add_argument(
        "--fewest",
        type=_positive,
        metavar="DISTANCE",
        help="choose k: the fewest facilities with which nobody is farther away than this, in --unit (in minutes for "
        "travel times)",
    )
    plan.add_argument("--standard", type=_positive, metavar="DISTANCE", help="service standard, in --unit")
    plan.add_argument("--people", metavar="WORD", help='who is served, in the plural (default "residents")')
    plan.add_argument("--load", metavar="PLAN.json", help="open a saved plan for FILE")
    plan.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="facilities; the suffix names the format: .geojson, .csv, ...",
    )
    plan.add_argument("--allocations", metavar="FILE", help="who goes where; the same formats")
    plan.add_argument("--areas", metavar="FILE", help="service areas; the same formats")
    plan.add_argument("--all", metavar="FILE.gpkg", help="all of these as layers of one GeoPackage")
    plan.add_argument(
        "--out-crs",
        metavar="CRS",
        default="wgs84",
        help='reference system of what is written: "wgs84" (default), "source" for that of FILE, or a code',
    )
    plan.add_argument("--save", metavar="PLAN.json", help="write a plan file")
    plan.add_argument(
        "--with-residents",
        action="store_true",
        help="put the residents into the plan file, so that it opens anywhere",
    )
    _add_rules(plan)
    plan.add_argument(
        "--prove",
        type=_positive,
        default=0.0,
        metavar="SECONDS",
        help="time for proving how good the plan is",
    )
    plan.set_defaults(run=plan_command)
    compare = commands.add_parser("compare", help="compare the published methods")
    _add_data(compare)
    compare.add_argument(
        "-t", type=dial, default=USUAL_T, help="fairness dial of tilted k-means (default 0.25)"
    )
    compare.add_argument("--methods", help="some of them, separated by commas")
    compare.add_argument("-o", "--output", metavar="FILE", help="write the table (.csv)")
    _add_rules(compare)
    compare.set_defaults(run=compare_command)
    commands.add_parser("experiment", help="the paper's figures and table", add_help=False)
    return top


def _add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for rules: what may be built where, and how distance is measured."""
    rules = parser.add_argument_group(
        "rules", "what may be built where, how far it is, how many people each may serve"
    )
    rules.add_argument("--sites", metavar="FILE", help="candidate sites: facilities stand only there")
    rules.add_argument("--only-in", metavar="FILE", help="zones in which facilities must stand")
    rules.add_argument("--not-in", metavar="FILE", help="zones in which no facility may stand")
    rules.add_argument(
        "--capacity", type=_positive, metavar="PEOPLE", help="the most people a facility may serve"
    )
    rules.add_argument(
        "--at-least", type=_positive, metavar="PEOPLE", help="the fewest people a facility has to serve"
    )
    rules.add_argument(
        "--travel",
        metavar="FILE",
        help="your own table of distances or times (CSV): rows by --id, columns by the names of the sites",
    )
    rules.add_argument("--travel-unit", choices=("m", "km", "mi", "s", "min", "h"), help="unit of that table")
    rules.add_argument(
        "--streets",
        metavar="FILE",
        help="road file (.osm.pbf, .osm, .osm.gz, or a layer of lines), or “sample” for the streets of a sample city",
    )
    rules.add_argument(
        "--mode", choices=("walk", "bicycle", "car"), default="walk", help="how people travel there"
    )
    rules.add_argument(
        "--cut-to-streets",
        action="store_true",
        help="plan only for the residents within 300 m of a street, where the road file covers a part of the city",
    )
    rules.add_argument("--measure", choices=("minutes", "metres"), default="minutes", help="along streets")
    rules.add_argument(
        "--direction",
        choices=("there", "back"),
        default="there",
        help="back: the facility comes to the people",
    )
    rules.add_argument(
        "--street-rules",
        metavar="FILE.toml",
        help="changes to the table of who may go where and how fast (tkm_core/streets/rules.toml)",
    )
    for name, meaning in STREET_COLUMNS.items():
        rules.add_argument(f"--{name.replace('_', '-')}", metavar="COLUMN", help=f"layer of lines: {meaning}")
    rules.add_argument("--equal-groups", action="store_true", help="every group counts the same in placing")


def _add_data(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say what to read and how many facilities to place."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="residents: a file, or a sample (sacramento, san-francisco, toulouse, porto-alegre, generated)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a Dask cluster that reads FILE, a folder or glob of Parquet files (default: EVENREACH_SCHEDULER)",
    )
    parser.add_argument("-k", type=whole(0), help="number of new facilities (default 8)")
    parser.add_argument("--existing", metavar="FILE", help="existing facilities, which never move")
    parser.add_argument(
        "--seed", type=whole(0, 2**32 - 1), default=0, help="the same seed gives the same result (default 0)"
    )
    parser.add_argument("--unit", choices=("km", "mi"), default="km", help="unit of distances")
    reading = parser.add_argument_group(
        "reading", "guessed if not given; an empty --weight, --group, --id or --place means none"
    )
    for name, meaning in READING.items():
        reading.add_argument(f"--{name}", metavar="NAME", help=meaning)
    reading.add_argument(
        "--total", type=_positive, metavar="PEOPLE", help="official number of people to scale to"
    )
    reading.add_argument("--keep-suspect", action="store_true", help="keep points that look wrong")


def _number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        msg = f"{text!r} is not a number"
        raise argparse.ArgumentTypeError(msg)
    return value


def _positive(text: str) -> float:
    """Read a number above 0."""
    value = _number(text)
    if value <= 0:
        msg = f"{text} is not above 0"
        raise argparse.ArgumentTypeError(msg)
    return value


def dial(text: str) -> float:
    """Read a setting of the fairness dial."""
    value = math.inf if text.strip().lower() in ("inf", "∞") else _number(text)
    if not value >= 0:
        msg = f"the dial goes from 0 to inf, not to {text}"
        raise argparse.ArgumentTypeError(msg)
    return value


def whole(least: int, most: float = math.inf) -> Callable[[str], int]:
    """Make a reader of whole numbers between two limits."""

    def read(text: str) -> int:
        """Read a whole number, or report the mistake."""
        if not text.strip().isdecimal() or not least <= int(text) <= most:
            end = "upwards" if most == math.inf else f"to {most}"
            msg = f"{text!r} is not a whole number from {least} {end}"
            raise argparse.ArgumentTypeError(msg)
        return int(text)

    return read
