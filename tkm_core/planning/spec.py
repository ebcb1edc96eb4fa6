"""The description of a plan: every setting declared once, with its default, its form as text, its words and help."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tkm_core.planning.settings import (
    Amount,
    Choice,
    City,
    Count,
    Data,
    Dial,
    Flag,
    Kind,
    Numbers,
    Points,
    Setting,
)
from tkm_core.residents import SAMPLES, Existing, Residents
from tkm_core.streets import modes

if TYPE_CHECKING:
    from tkm_core.planning.rules import Rules

USUAL_T = 0.25  # where the dial stands unless somebody turns it: a stop of every plan
SAMPLE = "sample"  # in place of a token: what came with the sample city
AGAINST = ("", "today", "average", "straight")  # what a plan is compared with, kept plans apart
MOST_FACILITIES = 1_000  # a server may allow fewer


def _declared(kind: Kind, default: Any, words: str, help: str, **more: Any) -> Any:  # noqa: A002  as widgets call it
    plain = tuple(default) if isinstance(default, list) else default
    return field(
        default=plain,
        metadata={"setting": {"kind": kind, "default": default, "words": words, "help": help, **more}},
    )


@dataclass(frozen=True)
class PlanSpec:
    """The settings of a plan, as an address, a scenario, a request over HTTP or a caller gives them.

    Residents, existing facilities, sites, zones, streets and tables are named by reference: a sample's key, or the
    token of an upload. A value that cannot be raises ValueError with a sentence.

    >>> asked = PlanSpec(dataset="toulouse", k=8, closed=[17, 2], pins=[(2.123456, 48.8)])
    >>> asked.to_text()
    {'dataset': 'toulouse', 'k': '8', 'pins': '2.12346,48.80000', 'closed': '2.17'}
    >>> PlanSpec.from_text(asked.to_text()) == asked
    True
    >>> asked.differences(PlanSpec(dataset="toulouse", k=9, closed=[2], pins=[(2.123456, 48.8)]))
    ['New facilities: 8, then 9', 'Closed facilities: 2 and 17, then 2']
    """

    dataset: str = _declared(
        City(), next(iter(SAMPLES)), "City", "The key of a sample city, or the word upload."
    )
    upload: str = _declared(Data(()), "", "Uploaded residents", "The token of an upload.")
    existing: str = _declared(Data(()), "", "Existing facilities", "The token of existing facilities.")
    k: int = _declared(
        Count(0, MOST_FACILITIES, "the number of facilities"), 6, "New facilities", "How many to open."
    )
    t: float = _declared(
        Dial(), USUAL_T, "Fairness dial",
        "The fairness dial: from 0, the lowest average, upwards; at inf only the longest trip counts.", picks=True,
    )  # fmt: skip
    pins: tuple[tuple[float, float], ...] = _declared(
        Points(), [], "Pinned facilities", "Where some of the k new facilities stand; fewer than k."
    )
    closed: tuple[int, ...] = _declared(
        Numbers(), [], "Closed facilities", "Existing facilities that close, counted from 1."
    )
    against: str = _declared(
        Data(AGAINST), "", "Compared with", "Today, the lowest average, straight lines, or a kept plan.",
        picks=True,
    )  # fmt: skip
    places: str = _declared(
        Data(("", SAMPLE)), "", "Sites and zones",
        "Where facilities may stand: a token of sites and zones, or sample for the sample's sites.",
    )  # fmt: skip
    roads: str = _declared(Data(), "", "Streets", "The token of a road file; a sample may have its own.")
    table: str = _declared(
        Data(("", SAMPLE)), "", "Travel table",
        "The token of a travel table, or sample: its names are those of residents and sites.",
    )  # fmt: skip
    by: str = _declared(
        Choice(("straight", *modes(), "table"), "the way of measuring"), "straight", "Distances",
        "How distances are measured: in a straight line, along streets, or by a travel table.",
    )  # fmt: skip
    measure: str = _declared(
        Choice(("minutes", "metres"), "the measure along streets"), "minutes", "Measured in", "Along streets."
    )
    direction: str = _declared(
        Choice(("there", "back"), "the direction of travel"), "there", "Direction",
        "Along streets: people travel there, or the service drives out.",
    )  # fmt: skip
    most: int = _declared(
        Amount(0, 1e9, "the most people a facility can serve", whole=True), 0, "At most, people each",
        "Most people a facility serves; 0: no limit.",
    )  # fmt: skip
    least: int = _declared(
        Amount(0, 1e9, "the fewest people a facility can serve", whole=True), 0, "At least, people each",
        "Fewest people a facility serves.",
    )  # fmt: skip
    equal: str = _declared(
        Flag("equal groups"), "", "Every group counts the same", "Whether every group counts the same in placing.",
        alias="equal_groups",
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name, one in SETTINGS.items():
            value = getattr(self, name)
            text = one.kind.write(value)
            usual = text == one.kind.write(one.default)
            value = one.default if usual else one.kind.read(text)
            object.__setattr__(self, name, tuple(value) if isinstance(value, list) else value)

    @classmethod
    def from_text(cls, texts: Mapping[str, str]) -> "PlanSpec":
        """Read settings as they stand in an address; other names are left alone.

        Raises
        ------
        ValueError
            If a text cannot be read.
        """
        told = {name: one.kind.read(texts[name]) for name, one in SETTINGS.items() if texts.get(name)}
        return cls(**told)

    def to_text(self) -> dict[str, str]:
        """Everything that is not at its default, as it stands in an address."""
        texts = {name: one.kind.write(getattr(self, name)) for name, one in SETTINGS.items()}
        return {
            name: text
            for name, text in texts.items()
            if text != SETTINGS[name].kind.write(SETTINGS[name].default)
        }

    def differences(self, other: "PlanSpec") -> list[str]:
        """Say what another description asks differently, a line for each setting."""
        lines = []
        for name, one in SETTINGS.items():
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                said, then = (one.kind.shown(value) or "none" for value in (mine, theirs))
                changed = "others" if said == then else f"{said}, then {then}"
                lines.append(f"{one.words}: {changed}")
        return lines

    def same_facilities(self, other: "PlanSpec") -> bool:
        """Whether the facilities are the same: only what picks from the plan may differ."""
        return all(getattr(self, name) == getattr(other, name) for name in PLANNED)


SETTINGS: dict[str, Setting] = {
    one.name: Setting(one.name, **one.metadata["setting"]) for one in fields(PlanSpec)
}
PLANNED = tuple(name for name, one in SETTINGS.items() if not one.picks)  # on which facilities depend
NAMING_DATA = tuple(name for name, one in SETTINGS.items() if one.names_data)


def content_key(
    residents: Residents,
    existing: Existing | None = None,
    closed: Sequence[int] = (),
    rules: "Rules | None" = None,
) -> tuple[str, ...]:
    """Everything that results depend on but numbers: the key of every cache and job begins with it.

    Data are named by their content, so that the same file under another name is not computed anew.

    >>> city = Residents.from_lonlat([[2.1, 48.8], [2.2, 48.9]])
    >>> content_key(city) == content_key(city, closed=[]) != content_key(city, closed=[1])
    True
    """
    there = () if existing is None else (existing.fingerprint,)
    shut = (f"closed {sorted(map(int, closed))}",) if len(closed) else ()
    told = () if rules is None else (rules.fingerprint,)
    return residents.fingerprint, *there, *shut, *told
