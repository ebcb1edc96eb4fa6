import re

import pandas as pd
import pytest

from tests.cli.test_terminal import watch
from tkm_core.cli.main import main
from tkm_core.experiments import EXPERIMENTS

TINY = {
    "sse-vs-k": ["-k", "2,3", "--repeats", "1", "--size", "60"],
    "variance": ["--repeats", "1", "--size", "60"],
    "max-distance": ["--repeats", "1", "--size", "60"],
    "running-time": ["--sizes", "60,120", "--methods", "tkm,jkl"],
    "trajectory": ["-t", "0.01,1,100"],
    "convergence-t": ["--repeats", "1", "--iterations", "5"],
    "convergence-epochs": ["--repeats", "1", "--iterations", "5"],
    "convergence-lr": ["--repeats", "1", "--iterations", "5"],
    "monotone": ["--repeats", "1"],
}


def run(*arguments):
    return main(["experiment", *map(str, arguments)])


def test_the_names_of_the_paper_are_there():
    assert list(TINY) == list(EXPERIMENTS)[: len(TINY)]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_writes_numbers_and_a_figure_that_needs_no_network(name, tmp_path, capsys):
    assert (
        run(name, "--data", "generated-120", *TINY.get(name, ["--quick"]), "-o", tmp_path / "new" / "folder")
        == 0
    )
    table = pd.read_csv(tmp_path / "new" / "folder" / f"{name}.csv")
    assert len(table) > 1
    assert (table["data"] == "Generated city, 120").all()
    page = (tmp_path / "new" / "folder" / f"{name}.html").read_text(encoding="utf-8")
    assert page.count("<h1>") == 1
    assert EXPERIMENTS[name].title in page
    assert "Plotly.newPlot" in page
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", page)
    told = capsys.readouterr()
    assert f"{name}.html" in told.out
    assert told.err == ""  # no bar where nobody looks
    repeat = re.search(r"<code>(.*?)</code>", page)[1]
    assert repeat.startswith(f"python -m tkm_core experiment {name} --data generated-120")
    assert str(tmp_path) not in repeat


def test_all_in_one_line(tmp_path, monkeypatch, capsys):
    for name in list(EXPERIMENTS):
        if name not in ("monotone", "trajectory"):
            monkeypatch.delitem(EXPERIMENTS, name)
    assert run("all", "--data", "generated-120", "--quick", "--repeats", "1", "-o", tmp_path) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "monotone.csv", "monotone.html", "trajectory.csv", "trajectory.html",
    ]  # fmt: skip
    assert "experiment monotone --data" in (tmp_path / "monotone.html").read_text(encoding="utf-8")


def test_own_table_with_chosen_columns(tmp_path, capsys):
    rows = "".join(f"{i},{(i * 37) % 101},{(i * 53) % 97},x\n" for i in range(120))
    (tmp_path / "own.csv").write_text("id,a,b,c\n" + rows)
    assert (
        run("trajectory", "--data", tmp_path / "own.csv", "--columns", "a,3", "-t", "0.1,1", "-o", tmp_path)
        == 0
    )
    assert "own: 120 rows of a, b, each standardised." in capsys.readouterr().out
    assert {"a", "b"} <= set(pd.read_csv(tmp_path / "trajectory.csv").columns)


def test_same_seed_same_file(tmp_path):
    for folder, seed in (("one", 3), ("two", 3), ("three", 4)):
        assert (
            run(
                "monotone",
                "--data",
                "generated-120",
                "--repeats",
                "2",
                "--seed",
                seed,
                "-o",
                tmp_path / folder,
            )
            == 0
        )
    one, two, three = ((tmp_path / name / "monotone.csv").read_bytes() for name in ("one", "two", "three"))
    assert one == two != three


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["trajectory", "--solver", "sgd"], "The experiment trajectory has no --solver."),
        (["variance", "-k", "3,4"], "The experiment variance takes one value of -k."),
        (["variance", "--columns", "a"], "--columns goes with one --data FILE."),
        (["variance", "--data", "nowhere.csv"], "There is no file 'nowhere.csv'"),
        (["variance", "--data", "generated-120", "--methods", "tkm,abc"], "abc"),
        (["monotone", "--data", "generated-120", "-k", "500"], "500"),
    ],
)
def test_what_does_not_fit_gets_a_sentence(arguments, sentence, tmp_path, capsys):
    assert run(*arguments, "-o", tmp_path / "out") == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "Traceback" not in told


@pytest.mark.parametrize("arguments", [["nothing"], ["variance", "--repeats", "0"], ["variance", "-t", "-1"]])
def test_mistyped_words_are_answered_by_the_parser(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        run(*arguments)
    assert left.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_a_file_in_the_place_of_the_folder(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert run("monotone", "-o", tmp_path / "taken") == 2
    assert "taken" in capsys.readouterr().err


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    arguments = ["experiment", "monotone", "--data", "toulouse", "--repeats", "20000", "-o", str(tmp_path)]
    # 3, or any of 30 to 39, 300 to 399 ...: a fast machine shows only some of the repeats
    status, shown = watch(arguments, until=b"repeat 3")
    assert status == 130, shown
    table = pd.read_csv(tmp_path / "monotone.csv")
    assert table["repeat"].max() >= 1
    assert "Stopped before the end." in (tmp_path / "monotone.html").read_text(encoding="utf-8")
    assert "Stopped after" in shown
