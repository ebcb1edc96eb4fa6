"""All benchmarks in one command: ``python -m benchmarks [NAME ...] [--json FILE]``.

``python -m benchmarks optima FOLDER`` compares with published optima instead; its ``--help`` says where to get them.

Every figure is a ratio against another library in the same run, or states its unit. A row that missed its target says
so.
"""

import argparse
import json
import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks import optima

NAMES = (
    "solver",
    "criterion",
    "methods",
    "rivals",
    "sites",
    "plane",
    "streets",
    "reading",
    "partitions",
    "app",
    "load",
)


def spelled(row: dict[str, Any]) -> tuple[str, str, str]:
    """A row's figure, its target and whether it was met."""
    if row["measured"] is None:
        return "left out", "", ""
    unit = row.get("unit", "s" if "ratio" in row else "×")
    figure = f"{row['measured']:,.2f} {unit}".strip()
    if row.get("ratio") is not None:
        figure += f" ({row['ratio']:,.1f}×)"
    target = row.get("target")
    if target is None:
        return figure, "", ""
    at_least = bool(row.get("least"))
    met = row["measured"] >= target if at_least else row["measured"] <= target * (1 + 1e-9) + 1e-9
    return figure, f"{'≥' if at_least else '≤'} {target:,.4g}", "met" if met else "MISSED"


def main() -> None:
    """Run the named benchmarks, print one table, and write it as JSON if asked."""
    if sys.argv[1:2] == ["optima"]:
        optima.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[[], *NAMES], default=[], metavar="NAME", help=", ".join(NAMES)
    )
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in tqdm(chosen.names or NAMES, desc="benchmarks"):
        rows += [{"benchmark": name, **row} for row in import_module(f"benchmarks.{name}").run()]
    for row in rows:
        figure, target, met = spelled(row)
        print(f"{row['benchmark']:<9} {figure:>22}  {target:>9}  {met:<6}  {row['case']}")
    if chosen.json:
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        chosen.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
