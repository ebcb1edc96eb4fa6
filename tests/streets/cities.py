"""Small cities to try streets on, written as OpenStreetMap files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import osmium

Nodes = Mapping[int, tuple[float, float]]
Way = tuple[list[int], dict[str, str]]
STEP = 0.001  # degrees between the corners of the grid city


def as_xml(nodes: Nodes, ways: Iterable[Way], *, ways_first: bool = False) -> bytes:
    points = [f'<node id="{i}" version="1" lon="{lon!r}" lat="{lat!r}"/>' for i, (lon, lat) in nodes.items()]
    lines = []
    for number, (refs, tags) in enumerate(ways, start=1):
        inner = "".join(f'<nd ref="{ref}"/>' for ref in refs)
        inner += "".join(f"<tag k={quoteattr(key)} v={quoteattr(value)}/>" for key, value in tags.items())
        lines.append(f'<way id="{number}" version="1">{inner}</way>')
    body = lines + points if ways_first else points + lines
    return ('<?xml version="1.0"?>\n<osm version="0.6">' + "\n".join(body) + "</osm>").encode()


def as_pbf(nodes: Nodes, ways: Iterable[Way], path: Path) -> bytes:
    with osmium.SimpleWriter(str(path), overwrite=True) as writer:
        for number, lonlat in nodes.items():
            writer.add_node(osmium.osm.mutable.Node(id=number, version=1, location=lonlat))
        for number, (refs, tags) in enumerate(ways, start=1):
            writer.add_way(osmium.osm.mutable.Way(id=number, version=1, nodes=refs, tags=tags))
    return path.read_bytes()


def grid(rows: int, columns: int, **tags: str) -> tuple[dict[int, tuple[float, float]], list[Way]]:
    """Streets like a chessboard at the equator: node 1000 r + c + 1 in row r and column c."""
    nodes = {1000 * r + c + 1: (c * STEP, r * STEP) for r in range(rows) for c in range(columns)}
    kind = {"highway": "residential", **tags}
    ways: list[Way] = [([1000 * r + c + 1 for c in range(columns)], kind) for r in range(rows)]
    ways += [([1000 * r + c + 1 for r in range(rows)], kind) for c in range(columns)]
    return nodes, ways


def random_city(seed: int) -> tuple[dict[int, tuple[float, float]], list[Way]]:
    """Ways of random length through random points: one-way streets, loops, islands, double streets, dead ends."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(6, 40))
    places = rng.uniform([7.400, 46.900], [7.406, 46.904], size=(count, 2)).round(7)
    nodes = {number + 1: (float(lon), float(lat)) for number, (lon, lat) in enumerate(places)}
    ways: list[Way] = []
    for _ in range(int(rng.integers(3, 25))):
        refs = (rng.permutation(count)[: rng.integers(2, 6)] + 1).tolist()
        if rng.random() < 0.2 and len(refs) > 2:
            refs.append(refs[0])
        tags = {"highway": str(rng.choice(["residential", "primary", "service"]))}
        tags["oneway"] = str(rng.choice(["yes", "-1", "no", "no", "no"]))
        if rng.random() < 0.5:
            tags["maxspeed"] = str(rng.choice(["20", "50", "30 mph"]))
        ways.append((refs, tags))
        if rng.random() < 0.1:
            ways.append((refs[::-1], dict(tags)))
    return nodes, ways
