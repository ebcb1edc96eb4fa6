"""The command line along streets."""

from pathlib import Path

import pytest

from tests.planning.test_by_straight_lines import SIDE, river
from tests.streets.cities import STEP, as_xml
from tkm_core.cli.arguments import BAD_INPUT
from tkm_core.cli.main import main


@pytest.fixture
def town(tmp_path: Path) -> tuple[str, str]:
    """Homes on both banks, and their streets."""
    rows = [f"{7 + c * STEP},{46 + r * STEP},{1 + c}" for r in range(2) for c in range(SIDE)]
    homes, roads = tmp_path / "homes.csv", tmp_path / "town.osm"
    homes.write_text("lon,lat,people\n" + "\n".join(rows))
    nodes, ways = river()
    roads.write_bytes(as_xml({key: (7 + lon, 46 + lat) for key, (lon, lat) in nodes.items()}, ways))
    return str(homes), str(roads)


def test_a_plan_and_what_straight_lines_cost(
    town: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    homes, roads = town
    slow = tmp_path / "slow.toml"
    slow.write_text("[modes.walk]\nspeed = 2.4\n")
    shown = {}
    for more in ([], ["--street-rules", str(slow)]):
        asked = ["plan", homes, "-k", "2", "-t", "0", "--streets", roads, "--compare-with", "straight", *more]
        assert main(asked) == 0
        shown[len(more)] = capsys.readouterr().out
    told = shown[0]
    assert f"The network has {4 * SIDE - 2} junctions" in told
    assert "© OpenStreetMap contributors" in told
    assert "the plan by straight lines (k-means++, moved to the nearest junctions or sites)" in told
    assert "Travel times are on foot along the streets of “town.osm”, from home to the facility." in told

    def farthest(text: str) -> float:
        row = next(line for line in text.splitlines() if line.startswith("Farthest resident, min"))
        return float(row.removeprefix("Farthest resident, min").split()[0])

    assert farthest(shown[2]) == pytest.approx(2 * farthest(told), rel=0.02)


def test_the_methods_along_streets(town: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    homes, roads = town
    assert (
        main(["compare", homes, "-k", "2", "--streets", roads, "--mode", "car", "--methods", "tkm,kmeans++"])
        == 0
    )
    told = capsys.readouterr().out
    assert "farthest min" in told
    assert "k-means++ plans by straight lines and without your rules" in told
    assert "by car along the streets" in told


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--streets", "sample"], "is not a sample city with streets"),
        (["--compare-with", "straight"], "This plan is itself measured in straight lines"),
        (["--streets", "ROADS", "--speed", "kmh"], None),
    ],
)
def test_what_cannot_be_gets_a_sentence(
    town: tuple[str, str], more: list[str], sentence: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    homes, roads = town
    status = main(["plan", homes, "-k", "1", *[roads if word == "ROADS" else word for word in more]])
    # An OpenStreetMap file has tags, and no columns to choose.
    assert status == (BAD_INPUT if sentence else 0)
    if sentence:
        assert sentence in capsys.readouterr().err


def test_streets_that_cover_little_are_refused_or_the_residents_are_cut(
    town: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    homes, roads = town
    near = Path(homes).read_text()
    people = sum(int(row.rsplit(",", 1)[1]) for row in near.splitlines()[1:])
    wide = tmp_path / "wide.csv"
    wide.write_text(f"{near}\n7.05,46.05,{people}\n")
    asked = ["plan", str(wide), "-k", "2", "--streets", roads]
    assert main(asked) == BAD_INPUT
    told = capsys.readouterr().err
    assert (
        f"only {people:,} of {2 * people:,} people (50 %) live within 300 m of a street, and {people:,} do not"
        in told
    )
    assert main([*asked, "--cut-to-streets"]) == 0
    shown = capsys.readouterr().out
    assert f"Near the streets: {people:,} of {2 * people:,} people." in shown
    assert f"2 facilities for {people:,} residents" in shown
    assert main(["plan", homes, "-k", "2", "--cut-to-streets"]) == BAD_INPUT
    assert "needs the road file" in capsys.readouterr().err
