"""Messages of a reader that lie: each is refused, or means no harm to the server that takes it."""

import json
import random
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely

from pages.serving.jobs import files, reading
from pages.serving.jobs.answers import AnswerError
from pages.serving.jobs.worker import DONE
from tests.residents.fuzz import mutate
from tests.serving.jobs.test_answers import LAKE, RESULTS, TWO, plan_file, received, sent, town
from tests.serving.jobs.test_reading import quiet
from tkm_core.export import PlanFile, PlanFileError, carried, plan_json
from tkm_core.planning import make_plan
from tkm_core.residents import Residents, Zones
from tkm_core.sites import TravelTable
from tkm_core.streets import Streets

LIES = 150  # of each kind


def edge(value: Any, draw: random.Random) -> Any:
    """Something else than a value."""
    other = (
        0,
        -1,
        1,
        2**31,
        2**63,
        1e308,
        float("nan"),
        float("inf"),
        None,
        "",
        "x" * 300,
        [],
        {},
        [[]],
        True,
    )
    return (
        draw.choice(other)
        if not isinstance(value, int) or draw.random() < 0.7
        else value + draw.choice((-1, 1))
    )


def lie(value: Any, draw: random.Random) -> Any:
    """The same data with one value exchanged, wherever it stands."""
    if isinstance(value, dict) and value and draw.random() < 0.95:
        key = draw.choice(list(value))
        return {**value, key: lie(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.95:
        at = draw.randrange(len(value))
        return [*value[:at], lie(value[at], draw), *value[at + 1 :]]
    return edge(value, draw)


def used(found: Any) -> None:
    """Look at all of a result, as pages do: what points elsewhere would show or end it here."""
    if isinstance(found, Residents):
        assert np.isfinite(found.lonlat).all()
        assert np.isfinite(found.weights).all()
        assert len(found.lonlat) == len(found.weights)
        repr([part.to_pylist() for part in found.labels.values()])
        assert all(len(part) == len(found) for part in found.labels.values())
        repr((found.areas, str(found.report), found.xy))
    elif isinstance(found, Streets):
        found.travel_times(found.lonlat[:2], found.lonlat[-2:])
        repr((found.lines(), str(found.report)))
    elif isinstance(found, Zones):
        repr((found.shape, found.names))
    elif isinstance(found, TravelTable):
        assert (found.values >= 0).all()
        assert (found.unreachable < len(found.values)).all()
    elif isinstance(found, PlanFile):
        assert found.path.centers.shape[:2] == (
            len(found.path.t),
            found.k + len(found.fixed_lonlat) - len(found.closed),
        )
        used(found.residents)


def broken(parts: list[bytes], draw: random.Random) -> list[bytes]:
    """A message with a fault in its head, its text or its arrays."""
    which = draw.randrange(len(parts) + 2)
    if which > 1:
        at = min(which, len(parts) - 1)
        changed = mutate(parts[at], draw)
        if draw.random() < 0.8:  # of the size that was said
            changed = (changed + parts[at])[: len(parts[at])]
        return [*parts[:at], changed, *parts[at + 1 :]]
    changed = json.dumps(lie(json.loads(parts[which]), draw)).encode()
    if which == 0:
        return [changed, *parts[1:]]
    head = {**json.loads(parts[0]), "about": len(changed)}
    return [json.dumps(head).encode(), changed, *parts[2:]]


@pytest.mark.parametrize("kind", RESULTS)
def test_a_message_that_lies_is_refused_or_harmless(kind: str) -> None:
    """Every part of a message with faults in it: sizes, indices, types, bytes."""
    make, function = RESULTS[kind]
    parts = sent((DONE, make(), 7), function)
    refused = 0
    for number in range(LIES):
        try:
            _, found, _ = received(broken(parts, random.Random(f"{kind}/{number}")), function)
        except (AnswerError, OSError, EOFError):
            refused += 1
        else:
            used(found)
    assert refused > LIES / 10


def test_text_that_lies_about_where_it_is_shows_nothing_of_the_server() -> None:
    parts = sent((DONE, town(), 1), reading.residents)
    head = json.loads(parts[0])
    name, _, _, sizes = next(entry for entry in head["arrays"] if entry[0] == "label ids")
    at = parts.index(struct.pack("<iii", 0, 2, 2))
    for offsets in ((0, 4096, 2), (0, 2, 4096), (-4096, 0, 2)):
        with pytest.raises(AnswerError, match="text outside of its own memory"):
            received([*parts[:at], struct.pack("<iii", *offsets), *parts[at + 1 :]], reading.residents)
    assert (name, sizes[1]) == ("label ids", 12)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[" * 30_000 + b"]" * 30_000, "not JSON|too many levels"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "too many levels"),
        (b"[" + b"[]," * 2_000_000 + b"[]]", "more values than any file needs"),
        (b"1" * 10_000, "not JSON"),
        (b"\x80\x04.", "not JSON"),
        (b"[]", "without a head"),
    ],
)
def test_text_that_is_made_to_fill_the_memory_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(AnswerError, match=why):
        received([text])


def test_more_than_was_said_is_not_taken() -> None:
    parts = sent((DONE, town(), 1), reading.residents)
    with pytest.raises(OSError, match="bad message length"):
        received([*parts[:2], parts[2] * 1000, *parts[3:]], reading.residents)


def nested(levels: int) -> bytes:
    """A geometry in a geometry in a geometry: reading it takes as many calls as it has levels."""
    return (b"\x01" + struct.pack("<II", 7, 1)) * levels + b"\x01" + struct.pack("<II", 7, 0)


def test_shapes_that_would_end_whoever_reads_them_end_nothing() -> None:
    """A plan file carries the outlines of areas and zones."""
    home = Residents.from_lonlat(
        [[1.4, 43.6], [1.5, 43.7]], areas=pa.array([shapely.to_wkb(LAKE)] * 2, pa.binary()), keep_suspect=True
    )
    made = make_plan(home, 1, t=[0], not_in=Zones((LAKE,)), random_state=0)
    document = json.loads(plan_json(made, 0, residents=True))
    shapes = pa.array([nested(200_000), shapely.to_wkb(LAKE)], pa.binary())
    document["residents"]["areas"] = carried._squeezed(carried._as_stream(shapes))
    found = files.plan_file("nested areas", json.dumps(document).encode(), quiet)
    assert found.residents is not None
    assert [shape is None for shape in found.residents.areas] == [True, False]
    document["rules"]["not_in"]["shapes"] = [nested(200_000).hex()]
    with pytest.raises(PlanFileError, match="A zone must be a polygon"):
        files.plan_file("nested zones", json.dumps(document).encode(), quiet)


def test_no_geometry_of_another_process_is_parsed() -> None:
    """The server takes polygons as numbers."""
    parts = b"".join(sent((DONE, plan_file(), 1), reading.plan_file))
    for shape in (LAKE, TWO, shapely.box(1, 43, 1.45, 44)):
        assert shapely.to_wkb(shape)[:40] not in parts
        assert shapely.to_wkb(shape, hex=True)[:40].encode() not in parts
