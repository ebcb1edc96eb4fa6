"""Published optima of the p-median and p-center problems against ours: ``python -m benchmarks optima FOLDER``.

The instances are not part of this repository. FOLDER holds any of these files:

- ``pmed1.txt`` to ``pmed40.txt`` of OR-Library, https://people.brunel.ac.uk/~mastjjb/jeb/orlib/pmedinfo.html
- ``NAME.tsp`` of TSPLIB (EUC_2D), http://comopt.ifi.uni-heidelberg.de/software/TSPLIB95/tsp/
- ``optima.csv`` with the columns instance, problem (median or center), p, optimum: the published values. OR-Library has
  those of its p-medians in ``pmedopt.txt``. A pmed file that it does not name is solved too, at its own p.

The published p-medians of TSPLIB instances are those of distances rounded down, the p-centers those of distances
rounded to the nearest whole number, as TSPLIB defines EUC_2D. Each row is solved by
``site_path(distances, p, t=[0 or infinity], power=1)`` and then ``improve(seconds)``.
"""

import argparse
import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from tkm_core import site_path
from tkm_core.arrays import Floats

DIAL = {"median": 0.0, "center": math.inf}
HEAD = "instance   problem    p  published       ours        bound  proved seconds"


@dataclass(frozen=True)
class Case:
    """One instance, the problem asked of it, and the published optimum if there is one."""

    file: Path
    problem: str
    p: int
    published: float | None


@dataclass(frozen=True)
class Solved:
    """What was found for a case: cost, lower bound, whether they meet, and the seconds until then."""

    ours: float
    bound: float
    proved: bool
    seconds: float


def read_pmed(text: str) -> tuple[Floats, int]:
    """Distances and p of an OR-Library file: shortest ways along its edges; of an edge given twice the last counts.

    >>> read_pmed("3 3 1  1 2 9  2 3 5  1 2 4")[0].tolist()
    [[0.0, 4.0, 9.0], [4.0, 0.0, 5.0], [9.0, 5.0, 0.0]]
    """
    n, edges, p, *rest = (int(word) for word in text.split())
    lengths = {tuple(sorted(edge[:2])): edge[2] for edge in np.reshape(rest, (edges, 3)).tolist()}
    tails, heads = np.array(list(lengths)).T - 1
    graph = csr_array((np.array(list(lengths.values()), float), (tails, heads)), shape=(n, n))
    return shortest_path(graph, directed=False), p


def read_tsplib(text: str) -> Floats:
    r"""Distances between the points of a TSPLIB file, not rounded.

    >>> read_tsplib("EDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\nEOF")[0].tolist()
    [0.0, 5.0]
    """
    if not re.search(r"EDGE_WEIGHT_TYPE\s*:\s*EUC_2D", text):
        msg = "The TSPLIB file has no EUC_2D distances; only those are read."
        raise ValueError(msg)
    words = text.split("NODE_COORD_SECTION")[1].split("EOF")[0].split()
    X = np.reshape(np.array(words, float), (-1, 3))[:, 1:]
    return cdist(X, X)


def distances_of(case: Case) -> Floats:
    """The table of distances of a case, rounded as in the publications."""
    text = case.file.read_text()
    if case.file.suffix != ".tsp":
        return read_pmed(text)[0]
    return np.floor(read_tsplib(text) + (0.0 if case.problem == "median" else 0.5))


def cases(folder: Path) -> Iterator[Case]:
    """The cases of a folder, those with published optima first."""
    files = {file.stem: file for file in [*folder.glob("pmed*.txt"), *folder.glob("*.tsp")]}
    files.pop("pmedopt", None)
    named = set()
    if (folder / "optima.csv").exists():
        for row in csv.DictReader((folder / "optima.csv").read_text().splitlines()):
            if row["instance"] in files:
                named.add(row["instance"])
                yield Case(files[row["instance"]], row["problem"], int(row["p"]), float(row["optimum"]))
    others = sorted(set(files) - named, key=lambda name: (len(name), name))
    for name in others:
        if files[name].suffix == ".txt":
            p = read_pmed(files[name].read_text())[1]
            yield from (Case(files[name], problem, p, None) for problem in DIAL)


def solve(case: Case, distances: Floats, seconds: float) -> Solved:
    """Solve a case; the optimum is a sum for medians and a distance for centers."""
    start = perf_counter()
    path = site_path(distances, case.p, t=[DIAL[case.problem]], power=1, random_state=0)
    path = path.improve(seconds)
    factor = len(distances) if case.problem == "median" else 1
    took = perf_counter() - start
    return Solved(
        factor * float(path.city_cost[0]), factor * float(path.bound[0]), bool(path.proved[0]), took
    )


def main(given: list[str] | None = None) -> None:
    """Print a row for each case as soon as it is solved, then how many were reached and proved."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks optima",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="the folder with the instances")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each improve; 60 unless told")
    parser.add_argument(
        "--only", default="", help="a regular expression: solve 'instance problem p' that match"
    )
    asked = parser.parse_args(given)
    chosen = [
        case
        for case in cases(asked.folder)
        if re.search(asked.only, f"{case.file.stem} {case.problem} {case.p}")
    ]
    if not chosen:
        parser.error(f"{asked.folder} holds no instances that match. {__doc__}")
    print(HEAD, flush=True)
    solved: list[tuple[Case, Solved]] = []
    for case in chosen:
        found = solve(case, distances_of(case), asked.seconds)
        solved.append((case, found))
        published = "" if case.published is None else f"{case.published:.0f}"
        print(
            f"{case.file.stem:<10} {case.problem:<7} {case.p:>4} {published:>10} {found.ours:>10.0f} "
            f"{found.bound:>12.2f}  {'yes' if found.proved else 'no':<6} {found.seconds:>7.1f}",
            flush=True,
        )
    known = [(case.published, found.ours) for case, found in solved if case.published is not None]
    reached = sum(ours <= published + 0.5 for published, ours in known)
    print(
        f"{reached} of {len(known)} published optima reached, "
        f"{sum(found.proved for _, found in solved)} of {len(solved)} proved"
    )
