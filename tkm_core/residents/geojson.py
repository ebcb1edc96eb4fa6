"""GeoJSON files: nesting depth and encoding are checked before a parser sees them."""

import re

import numpy as np

from tkm_core.residents.encodings import to_utf8
from tkm_core.residents.file_format import FileFormat
from tkm_core.residents.layers import MapKind, check_names, reader
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.source import Source, text_begins

DEEPEST = 64  # levels of nested brackets; a multipolygon in a collection needs 8
BRACKETS = np.zeros(256, dtype=np.int64)  # how each byte of JSON changes the depth
BRACKETS[[91, 123]], BRACKETS[[93, 125]] = 1, -1
KEY = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*+:')


def prepare(source: Source) -> list[str]:
    """Refuse files that could harm a parser, and convert the others to UTF-8."""
    _check_depth(source)
    check_names(source, KEY)
    source.data, _, told = to_utf8(source.data, source.name)
    return told


def _check_depth(source: Source) -> None:
    """Refuse JSON that is nested absurdly deep."""
    depth = deepest = 0
    data = source.data
    for start in range(0, len(data), 1 << 20):
        block = np.frombuffer(data[start : start + (1 << 20)], dtype=np.uint8)
        steps = BRACKETS[block[(block | 32 == 123) | (block | 32 == 125)]]
        if len(steps) == 0:
            continue
        levels = depth + np.cumsum(steps)
        deepest, depth = max(deepest, int(levels.max())), int(levels[-1])
        if deepest > DEEPEST + 200:  # brackets within names count too, so only absurd depth is refused
            msg = f"“{source.name}” is nested too deeply for a map layer."
            raise ResidentsError(msg)


FORMAT = FileFormat(
    kind="geojson",
    name="GeoJSON",
    suffixes=(".geojson", ".json"),
    read=reader(
        MapKind(
            title="GeoJSON",
            suffix=".geojson",
            drivers=("GeoJSON", "ESRIJSON", "TopoJSON", "JSONFG"),
            prepare=prepare,
            one_layer=True,
            or_else=", or another kind of JSON",
        )
    ),
    sign=lambda head: text_begins(head, b"{", b"["),
    is_map=True,
    only=(".geojson", ".json"),
    mismatch="is not JSON: it does not begin with a bracket",
)
