"""Broken bytes of every format: only our own error comes out."""

import random
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.residents.conftest import SUFFIXES, write_town
from tkm_core.residents import Residents, ResidentsError, load_residents

FORMATS = [suffix for suffix in SUFFIXES if suffix != ".shp"]
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@lru_cache
def sound(suffix: str) -> bytes:
    rng = np.random.default_rng(0)
    town = pd.DataFrame(
        {"population": rng.integers(1, 9, 12), "lon": rng.normal(2, 0.1, 12), "lat": rng.normal(48, 0.1, 12)}
    )
    with TemporaryDirectory() as folder:
        return write_town(town, Path(folder), suffix).read_bytes()


def try_to_load(data: bytes, name: str) -> None:
    with suppress(ResidentsError):
        residents = load_residents(data, name=name)
        assert isinstance(residents, Residents) and len(residents) > 0
        assert np.isfinite(residents.xy).all() and (residents.weights >= 0).all()
        str(residents.report)


@pytest.mark.parametrize("suffix", FORMATS)
@given(seed=st.integers(0, 2**32), cuts=st.integers(1, 12), keep=st.floats(0.2, 1.0))
@QUICK
def test_changed_bytes(suffix, seed, cuts, keep):
    draw = random.Random(seed)
    data = bytearray(sound(suffix))
    for _ in range(cuts):
        data[draw.randrange(len(data))] = draw.randrange(256)
    try_to_load(
        bytes(data[: max(1, int(len(data) * keep))]) if draw.random() < 0.3 else bytes(data), f"town{suffix}"
    )


@pytest.mark.parametrize("suffix", FORMATS)
@given(seed=st.integers(0, 2**32))
@QUICK
def test_pieces_moved(suffix, seed):
    draw = random.Random(seed)
    data = sound(suffix)
    first, second = sorted(draw.randrange(len(data)) for _ in range(2))
    size = draw.randrange(1, 200)
    try_to_load(
        data[:first] + data[second : second + size] + data[first + draw.randrange(size) :], f"town{suffix}"
    )


@given(data=st.binary(max_size=400), suffix=st.sampled_from([*FORMATS, ".shp", ".xls", ".zip", ""]))
@settings(max_examples=150, deadline=None)
def test_any_bytes(data, suffix):
    try_to_load(data, f"town{suffix}")


@given(
    rows=st.lists(
        st.lists(st.text(alphabet="0123456789.,;-+eE°\"'\t |nNaéß人\n", max_size=8), max_size=5), max_size=8
    ),
    delimiter=st.sampled_from(",;\t|"),
)
@settings(max_examples=150, deadline=None)
def test_any_table(rows, delimiter):
    text = f"lat{delimiter}lon{delimiter}population\n" + "\n".join(delimiter.join(row) for row in rows)
    try_to_load(text.encode(), "town.csv")
