"""Every other kind of file that can be uploaded, for `fuzz`: facilities, sites, zones, roads, tables and plans."""

import gzip
import io
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from pages.serving.api.uploads import READERS
from pages.serving.jobs import answers, forms, reading
from tests.export.test_planfile_rules import under
from tests.residents.conftest import write_town
from tests.streets.cities import as_pbf, as_xml, grid
from tkm_core.export import PlanFileError, plan_json
from tkm_core.planning import make_plan
from tkm_core.progress import silent
from tkm_core.residents import FORMATS, Residents, ResidentsError, read_existing, read_sites
from tkm_core.streets import StreetsError
from tkm_core.streets.osm import TITLE

SHAPES = [  # a shapefile is several files, and a raster has no shapes
    ".shp.zip" if one.kind == "shapefile" else one.suffixes[0]
    for one in FORMATS.values()
    if one.is_map and one.kind != "raster"
]
EXTRACTS = [".osm.pbf" if kind == "pbf" else f".{kind}" for kind in TITLE]
PLACES = (".csv", ".xlsx", *SHAPES)
SUFFIXES = {
    "existing": PLACES,
    "sites": PLACES,
    "only_in": SHAPES,
    "roads": (*EXTRACTS, ".osm.gz", *SHAPES),
    "table": (".csv", ".wide.csv"),
    "plan": (".json",),
}
SAME = {
    "residents": "",
    "not_in": "only_in",
}  # kinds that are read like others: without a word, and like zones
KINDS = (*READERS, "plan")
LABELS = tuple(f".{kind}{suffix}" for kind in KINDS if kind not in SAME for suffix in SUFFIXES[kind])
HOMES, SITES = ["a", "b", "c"], ["x", "y"]


def kind_of(name: str) -> str:
    """The kind of an upload by its name, "town.roads.osm"; empty for residents."""
    word = name.split(".")[1] if name.count(".") > 1 else ""
    return word if word in SUFFIXES else ""


@cache
def sound(label: str) -> bytes:
    """A small file of a kind and a format with nothing wrong in it."""
    kind, suffix = label[1:].split(".", 1)
    return WRITE[kind]("." + suffix)


def read(data: bytes, name: str) -> bytes:
    """What the server has of an upload in the end, in comparable form, or the sentence that is said of it."""
    function, call = READ[kind_of(name)]
    form = forms.form_of(function)
    try:
        found = call(data, name)
    except (ResidentsError, StreetsError, PlanFileError) as error:
        return _sentence(error)
    except ValueError as error:
        assert type(error) is ValueError, "not our own"
        return _sentence(error)
    sent = _bytes(form.pack(found))
    assert _bytes(form.pack(form.unpack(form.pack(found)))) == sent, "not the same when it has been handed on"
    return sent


def _sentence(error: ValueError) -> bytes:
    text = str(error)
    assert text and text[-1] in ".?)" and "Traceback" not in text and len(text) < 5_000, text
    return text.encode("utf-8", "replace")


def _bytes(packed: answers.Packed) -> bytes:
    parts = [answers._written(packed.about)]
    for name, array in packed.arrays.items():
        parts += [name.encode("utf-8", "replace"), repr(array.to_pylist()).encode("utf-8", "replace")]
    return b"\0".join(parts)


def _town() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "name": [f"Hall {n}" for n in range(12)],
            "capacity": rng.integers(1, 900, 12),
            "lon": rng.normal(2, 0.1, 12),
            "lat": rng.normal(48, 0.1, 12),
        }
    )


@cache
def _home() -> Residents:
    return Residents.from_lonlat(_town()[["lon", "lat"]].to_numpy(), keep_suspect=True)


def _written_town(suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return write_town(_town(), Path(folder), suffix).read_bytes()


def _written_shapes(shapes: list[Any], suffix: str, **columns: list[Any]) -> bytes:
    """A layer of lines or polygons in one of the formats of maps."""
    layer = gpd.GeoDataFrame(columns, geometry=shapes, crs=4326)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"layer{'.shp' if suffix == '.shp.zip' else suffix}"
        if suffix == ".parquet":
            layer.to_parquet(path)
        else:
            layer.to_file(path, **({"driver": "KML"} if suffix == ".kml" else {}))
        if suffix != ".shp.zip":
            return path.read_bytes()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as packed:
            for part in sorted(Path(folder).iterdir()):
                packed.write(part, part.name)
        return out.getvalue()


def _zones(suffix: str) -> bytes:
    hole = shapely.box(1.9, 47.9, 2.1, 48.1).difference(shapely.box(1.95, 47.95, 2, 48))
    several = shapely.MultiPolygon([shapely.box(2.2, 48, 2.3, 48.1), shapely.box(2.4, 48, 2.5, 48.1)])
    return _written_shapes([hole, several], suffix, name=["Lake", "Évry"])


def _roads(suffix: str) -> bytes:
    nodes, ways = grid(3, 4, highway="residential", maxspeed="30 mph")
    if suffix == ".osm.pbf":
        with tempfile.TemporaryDirectory() as folder:
            return as_pbf(nodes, ways, Path(folder) / "a.osm.pbf")
    if suffix in (".osm", ".osm.gz"):
        content = as_xml(nodes, ways)
        return gzip.compress(content, mtime=0) if suffix == ".osm.gz" else content
    lines = [shapely.LineString([nodes[ref] for ref in refs]) for refs, _ in ways]
    return _written_shapes(lines, suffix, highway=["residential"] * len(lines), oneway=["no"] * len(lines))


def _table(suffix: str) -> bytes:
    if suffix == ".csv":
        return b"from,to,min\na,x,1\na,y,2\nb,x,3\nb,y,4.5\nc,x,\n"
    return b"home;x;y\na;1;2\nb;3;4.5\nc;;7\n"


def _plan(_suffix: str) -> bytes:
    home, rules = under("sites, a zone and room")
    return plan_json(make_plan(home, 2, **rules, t=[0, 1], random_state=0), 1, residents=True)


def _read_places(check: Callable[..., Any], data: bytes, name: str) -> Residents:
    """Facilities or sites, checked; what came from the reader."""
    found = []

    def load(options: dict[str, Any]) -> Residents:
        found.append(reading.residents([(name, data)], options, 10**9, silent))
        return found[-1]

    check(load, _home())
    return found[-1]


def _read_table(data: bytes, _name: str) -> Any:
    assert reading.travel_rows(data, silent) >= 0
    return reading.travel_table(data, HOMES, SITES, "min", silent)


WRITE: dict[str, Callable[[str], bytes]] = {
    "existing": _written_town,
    "sites": _written_town,
    "only_in": _zones,
    "roads": _roads,
    "table": _table,
    "plan": _plan,
}
READ: dict[str, tuple[Callable[..., Any], Callable[[bytes, str], Any]]] = {
    "": (reading.residents, lambda data, name: reading.residents([(name, data)], {}, 10**9, silent)),
    "existing": (reading.residents, partial(_read_places, read_existing)),
    "sites": (reading.residents, partial(_read_places, read_sites)),
    "only_in": (reading.zones, lambda data, name: reading.zones([(name, data)], silent)),
    "roads": (reading.streets, lambda data, name: reading.streets(name, data, "walk", {}, silent)),
    "table": (reading.travel_table, _read_table),
    "plan": (reading.plan_file, lambda data, _: reading.plan_file(data, silent)),
}
