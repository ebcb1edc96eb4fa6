"""Running times of the methods on the same residents, as multiples of k-means++ in the same run."""

from time import perf_counter

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack
from scipy.spatial.distance import cdist
from tqdm import tqdm

from tkm_core.arrays import Floats
from tkm_core.evaluation import neighbourhood_radius
from tkm_core.methods import METHODS, estimate, fair_service, run_method

K = 4
PROMISED = 1_000
SECONDS = {"jkl": 2.0, "mv": 2.0, "fr": 60.0, "sfr": 15.0}
GROWTH = (500, 1_000, 2_000, 4_000)
LONGEST = 120.0  # seconds; a case expected to take longer is left out, which is reported
PROGRAM = 300

Row = dict[str, str | float | None]


def towns(n: int) -> Floats:
    """Residents of towns of very different size and density, with people scattered between them.

    >>> towns(1_000).shape
    (1000, 2)
    """
    rng = np.random.default_rng(0)
    middles = rng.uniform(-3, 3, (12, 2))
    town = rng.choice(12, n, p=rng.dirichlet(np.ones(12)))
    spread = rng.choice([0.1, 0.4, 1.5], n)[:, None]
    return middles[town] + spread * rng.normal(size=(n, 2))


def program_written_out(points: Floats, radius: Floats) -> float:
    """Optimum of fair service as a full program with every pair within the radius, by scipy's HiGHS."""
    n, squared = len(points), cdist(points, points, "sqeuclidean")
    v, u = np.nonzero(squared <= (radius[:, None] * (1 + 1e-9)) ** 2)
    m, pair = len(v), np.arange(len(v))
    served = coo_array((np.ones(m), (v, n + pair)), shape=(n, n + m))
    unopened = coo_array((np.ones(m), (pair, n + pair)), shape=(m, n + m))
    unopened -= coo_array((np.ones(m), (pair, u)), shape=(m, n + m))
    opened = coo_array(np.concatenate([np.ones(n), np.zeros(m)])[None, :])
    found = linprog(
        np.concatenate([np.zeros(n), squared[v, u]]),
        A_ub=vstack([unopened, opened]),
        b_ub=np.append(np.zeros(m), K),
        A_eq=served,
        b_eq=np.ones(n),
        bounds=(0, 1),
    )
    return float(found.fun)


def program_row() -> Row:
    """FR's program with row generation against the full program; both must find the same optimum."""
    points = towns(PROGRAM)
    radius = neighbourhood_radius(points, K)
    began = perf_counter()
    truth = program_written_out(points, radius)
    peer = perf_counter() - began
    began = perf_counter()
    value = fair_service(points, np.ones(PROGRAM), K, radius, lambda _fraction, _text: None).value
    seconds = perf_counter() - began
    if not np.isclose(value, truth, rtol=1e-6):
        msg = f"The programs disagree: {value} here, {truth} written out."
        raise ValueError(msg)
    case = f"FR's linear program, n = {PROGRAM}, against scipy on the program written out (ratio to scipy)"
    return {"case": case, "measured": seconds, "ratio": seconds / peer, "target": peer}


def run() -> list[Row]:
    """Measure every method at several n.

    Returns
    -------
    list of dict
        ``case``; ``measured``, in seconds; ``ratio``, to k-means++ on the same residents in the same run;
        ``target``, the seconds it may take, where a figure is promised.
    """
    rows = [program_row()]
    for name in METHODS:  # compile and load everything before measuring
        run_method(name, towns(60), K, random_state=0)
    for n in tqdm(GROWTH, desc="Methods", leave=False):
        points = towns(n)
        # the fastest of several runs is the least disturbed
        baseline = min(run_method("kmeans++", points, K, random_state=0).seconds for _ in range(5))
        for name in METHODS:
            expected = estimate(name, n, points.shape[1], K).seconds
            if expected > LONGEST:
                case = f"{name}, n = {n:,}, k = {K}: left out, about {expected:,.0f} s expected"
                rows.append({"case": case, "measured": None, "ratio": None, "target": None})
                continue
            seconds = run_method(name, points, K, random_state=0).seconds
            target = SECONDS.get(name) if n == PROMISED else None
            case = f"{name}, n = {n:,}, k = {K}"
            rows.append({"case": case, "measured": seconds, "ratio": seconds / baseline, "target": target})
    return rows
