import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pandas as pd
import pyogrio
import pytest

from tkm_core.cli.arguments import BAD_INPUT
from tkm_core.cli.main import main
from tkm_core.planning import make_plan
from tkm_core.residents.samples import FOLDER, load_sample
from tkm_core.stories.plan_story import tell_plan
from tkm_core.version import VERSION

ROOT = Path(__file__).parents[2]


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "tkm_core", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def figures(output):
    """The table of a plan: label to (this plan, k-means++)."""
    rows = (re.split(r"\s{2,}", line.strip()) for line in output.splitlines())
    return {
        row[0]: (row[1], row[2]) for row in rows if len(row) == 5 and row[-1] in ("better", "worse", "same")
    }


def test_the_line_of_the_readme_does_all_of_it(tmp_path):
    done = run(
        "plan",
        str(FOLDER / "toulouse.csv"),
        "-k",
        "8",
        "-t",
        "0.3",
        "-o",
        str(tmp_path / "facilities.geojson"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no progress bar where nobody looks
    assert "259 rows read, 259 kept" in done.stdout
    assert (
        "compared with the lowest-average plan (k-means++). The fairness dial is at t = 0.3." in done.stdout
    )
    written = pyogrio.read_dataframe(tmp_path / "facilities.geojson")
    assert len(written) == 8
    assert (written["t"] == 0.3).all()


def test_plan_prints_the_figures_of_the_library(capsys):
    assert main(["plan", "toulouse", "-k", "4", "-t", "0.5", "--standard", "10"]) == 0
    shown = capsys.readouterr()
    plan = make_plan(load_sample("toulouse"), 4, with_t=0.5)
    story = tell_plan(plan, plan.index(0.5), standard=10_000)
    assert story.text in shown.out
    assert story.context in shown.out
    table = figures(shown.out)
    for row in (*story.rows, *story.more):
        assert table[row.label] == (row.plan_text, row.reference_text)
    assert "Licence: CC BY 4.0" in shown.out


def test_any_t_is_taken_exactly(tmp_path, capsys):
    path = tmp_path / "out.csv"
    assert main(["plan", "generated-300", "-k", "3", "-t", "0.34", "-o", str(path)]) == 0
    assert "t = 0.34." in capsys.readouterr().out
    assert (pd.read_csv(path)["t"] == 0.34).all()


def test_every_output_at_once(tmp_path, capsys):
    out = [tmp_path / name for name in ("f.kml", "all.gpkg", "plan.json")]
    arguments = [
        "plan",
        "toulouse",
        "-k",
        "3",
        "-o",
        out[0],
        "--allocations",
        out[1],
        "--areas",
        out[1],
        "--save",
        out[2],
    ]
    assert main([str(argument) for argument in arguments]) == 0
    told = capsys.readouterr().out
    assert all(f"Wrote {path}" in told for path in out)
    assert sorted(name for name, _ in pyogrio.list_layers(out[1])) == ["allocations", "areas"]
    assert json.loads(out[2].read_text())["settings"]["t"] == 0.25


def test_saved_plan_comes_back(tmp_path, capsys):
    path = str(tmp_path / "plan.json")
    assert main(["plan", "generated-300", "-k", "3", "-t", "0.5", "--save", path]) == 0
    first = capsys.readouterr().out
    assert main(["plan", "generated-300", "--load", path]) == 0
    again = capsys.readouterr().out
    assert "it is the same plan" in again
    assert figures(first) == figures(again) != {}
    assert main(["plan", "generated-200", "--load", path]) == 0
    assert "The data differ" in capsys.readouterr().out
    assert main(["plan", "generated-300", "--load", path, "-k", "4"]) == 2
    assert "The saved plan has 3 new facilities, not 4" in capsys.readouterr().err


def test_budget_chooses_the_dial(capsys):
    assert main(["plan", "toulouse", "-k", "4", "--budget", "5"]) == 0
    shown = capsys.readouterr().out
    plan = make_plan(load_sample("toulouse"), 4, with_t=0.3)
    i = plan.within_budget(5)
    assert f"t = {plan.t[i]:g}." in shown
    assert main(["plan", "toulouse", "-k", "4", "--budget", "-60"]) == 0
    assert "No plan keeps the average trip within -60 %" in capsys.readouterr().out


def test_existing_facilities_and_source_system(tmp_path, capsys):
    sites, swiss = FOLDER / "san-francisco-sites.csv", tmp_path / "swiss.csv"
    assert main(["plan", "san-francisco", "-k", "2", "--existing", str(sites)]) == 0
    shown = capsys.readouterr().out
    assert "2 new and 16 existing facilities for 955,113 residents" in shown
    assert shown.count("   existing Store ") == 16
    swiss.write_text(
        "name,E,N\n" + "".join(f"p{i},{2600000 + 700 * i},{1200000 + 900 * (i % 5)}\n" for i in range(40))
    )
    assert main(["plan", str(swiss), "-k", "2"]) == 2
    assert "--crs" in capsys.readouterr().err
    out = tmp_path / "out.gpkg"
    told = ["--crs", "EPSG:2056", "--x", "E", "--y", "N", "--out-crs", "source", "-o", str(out)]
    assert main(["plan", str(swiss), "-k", "2", *told]) == 0
    back = pyogrio.read_dataframe(out)
    assert back.crs.to_epsg() == 2056
    assert back.geometry.x.between(2600000, 2630000).all()


def test_miles_and_people(capsys):
    assert (
        main(["plan", "generated-300", "-k", "2", "--unit", "mi", "--people", "families", "--standard", "5"])
        == 0
    )
    shown = capsys.readouterr().out
    assert "Farthest family, mi" in shown
    assert "Families within 5 mi, %" in shown
    assert "300 families" in shown


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["plan", "nowhere.csv"], "There is no file 'nowhere.csv', and no sample of that name"),
        (["plan", "sacramento", "-k", "0"], "-k 0 asks how things stand today"),
        (["plan", "sacramento", "-k", "²"], "is not a whole number"),
        (
            ["plan", "sacramento", "-k", "933"],
            "933 facilities are too many for residents in 922 different places",
        ),
        (["plan", "sacramento", "-t", "-1"], "the dial goes from 0 to inf"),
        (["plan", "sacramento", "-t", "nan"], "'nan' is not a number"),
        (["plan", "sacramento", "-t", "1", "--budget", "5"], "Give -t or --budget, not both"),
        (["plan", "sacramento", "-o", "x.docx"], "'x.docx' names no format that can be written"),
        (["plan", "sacramento", "-o", "none/x.csv"], "The folder none does not exist"),
        (["plan", "sacramento", "--save", "none/x.json"], "The folder none does not exist"),
        (["plan", "sacramento", "-o", "x.csv", "--areas", "x.csv"], "x.csv can hold one table"),
        (["plan", "sacramento", "--load", "none.json"], "The plan file none.json cannot be read"),
        (["plan", "sacramento", "--standard", "0"], "0 is not above 0"),
        (["plan", "sacramento", "--unit", "yards"], "invalid choice: 'yards'"),
        (["plan", str(FOLDER / "toulouse.csv"), "--weight", "nonsense"], "nonsense"),
        (["plan"], "required: FILE"),
        ([], "required"),
        (["travel"], "invalid choice: 'travel'"),
        (["compare", "sacramento", "--methods", "magic"], "There is no method 'magic'"),
        (["compare", "sacramento", "-o", "x.pdf"], "written as .csv"),
        (["compare", "nowhere.csv"], "There is no file"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, sentence, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    try:
        status: object = main(arguments)
    except SystemExit as stop:  # argparse leaves this way
        status = stop.code
    shown = capsys.readouterr()
    assert status == 2
    assert sentence in shown.err
    assert "Traceback" not in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_unreadable_files_get_one_sentence(tmp_path, capsys):
    (tmp_path / "broken.gpkg").write_bytes(b"not a database")
    assert main(["plan", str(tmp_path / "broken.gpkg")]) == 2
    assert main(["plan", str(tmp_path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_file_goes_before_a_sample_of_the_same_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("toulouse").write_text(
        "lon,lat\n" + "".join(f"{5 + i / 100},{50 + i * i / 1000}\n" for i in range(9))
    )
    assert main(["plan", "toulouse", "-k", "2"]) == 0
    assert "2 facilities for 9 residents" in capsys.readouterr().out


def test_terminals_are_not_steered_by_names(tmp_path, capsys):
    path = tmp_path / "odd.csv"
    path.write_text(
        "lon,lat,\x1b[31mpopulation\n" + "".join(f"{5 + i / 100},{50 + i * i / 1000},3\n" for i in range(9))
    )
    main(["plan", str(path), "-k", "2"])
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err


def test_experiments_get_their_own_arguments(monkeypatch):
    seen = []
    stand_in = types.ModuleType("tkm_core.cli.experiments")
    vars(stand_in)["main"] = lambda argv: seen.append(argv) or 3
    monkeypatch.setitem(sys.modules, "tkm_core.cli.experiments", stand_in)
    assert main(["experiment", "trajectory", "--data", "x.csv", "-o", "out"]) == 3
    assert main(["experiment", "--help"]) == 3
    assert seen == [["trajectory", "--data", "x.csv", "-o", "out"], ["--help"]]


def test_help_and_version(capsys):
    for arguments in (["--help"], ["plan", "--help"], ["compare", "--help"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        assert "usage" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--version"])
    assert VERSION in capsys.readouterr().out


def test_full_disk_and_full_memory_get_a_sentence(monkeypatch, capsys):
    for problem, sentence in (
        (MemoryError(), "do not fit into memory"),
        (OSError(28, "No space left"), "No space left"),
    ):

        def fail(*_, problem=problem, **__):
            raise problem

        monkeypatch.setattr("tkm_core.planning.make_plan", fail)
        assert main(["plan", "sacramento"]) == 2
        assert sentence in capsys.readouterr().err


def test_interruption_is_clean(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tkm_core.planning.make_plan", interrupted)
    assert main(["plan", "sacramento"]) == 130
    assert capsys.readouterr().err == "evenreach: Stopped.\n"


def test_arrows_survive_an_old_terminal():
    done = run("plan", "generated-300", "-k", "2", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr


def test_a_mistake_is_answered_without_loading_the_solver():
    heavy = ("numba", "sklearn", "scipy", "pandas", "geopandas", "numpy", "streamlit")
    code = (
        "import sys, tkm_core.cli.main as command\n"
        "try:\n    command.main(['plan', 'x', '-k', '-1'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]", done.stderr


def test_public_names_are_there():
    import tkm_core as tkm

    for name in tkm.__all__:
        assert getattr(tkm, name) is not None
        assert name in dir(tkm)
    assert sorted(tkm.__all__) == sorted(["__version__", *tkm._ROOM_OF])
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tkm.nonsense


def test_today_closures_and_a_saved_plan_to_compare_with(tmp_path, capsys):
    sites, saved, layers = FOLDER / "san-francisco-sites.csv", tmp_path / "old.json", tmp_path / "all.gpkg"
    city = ["plan", "san-francisco", "--existing", str(sites)]
    assert main([*city, "-k", "0", "--save", str(saved), "--with-residents"]) == 0
    assert "16 existing facilities for 955,113 residents, as things stand today." in capsys.readouterr().out
    assert main([*city, "-k", "0", "--close", "Store 3", "--close", "5"]) == 0
    shown = capsys.readouterr().out
    assert "14 existing facilities (2 closed)" in shown
    assert "than today." in shown
    assert main([*city, "-k", "1", "-t", "inf", "--compare-with", "average", "--all", str(layers)]) == 0
    shown = capsys.readouterr().out
    assert "Lowest average" in shown
    assert "The fairness dial is at t = ∞." in shown
    assert sorted(pyogrio.list_layers(layers)[:, 0]) == ["facilities", "service_areas", "who_goes_where"]
    assert main(["plan", "san-francisco", "-k", "3", "--compare-with", str(saved)]) == 0
    assert "compared with the plan “old”" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--close", "Store 3"], "give the file that lists them with --existing"),
        (["--compare-with", "today"], "No facility exists today"),
        (["--all", "plan.csv"], "Only a .gpkg file holds all layers"),
        (["--compare-with", "nowhere.json"], "cannot be read"),
    ],
)
def test_what_cannot_be_compared_or_closed_gets_a_sentence(arguments, sentence, capsys):
    assert main(["plan", "san-francisco", "-k", "2", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_plan_anywhere_tells_what_is_proven_if_time_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "san-francisco", "-k", "3", "-t", "0.3", "--prove", "20"]) == 0
    told = capsys.readouterr().out
    assert (
        "No plan with 3 facilities anywhere has a lower city-wide cost at this setting of the dial." in told
    )
    assert main(["plan", "san-francisco", "-k", "3", "-t", "0.3"]) == 0
    assert "anywhere" not in capsys.readouterr().out


def test_plan_on_sites_by_a_table_tells_its_rules_and_its_proof(capsys: pytest.CaptureFixture[str]) -> None:
    sites, roads = (str(FOLDER / f"san-francisco-{part}.csv") for part in ("sites", "roads"))
    rules = ["--sites", sites, "--travel", roads, "--travel-unit", "m"]
    assert (
        main(["plan", "san-francisco", "-k", "4", "-t", "0", *rules, "--capacity", "400000", "--prove", "5"])
        == 0
    )
    told = capsys.readouterr().out
    for words in (
        "Distances are taken from your table “san-francisco-roads.csv”.",
        "Facilities may stand on 16 candidate sites of “san-francisco-sites.csv”.",
        "Each facility serves at most 400,000 residents.",
        "the best found at t = 0 on these sites",
        "No plan on these sites",
        "new Store 12",
    ):
        assert words in told
    assert main(["plan", "san-francisco", "-k", "4", "--travel", roads]) == 2
    assert "--travel needs the sites" in capsys.readouterr().err
    assert main(["plan", "san-francisco", "-k", "17", *rules]) == 2
    assert "there are only 16 sites to choose from" in capsys.readouterr().err


def test_a_plan_from_a_folder_of_parquet_files(tmp_path, capsys, monkeypatch):
    """Condensed to cells; the figures are those of all rows in memory."""
    city = load_sample("generated", n=4_000)
    table = pd.DataFrame({"lon": city.lonlat[:, 0], "lat": city.lonlat[:, 1], "population": city.weights})
    for number in range(2):
        table[2_000 * number : 2_000 * (number + 1)].to_parquet(tmp_path / f"{number}.parquet")
    table.to_parquet(tmp_path.parent / "whole.parquet")
    told = []
    for file in (f"{tmp_path}/*.parquet", str(tmp_path.parent / "whole.parquet")):
        assert main(["plan", file, "-k", "3", "-t", "0.3"]) == 0
        told.append(capsys.readouterr().out)
    assert "4,000 rows, in 2 groups, were condensed to" in told[0]
    assert figures(told[0])["Farthest resident, km"] == figures(told[1])["Farthest resident, km"]
    assert main(["plan", f"{tmp_path}/*.parquet", "--group", "x"]) == BAD_INPUT
    assert "--group cannot be used with data beyond memory" in capsys.readouterr().err
    assert main(["plan", f"{tmp_path}/*.csv.parquet"]) == BAD_INPUT
    assert "No Parquet file is called" in capsys.readouterr().err
    monkeypatch.setattr("tkm_core.partitions.cluster.CONNECT", 0.5)
    assert main(["plan", f"{tmp_path}/*.parquet", "--scheduler", "tcp://127.0.0.1:9"]) == BAD_INPUT
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err
