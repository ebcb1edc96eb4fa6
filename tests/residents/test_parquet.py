"""Parquet: what a file promises is what it must hold, and nothing but its values comes out."""

import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.residents.crafted_parquet import ROWS, claim, parquet_bytes, places_of
from tkm_core.residents import Residents, ResidentsError, load_residents
from tkm_core.residents import parquet as parquet_module

SECRET = 12.345678


def dirty_memory(rows: int) -> None:
    """Leave another visitor's homes in memory that is free again."""
    for _ in range(4):
        np.full((rows, 2), SECRET)
        np.full(rows, SECRET)


def read(data: bytes) -> Residents:
    """Read a table after someone else, and hold what comes out to what is in the file."""
    dirty_memory(ROWS * 2)
    residents = load_residents(data, name="town.parquet", weight="population", group="district")
    assert not (residents.lonlat == SECRET).any() and not (residents.weights == SECRET).any()
    return residents


@pytest.mark.parametrize("geometry", [False, True])
def test_a_sound_file_gives_exactly_its_values(geometry):
    residents = read(parquet_bytes(geometry=geometry))
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(residents.lonlat[:, 0], rng.normal(2, 0.1, ROWS))


@pytest.mark.parametrize("geometry", [False, True])
@pytest.mark.parametrize("claimed", [ROWS + 1, ROWS + 5_000, ROWS * 2, ROWS * 50])
def test_more_rows_promised_than_held(claimed, geometry):
    data = parquet_bytes(geometry=geometry)
    last = places_of(data) - 1
    for places in (None, {last}, {0, last}, {0, last - 1, last}, *({place} for place in range(last))):
        try:
            assert len(read(claim(data, claimed, places=places))) == ROWS, places
        except ResidentsError as error:
            assert "not a readable Parquet file" in str(error)
    for places in (None, {0, last}, {0, last - 1, last}):
        with pytest.raises(ResidentsError, match="not a readable Parquet file"):
            read(claim(data, claimed, places=places))


@pytest.mark.parametrize("geometry", [False, True])
def test_fewer_rows_promised_than_held(geometry):
    data = parquet_bytes(geometry=geometry)
    last = places_of(data) - 1
    for places in ({0}, {last}, {0, last}, {0, last - 1, last}):
        with pytest.raises(ResidentsError, match="not a readable Parquet file"):
            read(claim(data, ROWS - 3_000, places=places))


def test_columns_of_different_lengths():
    data = parquet_bytes()
    refused = 0
    for place in range(1, places_of(data) - 1):
        try:
            assert len(read(claim(data, ROWS - 7, places={place}))) == ROWS
        except ResidentsError:
            refused += 1
    assert refused >= 4  # each of the four columns says how many values it has


def test_groups_of_rows_are_counted_before_they_are_looked_at(monkeypatch):
    data = parquet_bytes(row_group_size=100)
    monkeypatch.setattr(parquet_module, "MOST_CHUNKS", 100)
    with pytest.raises(ResidentsError, match="80 groups of rows"):
        load_residents(data, name="town.parquet")


def test_no_reader_makes_room_that_it_may_not_fill():
    """Room without content holds what stood there before: only arrays of no length may be made so."""
    for path in Path(parquet_module.__file__).parent.glob("*.py"):
        made = re.findall(r"np\.(?:empty|empty_like|ndarray)\(\(?(\w*)", path.read_text(encoding="utf-8"))
        assert set(made) <= {"0"}, path.name


def test_categories_are_read_as_what_they_stand_for() -> None:
    table = pd.DataFrame(
        {
            "lon": [13.40, 13.41, 13.50, 13.52],
            "lat": [52.50, 52.51, 52.60, 52.61],
            "district": pd.Categorical(["Mitte", "Mitte", "Pankow", "Pankow"]),
            "population": pd.Categorical([10, 20, 10, 20]),
        }
    )
    content = BytesIO()
    table.to_parquet(content)
    found = load_residents(content.getvalue())
    assert found.groups is not None
    assert found.groups.tolist() == ["Mitte", "Mitte", "Pankow", "Pankow"]
    assert found.weights.tolist() == [10, 20, 10, 20]
