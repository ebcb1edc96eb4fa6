"""No file makes the reader send a request: a listener hears nothing, whatever the file says."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import geopandas as gpd
import numpy as np
import pyogrio
import pytest
import shapely

from tests.residents.conftest import write_raster
from tkm_core.residents import load_residents
from tkm_core.residents.gdal import closed_gdal

POINT = {"type": "Feature", "properties": {"a": 1}, "geometry": {"type": "Point", "coordinates": [2.1, 48.1]}}
READ = """
import sys
from pathlib import Path
from tkm_core.residents import ResidentsError, load_residents
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        print(path.name, len(load_residents(path)))
    except ResidentsError as error:
        print(path.name, error)
"""


class Listener:
    """A server on this machine that notes what it hears and answers nothing useful."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(2)
                self.heard.append(connection.recv(500).split(b"\r\n")[0].decode())
                connection.sendall(
                    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.socket.close()


def json_cases(url: str) -> Iterator[tuple[str, str]]:
    for number, crs in enumerate(
        (
            {"type": "link", "properties": {"href": f"{url}/link", "type": "proj4"}},
            {"type": "LINK", "properties": {"href": f"{url}/link-wkt", "type": "ogcwkt"}},
            {"type": "URL", "properties": {"url": f"{url}/url"}},
            {"type": "name", "properties": {"name": f"{url}/name"}},
            {"type": "name", "properties": {"name": f"+proj=longlat +nadgrids={url}/grid.tif +no_defs"}},
            f"{url}/text",
        )
    ):
        text = json.dumps({"type": "FeatureCollection", "crs": crs, "features": [POINT]})
        yield f"crs-{number}.geojson", text
        yield f"escaped-{number}.geojson", text.replace('"crs"', '"\\u0063rs"').replace("link", "li\\u006ek")
        arcs = {
            "type": "Topology",
            "crs": crs,
            "objects": {"a": {"type": "Point", "coordinates": [2.1, 48.1]}},
        }
        yield f"topology-{number}.json", json.dumps({**arcs, "arcs": []})
        esri = {"geometryType": "esriGeometryPoint", "spatialReference": {"wkt": f"{url}/esri"}, "crs": crs}
        esri |= {
            "features": [{"attributes": {}, "geometry": {"x": 2.1, "y": 48.1}}],
            "exceededTransferLimit": True,
        }
        yield f"esri-{number}.json", json.dumps(esri)
        for reference in (f"{url}/fg", {"type": "Reference", "href": f"{url}/fg-href"}):
            core = "http://www.opengis.net/spec/json-fg-1/0.2/conf/core"
            whole = {"type": "FeatureCollection", "conformsTo": [core], "coordRefSys": reference, "crs": crs}
            yield f"fg-{number}-{type(reference).__name__}.json", json.dumps({**whole, "features": [POINT]})
    links = [
        {"rel": rel, "href": f"{url}/{rel}", "type": "application/geo+json"}
        for rel in ("next", "data", "items")
    ]
    yield "pages.geojson", json.dumps({"type": "FeatureCollection", "links": links, "features": [POINT]})
    yield "service.json", json.dumps({"links": links, "collections": [{"id": "a", "links": links}]})
    yield "catalog.json", json.dumps({"type": "Catalog", "stac_version": "1.0.0", "id": "a", "links": links})
    command = f"gdal vector pipeline read /vsicurl/{url}/program.csv"
    yield "program.json", json.dumps({"type": "gdal_streamed_alg", "command_line": command})
    yield "tiles.json", json.dumps({"tilejson": "2.2.0", "tiles": [f"{url}/{{z}}"], "vector_layers": []})


def markup_cases(url: str) -> Iterator[tuple[str, str]]:
    hidden = " " * 9_000 + "<!-- <kml -->"
    kml = 'xmlns="http://www.opengis.net/kml/2.2" xmlns:xlink="http://www.w3.org/1999/xlink"'
    place = "<Placemark><name>a</name><Point><coordinates>2.1,48.1</coordinates></Point></Placemark>"
    links = f"<NetworkLink><Link><href>{url}/net</href></Link></NetworkLink>"
    links += f'<Style id="s"><IconStyle><Icon><href>{url}/icon</href></Icon></IconStyle></Style>'
    links += (
        f"<Placemark><styleUrl>{url}/style#s</styleUrl><Model><Link><href>{url}/model</href></Link></Model>"
    )
    links += f'</Placemark><Schema name="a" xlink:href="{url}/schema"/>'
    yield "links.kml", f'<?xml version="1.0"?><kml {kml}><Document>{links}{place}</Document></kml>'
    for kind in ("SYSTEM", 'PUBLIC "a"'):
        doctype = f'<!DOCTYPE kml {kind} "{url}/dtd">'
        yield (
            f"{kind[:3]}.kml",
            f'<?xml version="1.0"?>{doctype}<kml {kml}><Document>{place}</Document></kml>',
        )
    spaces = 'xmlns:gml="http://www.opengis.net/gml" xmlns:ex="http://ex" '
    spaces += 'xmlns:wfs="http://www.opengis.net/wfs" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    query = f"{url}/wfs?service=WFS&amp;version=1.1.0&amp;request=DescribeFeatureType&amp;typeName=ex:a"
    where = f'xsi:schemaLocation="http://www.opengis.net/wfs {url}/wfs.xsd http://ex {query}"'
    point = f'<gml:Point srsName="{url}/srs"><gml:pos>48.1 2.1</gml:pos></gml:Point>'
    body = f'<gml:featureMember><ex:a gml:id="1"><ex:geom>{point}</ex:geom></ex:a></gml:featureMember>'
    for root in ("wfs", "gml"):
        opening = f'<?xml version="1.0"?><{root}:FeatureCollection {spaces} {where}>'
        yield f"{root}.kml", f"{opening}{body}</{root}:FeatureCollection>{hidden}"
        yield f"{root}-kml.kml", f'<?xml version="1.0"?><kml {kml} {spaces} {where}>{body}</kml>'
    yield "wfs-source.kml", f"<OGRWFSDataSource><URL>{url}/source</URL></OGRWFSDataSource>{hidden}"
    layer = f'<OGRVRTLayer name="a"><SrcDataSource>/vsicurl/{url}/vrt.csv</SrcDataSource></OGRVRTLayer>'
    yield "vrt.kml", f"{' ' * 70_000}<OGRVRTDataSource>{layer}</OGRVRTDataSource>"
    yield "vrt2.kml", f"<OGRVRTDataSource>{layer}{hidden}</OGRVRTDataSource>"
    yield "rss.kml", f'<rss version="2.0"><channel><link>{url}/rss</link></channel></rss>{hidden}'
    yield "csw.kml", f'<csw:GetRecordsResponse xmlns:csw="{url}/csw"/>{hidden}'
    yield "address.csv", f"lat,lon,link\n48.1,2.1,/vsicurl/{url}/cell\n48.2,2.2,{url}/cell\n"


def binary_cases(folder: Path, url: str) -> None:
    """Files of the other formats, with addresses where a reader might follow them."""
    points = gpd.GeoDataFrame(
        {"link": [f"{url}/a", f"/vsicurl/{url}/b"]},
        geometry=[shapely.Point(-74, 40.7), shapely.Point(-74.1, 40.8)],
    )
    # Carried to degrees of today by grids that PROJ may fetch.
    points.set_crs(4267).to_file(folder / "nad27.gpkg")
    points.set_crs(4267).to_file(folder / "nad27.shp")
    points.set_crs(4267).to_parquet(folder / "nad27.parquet")
    write_raster(folder / "nad27.tif", np.ones((2, 2), dtype=np.float32), (-74.0, 40.7, 0.01), crs=4267)
    (folder / "linked.shp").write_bytes((folder / "nad27.shp").read_bytes())
    (folder / "linked.shx").write_bytes((folder / "nad27.shx").read_bytes())
    (folder / "linked.prj").write_text(f"{url}/prj")


def test_nothing_is_heard_whatever_a_file_says(listener, tmp_path):
    binary_cases(tmp_path, listener.url)
    cases = {**dict(json_cases(listener.url)), **dict(markup_cases(listener.url))}
    for name, text in cases.items():
        (tmp_path / name).write_text(text)
    # The worst surroundings: PROJ is told to fetch grids, and no proxy stands in between.
    around = {"PROJ_NETWORK": "ON", "PROJ_NETWORK_ENDPOINT": listener.url, "NO_PROXY": "*", "no_proxy": "*"}
    done = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path)],
        env={**os.environ, **around},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    time.sleep(0.1)  # for a request that is under way
    assert listener.heard == []
    for read in ("crs-0.geojson 1\n", "nad27.gpkg 2\n", "nad27.tif 4\n"):  # the file is read all the same
        assert read in done.stdout


def test_the_listener_hears(listener, tmp_path):
    """The same files, read by GDAL as it comes, are heard: so the test above can fail."""
    cases = {**dict(json_cases(listener.url)), **dict(markup_cases(listener.url))}
    paths = [tmp_path / name for name in ("crs-0.geojson", "wfs.kml")]
    for path in paths:
        path.write_text(cases[path.name])
    look = "import sys, pyogrio; [pyogrio.read_info(path) for path in sys.argv[1:]]"
    around = {**os.environ, "NO_PROXY": "*"}
    subprocess.run(
        [sys.executable, "-c", look, *map(str, paths)], env=around, check=True, capture_output=True
    )
    assert sorted(line.split("?")[0] for line in listener.heard) == ["GET /link HTTP/1.1", "GET /wfs"]


def test_gdal_is_as_it_was_afterwards(tmp_path):
    drivers = set(pyogrio.list_drivers())
    with closed_gdal():
        assert set(pyogrio.list_drivers()) < drivers and "GML" not in pyogrio.list_drivers()
        with closed_gdal():
            pass
        assert "GML" not in pyogrio.list_drivers()
    assert set(pyogrio.list_drivers()) == drivers
    assert pyogrio.get_gdal_config_option("GDAL_HTTP_PROXY") is None
    assert len(load_residents(b"lat,lon\n48.1,2.1\n48.2,2.2\n")) == 2
