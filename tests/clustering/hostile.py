"""Hostile problems for the solver, made from a seed, and what every answer to them must be.

``python -m tests.clustering.hostile --count 2000 --seed 1`` tries as many as one likes and prints those that fail.
"""

import argparse
import faulthandler
import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tkm_core import METHODS, Residents, TiltedKMeans, evaluate, make_plan, run_method, tilted_path

TILTS = (0.0, 1e-300, 1e-9, 0.1, 1.0, 100.0, 1e6, 1e300, np.inf)
KINDS = ("fit", "fit", "fit", "path", "method", "sgd", "plan")
SENTENCES = (
    "1.8e308",
    "apart to be compared",
    "cannot run at t = infinity",
    "too many for residents in",
    "residents have a weight above 0",
    "linear program",
    "too far from every facility",
)
SECONDS = 60  # for one problem, after which the process ends: a hundred times what the slowest needs


@dataclass
class Problem:
    """One problem: residents, weights, how many facilities, which are fixed, the dial, and what is asked."""

    X: np.ndarray
    weights: np.ndarray | None
    k: int
    fixed: np.ndarray | None
    t: float
    criterion: str
    kind: str
    method: str
    seed: int


def problem(seed: int) -> Problem:
    """The problem with this number: each choice is drawn on its own, so that every mix comes up."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([1, 2, 3, 5, 12, 40, 120])), int(rng.choice([1, 2, 2, 3, 5, 20]))
    X = _places(rng, n, d)
    scale = float(rng.choice([1.0, 1.0, 1.0, 1e-160, 1e-9, 1e9, 1e70, 1e150, 1e154]))
    X = X * scale
    offset = float(rng.choice([0.0, 0.0, 1.0, 1e3, 1e9, 1e15]))
    X = X + offset * scale * rng.choice([-1, 1], size=d)
    k = int(rng.choice([1, 2, 3, min(n, 8), n if n <= 40 else 8]))
    t = float(rng.choice(TILTS)) * float(rng.choice([1.0, 1 / scale**2 if 1e-150 < scale < 1e150 else 1.0]))
    fixed = None
    if rng.random() < 0.35:
        count = int(rng.integers(1, 4))
        away = scale * float(rng.choice([0.0, 1e-12, 1.0, 1e3, 1e12]))
        fixed = X[rng.integers(n, size=count)] + away * rng.normal(size=(count, d))
        if rng.random() < 0.2:
            fixed = np.full((count, d), float(rng.choice([1e300, -1e100, 0.0])))
    return Problem(
        np.ascontiguousarray(X), _weights(rng, n), min(k, n), fixed, t, str(rng.choice(["cluster", "city"])),
        str(rng.choice(KINDS)), str(rng.choice(METHODS)), int(rng.integers(100)),
    )  # fmt: skip


def _places(rng, n, d):
    """Residents of unit scale."""
    X = rng.normal(size=(n, d))
    shape = rng.choice(
        ["plain", "few places", "noisy places", "one place", "line", "grid", "strays", "scales"]
    )
    few = X[rng.integers(0, max(1, min(n, 4)), size=n)]
    if shape == "few places":
        return few
    if shape == "noisy places":
        return few + float(rng.choice([1e-9, 1e-13, 1e-16])) * rng.normal(size=(n, d))
    if shape == "one place":
        return np.repeat(X[:1], n, axis=0)
    if shape == "line":
        return X[:, :1] * rng.normal(size=(1, d))
    if shape == "grid":
        return np.round(X * 2)
    if shape == "strays":
        X[rng.random(n) < 0.1] *= 1e6
    if shape == "scales":
        X *= 10.0 ** rng.uniform(-30, 0, size=(n, 1))
    return X


def _weights(rng, n):
    kind = rng.choice(["none", "ones", "random", "zeros", "tiny", "huge", "mixed", "extreme"])
    w = rng.random(n) + 1e-3
    if kind == "none":
        return None
    if kind == "ones":
        return np.ones(n)
    if kind == "tiny":
        w = w * 1e-300
    if kind == "huge":
        w = w * 1e300
    if kind == "mixed":
        w = w * 10.0 ** rng.integers(-30, 30, size=n)
    if kind == "extreme":
        w = w * rng.choice([[1e-300, 1.0], [1.0, 1e300], [1e-300, 1e300]][rng.integers(3)], size=n)
    if kind in ("zeros", "mixed", "extreme"):
        w[rng.random(n) < 0.3] = 0.0
        w[rng.integers(n)] = 1.0
    return w


def solve(case: Problem) -> str:
    """Ask for the answer and hold it against the plain definition; "solved", or the sentence of a refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return {"path": _path, "method": _method, "plan": _plan}.get(case.kind, _fit)(case)
        except ValueError as refusal:
            told = str(refusal)
            assert any(words in told for words in SENTENCES), f"not one of our sentences: {told}"
            assert not _ordinary(case), f"ordinary numbers are refused: {told}"
            return told


def _ordinary(case):
    """Whether nothing about a problem's numbers is beyond what can be represented."""
    w = np.ones(1) if case.weights is None else case.weights[case.weights > 0]
    spread = np.ptp(case.X, axis=0).max()
    return (
        case.kind in ("fit", "path")
        and spread < 1e150
        and w.max() * 1e-290 < w.min()
        and np.log10(w.sum()) + 2 * np.log10(max(spread, 1.0)) < 300
    )


def _fit(case):
    options = {"solver": "sgd", "max_iter": 30} if case.kind == "sgd" else {}
    model = TiltedKMeans(
        case.k,
        scale=1.0,
        t=case.t,
        criterion=case.criterion,
        fixed_centers=case.fixed,
        random_state=case.seed,
        **options,
    ).fit(case.X, sample_weight=case.weights)
    costs = {"city": model.city_cost_, "tilted": model.tilted_sse_}
    check(case, case.X, model.cluster_centers_, case.t, costs, model.labels_)
    assert np.isfinite(model.history_).all() and np.isfinite(model.inertia_)
    assert model.inertia_ >= 0
    return "solved"


def _path(case):
    grid = sorted({0.0, 0.1, case.t})
    path = tilted_path(
        case.X, case.k, t=grid, criterion=case.criterion, sample_weight=case.weights, fixed_centers=case.fixed,
        scale=1.0, random_state=case.seed,
    )  # fmt: skip
    for i, t in enumerate(path.t):
        costs = {"city": path.city_cost[i], "tilted": path.tilted_sse[i], "sse": path.sse[i]}
        check(case, case.X, path.centers[i], t, costs)
    return "solved"


def _method(case):
    options = {"tkm": {"t": case.t}, "nf": {"max_iter": 20}}.get(case.method, {})
    found = run_method(
        case.method, case.X, case.k, sample_weight=case.weights, random_state=case.seed, **options
    )
    check(case, case.X, np.vstack([found.centers]), None, {}, found.labels, free=len(found.centers))
    judged = evaluate(case.X, found.centers, t=case.t, sample_weight=case.weights, standard=1.0)
    for name, value in vars(judged).items():
        if name in ("t", "fairness_ratio", "split"):
            continue
        assert np.isfinite(value).all(), f"{name} is {value}"
        assert np.min(value) >= 0, f"{name} is {value}"
    assert judged.gini <= 1 and judged.share_within <= 1 + 1e-12
    costs = {"city": judged.city_cost, "tilted": judged.tilted_sse, "sse": judged.sse}
    check(case, case.X, found.centers, case.t, costs, judged.labels, free=len(found.centers))
    return "solved"


def _plan(case):
    """Residents of a town whose homes have the shape of the problem, in degrees."""
    X = case.X[:, :2] if case.X.shape[1] > 1 else np.repeat(case.X, 2, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        wide = np.ptp(X, axis=0).max()
        town = (X - X[0]) / wide if 0 < wide < np.inf else np.zeros_like(X)
    homes = np.clip(np.nan_to_num(town), -1, 1) * 0.05 + [1.4, 43.6]
    weights = None if case.weights is None else case.weights
    residents = Residents.from_lonlat(homes, weights=weights)
    plan = make_plan(residents, case.k, t=[0.0, 0.1, 10.0], random_state=case.seed)
    for i in range(len(plan)):
        assert np.isfinite(plan.centers_lonlat(i)).all()
        judged = plan.evaluation(i)
        assert np.isfinite([judged.mean_distance, judged.largest_distance, judged.city_cost]).all()
    assert np.isfinite(plan.baseline).all()
    return "solved"


def check(case, X, centers, t, costs, labels=None, free=None):
    """Facilities are finite and in the residents' box, fixed ones untouched, and the costs are the definition's."""
    w = np.ones(len(X)) if case.weights is None else case.weights
    live = X[w > 0]
    free = case.k if free is None else free
    assert np.isfinite(centers).all()
    if case.fixed is not None and free < len(centers):
        assert centers[free:].tobytes() == np.ascontiguousarray(case.fixed).tobytes(), (
            "a fixed facility moved"
        )
    assert (centers[:free] >= live.min(axis=0)).all(), "a facility outside the residents' box"
    assert (centers[:free] <= live.max(axis=0)).all(), "a facility outside the residents' box"
    if labels is not None:
        assert labels.shape == (len(X),)
        assert labels.min() >= 0 and labels.max() < len(centers)
    if t is None:
        return
    truth, scale = _definition(live, w[w > 0], centers, t)
    widest = (np.ptp(live.astype(np.longdouble), axis=0) ** 2).sum()
    for name, value in costs.items():
        assert np.isfinite(value) and value >= 0, f"{name} is {value}"
        # of coordinates with 16 digits squared distances have an error of some 1e-16 of width times distance
        slack = 1e-6 * truth[name] + scale
        assert value <= len(centers) * widest * (1 + 1e-12), (
            f"{name} is {value}, more than across the whole box"
        )
        assert abs(value - truth[name]) <= slack, f"{name} is {value}, by definition {truth[name]}"


def _definition(X, w, centers, t):
    """The costs written out in extended precision, and how far rounding of X and of the centres may take them."""
    X, centers, w = X.astype(np.longdouble), centers.astype(np.longdouble), w.astype(np.longdouble)
    f = ((X[:, None] - centers[None]) ** 2).sum(axis=2)
    labels, f = f.argmin(axis=1), f.min(axis=1)
    w = w / w.sum()
    t = np.longdouble(t)
    truth = {"sse": (w * f).sum(), "city": _log_mean(f, w, t)}
    truth["tilted"] = sum(_log_mean(np.where(labels == j, f, 0), w, t) for j in range(len(centers)))
    width = max(np.ptp(X, axis=0).max(), np.longdouble(0))
    rounding = (
        np.longdouble(4e-16) * width * np.sqrt(f.max())
        + np.longdouble(1e-24) * width**2
        + np.longdouble(1e-315)
    )
    return truth, rounding * len(centers)


def _log_mean(f, w, t):
    """(1/t) log of the mean of e^{t f}; its limits at 0 and infinity."""
    if np.isinf(t):
        return f.max()
    z = t * f
    if t == 0 or z.max() < 1e-9:
        return (w * f).sum() + t / 2 * (w * (f - (w * f).sum()) ** 2).sum()
    if z.max() < 1:
        return np.log1p((w * np.expm1(z)).sum()) / t
    return f.max() + np.log((w * np.exp(z - z.max())).sum()) / t


def main(arguments=None) -> int:
    """Try problems seed, seed + 1, ...; print those that fail, and how many were solved or refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    failed, refused, slowest = 0, 0, (0.0, 0)
    for seed in range(chosen.seed, chosen.seed + chosen.count):
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        if sys.stdout.isatty():
            print(f"problem {seed}", end="\r", flush=True)
        began = time.perf_counter()
        try:
            refused += solve(problem(seed)) != "solved"
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is the finding
            failed += 1
            case = problem(seed)
            print(
                f"problem {seed} ({case.kind}, {case.method}, t={case.t}): {type(error).__name__}: {str(error)[:300]}"
            )
        slowest = max(slowest, (time.perf_counter() - began, seed))
        faulthandler.cancel_dump_traceback_later()
    told = f"{failed} failed, {refused} refused with a sentence"
    print(f"{chosen.count} problems: {told}; slowest {slowest[0]:.1f} s (problem {slowest[1]})")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
