"""Settings of a plan: the forms they have as text, and what is declared of each."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tkm_core.residents import find_sample
from tkm_core.wording import dial_text, listed

UPLOAD = "upload"  # in place of a sample's key: the residents are those of a token
NORTHERNMOST = 85.0  # degrees; maps end there
TOKEN = re.compile(r"[A-Za-z0-9_-]{22,64}")


class Kind(Protocol):
    """The form of a setting: how its text is read and written."""

    def read(self, text: str) -> Any:
        """The value; ValueError says what is wrong with the text, and goes on after "This link is damaged:"."""

    def write(self, value: Any) -> str:
        """The text that reads as this value."""

    def shown(self, value: Any) -> str:
        """The value in words; "" for none."""


class Written:
    """Values whose text is the one Python writes."""

    def write(self, value: Any) -> str:
        """The text that reads as this value."""
        return f"{value:g}" if isinstance(value, float) else str(value)

    def shown(self, value: Any) -> str:
        """The value in words."""
        return self.write(value)


@dataclass(frozen=True)
class Count(Written):
    """A whole number in digits."""

    low: int
    high: int
    what: str

    def read(self, text: str) -> int:
        """The number."""
        if not re.fullmatch(r"[0-9]{1,6}", text) or not self.low <= int(text) <= self.high:
            msg = f"{self.what} must be a whole number from {self.low} to {self.high}, not “{text[:20]}”"
            raise ValueError(msg)
        return int(text)


@dataclass(frozen=True)
class Amount(Written):
    """A number between two limits; `whole` rounds it down."""

    low: float
    high: float
    what: str
    whole: bool = False

    def read(self, text: str) -> float:
        """The number."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not self.low <= value <= self.high:
            msg = f"{self.what} must be a number from {self.low:g} to {self.high:g}, not “{text[:20]}”"
            raise ValueError(msg)
        return int(value) if self.whole else value

    def shown(self, value: float) -> str:
        """The number, with thousands apart; nothing for 0, which is no limit."""
        return f"{value:,.10g}" if value else ""


class Dial(Written):
    """The fairness dial: from 0 upwards, or inf."""

    def read(self, text: str) -> float:
        """The setting of the dial."""
        try:
            t = float(text)
        except ValueError:
            t = math.nan
        if not t >= 0:
            msg = f"t must be a number from 0 upwards, or inf, not “{text[:20]}”"
            raise ValueError(msg)
        return t

    def shown(self, value: float) -> str:
        """The setting as everywhere in the app."""
        return dial_text(value)


@dataclass(frozen=True)
class Choice(Written):
    """One of a few words."""

    names: tuple[str, ...]
    what: str

    def read(self, text: str) -> str:
        """The word."""
        if text not in self.names:
            several = len(self.names) > 1
            can = f"must be one of {', '.join(self.names)}" if several else f"can only be {self.names[0]}"
            msg = f"{self.what} {can}, not “{text[:20]}”"
            raise ValueError(msg)
        return text


class Flag(Choice):
    """Something that is so ("1") or not ("")."""

    def __init__(self, what: str) -> None:
        super().__init__(("1",), what)

    def shown(self, value: str) -> str:
        """Whether it is so."""
        return "yes" if value else "no"


@dataclass(frozen=True)
class Data(Written):
    """Something kept, by its secret token; `words` that are taken in place of one, "" for nothing."""

    words: tuple[str, ...] = ("",)

    def read(self, text: str) -> str:
        """The token or the word."""
        if text in self.words or TOKEN.fullmatch(text):
            return text
        msg = "a part that names uploaded data or a kept plan is damaged"
        raise ValueError(msg)

    def shown(self, value: str) -> str:
        """Whether there is any: a token is a secret."""
        return value if value in self.words else "given"


class City(Written):
    """The key of a sample city, or the word for an upload."""

    def read(self, text: str) -> str:
        """The key."""
        if text == UPLOAD or find_sample(text) is not None:
            return text
        msg = f"there is no data set “{text[:40]}”"
        raise ValueError(msg)

    def shown(self, value: str) -> str:
        """The city's name."""
        sample = find_sample(value)
        return "an upload" if sample is None else sample.title


class Points:
    """Places as longitude and latitude: "-121.3,38.5_-121.4,38.6"."""

    def read(self, text: str) -> list[tuple[float, float]]:
        """The places, to a metre."""
        found = []
        for part in text.split("_"):
            try:
                lon, lat = (float(number) for number in part.split(","))
            except ValueError:
                lon = lat = math.nan
            if not (-180 <= lon <= 180 and -NORTHERNMOST <= lat <= NORTHERNMOST):
                msg = f"a pinned facility needs longitude and latitude, not “{part[:30]}”"
                raise ValueError(msg)
            found.append((round(lon, 5), round(lat, 5)))
        return found

    def write(self, value: Sequence[tuple[float, float]]) -> str:
        """Their text, to a metre."""
        return "_".join(f"{lon:.5f},{lat:.5f}" for lon, lat in value)

    def shown(self, value: Sequence[tuple[float, float]]) -> str:
        """How many there are."""
        return f"{len(value)}"


class Numbers:
    """Facilities by the numbers on the map: "2.17"."""

    def read(self, text: str) -> list[int]:
        """The numbers, in order and each once."""
        if not re.fullmatch(r"[1-9][0-9]{0,5}(\.[1-9][0-9]{0,5})*", text):
            msg = f"closed facilities are given by their numbers, such as 2.17, not “{text[:30]}”"
            raise ValueError(msg)
        return sorted({int(number) for number in text.split(".")})

    def write(self, value: Sequence[int]) -> str:
        """Their text."""
        return ".".join(map(str, value))

    def shown(self, value: Sequence[int]) -> str:
        """The numbers as they are listed in a sentence."""
        return listed([f"{number}" for number in value]) if value else ""


@dataclass(frozen=True)
class Setting:
    """One setting of a plan.

    Attributes
    ----------
    name : str
        In the address, in scenarios and as a widget's key.
    kind : Kind
        Its form: how its text is read and written.
    default : Any
        Value where nobody says otherwise.
    words : str
        What a planner calls it.
    help : str
        What it means, in a sentence.
    alias : str
        Name in the HTTP API, where that is another.
    picks : bool
        Whether it picks from the plan or says what it is compared with: facilities do not depend on it.
    """

    name: str
    kind: Kind
    default: Any
    words: str
    help: str
    alias: str = ""
    picks: bool = False

    @property
    def names_data(self) -> bool:
        """Whether it names uploaded data by a token."""
        return isinstance(self.kind, Data) and not self.picks
