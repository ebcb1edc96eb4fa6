"""How many people live at each point: which columns are used as population, only proposed, or never used."""

import numpy as np
import pandas as pd
import pytest

from tkm_core.residents import ResidentsError, load_residents

N = 30
RNG = np.random.default_rng(5)
TOWN = pd.DataFrame({"lat": RNG.normal(48.86, 0.03, N).round(6), "lon": RNG.normal(2.35, 0.05, N).round(6)})
COUNTS = RNG.integers(50, 900, N)


def load(weight=None, **columns):
    return load_residents(TOWN.assign(**columns).to_csv(index=False).encode(), weight=weight)


@pytest.mark.parametrize(
    "name",
    [
        "population", "POP2000", "pop", "Total Population", "Einwohner", "Einwohnerzahl",
        "Bevölkerung", "habitants",
        "población", "população", "popolazione", "inwoners", "befolkning", "ludność",
        "Počet obyvatel", "nüfus",
        "население", "πληθυσμός", "인구수", "人口", "总人口", "penduduk", "dân số", "ประชากร", "السكان",
        "persons",
    ],
)  # fmt: skip
def test_population_in_the_worlds_languages(name):
    residents = load(**{name: COUNTS})
    np.testing.assert_array_equal(residents.weights, COUNTS)
    column = next(column for column in residents.report.columns if column.role == "weight")
    assert "population" in column.why


@pytest.mark.parametrize("name", ["households", "demand", "capacity", "dwellings", "이용가능인원"])
def test_doubtful_columns_are_proposed_not_taken(name):
    residents = load(**{name: COUNTS})
    assert (residents.weights == 1).all()
    assert residents.report.proposed_weights == [name]
    assert any(name in note for note in residents.report.notes)
    assert residents.report.candidates("weight") == [name]
    np.testing.assert_array_equal(load(weight=name, **{name: COUNTS}).weights, COUNTS)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("population_share", RNG.uniform(0, 1, N)),
        ("population", RNG.uniform(0, 1, N)),
        ("population_density", RNG.uniform(100, 9000, N)),
        ("pop_growth_pct", RNG.uniform(-3, 3, N)),
        ("population_name", [f"Place {number}" for number in range(N)]),
        ("population", [f"Place {number}" for number in range(N)]),
        ("year", [2020] * N),
    ],
)
def test_names_and_proportions_are_never_people(name, values):
    residents = load(**{name: values})
    assert (residents.weights == 1).all()
    assert residents.report.proposed_weights == []


def test_several_populations_are_left_to_the_planner():
    residents = load(pop2010=COUNTS, pop2020=COUNTS + 5)
    assert (residents.weights == 1).all()
    assert residents.report.proposed_weights == ["pop2010", "pop2020"]
    exact = load(population=COUNTS, population_female=COUNTS // 2, population_0_14=COUNTS // 5)
    np.testing.assert_array_equal(exact.weights, COUNTS)


def test_none_if_asked_for_none():
    residents = load(weight=False, population=COUNTS)
    assert (residents.weights == 1).all() and residents.report.column_for("weight") is None


@pytest.mark.parametrize("sentinel", [-2147483646, -9999, -1, "", "n/a", "unknown"])
def test_sentinels_are_not_people(sentinel):
    values = COUNTS.astype(object)
    values[3] = sentinel
    residents = load(population=values)
    assert len(residents) == N - 1
    dropped = residents.report.dropped
    assert [(drop.code, drop.count) for drop in dropped] == [("people", 1)]
    assert dropped[0].examples[0][0] == 5


def test_zero_is_a_population():
    values = COUNTS.copy()
    values[:4] = 0
    residents = load(population=values)
    assert len(residents) == N and any(
        "4 rows have a population of 0" in note for note in residents.report.notes
    )
    with pytest.raises(ResidentsError, match="population is 0 in every row"):
        load(population=COUNTS * 0)


def test_choosing_a_column_that_cannot_count():
    with pytest.raises(ResidentsError, match="“street” holds no numbers") as caught:
        load(weight="street", street=["Rue"] * N)
    assert caught.value.needs == "weight"
    share = load(weight="share", share=RNG.uniform(0.1, 1, N))
    assert any("like a proportion" in warning for warning in share.report.warnings)


def test_groups_and_ids_are_kept_and_can_be_refused():
    columns = {
        "district": ["North", "South", None] * (N // 3),
        "geoid": [f"{number:011d}" for number in range(N)],
    }
    residents = load(**columns)
    assert residents.groups.tolist() == columns["district"]
    assert residents.ids[7] == "00000000007"
    text = TOWN.assign(**columns).to_csv(index=False).encode()
    without = load_residents(text, group=False, id=False)
    assert without.groups is None and without.ids is None
    assert load_residents(text, group="geoid").groups[7] == "00000000007"


def test_report_tells_all():
    report = load(population=COUNTS, district=["a", "b"] * (N // 2)).report
    assert [column.name for column in report.columns] == ["lat", "lon", "population", "district"]
    assert {column.name: column.role for column in report.columns} == {
        "lat": "y", "lon": "x", "population": "weight", "district": "group",
    }  # fmt: skip
    assert all(column.why and column.samples for column in report.columns)
    assert report.candidates("x")[0] == "lon" and "lat" in report.candidates("x")
    assert report.preview.shape == (20, 4)
    text = str(report)
    assert "30 rows read, 30 kept, 0 left out" in text and "population: weight" in text
    plain = report.to_dict()
    assert plain["rows_kept"] == N and plain["columns"][0]["name"] == "lat"
    assert report.total_weight == COUNTS.sum()
