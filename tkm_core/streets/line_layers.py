"""Read streets from a layer of lines: GeoPackage, shapefile, GeoJSON or KML."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import shapely
from pyproj import CRS
from pyproj.exceptions import ProjError

from tkm_core.arrays import Floats, Ints
from tkm_core.residents import FORMATS, WGS84, Asked, Source, Table, chosen_crs, transform
from tkm_core.streets.rules import Rules, StreetsError
from tkm_core.streets.ways import Ways, check_length, check_size
from tkm_core.wording import counted

LINES, COLLECTIONS = (1, 2), (5, 7)  # shapely's type ids
SAME_PLACE = 1e7  # points within 1e-7 degree, about a centimetre, are the same
PLAIN = "road"  # the class of all streets in a layer without classes
ROLE_WORDS = {"class": "class", "oneway": "direction", "speed": "speed"}
Column = str | bool | None


def read_lines(
    source: Source,
    rules: Rules,
    *,
    layer: str | None = None,
    crs: object = None,
    road_class: Column = None,
    oneway: Column = None,
    speed: Column = None,
) -> Ways:
    """Read a layer of lines; streets are connected where lines share a vertex.

    Parameters
    ----------
    source : Source
        The opened file.
    rules : Rules
        Rules of the mode of travel.
    layer, crs :
        As in `load_streets`.
    road_class, oneway, speed : str, False or None
        Columns with the class, direction and speed of a street. None: recognised by name; False: there is none.
    """
    table = FORMATS[source.kind].read(source, Asked(layer=layer, lines=True))
    notes = [*table.warnings, *table.notes]
    if table.shapes is None:
        msg = f"“{source.name}” has no lines in it: a road file is a layer of lines."
        raise StreetsError(msg)
    shapes = table.shapes()
    read = len(shapes)
    lines, row = _plain_lines(shapes)
    if len(lines) == 0:
        msg = (
            f"“{source.name}” has {counted(read, 'feature')}, but no lines: a road file is a layer of lines."
        )
        raise StreetsError(msg)
    other = read - len(np.unique(row))
    if other:
        verb = "is not a line and was" if other == 1 else "are not lines and were"
        notes.append(f"{counted(other, 'feature')} of the layer {verb} left out.")
    sizes = shapely.get_num_coordinates(lines)
    check_length(int(sizes.max()), source.name)
    check_size(int(sizes.sum()), source.name)
    lonlat = _to_lonlat(shapely.get_coordinates(lines), chosen_crs(crs) or table.crs, source.name)
    asked = {"class": road_class, "oneway": oneway, "speed": speed}
    chosen = {role: _find_column(role, column, table.names, rules) for role, column in asked.items()}
    values = {role: _plain_values(table, name) if name else None for role, name in chosen.items()}
    if values["class"] is not None and not _is_class(values["class"], rules):
        notes.append(
            f"“{chosen['class']}” does not hold OpenStreetMap's classes of streets, so it is not used."
        )
        values["class"] = None
    for role, name in chosen.items():
        if values[role] is not None:
            notes.append(f"“{name}” is taken as the {ROLE_WORDS[role]} of a street.")
    if values["class"] is None:
        notes.append("The layer does not say what class a street is: all streets are open to everyone.")
    in_mph = (chosen["speed"] or "").casefold() in rules.table["columns"]["mph"]
    unit = float(rules.table["maxspeed_units"]["mph"]) if in_mph else 1.0
    speeds, kinds = _speeds(values, read, rules, unit, fixed=isinstance(speed, str))
    used = np.asarray(np.any(speeds[row] > 0, axis=1))
    if not used.any():
        msg = f"“{source.name}” has {counted(read, 'street')}, but none that is open to the mode “{rules.mode}”."
        raise StreetsError(msg)
    lonlat, points = _number_points(lonlat[np.repeat(used, sizes)])
    row, sizes = row[used], sizes[used]
    names, classes = np.unique(kinds[row], return_inverse=True)
    return Ways(
        lonlat=lonlat,
        points=points,
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        forward=speeds[row, 0],
        backward=speeds[row, 1],
        classes=classes.astype(np.int16),
        class_names=names.tolist(),
        read=read,
        file_format=table.file_format,
        notes=notes,
        columns=tuple(table.names),
    )


def _plain_lines(shapes: npt.NDArray[np.object_]) -> tuple[npt.NDArray[np.object_], Ints]:
    """The single lines of all shapes, and the row each one comes from."""
    row = np.arange(len(shapes))
    for _ in range(3):  # a collection of multilines of lines
        kinds = shapely.get_type_id(shapes)
        if not np.isin(kinds, COLLECTIONS).any():
            break
        shapes, part = shapely.get_parts(shapes, return_index=True)
        row = row[part]
    kept = np.isin(shapely.get_type_id(shapes), LINES) & (shapely.get_num_coordinates(shapes) > 1)
    return shapes[kept], row[kept]


def _to_lonlat(xy: Floats, crs: CRS | None, name: str) -> Floats:
    """Coordinates of a layer in degrees; an error asks for the reference system."""
    if crs is not None and crs != WGS84:
        try:
            xy = transform(xy, crs, WGS84)
        except ProjError as error:
            msg = f"“{name}” is in a reference system that cannot be put on a map. Give another (crs=)."
            raise StreetsError(msg, needs="crs") from error
    with np.errstate(invalid="ignore"):
        sound = (np.abs(xy[:, 0]) <= 180) & (np.abs(xy[:, 1]) <= 90)
    if crs is None and not sound.all():
        msg = (
            f"“{name}” does not state its reference system, and its coordinates are not longitudes and latitudes. "
            "Give the reference system, such as EPSG:25832."
        )
        raise StreetsError(msg, needs="crs")
    if not sound.any():
        msg = f"“{name}” has no coordinates that are on the globe. Check its reference system."
        raise StreetsError(msg, needs="crs")
    return np.where(sound[:, None], xy, np.nan)


def _find_column(role: str, asked: Column, names: Sequence[str], rules: Rules) -> str | None:
    """The column asked for, or the first whose name is known for the role."""
    if asked is False:
        return None
    if isinstance(asked, str):
        if asked not in names:
            msg = f"The layer has no column “{asked}”. Its columns: {', '.join(names) or 'none'}."
            needs = "road_class" if role == "class" else role
            raise StreetsError(msg, needs=needs, suggestions=tuple(names))
        return asked
    known = list(rules.table["columns"][role])
    if role == "speed":
        known += rules.table["columns"]["mph"]
    lower = {name.casefold(): name for name in names}
    return next((lower[word] for word in known if word in lower), None)


def _plain_values(table: Table, name: str) -> list[object]:
    """The values of a column; lists and other compound values become text."""
    plain = (str, int, float, type(None))
    return [
        value if isinstance(value, plain) else str(value) for value in table.fetch([name])[name].to_pylist()
    ]


def _is_class(values: Sequence[object], rules: Rules) -> bool:
    """Whether at least half of the values are classes of streets."""
    known = sum(str(value) in rules.table["classes"] for value in values)
    return 2 * known >= len(values)


def _speeds(
    values: dict[str, list[object] | None], count: int, rules: Rules, unit: float, *, fixed: bool
) -> tuple[Floats, npt.NDArray[np.str_]]:
    """Speeds along and against each row's line, shape (count, 2), and its class."""
    empty: list[object] = [None] * count
    classes, ways, limits = (values[role] or empty for role in ("class", "oneway", "speed"))
    kinds = [PLAIN if values["class"] is None else str(kind) for kind in classes]
    known: dict[tuple[str, object, object], tuple[float, float]] = {}
    speeds = np.zeros((count, 2))
    for place, key in enumerate(zip(kinds, ways, limits, strict=True)):
        if key not in known:
            known[key] = _speeds_of(*key, rules, unit, fixed=fixed)
        speeds[place] = known[key]
    return speeds, np.array(kinds)


def _speeds_of(
    kind: str, way: object, limit: object, rules: Rules, unit: float, *, fixed: bool
) -> tuple[float, float]:
    """Speeds along and against a street of a class, by the rules and what its row says."""
    tags = {"highway": kind}
    direction = rules.direction(way)
    if direction is not None:
        tags["oneway"] = {(True, False): "yes", (False, True): "-1", (True, True): "no"}[direction]
    stated = (
        None if limit is None else rules.read_limit(f"{limit:g}" if isinstance(limit, float) else limit, unit)
    )
    if stated is not None:
        tags["maxspeed"] = f"{stated:g}"
    ahead, back = rules.speeds(tags)
    if fixed and stated is not None:  # a column that was chosen holds the speed of this mode
        ahead, back = (stated if side > 0 else 0.0 for side in (ahead, back))
    return ahead, back


def _number_points(lonlat: Floats) -> tuple[Floats, Ints]:
    """The distinct points, and the index of each point among them."""
    sound = ~np.isnan(lonlat[:, 0])
    shifted = np.where(sound[:, None], lonlat, 0.0) + np.array([180.0, 90.0])
    east, north = np.rint(shifted * SAME_PLACE).astype(np.uint64).T
    code = (east << np.uint64(32)) | north
    code[~sound] = np.iinfo(np.uint64).max  # all invalid points become one, which is missing
    _, first, points = np.unique(code, return_index=True, return_inverse=True)
    return lonlat[first], points.astype(np.int64)
