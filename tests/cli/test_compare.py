"""The command that compares methods."""

import re

import pandas as pd
import pytest

from tkm_core.cli.arguments import BAD_INPUT
from tkm_core.cli.main import main
from tkm_core.measures import MEASURES
from tkm_core.methods import FOR_ANYONE, METHODS, describe
from tkm_core.planning import make_plan
from tkm_core.planning.methods_compared import judge, solve
from tkm_core.residents.samples import load_sample


def test_compare_measures_every_method(tmp_path, capsys):
    path = tmp_path / "methods.csv"
    assert main(["compare", "generated-300", "-k", "3", "-o", str(path)]) == 0
    shown = capsys.readouterr().out
    table = pd.read_csv(path)
    assert table["method"].tolist() == [
        describe(name).title + ", t = 0.25" * describe(name).has_dial for name in METHODS
    ]
    for title in table["method"]:
        assert re.search(rf"^{re.escape(title)} +\d", shown, re.MULTILINE)
    # plain k-means++ has the lowest SSE of all whose sites are residents, and its own farthest trip
    plan = make_plan(load_sample("generated-300"), 3, t=[0])
    row = table[table["method"] == "k-means++"].iloc[0]
    assert row["SSE km²"] == pytest.approx(plan.baseline_evaluation().sse / 1e6, rel=0.02)
    assert (table["SSE km²"] >= row["SSE km²"] * 0.98).all()


def test_compare_keeps_existing_facilities_and_says_who_cannot(tmp_path, capsys):
    town = load_sample("generated-300")
    (west, south), (east, north) = town.box
    sites = tmp_path / "sites.csv"
    sites.write_text(
        f"name,longitude,latitude\nNord,{(west + east) / 2},{north}\nSüd,{west},{south}\n", encoding="utf-8"
    )
    path = tmp_path / "compared.csv"
    assert main(["compare", "generated-300", "-k", "3", "--existing", str(sites), "-o", str(path)]) == 0
    said = capsys.readouterr().out
    assert "cannot keep your 2 existing ones" in said
    assert "3 new facilities and 2 existing facilities, every method" in said
    table = pd.read_csv(path)
    assert table["method"][0] == "today" and table["sites"].tolist() == [2, *[5] * (len(table) - 1)]
    alone = make_plan(town, 0, fixed_lonlat=[[(west + east) / 2, north], [west, south]]).today
    assert table["average km"][0] == pytest.approx(alone.mean_distance / 1000)
    assert len(table) == 1 + sum(describe(name).keeps_existing for name in METHODS)
    given = ["compare", "generated-300", "--existing", str(sites), "--methods", "jkl"]
    assert main(given) == BAD_INPUT
    assert "JKL places every facility anew" in capsys.readouterr().err


def test_compare_says_what_the_page_says(tmp_path):
    path, city = tmp_path / "methods.csv", load_sample("toulouse")
    assert main(["compare", "toulouse", "-k", "3", "-t", "0.5", "-o", str(path)]) == 0
    told = pd.read_csv(path).set_index("method")
    assert "Fair-Lloyd" not in told.index, "Toulouse has no groups"
    for name in FOR_ANYONE:
        one = judge(city, solve(city, name, 3, t=0.5, patience=20.0), t=0.5)
        shown = told.loc[one.title]
        assert shown["sites"] == len(one.solution.centers)
        for column, key in (
            ("average km", "mean_distance"),
            ("95 % within km", "p95_distance"),
            ("farthest km", "largest_distance"),
            ("how unequal (variance) km²", "overall_variance_of_distance"),
            ("SSE km²", "sse"),
        ):
            assert shown[column] == pytest.approx(MEASURES[key].of(one.evaluation, "km"), rel=1e-9)


def test_compare_takes_some_methods_and_says_when_it_sampled(capsys):
    assert main(["compare", "generated-100k", "-k", "3", "--methods", "kmeans++, fr"]) == 0
    shown = capsys.readouterr().out
    assert "FR ran on a sample of 1,000 of the 100,000 resident points" in shown
    assert "TKM" not in shown
