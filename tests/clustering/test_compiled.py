"""The compiled functions: one type each, machine code kept and found again, and what happens where it cannot be."""

import gc
import os
import pickle
import re
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pytest
from numba import njit, types
from numba.core.compiler import Flags
from numba.core.errors import TypingError
from numba.core.types.functions import BaseFunction

from tests.another_user import AS_ANOTHER_USER, give_back, give_owner_the_rights_of_others
from tests.clustering.problems import enclosing_ball, slow_city_cost, tilted_mean
from tkm_core import TiltedKMeans, evaluate, neighbourhood_radius, tilted_path
from tkm_core.clustering import threads
from tkm_core.clustering.compiled import compiler, intermediate, passes
from tkm_core.clustering.compiled import kernel as kernels
from tkm_core.clustering.descent import Problem, descend
from tkm_core.processors import processors

ROOT = Path(__file__).parents[2]
MODULES = (
    "cells",
    "covers",
    "descents",
    "neighbourhoods",
    "passes",
    "starts",
    "swaps",
    "tilted_mean",
    "wide",
)
OTHERS = ("clustering.streamed.compiled", "sites.compiled", "sites.transport", "streets.compiled")
WHAT_TO_DO = "a compiled loop or numba has changed: run make intermediate"


def kernels_of(module):
    """The kernels that a module has or uses."""
    for function in vars(import_module(f"tkm_core.{module}")).values():
        if isinstance(getattr(function, "_cache", None), kernels.KernelCache):
            yield function


def compiled():
    """Every kernel of the solver, and how many types it was compiled for."""
    return {
        function._cache.name: len(function.signatures)
        for name in MODULES
        for function in kernels_of(f"clustering.compiled.{name}")
    }


def all_kernels():
    """Every kernel of the library, by its machine code."""
    modules = [*(f"clustering.compiled.{name}" for name in MODULES), *OTHERS]
    return {
        function._cache.name: function._cache for name in modules for function in kernels_of(name)
    }.values()


def forms(X, w):
    """The same numbers as they come from pandas, from files, from transposed tables."""
    locked, locked_w = X.copy(), w.copy()
    locked.flags.writeable = locked_w.flags.writeable = False
    yield locked, pd.Series(locked_w)
    yield pd.DataFrame(locked), locked_w
    yield np.asfortranarray(X), np.repeat(w, 2)[::2]
    yield X.astype(np.float32), w.astype(np.float32)


def test_every_form_of_the_same_numbers_is_one_type_and_one_answer():
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, size=(300, 2)).astype(float)
    w = rng.integers(1, 9, size=300).astype(float)
    ends = []
    for each, weights in [(X, w), *forms(X, w)]:
        models = [
            TiltedKMeans(3, t=t, n_init=1, random_state=0) for t in (0.0, 1e-3, 1, np.float32(0.5), np.inf)
        ]
        ends += [model.fit(each, sample_weight=weights).tilted_sse_ for model in models]
        tilted_path(each, 2, t=[0.0, 1.0], sample_weight=weights, random_state=0)
        evaluate(each, X[:3], sample_weight=weights, neighbourhood=neighbourhood_radius(each, 3, weights))
    assert len(set(ends[:5])) == 5
    assert ends == ends[:5] * 5
    counts = compiled()
    assert counts["descents.descend"] == counts["starts.find_start"] == counts["passes.find_nearest"] == 1
    assert max(counts.values()) == 1, counts


FIND_NEAREST = (
    "import numpy as np; from tkm_core.clustering import nearest; "
    "print(nearest(np.zeros((3, 2)), np.ones((1, 2)))[1].sum())"
)


def run(code, folder, python=(sys.executable,)):
    done = subprocess.run(
        [*python, "-c", code],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder), "TMPDIR": str(folder)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.strip()


@pytest.mark.nightly
def test_machine_code_is_kept_said_once_and_made_anew_when_damaged(tmp_path):
    assert run(FIND_NEAREST, tmp_path) == ("6.0", kernels.NOTICE)
    (file,) = tmp_path.rglob("passes.find_nearest.*")
    assert run(FIND_NEAREST, tmp_path) == ("6.0", "")
    file.write_bytes(os.urandom(60))
    assert run(FIND_NEAREST, tmp_path) == ("6.0", kernels.NOTICE)
    assert run(FIND_NEAREST, tmp_path) == ("6.0", "")


def double(x):
    return x * 2.0


@pytest.mark.skipif(not kernels.QUICK, reason="this numba compiles everything from its source")
def test_what_was_half_compiled_is_not_compiled_from_its_source(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "folders", lambda: iter([tmp_path]))
    found = {}
    with monkeypatch.context() as making:
        making.setattr(intermediate, "collected", found)
        assert kernels.kernel(double)(2.0) == 4.0
    assert len(found) == 1 and not [*tmp_path.iterdir()]
    monkeypatch.setattr(intermediate, "read", found.get)
    with monkeypatch.context() as without_sources:
        without_sources.setattr(compiler.QuickCompiler, "define_pipelines", None)
        assert kernels.kernel(double)(3.0) == 6.0
        assert len([*tmp_path.iterdir()]) == 1, "the machine code is kept"
        assert kernels.kernel(double)(4.0) == 8.0
        with pytest.raises(TypeError):
            kernels.kernel(double)(4)  # of another type: there is nothing ready for it
    (file,) = tmp_path.iterdir()
    file.unlink()
    monkeypatch.setattr(intermediate, "read", lambda _: b"damaged")
    assert kernels.kernel(double)(5.0) == 10.0


def test_what_is_half_compiled_comes_from_these_sources():
    kinds = {name.rpartition(".")[0] for name in intermediate.entries()}
    apart = (
        "compiled.find_bins",
        "compiled.exchange",
    )  # of tests, and of a proof, which compiles it on first use
    used = [kernel for kernel in all_kernels() if kernel.name not in apart]
    assert kinds == {f"{kernel.name}.{kernels.fingerprint(kernel.source)}" for kernel in used}, WHAT_TO_DO
    everything = b"".join(intermediate.entries().values())
    assert not [place for place in (b"site-packages", b"/home/", b"/Users/", b"/tmp/") if place in everything]


def test_what_is_half_compiled_was_made_with_the_locked_numba(monkeypatch):
    locked = re.search(
        r"^numba==(\S+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    monkeypatch.setattr(numba, "__version__", locked[1])
    monkeypatch.setattr(intermediate.llvm, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    kernel = passes.find_nearest._cache
    entry = intermediate.entry(kernel.name, kernels.fingerprint(kernel.source), passes.NEAREST.args)
    assert entry in intermediate.entries(), WHAT_TO_DO


def test_a_folder_that_takes_nothing_is_passed_over_and_none_at_all_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setattr(kernels, "folders", lambda: iter([blocked / "inside", tmp_path / "next"]))
    assert kernels.kernel(double)(2.0) == 4.0
    (kept,) = (tmp_path / "next").iterdir()
    again = kernels.kernel(double)
    assert again(3.0) == 6.0
    assert sum(again.stats.cache_hits.values()) == 1
    monkeypatch.setattr(kernels, "folders", lambda: iter([blocked / "inside"]))
    assert kernels.kernel(double)(2.0) == 4.0
    assert [*(tmp_path / "next").iterdir()] == [kept]


def test_machine_code_can_be_read_by_others_and_changed_by_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "folders", lambda: iter([tmp_path / "code"]))
    before = os.umask(0)
    try:
        assert kernels.kernel(double)(2.0) == 4.0
    finally:
        os.umask(before)
    (kept,) = (tmp_path / "code").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o644


def damaged(content):
    """A file as it may be found: cut off, changed anywhere, of another kind or version."""
    yield b""
    yield from (content[:cut] for cut in (1, 31, 32, 33, len(content) // 2, len(content) - 1))
    yield content + b"x"
    for place in np.linspace(0, len(content) - 1, 40).astype(int):
        yield content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]
    yield content[32:]  # as an earlier version wrote it
    yield pickle.dumps(("another", "version"))
    yield kernels._sealed("another kernel", content[32:])


def test_what_is_damaged_is_compiled_again_and_written_over(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "folders", lambda: iter([tmp_path]))
    one = kernels.kernel(double)
    assert one(2.0) == 4.0
    (kept,) = tmp_path.iterdir()
    content, types_of = kept.read_bytes(), one.signatures[0]
    assert one._cache.load_overload(types_of, one.targetctx) is not None
    for other in damaged(content):
        kept.write_bytes(other)
        assert one._cache.load_overload(types_of, one.targetctx) is None
    assert kernels.kernel(double)(3.0) == 6.0
    assert one._cache.load_overload(types_of, one.targetctx) is not None


def test_what_another_user_keeps_closed_is_compiled_anew(tmp_path):
    folder = tmp_path / "code"
    assert run(FIND_NEAREST, folder) == ("6.0", kernels.NOTICE)
    assert run(FIND_NEAREST, folder, AS_ANOTHER_USER) == ("6.0", "")
    (kept,) = folder.rglob("*.machine")
    kept.chmod(0o600)
    give_owner_the_rights_of_others(folder)
    try:
        assert run(FIND_NEAREST, folder, AS_ANOTHER_USER) == ("6.0", kernels.NOTICE)
        assert [*tmp_path.rglob("*.machine*")] == [kept], "nor is it kept elsewhere"
    finally:
        give_back(folder)


def test_where_machine_code_lies(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert [*kernels.folders()] == [tmp_path / "evenreach"], "and nowhere else"
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    monkeypatch.setattr(sys, "platform", "linux")
    beside, users = kernels.folders()
    assert (beside.name, users) == ("__pycache__", tmp_path / "mine" / "evenreach")


def test_a_changed_source_is_another_fingerprint(tmp_path, monkeypatch):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere.py"
    here.mkdir()
    monkeypatch.setattr(kernels, "HERE", here)
    found = set()
    for one, other in ((1, 1), (1, 2), (2, 2)):
        (here / "one.py").write_text(f"a = {one}")
        elsewhere.write_text(f"b = {other}")
        found.add(kernels.fingerprint.__wrapped__(str(elsewhere)))
    assert len(found) == 3


def test_a_signature_is_the_only_type_even_when_threads_call_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "folders", lambda: iter([tmp_path]))
    compiled = kernels.kernel(signature="f8(f8)")(double)
    assert compiled.signatures == []
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(compiled, [1, 2.0, np.int32(3), True])] == [2.0, 4.0, 6.0, 2.0]
    with pytest.raises(TypeError):
        compiled(np.ones(2))
    assert len(compiled.signatures) == 1
    assert len([*tmp_path.iterdir()]) == 1


def test_compiling_leaves_the_collector_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "folders", lambda: iter([tmp_path]))
    seen = []

    def slow(x):
        return x + len(seen)

    for on in (True, False):
        (gc.enable if on else gc.disable)()
        try:
            with pytest.raises(TypingError):
                kernels.kernel(slow)(1.0)  # numba cannot compile it
            assert kernels.kernel(lambda x: x + 1.0)(1.0) == 2.0
            assert gc.isenabled() == on
        finally:
            gc.enable()


def test_flags_compare_and_hash_as_those_of_numba():
    plain, other = Flags(), Flags()
    setattr(other, "nrt", True)  # noqa: B010  an option's setter, of which its type says nothing
    for one in (plain, other):
        quick = compiler.QuickFlags(one)
        assert quick == one and one == quick and hash(quick) == hash(one)
        assert type(quick.copy()) is compiler.QuickFlags
    assert compiler.QuickFlags(plain) != other and compiler.QuickFlags(other) != plain
    spelled_out = compiler.QuickFlags(plain)
    setattr(spelled_out, "nrt", Flags.options["nrt"].default)  # noqa: B010
    assert spelled_out == plain and spelled_out != "anything else"


def test_numba_is_as_it_was_after_compiling_and_resolves_what_we_did(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "folders", lambda: iter([tmp_path]))
    before = BaseFunction.get_call_type
    twice = kernels.inner(lambda x: x + x)
    assert kernels.kernel(lambda x: twice(x) + 1.0)(2.0) == 5.0
    assert BaseFunction.get_call_type is before
    assert njit(lambda x: twice(x) + 1)(2) == 5, "others' functions may call ours"

    def wrong(x):
        return x + "a"

    with pytest.raises(TypingError):
        kernels.kernel(wrong)(1.0)
    assert BaseFunction.get_call_type is before


def test_another_numba_compiles_its_own_way(tmp_path):
    """Its inner names may be others: the short way is taken only with versions it was tried with."""
    file = tmp_path / "squares.py"
    file.write_text("""
import sys, numba, numpy as np
numba.__version__ = "0.99.0"
from tkm_core.clustering.compiled.kernel import inner, kernel
assert "tkm_core.clustering.compiled.compiler" not in sys.modules
@inner
def square(x):
    return x * x
@kernel
def total(values):
    found = 0.0
    for value in values:
        found += square(value)
    return found
print(total(np.array([1.0, 2.0, 3.0])))
""")
    assert run(f"import runpy; runpy.run_path({str(file)!r})", tmp_path)[0] == "14.0"


def test_a_wrong_type_by_address_is_refused():
    call = kernels.by_address(types.float64(types.float64))
    with pytest.raises(TypingError, match="but it takes"):
        njit(lambda x: call(0, (x, x)))(1.0)


def test_threads_are_as_many_as_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert processors() == 3


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    """A search and a descent in chunks on a map, and a descent with many columns."""
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(70_000, 2)), rng.standard_t(3, size=(400, 20))

    def solved(count):
        with ThreadPoolExecutor(count) as pool:
            monkeypatch.setattr(threads, "_pools", {os.getpid(): pool})
            return [TiltedKMeans(4, t=1.0, scale=1.0, random_state=0).fit(X) for X in tables]

    alone = solved(1)
    for count in (2, 7):
        for one, many in zip(alone, solved(count), strict=True):
            assert np.array_equal(one.cluster_centers_, many.cluster_centers_)
            assert np.array_equal(one.history_, many.history_)


def test_an_interrupt_stops_the_other_threads():
    stop, told = np.zeros(1, np.int64), threading.Event()

    def work(rows):
        if rows.start == 0:
            raise KeyboardInterrupt
        while not stop[0]:
            told.wait(0.01)
        told.set()

    with pytest.raises(KeyboardInterrupt):
        threads.in_parallel(work, 2, 1, stop)
    assert stop[0] == 1


def test_a_search_that_is_told_to_stop_ends(monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 2))
    problem = Problem.of(X, np.ones(500), 5)
    rule = problem.rule(1.0, 1e-12, X[:5])
    rule.stop[0] = 1
    monkeypatch.setattr(Problem, "rule", lambda *_: rule)
    assert descend(problem, X[:5], 1.0).n_iter == 0


@pytest.mark.parametrize("t", [0.05, 0.2, 1.0, 30.0, 1e3, 1e5])
@pytest.mark.parametrize("shape", [(120, 30), (40, 60)])
def test_many_columns_are_solved_as_few_are(t, shape):
    """Conjugate gradients and the span of few rows against Cholesky: the same mean, and a cost that never rises."""
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=shape), rng.random(shape[0]) + 0.1
    found = descend(Problem.of(X, w, 1), X[:1], t)
    expected = tilted_mean(X, w, X.mean(axis=0), t, 1e-12)
    radius = np.sqrt(((X - expected) ** 2).sum(axis=1).max())
    assert np.sqrt(((found.centers[0] - expected) ** 2).sum()) <= 1e-5 * radius
    found = descend(Problem.of(X, w, 4), X[:4], t)
    phi = found.history[:, 0]
    assert (np.diff(phi) <= 1e-12 * np.abs(phi[:-1])).all()
    f = ((X - found.centers[found.labels]) ** 2).sum(axis=1)
    assert found.city_cost == pytest.approx(slow_city_cost(f, w, t), rel=1e-9)


def test_the_ball_around_many_columns():
    X = np.random.default_rng(2).normal(size=(100, 40))
    found = descend(Problem.of(X, np.ones(100), 1), X[:1], np.inf)
    ball = ((X - enclosing_ball(X, X[0])) ** 2).sum(axis=1).max()
    assert ball <= found.city_cost * (1 + 1e-12) <= ball * (1 + 1e-6)
