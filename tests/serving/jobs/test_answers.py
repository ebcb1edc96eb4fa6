"""What a reader sends back is data: it can neither run anything in the server nor show or break anything of it."""

import ast
import contextlib
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Pipe
from pathlib import Path
from threading import Thread
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

from pages.serving.jobs import JobError, JobPool, answers, failures, files, forms, reading, shapes, wires
from pages.serving.jobs.answers import AnswerError
from pages.serving.jobs.problems import READING, UNREADABLE, UnreadableError
from pages.serving.jobs.worker import DONE, FAILED, PROGRESS, READY
from tests.export.test_planfile_rules import under
from tests.serving.jobs import work
from tests.serving.jobs.test_pool import ABOUT
from tests.serving.jobs.test_reading import quiet
from tests.streets.cities import as_xml, grid
from tkm_core.export import PlanFile, PlanFileError, plan_json
from tkm_core.planning import make_plan
from tkm_core.residents import Residents, ResidentsError, Zones
from tkm_core.sites import TravelTable
from tkm_core.streets import Streets, StreetsError

DATA = wires.WIRES["data"]
LAKE = shapely.box(1.40, 43.60, 1.46, 43.66).difference(shapely.box(1.42, 43.62, 1.43, 43.63))
TWO = shapely.MultiPolygon([shapely.box(1.5, 43.5, 1.6, 43.6), shapely.box(1.7, 43.5, 1.8, 43.6)])


@pytest.fixture(scope="module")
def readers() -> Iterator[JobPool]:
    made = JobPool(1, single_use=True, sentences=READING, seconds=3)
    yield made
    made.close()


def sent(message: tuple[Any, ...], function: Callable[..., Any] | None = None) -> list[bytes]:
    """The parts in which a message leaves a reader."""
    ours, theirs = Pipe()

    def send() -> None:
        DATA.send(ours, message, function)
        ours.close()

    speaker, parts = Thread(target=send), []
    speaker.start()
    try:
        while True:
            parts.append(theirs.recv_bytes())
    except EOFError:
        speaker.join()
        return parts


def received(parts: list[bytes], function: Callable[..., Any] | None = None) -> Any:
    """What the server makes of the parts of a message."""
    ours, theirs = Pipe()

    def send() -> None:
        with contextlib.suppress(BrokenPipeError):  # it is refused before it is over
            for part in parts:
                ours.send_bytes(part)
        ours.close()

    speaker = Thread(target=send)
    speaker.start()
    try:
        return DATA.receive(theirs, function)
    finally:
        theirs.close()
        speaker.join()


def back(value: Any, function: Callable[..., Any]) -> Any:
    """A result as it comes through."""
    kind, found, peak = received(sent((DONE, value, 7), function), function)
    assert (kind, peak) == (DONE, 7)
    return found


# whatever a reader does, the server goes on


def test_a_reader_that_was_taken_over_cannot_take_over_the_server(readers: JobPool, tmp_path: Path) -> None:
    mark = tmp_path / "taken over"

    class Takeover:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (mark,)

    for message in (pickle.dumps(Takeover()), pickle.dumps((DONE, Takeover(), 1))):
        with pytest.raises(JobError, match=r"^Reading this file came to a sudden end"):
            readers.run(message, work.speak, [message], about=ABOUT)
    assert not mark.exists()
    assert readers.run("after", work.double, 1, about=ABOUT) == 2


def test_a_reader_that_stops_in_the_middle_of_a_message_is_ended(readers: JobPool) -> None:
    with pytest.raises(JobError, match=r"^Reading this file came to a sudden end"):
        readers.run("half", work.stammer, about=ABOUT)
    assert readers.run("after half", work.double, 1, about=ABOUT) == 2


def test_nothing_that_reads_answers_can_unpickle() -> None:
    for module in (answers, forms, shapes, failures):
        tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
        named = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        named |= {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        named |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not named & {
            "pickle",
            "recv",
            "loads_pickle",
            "eval",
            "exec",
            "__import__",
            "import_module",
        }, module
    taken = ast.parse(Path(wires.__file__).read_text(encoding="utf-8"))
    data = next(node for node in taken.body if isinstance(node, ast.ClassDef) and node.name == "Data")
    assert "recv" not in {node.attr for node in ast.walk(data) if isinstance(node, ast.Attribute)}
    assert {JobPool(0, single_use=True).wire, files.readers().wire} == {"data"}


# everything comes through as it is


def town() -> Residents:
    """Two homes with everything that residents can have."""
    return Residents.from_lonlat(
        [[1.41, 43.61], [1.55, 43.55]],
        [3, 4],
        name="<b>town\ud800",
        ids=pa.array(["é", None]),
        groups=["a", 7],
        places=pa.array(["x", "y"], pa.large_string()),
        areas=pa.array([shapely.to_wkb(LAKE), shapely.to_wkb(TWO)], pa.binary()),
        own={
            "column:n": pa.array([None, 5]),
            "column:ok": pa.array([True, False, True])[1:],
            "column:x": pa.array([0.5, np.nan]),
        },
    )


def road() -> Streets:
    nodes, ways = grid(3, 4, highway="residential", maxspeed="walk")
    return reading.streets("a.osm", as_xml(nodes, ways), "car", {}, quiet)


def table() -> TravelTable:
    content = b"from,to,km\na,x,1\nb,x,2\nb,y,3\nq,y,1\n"
    return reading.travel_table(content, ["a", "b", "c"], ["x", "y"], "km", quiet)


def plan_file() -> PlanFile:
    home, rules = under("sites, a zone and room")
    home = replace(home, labels={**home.labels, "areas": pa.array([shapely.to_wkb(TWO)] * len(home))})
    made = make_plan(home, 2, **rules, t=[0.0, 1.0, np.inf], random_state=0)
    return reading.plan_file(plan_json(made, 1, residents=True), quiet)


RESULTS: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "residents": (town, reading.residents),
    "streets": (road, reading.streets),
    "zones": (lambda: Zones((LAKE, TWO), ("Lake", "<i>"), "z.gpkg"), reading.zones),
    "travel table": (table, reading.travel_table),
    "plan file": (plan_file, reading.plan_file),
    "rows": (lambda: 12, reading.travel_rows),
}


def test_every_result_of_a_reader_is_tried() -> None:
    read = {
        node.name
        for node in ast.parse(Path(reading.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }
    assert read == {function.__name__ for _, function in RESULTS.values()}


def assert_same(one: Any, other: Any, at: str = "") -> None:
    """Compare two results down to their numbers."""
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), at
        assert other.flags.writeable, at
        np.testing.assert_array_equal(one, other, at)
    elif isinstance(one, pa.Array):
        assert repr(one.to_pylist()) == repr(other.to_pylist()), at
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other), at
        for name in one:
            assert_same(one[name], other[name], f"{at}.{name}")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), at
        for n, (left, right) in enumerate(zip(one, other, strict=True)):
            assert_same(left, right, f"{at}[{n}]")
    elif hasattr(one, "__dict__") and type(one).__module__.startswith("tkm_core"):
        assert type(one) is type(other), at
        kept = {name: value for name, value in vars(one).items() if name not in WORKED_OUT}
        assert_same(kept, {name: getattr(other, name) for name in kept}, f"{at}.{type(one).__name__}")
        if isinstance(one, Streets):
            assert_same(one.areas, other.areas, f"{at}.areas")
    else:
        assert one == other, at


WORKED_OUT = {
    "areas_",
    "ids",
    "groups",
    "places",
    "fingerprint",
    "_graphs",
    "junctions_xy",
    "ground",
    "shape",
    "xy",
} - {"shape"}


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_comes_through_as_it_is(kind: str) -> None:
    make, function = RESULTS[kind]
    value = make()
    found = back(value, function)
    if isinstance(value, Residents):
        labels = {**value.labels, "groups": pa.array(["a", "7"])}
        value = replace(value, labels=labels, name="<b>town?")
        assert found.fingerprint == value.fingerprint
        assert shapely.equals(found.areas, [LAKE, TWO]).all()
        value, found = (replace(one, labels=dict(sorted(one.labels.items()))) for one in (value, found))
    assert_same(value, found)


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


def test_residents_and_problems_of_every_kind_of_file_come_through(tmp_path: Path) -> None:
    for name, content in written(tmp_path):
        try:
            answer: Any = reading.residents([(name, content)], {}, 100, quiet)
            found = back(answer, reading.residents)
            assert (found.source_crs, found.crs) == (answer.source_crs, answer.crs), name
        except ResidentsError as problem:
            answer = problem
            _, found, _ = received(sent((FAILED, problem, 1)))
            assert (str(found), found.needs, found.suggestions) == (
                str(answer),
                answer.needs,
                answer.suggestions,
            )
        assert type(found) is type(answer), name
        assert_same(answer.report, found.report, name)


def test_problems_come_as_sentences_and_unexpected_ones_say_nothing_of_the_file() -> None:
    for problem in (
        MemoryError("There is no room."),
        ValueError("No row fits."),
        StreetsError("No streets.", needs="layer", suggestions=("a",)),
        PlanFileError("Not a plan file."),
    ):
        _, found, _ = received(sent((FAILED, problem, 1)))
        assert type(found) is type(problem)
        assert_same(vars(problem), vars(found))
        assert str(found) == str(problem)
    for fault in (
        KeyError("Ann"),
        UnicodeDecodeError("utf-8", b"Ann", 0, 1, "Ann"),
        OSError(2, "Ann"),
        Exception(),
    ):
        parts = sent((FAILED, fault, 1))
        _, found, _ = received(parts)
        assert isinstance(found, UnreadableError)
        assert str(found) == UNREADABLE
        assert found.where == type(fault).__name__
        assert b"Ann" not in b"".join(parts)
    told = json.dumps({"kind": "unexpected", "where": "KeyError\n{}"}).encode()
    head = json.dumps({"kind": FAILED, "peak": 1, "about": len(told), "arrays": []}).encode()
    assert received([head, told])[1].where == "", "nothing that could pass for another line of the log"


def test_progress_is_short_text_and_a_number() -> None:
    assert received(sent((PROGRESS, 0.5, "x" * 9_000))) == (PROGRESS, 0.5, "x" * 200)
    assert received(sent((READY, None, 3))) == (READY, None, 3)
    for lie in (
        {"fraction": 0.1, "text": "x" * 201},
        {"fraction": "nan", "text": ""},
        {"fraction": 0.1, "text": {}},
        {"fraction": [], "text": ""},
    ):
        with pytest.raises(AnswerError):
            received([json.dumps({"kind": PROGRESS, **lie}).encode()])


def test_a_result_that_is_too_large_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LARGEST", 20)
    parts = sent((DONE, town(), 1), reading.residents)
    kind, found, _ = received(parts, reading.residents)
    assert kind == FAILED
    assert str(found).startswith("This file holds more than can be handed on.")
