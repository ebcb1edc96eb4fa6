"""Recognise coordinate, population, group and name columns by their names, checked against their values."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tkm_core.arrays import Floats
from tkm_core.residents.model import ResidentsError
from tkm_core.residents.numbers import guess_decimal, to_numbers
from tkm_core.residents.report import Column
from tkm_core.residents.table import Table, as_text, is_plain, is_text
from tkm_core.residents.vocabulary import name_score

SAMPLES = 5
LIKELY = 20  # x columns, and as many y columns, that are tried as pairs
COMPARED = 100  # characters of a name that are compared with another
DEGREES = r"[+-]?\d{1,3}(?:\.\d+)?"
PAIR = re.compile(rf"^\s*[\[(]?\s*(?P<first>{DEGREES})\s*[,;/ ]\s*(?P<second>{DEGREES})\s*[\])]?\s*$")
WKT = re.compile(r"(?i)^\s*(?:SRID=\d+;)?\s*(?:MULTI)?(?:POINT|POLYGON)\s*Z?M?\s*\(")
ONE_EACH = "Every row counts as one resident."
REPEATED = re.compile(r"\(\d+\)$")  # a name that occurs twice in the file


@dataclass
class Roles:
    """Which column has which role, with the reason for each column."""

    x: str | None = None
    y: str | None = None
    lonlat: str | None = None
    known_order: bool = True
    second_pair: tuple[str, str] | None = None
    weight: str | None = None
    group: str | None = None
    id: str | None = None
    place: str | None = None
    decimal: str = "."
    decimals: dict[str, str] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    proposed_weights: list[str] = field(default_factory=list)
    numbers: dict[str, Floats] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def give(self, role: str, name: str, why: str) -> None:
        """Record that a column has a role, and why."""
        setattr(self, role, name)
        self.columns[name].role = role
        self.columns[name].why = why

    def offer(self, role: str, name: str) -> None:
        """Record that a column could have a role."""
        column = self.columns[name]
        if role not in column.candidate_for:
            column.candidate_for = (*column.candidate_for, role)


Choice = str | int | bool | None


def find_roles(table: Table, choices: Mapping[str, Choice], decimal: str | None = None) -> Roles:
    """Assign every role to a column: the one chosen, otherwise the one whose name and values fit best.

    Parameters
    ----------
    table : Table
    choices : mapping of {"x", "y", "weight", "group", "id", "place"} to name, position, False (none) or None (guess)
    decimal : {".", ","}, optional

    Returns
    -------
    Roles
    """
    roles = Roles()
    samples = {name: _samples(table.head[name]) for name in table.names}
    roles.columns = {name: Column(name, samples=tuple(samples[name][:SAMPLES])) for name in table.names}
    texts = [name for name in table.names if is_text(table.head[name].type)]
    guesses = {name: guess_decimal(samples[name]) for name in texts}
    roles.decimal = decimal or ("," if "," in guesses.values() else ".")
    roles.decimals = {name: decimal or guess or roles.decimal for name, guess in guesses.items()}
    for name in table.names:
        numbers = to_numbers(table.head[name], roles.decimals.get(name, "."))
        present = len(table.head) - table.head[name].null_count
        if np.isfinite(numbers).sum() > 0.5 * present > 0:
            roles.numbers[name] = numbers
            if roles.decimals.get(name) == "." and np.isfinite(numbers).sum() == present:
                table.plain_numbers.add(name)
    for role in ("x", "y", "weight", "group", "id", "place"):
        if (choice := choices.get(role)) is not None and choice is not False:
            roles.give(role, resolve(choice, table.names, role), "Chosen.")
    if table.people and choices.get("weight") is None:
        roles.give("weight", table.people, "Every cell holds the number of its people.")
    if table.points is None:
        _find_coordinates(table, roles, samples)
    _find_weight(roles, choices.get("weight"))
    _find_labels(table, roles, choices)
    return roles


def resolve(choice: str | int, names: list[str], role: str) -> str:
    """The column that was asked for, by name (in any case) or position."""
    if isinstance(choice, int) and 0 <= choice < len(names):
        return names[choice]
    for name in names:
        if name == choice or name.casefold() == str(choice).strip().casefold():
            return name
    short = {name[:COMPARED]: name for name in reversed(names)}
    near = [short[name] for name in difflib.get_close_matches(str(choice)[:COMPARED], short, n=3)]
    hint = (
        f"Did you mean {' or '.join(f'“{name}”' for name in near)}?"
        if near
        else f"The columns are: {', '.join(names[:30])}."
    )
    msg = f"There is no column “{choice}”. {hint}"
    raise ResidentsError(msg, needs=role, suggestions=[(name, name) for name in near or names])


def _samples(column: pa.ChunkedArray) -> list[str]:
    """Some values of a column as text, without empty ones."""
    present = pc.drop_null(column.slice(0, 5_000))
    return [text[:80] for text in as_text(present.slice(0, 200))]


def _find_coordinates(table: Table, roles: Roles, samples: dict[str, list[str]]) -> None:
    """Find the columns of coordinates: the ones chosen, a pair by name, one column with both, or a pair by values."""
    pairs = _named_pairs(table.names, roles)
    for _, x, y, _ in pairs:
        roles.offer("x", x)
        roles.offer("y", y)
    for name in roles.numbers:
        roles.offer("x", name)
        roles.offer("y", name)
    combined = [name for name in table.names if _is_pair(samples[name])]
    for name in combined:
        roles.offer("lonlat", name)
    if roles.x is not None and roles.y is not None:
        return
    if roles.x is not None or roles.y is not None:
        chosen, role = (roles.x, "y") if roles.x is not None else (roles.y, "x")
        if chosen in combined:  # "lat,lon" in the one column that was named
            roles.x = roles.y = None
            roles.give("lonlat", str(chosen), "Chosen; it holds both coordinates.")
            return
        fitting = [pair for pair in pairs if chosen in pair[1:3]]
        if not fitting:
            msg = f"“{chosen}” is one coordinate; say which column is the other ({role}=)."
            raise ResidentsError(msg, needs=role, suggestions=[(name, name) for name in roles.numbers])
        other = fitting[0][2] if role == "y" else fitting[0][1]
        roles.give(role, other, f"Its name goes with “{chosen}”.")
        return
    named = [name for name in combined if name_score(name, "lonlat")]
    if pairs and (pairs[0][3] or not combined):
        _, x, y, degrees = pairs[0]
        kind = "degrees" if degrees else "a map's grid"
        roles.give("x", x, f"Its name stands for the east-west coordinate, and its values fit {kind}.")
        roles.give("y", y, f"Its name stands for the north-south coordinate, and its values fit {kind}.")
        if len(pairs) > 1:
            roles.second_pair = (pairs[1][1], pairs[1][2])
            others = "; ".join(f"“{pair[1]}” and “{pair[2]}”" for pair in pairs[1:4])
            roles.notes.append(f"There are also coordinates in {others}; “{x}” and “{y}” were taken.")
        return
    if named or combined:
        name = (named or combined)[0]
        roles.give("lonlat", name, "Every value holds two coordinates.")
        return
    _pair_by_values(table, roles)


def _named_pairs(names: list[str], roles: Roles) -> list[tuple[float, str, str, bool]]:
    """Pairs of columns whose names belong together, best first: (score, x, y, whether they fit degrees)."""
    place = {name: number for number, name in enumerate(names)}
    pairs = []
    for east, north, bonus in (
        ("longitude", "latitude", 2.0),
        ("easting", "northing", 0.0),
        ("longitude", "northing", -2.0),
        ("easting", "latitude", -2.0),
    ):
        for x in _likely(east, roles):
            for y in _likely(north, roles):
                if x == y:
                    continue
                degrees = _fits_degrees(roles.numbers[x], roles.numbers[y])
                alike = difflib.SequenceMatcher(
                    None, x[:COMPARED].casefold(), y[:COMPARED].casefold()
                ).ratio()
                repeated = bool(REPEATED.search(x)) + bool(REPEATED.search(y))
                score = name_score(x, east) + name_score(y, north) + bonus + 3.0 * degrees + alike - repeated
                score -= 0.1 * min(abs(place[x] - place[y]), 10) + 0.01 * place[x]
                pairs.append((score, x, y, degrees))
    pairs.sort(key=lambda pair: -pair[0])
    taken: set[str] = set()
    distinct = []
    for pair in pairs:
        if not taken & set(pair[1:3]):
            distinct.append(pair)
            taken |= set(pair[1:3])
    return distinct


def _likely(meaning: str, roles: Roles) -> list[str]:
    """The columns of numbers whose names have this meaning most clearly; among equals, the first ones."""
    scores = {name: name_score(name, meaning) - bool(REPEATED.search(name)) for name in roles.numbers}
    named = [name for name in roles.numbers if name_score(name, meaning)]
    return sorted(named, key=lambda name: -scores[name])[:LIKELY]


def _fits_degrees(x: Floats, y: Floats) -> bool:
    """Whether nine in ten pairs can be longitude and latitude, in either order."""
    with np.errstate(invalid="ignore"):
        both = np.isfinite(x) & np.isfinite(y)
        straight = (np.abs(x) <= 180) & (np.abs(y) <= 90)
        swapped = (np.abs(x) <= 90) & (np.abs(y) <= 180)
    return bool(both.any() and max(straight[both].mean(), swapped[both].mean()) > 0.9)


def _is_pair(samples: list[str]) -> bool:
    """Whether the values look like two coordinates in one cell."""
    if not samples:
        return False
    return sum(bool(PAIR.match(text) or WKT.match(text)) for text in samples) > 0.8 * len(samples)


def _decimals(numbers: Floats) -> float:
    """Share of values that need four decimals or more, as coordinates in degrees do."""
    finite = numbers[np.isfinite(numbers)][:2_000]
    return float(np.mean(np.abs(finite * 1e3 - np.round(finite * 1e3)) > 1e-6)) if len(finite) else 0.0


def _pair_by_values(table: Table, roles: Roles) -> None:
    """If no name helps, take two neighbouring columns with many decimals whose values could be degrees."""
    fine = {name for name in table.names if name in roles.numbers and _decimals(roles.numbers[name]) > 0.8}
    for first, second in zip(table.names, table.names[1:], strict=False):
        if first in fine and second in fine and _fits_degrees(roles.numbers[first], roles.numbers[second]):
            roles.known_order = False
            roles.give("x", first, "No name says so, but it and its neighbour hold numbers like degrees.")
            roles.give("y", second, "No name says so, but it and its neighbour hold numbers like degrees.")
            roles.warnings.append(
                f"“{first}” and “{second}” were taken as coordinates by their values alone: please check."
            )
            return
    listed = ", ".join(f"“{name}”" for name in table.names[:12])
    if not table.head.num_rows:
        msg = f"The file has headings ({listed}) but no rows below them."
        raise ResidentsError(msg)
    msg = f"No column could be recognised as coordinates. The columns are {listed}. "
    msg += "Say which is longitude (x=) and which latitude (y=)."
    raise ResidentsError(msg, needs="x", suggestions=[(name, name) for name in roles.numbers])


def is_count(numbers: Floats) -> tuple[bool, str]:
    """Whether values can be numbers of people, and if not, why."""
    finite = numbers[np.isfinite(numbers)]
    people = finite[finite >= 0]
    if len(people) == 0:
        return False, "it holds no number of 0 or more"
    fractions = np.mean(people != np.round(people))
    if people.max() <= 1 and fractions > 0:
        return False, "its values lie between 0 and 1, like a proportion"
    if people.max() <= 100 and fractions > 0.5 and len(people) > 5:
        return False, "its values are fractions up to 100, like percentages"
    if len(people) < 0.5 * len(finite):
        return False, "most of its values are negative"
    if people.max() > 2e9:
        return False, "its values are larger than any population"
    return True, ""


def _find_weight(roles: Roles, choice: Choice) -> None:
    """Take the column that clearly counts people, and propose those that may."""
    strong: list[tuple[float, str]] = []
    for name, numbers in roles.numbers.items():
        if roles.columns[name].role in ("x", "y"):
            continue
        score = name_score(name, "weight")
        counts, reason = is_count(numbers)
        if not score and not name_score(name, "perhaps"):
            continue
        if name_score(name, "not people") >= 2 or not counts:
            roles.columns[name].why = (
                roles.columns[name].why
                or f"Not taken as the number of people: {reason or 'its name says it is a measure'}."
            )
            continue
        roles.offer("weight", name)
        if score >= 2 and name_score(name, "part") < 2:
            strong.append((score, name))
    if choice is False or roles.weight is not None:
        return
    strong.sort(key=lambda item: -item[0])
    if strong and (len(strong) == 1 or strong[0][0] > strong[1][0]):
        name = strong[0][1]
        roles.give("weight", name, "Its name means population and its values are counts.")
    proposed = [
        name
        for name, column in roles.columns.items()
        if "weight" in column.candidate_for and name != roles.weight
    ]
    ranked = sorted(proposed, key=lambda name: -name_score(name, "weight"))
    roles.proposed_weights = ranked
    if ranked and roles.weight is None:
        _say_who_may_count(roles)


def propose_counts(roles: Roles) -> None:
    """Propose every column of counts as population, if rows are areas and no name means people."""
    fitting = [
        name
        for name, numbers in roles.numbers.items()
        if roles.columns[name].role in (None, "group") and _may_count(numbers, roles.columns[name])
    ]
    for name in fitting:
        roles.offer("weight", name)
    roles.proposed_weights += [name for name in fitting if name not in roles.proposed_weights]
    if fitting:
        roles.notes[:] = [note for note in roles.notes if not note.startswith(ONE_EACH)]
        _say_who_may_count(roles)


def _say_who_may_count(roles: Roles) -> None:
    """Tell the planner which columns could be chosen as population."""
    listed = ", ".join(f"“{name}”" for name in roles.proposed_weights[:5])
    roles.notes.append(f"{ONE_EACH} People may be counted in {listed}: choose the column if so.")


def _may_count(numbers: Floats, column: Column) -> bool:
    """Whether these are whole numbers that differ and are not codes, years, row numbers or measurements."""
    values = numbers[np.isfinite(numbers)]
    if len(values) < 2 or (values != np.round(values)).any() or not is_count(values)[0]:
        return False
    name, distinct = column.name, np.unique(values)
    named_otherwise = (
        name_score(name, "not people") or name_score(name, "measure") >= 2 or name_score(name, "id") >= 2
    )
    years = values.min() >= 1800 and values.max() <= 2100
    codes = any(text.startswith("0") and len(text) > 1 for text in column.samples)
    row_numbers = len(distinct) == len(values) and distinct[-1] - distinct[0] < 2 * len(values)
    return not (named_otherwise or years or codes or row_numbers or len(distinct) == 1 or distinct[-1] < 2)


def _find_labels(table: Table, roles: Roles, choices: Mapping[str, Choice]) -> None:
    """Find the columns of identifiers, groups and place names."""
    n_rows = len(table.head)
    for name in table.names:
        if roles.columns[name].role or n_rows < 2:
            continue
        column = table.head[name]
        if is_plain(column.type):
            if pa.types.is_dictionary(column.type):  # categories of pandas and R; Arrow does not count them
                column = column.cast(column.type.value_type)
            distinct = pc.count_distinct(column).as_py()
            complete = column.null_count == 0
            if distinct == n_rows and complete and name_score(name, "id"):
                roles.offer("id", name)
            if 1 < distinct <= max(2, min(1_000, n_rows // 2)) and not _decimals(
                roles.numbers.get(name, np.empty(0))
            ):
                roles.offer("group", name)
            if distinct > n_rows // 2 and column.null_count <= 0.1 * n_rows and _has_letters(column):
                roles.offer("place", name)
    for role, meaning, why in (
        ("id", "id", "Its name means an identifier and no value repeats."),
        ("group", "group", "Its name means a district or group and its values repeat."),
        ("place", "place", "Its name means a place and its values are names."),
    ):
        if choices.get(role) is False or getattr(roles, role) is not None:
            continue
        fitting = [
            name
            for name, column in roles.columns.items()
            if role in column.candidate_for
            and column.role is None
            and not (role == "place" and name_score(name, "not a place") >= 2)
        ]
        best = max(
            fitting, key=lambda name: name_score(name, meaning) - 0.6 * _is_row_number(name), default=None
        )
        if best is not None and name_score(best, meaning) >= 2:
            roles.give(role, best, why)


def _has_letters(column: pa.ChunkedArray) -> bool:
    """Whether one of the first values contains a letter."""
    return is_text(column.type) and any(
        any(char.isalpha() for char in text) for text in as_text(pc.drop_null(column).slice(0, 20))
    )


def _is_row_number(name: str) -> bool:
    """Whether a name stands for an identifier made by software, which is the last choice for an id."""
    return name.casefold() in ("objectid", "fid", "ogc_fid", "gid", "rowid", "index", "oid")
