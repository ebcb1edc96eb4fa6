"""What a reader sends back is data: it can neither run anything in the server nor show anything of it."""

import copyreg
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Pipe
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from pickle import UnpicklingError

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pages.serving.jobs import JobError, JobPool, answers, files, reading, worker
from tests.serving.jobs import work
from tests.serving.jobs.test_pool import ABOUT
from tests.serving.jobs.test_reading import TOWN, quiet
from tkm_core.residents import Residents, ResidentsError


@pytest.fixture(scope="module")
def readers() -> Iterator[JobPool]:
    made = JobPool(1, single_use=True)
    yield made
    made.close()


def test_a_reader_that_was_taken_over_cannot_take_over_the_server(readers: JobPool, tmp_path: Path) -> None:
    mark = tmp_path / "taken over"
    with pytest.raises(
        UnpicklingError, match=r"A reader sent pathlib.Path.touch, which is no part of an answer"
    ):
        readers.run("take over", work.take_over, str(mark), about=ABOUT)
    assert not mark.exists()
    assert readers.run("after", work.double, 1, about=ABOUT) == 2


def test_text_that_lies_about_where_it_is_shows_nothing_of_the_server(
    readers: JobPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 4096, 2], np.int32)), pa.py_buffer(b"ab")
    )
    lies = replace(Residents.from_lonlat([[1.4, 43.6], [1.5, 43.7]]), labels={"ids": names})
    monkeypatch.setattr(files, "readers", lambda: readers)
    monkeypatch.setattr(readers, "run", lambda *_, **__: lies)
    with pytest.raises(JobError, match="Reading this file came to a sudden end"):
        files.residents("lies", [("town.csv", TOWN)], {}, quiet)


def written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The same town in every kind of file that is written differently, and files that will not do."""
    town = gpd.GeoDataFrame(
        {"id": ["a", "b", "c"], "people": [1.5, 2, 3], "district": ["x", "y", None]},
        geometry=gpd.points_from_xy([1.40, 1.41, 1.42], [43.60, 43.61, 43.60]),
        crs=4326,
    )
    for name, system in (("a.gpkg", 2154), ("b.geojson", 4326), ("c.fgb", 27700)):
        town.to_crs(system).to_file(folder / name)
    table = pd.DataFrame(town.drop(columns="geometry")).assign(
        lon=town.geometry.x, lat=town.geometry.y, when=pd.Timestamp("2026-01-02"), ok=[True, None, False]
    )
    table.to_parquet(folder / "d.parquet")
    table.to_csv(folder / "e.csv")
    table.to_csv(folder / "f.csv.gz")
    (folder / "g.csv").write_text("a,b\n1,2\n")
    (folder / "h.csv").write_text(
        "Ort;E;N\n" + "".join(f"p{i};{2600000 + 90 * i};1200000\n" for i in range(60))
    )
    (folder / "i.xlsx").write_bytes(b"no spreadsheet")
    for file in sorted(folder.iterdir()):
        yield file.name, file.read_bytes()


def test_everything_a_reader_answers_is_let_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Residents and problems of every kind of file come back as they are."""
    # where Dask is imported, as by other tests here, exceptions are pickled differently; no reader imports it
    for kind, reduce in list(copyreg.dispatch_table.items()):
        if reduce.__module__.startswith("tblib"):
            monkeypatch.delitem(copyreg.dispatch_table, kind)
    ours, theirs = Pipe()
    for name, content in written(tmp_path):
        try:
            answer: object = reading.residents([(name, content)], {}, 100, quiet)
        except ResidentsError as problem:
            answer = problem
        ours.send_bytes(ForkingPickler.dumps((worker.DONE, answer, 1)))
        _, found, _ = answers.receive(theirs)
        assert type(found) is type(answer), name
        assert str(found.report) == str(answer.report), name  # type: ignore[attr-defined]
    for fault in (
        MemoryError("m"),
        ValueError("v"),
        OSError(2, "o"),
        UnicodeDecodeError("u", b"", 0, 1, "r"),
    ):
        ours.send_bytes(ForkingPickler.dumps((worker.FAILED, fault, 1)))
        assert type(answers.receive(theirs)[1]) is type(fault)


@pytest.mark.parametrize("name", ["eval", "getattr", "SystemExit", "__import__", "str.join"])
def test_python_itself_is_not_at_hand_in_an_answer(name: str) -> None:
    ours, theirs = Pipe()
    ours.send_bytes(b"\x80\x04\x8c\x08builtins\x8c" + bytes([len(name)]) + name.encode() + b"\x93.")
    with pytest.raises(UnpicklingError, match="which is no part of an answer"):
        answers.receive(theirs)
