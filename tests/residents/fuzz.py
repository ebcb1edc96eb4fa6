"""Broken files by the thousand: ``python -m tests.residents.fuzz --seconds 300 --seed 1``; what fails is kept.

The files are read in processes of their own, within limits of time and memory. A case that raises anything but our
error, gives different values when read again, leaves a file behind, takes too long or ends the process is written to
``tests/residents/cases``, where `test_fuzz.py` reads it from then on.
"""

import argparse
import gzip
import hashlib
import io
import os
import pickle
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from tests.residents import uploaded
from tests.residents.conftest import RASTERS, SUFFIXES, write_town
from tests.residents.crafted_excel import xls_bytes
from tkm_core.residents import ResidentsError, load_residents, reference_systems

CASES = Path(__file__).parent / "cases"
WRITTEN = tuple(suffix for suffix in (*SUFFIXES, *RASTERS) if suffix != ".shp")  # which is not one file
FORMATS = (*WRITTEN, ".xls", ".zip", ".link.geojson", ".link.kml", *uploaded.LABELS)
SECONDS, MEGABYTES, BATCH = 20, 4_000, 25
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1)
WORDS = (
    b"nan",
    b"inf",
    b"-0",
    b"1e999",
    b"\0",
    b"\xff\xfe",
    b'"',
    b"'",
    b"<",
    b">",
    b"[",
    b"{",
    b"\r",
    b"\n" * 50,
    b",;\t|",
)


def sound(suffix: str, url: str = "http://127.0.0.1:9") -> bytes:
    """A small file of a format with nothing wrong in it, save that some point to an address."""
    if suffix in uploaded.LABELS:
        return uploaded.sound(suffix)
    rng = np.random.default_rng(0)
    town = pd.DataFrame(
        {
            "district": rng.choice(["Évry", "South"], 12),
            "population": rng.integers(1, 9, 12),
            "lon": rng.normal(2, 0.1, 12),
            "lat": rng.normal(48, 0.1, 12),
        }
    )
    if suffix == ".xls":
        return xls_bytes()
    if suffix == ".link.geojson":
        crs = f'"crs": {{"type": "link", "properties": {{"href": "{url}/crs", "type": "proj4"}}}}, '
        return sound(".geojson").replace(b'"features"', crs.encode() + b'"features"')
    if suffix == ".link.kml":
        link = f"<NetworkLink><Link><href>{url}/net</href></Link></NetworkLink><Placemark>"
        return sound(".kml").replace(b"<Placemark", link.encode().removesuffix(b">"), 1)
    if suffix == ".zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as packed:
            packed.writestr("town.csv", town.to_csv(index=False))
        return out.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        return write_town(town, Path(folder), suffix).read_bytes()


def mutate(data: bytes, draw: random.Random) -> bytes:
    """One to four faults in a file; half of the time within what an archive has packed."""
    if draw.random() < 0.6:
        if data[:2] == b"\x1f\x8b":
            return gzip.compress(mutate(gzip.decompress(data), draw), mtime=0)
        if data[:2] == b"PK":
            return _within(data, draw)
    for _ in range(draw.randint(1, 4)):
        data = draw.choice(FAULTS)(data, draw) or b"\n"
    return data


def _within(data: bytes, draw: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        entries = old.namelist()
        chosen = draw.choice(entries)
        for name in entries:
            new.writestr(
                zipfile.ZipInfo(name), mutate(old.read(name), draw) if name == chosen else old.read(name)
            )
    return out.getvalue()


def _place(data: bytes, draw: random.Random) -> int:
    """Somewhere in a file, rather at its ends, where formats keep what they say of themselves."""
    size = len(data)
    near = draw.choice((size, size, 100, 600, -600))
    return (
        draw.randrange(min(size, near)) if near > 0 else max(0, size - 1 - draw.randrange(min(size, -near)))
    )


def _flip(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.randint(1, 8)):
        changed[_place(data, draw)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _number(data: bytes, draw: random.Random) -> bytes:
    place, code = _place(data, draw), draw.choice(("<H", ">H", "<I", ">I", "<Q", ">Q", "<d"))
    if code == "<d":
        value = struct.pack(code, draw.choice((np.nan, np.inf, 1e300, -0.0, 181.0)))
    else:
        size = struct.calcsize(code)
        value = struct.pack(code, draw.choice(EDGES) & (1 << 8 * size) - 1)
    return data[:place] + value + data[place + len(value) :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: _place(data, draw)]


def _splice(data: bytes, draw: random.Random) -> bytes:
    here, there, size = _place(data, draw), _place(data, draw), draw.randrange(1, 300)
    return data[:here] + data[there : there + size] + data[here + draw.choice((0, size)) :]


def _word(data: bytes, draw: random.Random) -> bytes:
    place = _place(data, draw)
    return data[:place] + draw.choice(WORDS) * draw.choice((1, 1, 30)) + data[place + draw.randrange(4) :]


def _repeat(data: bytes, draw: random.Random) -> bytes:
    place, size = _place(data, draw), draw.randrange(1, 60)
    return data[:place] + data[place : place + size] * draw.choice((2, 20, 300)) + data[place + size :]


FAULTS: tuple[Callable[[bytes, random.Random], bytes], ...] = (_flip, _number, _cut, _splice, _word, _repeat)


def dirty_memory(value: float) -> None:
    """Leave something in memory that is free again: what is never written to would show it."""
    for size in (2, 12, 24, 100, 1_000, 10_000):
        for _ in range(8):
            np.full(size, value)


def outcome(data: bytes, name: str) -> bytes:
    """What reading gives, in comparable form: everything of what was read, or the sentence of the error."""
    handed_on = uploaded.read(data, name)
    if uploaded.kind_of(name):
        return handed_on
    try:
        residents = load_residents(data, name=name)
    except ResidentsError:
        return handed_on
    assert len(residents) > 0 and (residents.weights >= 0).all() and np.isfinite(residents.weights).all()
    assert (np.abs(residents.lonlat) <= (180, 90)).all()
    labels = [part.tolist() for part in (residents.ids, residents.groups) if part is not None]
    assert all(len(part) == len(residents) for part in labels)
    return handed_on + repr((labels, str(residents.report))).encode()


def check(data: bytes, name: str) -> None:
    """Read a file twice, after different leftovers, in a folder that must be empty afterwards."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        try:
            dirty_memory(12.345678)
            first = outcome(data, name)
            dirty_memory(-56.789012)
            assert outcome(data, name) == first, "different values when read again"
            assert os.listdir(folder) == [], "a file is left behind"  # noqa: PTH208
        finally:
            tempfile.tempdir = before


def case(seed: int, number: int, seeds: dict[str, bytes]) -> tuple[bytes, str]:
    """The broken file of a number."""
    draw = random.Random(f"{seed}/{number}")
    suffix = list(seeds)[number % len(seeds)]
    return mutate(seeds[suffix], draw), f"town{suffix}"


def _in_child(work: Callable[[Callable[[object], None]], None]) -> tuple[list[object], int]:
    """Run something in a forked process; what it reports, and how it ended."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        with os.fdopen(send, "wb") as out:

            def report(message: object) -> None:
                pickle.dump(message, out)
                out.flush()

            resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            work(report)
        os._exit(0)
    os.close(send)
    messages = []
    with os.fdopen(receive, "rb") as source:
        while True:
            try:
                messages.append(pickle.load(source))
            except (EOFError, pickle.UnpicklingError):
                break
    return messages, os.waitpid(child, 0)[1]


def _run_batch(seed: int, numbers: range, seeds: dict[str, bytes], report: Callable[[object], None]) -> None:
    for number in numbers:
        report(number)
        signal.alarm(SECONDS)
        try:
            check(*case(seed, number, seeds))
        except BaseException:  # noqa: BLE001  whatever it is, it is what is looked for
            report((number, traceback.format_exc(limit=-4)))
        signal.alarm(0)


def keep(data: bytes, name: str) -> Path:
    """Write a file to the cases, under a name that says its format."""
    CASES.mkdir(exist_ok=True)
    path = CASES / f"{hashlib.sha256(data).hexdigest()[:10]}{name.removeprefix('town')}"
    path.write_bytes(data)
    return path


def main() -> int:
    """Look for files that break a reader until the time is over; the number of those found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--formats", nargs="*", default=FORMATS, choices=FORMATS)
    options = parser.parse_args()
    reference_systems.mapped(np.array([[2.0, 48.0]]))  # tables that every child would make anew
    made, _ = _in_child(lambda report: report({suffix: sound(suffix) for suffix in options.formats}))
    seeds: dict[str, bytes] = made[0]  # type: ignore[assignment]
    start, number, found = time.monotonic(), 0, 0
    while time.monotonic() - start < options.seconds:
        batch = range(number, number + BATCH)
        messages, status = _in_child(
            lambda report, batch=batch: _run_batch(options.seed, batch, seeds, report)
        )
        begun = [message for message in messages if isinstance(message, int)]
        faults = {message[0]: message[1] for message in messages if isinstance(message, tuple)}
        if status:
            faults[begun[-1]] = f"the process ended with {os.waitstatus_to_exitcode(status)}"
        for place, reason in faults.items():
            print(
                f"{keep(*case(options.seed, place, seeds)).name} (seed {options.seed}, {place}): {reason}",
                flush=True,
            )
        found += len(faults)
        number = begun[-1] + 1 if begun else batch.stop
    print(f"{number:,} files with seed {options.seed}: {found} found.")
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main())
