"""The app's own jobs give what the library gives; a damaged cache and hostile files harm nobody."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tkm_core.comparison import solve
from tkm_core.config import Config
from tkm_core.jobs import JobPool, tasks
from tkm_core.plan import make_plan
from tkm_core.residents import Residents, ResidentsError
from tkm_core.residents.samples import load_sample

ROOT = Path(__file__).parents[2]


def quiet(_fraction: float, _text: str) -> None:
    pass


@pytest.fixture(scope="module", autouse=True)
def pool() -> Iterator[JobPool]:
    made = JobPool(1, modules=tasks.MODULES)
    made._started.wait(60)
    patch = pytest.MonkeyPatch()
    patch.setattr(tasks, "pool", lambda: made)
    yield made
    patch.undo()
    made.close()


def test_a_plan_from_a_worker_is_the_plan(pool: JobPool) -> None:
    town = load_sample("generated", n=400)
    found = tasks.plan(town, 3, random_state=0, progress=quiet)
    here = make_plan(town, 3, random_state=0)
    np.testing.assert_array_equal(found.path.centers, here.path.centers)
    np.testing.assert_array_equal(found.baseline, here.baseline)
    np.testing.assert_array_equal(found.curve.largest_distance, here.curve.largest_distance)
    assert found.residents is town
    assert found.story(3).headline == here.story(3).headline


def test_a_method_from_a_worker_is_the_method(pool: JobPool) -> None:
    town = load_sample("sacramento")
    found = tasks.solution(town, "nf", 4, t=0.1, patience=5.0, random_state=0, progress=quiet)
    np.testing.assert_array_equal(
        found.centers, solve(town, "nf", 4, t=0.1, patience=5.0, random_state=0).centers
    )


def test_names_and_labels_never_leave_the_server_process() -> None:
    town = Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]], name="secret.csv", ids=["Ann", "Bob"])
    bare = tasks._bare(town)
    assert bare.name == ""
    assert bare.ids is None
    assert len(bare.report.preview) == 0
    np.testing.assert_array_equal(bare.xy, town.xy)


def test_a_file_is_read_in_a_worker_with_its_report(pool: JobPool) -> None:
    csv = b"name,lon,lat\n<script>alert(1)</script>,1.44,43.6\n=cmd(),1.46,43.61\nC,1.4,43.58\n"
    found = tasks.residents("k", [("town.csv", csv)], {}, quiet)
    assert (len(found), found.report.rows_read, found.name) == (3, 3, "town.csv")
    with pytest.raises(ResidentsError) as refused:
        tasks.residents("bad", [("bad.csv", b"a,b\n1,2\n")], {}, quiet)
    assert refused.value.report is not None
    assert str(refused.value).endswith((".", "?"))


def test_more_residents_than_allowed_is_a_sentence(pool: JobPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "config", lambda: Config(most_residents=100))
    rows = "lon,lat\n" + "".join(f"{1 + i / 1000},43.6\n" for i in range(150))
    with pytest.raises(ResidentsError, match="150 residents in this file; this server plans for at most 100"):
        tasks.residents("many", [("many.csv", rows.encode())], {}, quiet)


@pytest.mark.parametrize("damage", ["index", "code"])
def test_a_damaged_cache_of_compiled_code_is_made_anew(tmp_path: Path, damage: str) -> None:
    code = (
        "import numpy as np; from tkm_core.kernels import nearest; from tkm_core.jobs.mending import mend_cache; "
        "print(mend_cache(), nearest(np.zeros((3, 2)), np.ones((1, 2)))[1].sum())"
    )

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() or done.stderr

    assert run() == "0 6.0"
    for file in tmp_path.rglob("*.nbi" if damage == "index" else "*.nbc"):
        file.write_bytes(os.urandom(60))
    assert run() == "2 6.0"
    assert run() == "0 6.0"
