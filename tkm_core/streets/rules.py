"""Rules of travel: who may use which street, in which direction, and how fast."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("rules.toml")
FASTEST = 200.0  # km/h; a higher number is not a speed limit
SLOWEST = 0.5  # km/h
NUMBER = re.compile(r"(\d+(?:[.,]\d+)?)\s*([a-z/]*)")
LOOKED_AT = ("highway", "area", "junction", "maxspeed", "maxspeed:forward", "maxspeed:backward")
ZONE = re.compile(r"zone:?\s*(\d+)$")


class StreetsError(ValueError):
    """A road file or an argument that cannot be used; the message is a sentence for the planner.

    ``needs`` names the argument of `load_streets` that would help, ``suggestions`` possible values.
    """

    def __init__(self, message: str, *, needs: str | None = None, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.needs = needs
        self.suggestions = suggestions


@cache
def _own_table() -> dict[str, Any]:
    """The rules that come with the package."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def modes() -> tuple[str, ...]:
    """The modes of travel in the table.

    Examples
    --------
    >>> modes()
    ('walk', 'bicycle', 'car')
    """
    return tuple(_own_table()["modes"])


def mode_words() -> dict[str, str]:
    """The modes of travel in the table, each with its words.

    Examples
    --------
    >>> mode_words()
    {'walk': 'on foot', 'bicycle': 'by bicycle', 'car': 'by car'}
    """
    return {mode: _words(mode, row) for mode, row in _own_table()["modes"].items()}


def _words(mode: str, row: Mapping[str, Any]) -> str:
    """The words of a mode: those of its row, or its name."""
    return str(row.get("words", f"by {mode}"))[:40]


@dataclass
class Rules:
    """The rules of one mode of travel.

    Attributes
    ----------
    mode : str
        One of the modes of the table: "walk".
    words : str
        How people travel: "on foot".
    table : dict
        The whole table, as in rules.toml.
    unknown_limits : Counter
        Speed limits found so far that the table does not know.
    keys : tuple of str
        The tags that matter.
    """

    mode: str
    table: dict[str, Any]
    unknown_limits: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        row = self.table["modes"][self.mode]
        self._like = row.get("like", self.mode)
        own = {**self.table["modes"][self._like], **row}
        self.words = _words(self.mode, row)
        values = {word: set(entries) for word, entries in self.table["values"].items()}
        self.speed = float(own["speed"])
        self.pace = float(self.table["modes"]["walk"]["speed"])
        self.areas = bool(own.get("areas", False))
        self._own, self._values, self._classes = own, values, self.table["classes"]
        said = (*own["access"], *own["oneway"], *own.get("contraflow", ()), *own.get("closed_if", ()))
        self.keys = tuple(dict.fromkeys((*LOOKED_AT, *said)))
        self._refused = {key: set(entries) for key, entries in own.get("closed_if", {}).items()}

    def speeds(self, tags: Mapping[str, str]) -> tuple[float, float]:
        """Speeds in km/h along a street and against it; 0 if it is closed.

        Examples
        --------
        >>> load_rules("car").speeds({"highway": "residential", "oneway": "yes", "maxspeed": "20 mph"})
        (32.18688, 0.0)
        >>> load_rules("walk").speeds({"highway": "residential", "oneway": "yes"})
        (4.8, 4.8)
        >>> load_rules("walk").speeds({"highway": "motorway"})
        (0.0, 0.0)
        """
        street = self._classes.get(tags.get("highway", ""))
        if street is None or (tags.get("area") == "yes" and not self.areas):
            return 0.0, 0.0
        stated = self.stated(street)
        if not self._may_pass(tags, stated is not False):
            return 0.0, 0.0
        usual = self.speed if isinstance(stated, bool) else float(stated)
        forward, backward = self._directions(tags, one_way=bool(street.get("oneway", False)))
        ahead, back = (self._limit(tags, side) or usual for side in ("forward", "backward"))
        return (ahead if forward else 0.0), (back if backward else 0.0)

    def stated(self, street: Mapping[str, Any]) -> Any:
        """The speed of the mode in a class of streets, or whether it may use it; that of the mode it is like."""
        return street.get(self.mode, street.get(self._like, False))

    def _may_pass(self, tags: Mapping[str, str], usual: bool) -> bool:  # noqa: FBT001 - private
        """Whether the mode may use a street: the usual answer for its class, changed by access tags."""
        may = usual and not any(tags.get(key) in entries for key, entries in self._refused.items())
        for place, key in enumerate(self._own["access"]):
            value = tags.get(key)
            if value in self._values["closed"]:
                may = False
            elif value in self._values["open"] and place > 0:
                may = True
        return may

    def _directions(self, tags: Mapping[str, str], *, one_way: bool) -> tuple[bool, bool]:
        """Whether a street is open in the direction of its points, and against it."""
        found = None
        if self._own["roundabouts"]:
            round_about = tags.get("junction") in self._values["roundabout"]
            found = (True, False) if round_about or one_way else None
        for key in self._own["oneway"]:
            found = self.direction(tags.get(key)) or found
        if found is None:
            return True, True
        opposite = (tags.get(key, "").startswith("opposite") for key in self._own.get("contraflow", ()))
        return (True, True) if any(opposite) else found

    def direction(self, value: object) -> tuple[bool, bool] | None:
        """Whether a value of a one-way tag or column leaves a street open along and against it; None if unknown.

        Examples
        --------
        >>> [load_rules("car").direction(value) for value in ("yes", -1, "B", None)]
        [(True, False), (False, True), (True, True), None]
        """
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return None
        if isinstance(value, bool):
            return (True, not value)
        word = f"{value:g}" if isinstance(value, int | float) else str(value).strip().lower()
        if word in self._values["forward"]:
            return True, False
        if word in self._values["backward"]:
            return False, True
        return (True, True) if word in self._values["both"] else None

    def _limit(self, tags: Mapping[str, str], side: str) -> float | None:
        """The speed limit in km/h as far as it matters to the mode; None if there is none."""
        share = float(self._own["maxspeed"])
        if share <= 0:
            return None
        text = tags.get(f"maxspeed:{side}") or tags.get("maxspeed")
        if not text:
            return None
        limit = self.read_limit(text)
        return None if limit is None else max(share * limit, SLOWEST)

    def read_limit(self, text: object, unit: float = 1.0) -> float | None:
        """A speed limit in km/h; None if it cannot be understood, which is recorded.

        Parameters
        ----------
        text : object
            As in the tag ``maxspeed``, or a number from a column.
        unit : float
            Km/h in one unit of a number without a unit.

        Examples
        --------
        >>> rules = load_rules("car")
        >>> [rules.read_limit(text) for text in ("50", "30 mph", "DE:urban", "CH:zone:30", "50;30", "fast")]
        [50.0, 48.28032, 50.0, 30.0, 30.0, None]
        >>> rules.unknown_limits
        Counter({'fast': 1})
        """
        found = [self._read_one(part.strip(), unit) for part in str(text).split(";")[:8]]
        known = [limit for limit in found if limit is not None]
        if known:
            return min(known)
        # 0 stands for unknown.
        if len(self.unknown_limits) < 1000 and str(text) not in ("0", "0.0", "nan", ""):
            self.unknown_limits[str(text)[:40]] += 1
        return None

    def _read_one(self, text: str, unit: float) -> float | None:
        """One speed limit: a word of the table, a zone, or a number with or without a unit."""
        words = self.table["maxspeed"]
        limit = words.get(text, words.get(text.rpartition(":")[2]))
        if limit is None and (zone := ZONE.search(text.lower())):
            limit = zone[1]
        elif limit is None and (number := NUMBER.fullmatch(text.lower()[:40])):
            factor = self.table["maxspeed_units"].get(number[2]) if number[2] else unit
            limit = None if factor is None else float(number[1].replace(",", ".")) * float(factor)
        return float(limit) if limit is not None and 0 < float(limit) <= FASTEST else None


def load_rules(mode: str, rules: str | Path | Mapping[str, Any] | None = None) -> Rules:
    """The rules of a mode, with the changes in a file or a mapping of the same form.

    Examples
    --------
    >>> quick = load_rules("walk", {"modes": {"walk": {"speed": 6}}, "classes": {"steps": {"walk": 3}}})
    >>> quick.speeds({"highway": "residential"})
    (6.0, 6.0)
    >>> load_rules("e-bike", {"modes": {"e-bike": {"like": "bicycle", "speed": 22}}}).speeds({"highway": "primary"})
    (22.0, 22.0)
    >>> load_rules("horse")
    Traceback (most recent call last):
    ...
    tkm_core.streets.rules.StreetsError: There is no mode “horse”. Choose walk, bicycle or car.
    """
    table = deepcopy(_own_table())
    changes = _read_changes(rules) if isinstance(rules, str | Path) else rules or {}
    _change(table, changes, "")
    if mode not in table["modes"]:
        names = tuple(table["modes"])
        msg = f"There is no mode “{mode}”. Choose {', '.join(names[:-1])} or {names[-1]}."
        raise StreetsError(msg, needs="mode", suggestions=names)
    try:
        made = Rules(mode, table)
        given = [made.speed, made.pace]
        stated = [made.stated(entry) for entry in table["classes"].values()]
        given += [float(speed) for speed in stated if not isinstance(speed, bool)]
        sound = all(SLOWEST <= speed <= FASTEST for speed in given)
        float(made._own["maxspeed"])
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        msg = f"The rules do not have the form of rules.toml: {error}."
        raise StreetsError(msg, needs="rules") from error
    if not sound:
        msg = f"The rules have a speed that is not between {SLOWEST:g} and {FASTEST:g} km/h."
        raise StreetsError(msg, needs="rules")
    return made


def _read_changes(path: str | Path) -> dict[str, Any]:
    """Changes to the rules, from a TOML file."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"The rules in “{Path(path).name}” cannot be read as TOML: {error}."
        raise StreetsError(msg, needs="rules") from error


def _change(table: dict[str, Any], changes: Mapping[str, Any], where: str) -> None:
    """Apply changes to a table, level by level; an entry that the table does not have is refused."""
    for key, value in changes.items():
        place = f"{where}.{key}".lstrip(".")
        free = where in ("modes", "classes", "maxspeed", "maxspeed_units") or where.startswith("classes.")
        if key not in table and not free:
            msg = f"The rules have no part “{place}”. See rules.toml for the parts there are."
            raise StreetsError(msg, needs="rules")
        if isinstance(table.get(key), dict):
            if not isinstance(value, Mapping):
                msg = f"In the rules, “{place}” must be a table, not {value!r}."
                raise StreetsError(msg, needs="rules")
            _change(table[key], value, place)
        else:
            table[key] = dict(value) if isinstance(value, Mapping) else value
