import numpy as np
import pytest

from tkm_core.experiments import tables
from tkm_core.experiments.data import blobs, cities_and_blobs, read_dataset
from tkm_core.residents.model import ResidentsError

BANK = (
    '"age";"job";"balance";"flag"\n30;"cook";1787;1\n33;"nurse";4789;1\n35;"smith";1350;1\n30;"cook";-3;1\n'
)


def write(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_numeric_columns_are_found_and_standardised(tmp_path):
    data = read_dataset(write(tmp_path, BANK))
    plain = np.array([[30, 1787], [33, 4789], [35, 1350], [30, -3.0]])
    expected = (plain - plain.mean(axis=0)) / plain.std(axis=0)
    assert data.columns == ("age", "balance")
    assert np.allclose(data.X, expected, atol=1e-12)
    assert data.name == "table"
    assert "left out as not numeric or constant: job, flag" in " ".join(data.notes)


def test_columns_by_name_in_any_case_and_by_position(tmp_path):
    path = write(tmp_path, BANK)
    assert read_dataset(path, ["Balance", "1"]).columns == ("balance", "age")


def test_no_header_and_decimal_commas(tmp_path):
    bare = read_dataset(write(tmp_path, "9.34,56.74,17.05\n9.35,56.75,17.61\n9.31,56.72,18.08\n", "bare.csv"))
    assert bare.X.shape == (3, 3)
    commas = read_dataset(write(tmp_path, "a;b\n1,5;2\n2,5;4\n6,5;9\n", "commas.csv"))
    column = np.array([1.5, 2.5, 6.5])
    assert np.allclose(commas.X[:, 0], (column - column.mean()) / column.std())


def test_rows_with_gaps_are_counted(tmp_path):
    data = read_dataset(write(tmp_path, "a,b\n1,2\n,3\n4,5\n6,NA\n8,9\n"))
    assert len(data.X) == 3
    assert "2 rows left out" in " ".join(data.notes)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (["agee"], "Did you mean “age”"),
        (["job"], "job: not numbers"),
        (["age", "flag"], "flag: not numbers, or the same number in every row"),
    ],
)
def test_columns_that_cannot_be_used(tmp_path, columns, sentence):
    with pytest.raises(ResidentsError, match=sentence):
        read_dataset(write(tmp_path, BANK), columns)


def test_tables_that_cannot_be_used(tmp_path):
    with pytest.raises(ResidentsError, match="Choose numeric columns"):
        read_dataset(write(tmp_path, "a,b\nx,y\nz,w\n"))
    with pytest.raises(ResidentsError, match="has 1 rows with a number in every"):
        read_dataset(write(tmp_path, "a,b\n1,2\n2,\n,3\n3,\n,5\n"), ["a", "b"])
    with pytest.raises(ResidentsError, match=r"no file 'nowhere\.csv'"):
        read_dataset("nowhere.csv")
    with pytest.raises(ResidentsError, match="is not a text table"):
        read_dataset(write(tmp_path, '{"type": "FeatureCollection", "features": []}', "x.geojson"))


def test_samples_go_by_their_name():
    assert len(read_dataset("toulouse").X) == 259
    assert len(read_dataset("generated-300").X) == 300
    with pytest.raises(ResidentsError, match="leave out --columns"):
        read_dataset("toulouse", ["lon"])


def test_blobs_are_repeatable_standardised_and_have_strays():
    data = blobs(3, seed=1)
    assert np.array_equal(data.X, blobs(3, seed=1).X)
    assert not np.array_equal(data.X, blobs(3, seed=2).X)
    assert np.allclose(data.X.mean(axis=0), 0)
    assert np.allclose(data.X.std(axis=0), 1)
    reach = np.sort(np.hypot(*data.X.T))
    assert reach[-1] > 1.4 * reach[199]


def test_default_data_have_distinct_names():
    names = [each.name for each in cities_and_blobs(0)]
    assert len(set(names)) == len(names) == 4


def test_tables_by_name_are_standardised_and_repeatable():
    for name, shape in (("iris", (150, 4)), ("abalone-like", (4177, 8))):
        first, again = read_dataset(name, seed=1), read_dataset(name, seed=1)
        assert first.X.shape == shape
        assert np.array_equal(first.X, again.X)
        np.testing.assert_allclose(first.X.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(first.X.std(axis=0), 1)
    with pytest.raises(ResidentsError, match="leave out --columns"):
        read_dataset("iris", ["1"])


def test_tables_of_millions_have_the_papers_columns(monkeypatch):
    monkeypatch.setattr(tables, "CENSUS_ROWS", 3_000)
    monkeypatch.setattr(tables, "HMDA_ROWS", 3_000)
    for name, d in (("census-like", 11), ("hmda-like", 8)):
        raw = tables.TABLES[name](0)
        assert raw.shape == (3_000, d)
        assert (raw == raw.round()).all()
        assert (raw.min(axis=0) == 0).all()
        assert not np.array_equal(raw, tables.TABLES[name](1))
