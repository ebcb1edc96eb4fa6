import csv
import re
from pathlib import Path

import numpy as np
import pytest

from tkm_core.residents import ResidentsError
from tkm_core.residents.samples import FOLDER, LARGEST, SAMPLES, find_sample, load_sample

BUNDLED = [key for key, sample in SAMPLES.items() if sample.file]
# The middle and the number of people, looked up apart from our code.
PLACES = {
    "sacramento": (-121.36, 38.59, 932, 932),
    "san-francisco": (-122.44, 37.75, 205, 955_113),
    "toulouse": (1.44, 43.62, 259, 1_331_212),
    "porto-alegre": (-51.19, -30.055, 1227, 812_935),
}


def test_keys_and_default_come_first():
    assert list(SAMPLES) == [
        "sacramento",
        "san-francisco",
        "toulouse",
        "porto-alegre",
        "generated",
        "generated-100k",
        "generated-1m",
    ]
    assert all(key == sample.key for key, sample in SAMPLES.items())


@pytest.mark.parametrize("key", BUNDLED)
def test_bundled_samples_are_where_they_should_be(key):
    lon, lat, points, people = PLACES[key]
    residents = load_sample(key)
    assert len(residents) == points
    assert residents.weights.sum() == people
    np.testing.assert_allclose(residents.lonlat.mean(axis=0), [lon, lat], atol=0.01)
    assert residents.report.rows_read == residents.report.rows_kept == points
    assert residents.name == SAMPLES[key].title


@pytest.mark.parametrize("key", BUNDLED)
def test_bundled_samples_hold_exactly_what_the_file_says(key):
    with (FOLDER / SAMPLES[key].file).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    residents = load_sample(key)
    assert residents.lonlat.tolist() == [[float(row["lon"]), float(row["lat"])] for row in rows]
    if SAMPLES[key].weight:
        assert residents.weights.tolist() == [float(row["population"]) for row in rows]


def test_tract_numbers_keep_their_leading_zero():
    assert load_sample("san-francisco").ids[0] == "06081602900"


def test_san_francisco_has_its_candidate_sites_nearby():
    names, sites = SAMPLES["san-francisco"].sites
    assert len(names) == len(set(names)) == len(sites) == 16
    residents = load_sample("san-francisco")
    apart = np.linalg.norm(residents.lonlat_to_xy(sites)[:, None] - residents.xy, axis=2).min(axis=1)
    assert apart.max() < 2000  # metres from the nearest tract's middle
    assert SAMPLES["sacramento"].sites[1].shape == (0, 2)


def test_porto_alegre_has_schools_and_health_posts_where_its_hexagons_say():
    with (FOLDER / "porto-alegre.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    sample = SAMPLES["porto-alegre"]
    for places, column in ((sample.sites, "schools"), (sample.existing, "health_posts")):
        names, lonlat = places
        there = [[float(row["lon"]), float(row["lat"])] for row in rows if int(row[column])]
        assert lonlat.tolist() == there
        assert len(set(names)) == len(there)
    assert (len(sample.sites[0]), len(sample.existing[0])) == (177, 117)
    assert sample.streets_path == FOLDER / "porto-alegre.osm.pbf"
    assert SAMPLES["sacramento"].streets_path is None
    assert SAMPLES["sacramento"].existing == ([], pytest.approx(np.empty((0, 2))))


def test_every_file_has_source_and_licence_beside_it():
    notes = (FOLDER / "README.md").read_text(encoding="utf-8")
    for file in FOLDER.iterdir():
        assert file.name == "README.md" or f"`{file.name}`" in notes
    for sample in SAMPLES.values():
        assert sample.source
        assert sample.licence
        assert sample.title
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 700_000  # they go into every wheel
    assert "© OpenStreetMap contributors" in notes
    assert "© OpenStreetMap contributors" in SAMPLES["porto-alegre"].source


def test_generated_city_is_repeatable_and_seeded():
    first, again, other = (load_sample("generated", n=2000, seed=seed) for seed in (3, 3, 4))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.groups.tolist() == again.groups.tolist()


def test_generated_city_is_dense_inside_and_sparse_outside():
    city = load_sample("generated", n=50_000)
    middle = city.lonlat_to_xy([-27.0, 45.0])
    away = np.linalg.norm(city.xy - middle, axis=1)
    inner, outer = away < 3000, away > 20_000
    assert inner.sum() / (np.pi * 3**2) > 300 * outer.sum() / (np.pi * (50**2 - 20**2))
    assert 0.01 < (city.groups == "farm").mean() < 0.03
    assert 40_000 < away.max() < 52_000
    assert (np.linalg.norm(city.xy[city.groups == "centre"] - middle, axis=1) < 15_000).all()


def test_generated_city_takes_any_size():
    for n in (1, 2, 17, 300_000):
        assert len(load_sample("generated", n=n)) == n
    assert len(load_sample("generated")) == 10_000
    assert len(load_sample("generated-100k")) == 100_000
    assert find_sample("generated-1m").size == 10**6
    assert find_sample("generated-12").size == 12


@pytest.mark.parametrize("n", [0, -5, LARGEST + 1])
def test_impossible_sizes_get_a_sentence(n):
    with pytest.raises(ResidentsError, match="1 to 20,000,000"):
        load_sample("generated", n=n)


@pytest.mark.parametrize(
    "key", ["atlantis", "generated-0", "generated-99m", "generated-1g", "../toulouse", ""]
)
def test_unknown_samples_get_a_sentence(key):
    assert find_sample(key) is None
    with pytest.raises(ResidentsError, match=re.escape(repr(key)) + r"\. The samples are: sacramento"):
        load_sample(key)


def test_size_of_a_real_city_cannot_be_chosen():
    with pytest.raises(ResidentsError, match="only the generated city"):
        load_sample("toulouse", n=5)


def test_missing_folder_gets_a_sentence(monkeypatch):
    monkeypatch.setattr("tkm_core.residents.samples.FOLDER", Path("nowhere"))
    with pytest.raises(ResidentsError, match=r"toulouse\.csv is missing from nowhere"):
        load_sample("toulouse")
