"""Data sets of this server: chosen by name on the Data page, planned from cells that say so."""

import numpy as np
import pandas as pd
import pytest

from pages.serving import server_datasets
from tests.pages.conftest import Opened, live, text, turn_to


@pytest.fixture
def folder(tmp_path):
    """A folder of two files, a file, a text, and a link that leads out of the folder."""
    rng = np.random.default_rng(0)
    root = tmp_path / "datasets"
    (root / "homes").mkdir(parents=True)
    table = pd.DataFrame(
        {
            "lon": 7.4 + rng.normal(size=3_000) * 0.1,
            "lat": 46.9 + rng.normal(size=3_000) * 0.05,
            "population": rng.integers(1, 5, size=3_000),
        }
    )
    table[:2_000].to_parquet(root / "homes" / "0.parquet")
    table[2_000:].to_parquet(root / "homes" / "1.parquet")
    table.to_parquet(root / "whole.parquet")
    (root / "notes.txt").write_text("not a dataset")
    table.to_parquet(tmp_path / "secret.parquet")
    (root / "out.parquet").symlink_to(tmp_path / "secret.parquet")
    (root / "empty").mkdir()
    return root


def test_only_what_lies_in_the_folder_is_listed(folder):
    assert [each.name for each in server_datasets.listed(str(folder))] == ["homes", "whole"]
    assert server_datasets.listed("") == []
    assert server_datasets.listed(str(folder / "nowhere")) == []
    before = server_datasets.listed(str(folder))[0].stamp
    (folder / "homes" / "1.parquet").unlink()
    assert server_datasets.listed(str(folder))[0].stamp != before


def test_a_dataset_is_planned_from_cells_that_say_so(opened: Opened, folder, monkeypatch):
    found = server_datasets.listed(str(folder))
    monkeypatch.setattr("pages.widgets.server_datasets.listed", lambda: found)
    app = opened("data")
    assert "Data sets of this server" in text(app)
    app.button(key="take_server_homes").click().run(timeout=120)
    assert not app.exception
    told = " ".join(block.value for block in app.sidebar.markdown)
    assert "cells stand for 3,000 rows" in told
    turn_to(app, "plan")
    assert not app.exception
    assert len(live(app).sites()) == app.session_state["k"]
    turn_to(app, "data")
    assert "maps, charts and figures show cells" in text(app)
