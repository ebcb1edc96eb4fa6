"""The clauses of a story: distances, crowds, and how trips change, in words."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tkm_core.arrays import Floats
from tkm_core.evaluation import Evaluation
from tkm_core.measures import MEASURES
from tkm_core.planning import Reference, Row, Tone
from tkm_core.residents import Residents
from tkm_core.units import METRES, ONE, WORDS, shown_standard, worded
from tkm_core.wording import listed, singular

ABOUT = 0.02  # a change by less than this share of a distance is "about the same"
NOTHING = {
    "km": 1e-3,
    "mi": 1 / METRES["mi"],
    "min": 1 / 60,
}  # a metre, or a second: trips that differ by less are equal


@dataclass(frozen=True)
class Part:
    """Part of a sentence; `tone` says whether it is good or bad news."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Teller:
    """Writes the clauses of a story, for given units, people and reference.

    Attributes
    ----------
    people : str
        Who is served, in the plural.
    one : str
        Whose trip is the farthest, in the singular: see `farthest_one`.
    unit : str
    decimals : int
        Of distances in the unit.
    total : float
        How many people there are.
    reference : Reference
    """

    people: str
    one: str
    unit: str
    decimals: int
    total: float
    reference: Reference

    @property
    def step(self) -> float:
        """The smallest change that is counted: one that does not round to zero."""
        return 0.5 * 10.0**-self.decimals

    def state(self, found: Evaluation, standard: float | None) -> list[Part]:
        """Today's figures, without a comparison."""
        mean, most = (found.mean_distance / METRES[self.unit], found.largest_distance / METRES[self.unit])
        parts = [
            Part("Today the average trip is "),
            Part(self.length(mean), "same"),
            Part(f" and the farthest {self.one} is "),
            Part(f"{self.length(most)} away", "same"),
        ]
        if standard is not None and found.share_within is not None:
            limit = f"{shown_standard(standard, self.unit):g} {WORDS[self.unit]}"
            parts.append(Part(f"; {100 * found.share_within:.1f} % of {self.people} are within {limit}"))
        return [*parts, Part(".")]

    def length(self, value: float) -> str:
        """A distance in words: "3.1 km", "1 mile"; "840 m" where metres are known and it is less than a kilometre."""
        if self.unit == "km" and self.decimals > 1 and round(abs(value), self.decimals) < 1:
            return f"{1000 * round(abs(value), self.decimals):.0f} m"
        text = f"{abs(value):,.{self.decimals}f}"
        word = (ONE if text == "1" else WORDS)[self.unit]
        return f"{text} {word}"

    @property
    def smallest(self) -> str:
        """The smallest change that is counted, in words: "50 m"."""
        if self.unit == "km" and self.decimals:
            return f"{1000 * self.step:g} m"
        return f"{60 * self.step:g} seconds" if self.unit == "min" else f"{self.step:g} {WORDS[self.unit]}"

    def uncounted(self) -> list[Part]:
        """The sentence on changes too small to be counted."""
        return [Part(f"Changes of less than {self.smallest} are not counted.")]

    def every_trip(self, as_far: str = "as far as") -> str:
        """The clause for a plan that changes nothing."""
        if round(self.total) == 1:
            return f"the only {singular(self.people)} travels {as_far}"
        return f"all {self.people} travel {as_far}"

    def farthest(self, row: Row) -> list[Part]:
        """The clause on the longest trip."""
        subject = (
            f"The only {singular(self.people)}" if round(self.total) == 1 else f"The farthest {self.one}"
        )
        if _about(row):
            return [Part(f"{subject} stays at "), Part(self.stays(row), "same")]
        if row.tone == "better":
            return [Part(f"{subject} comes "), Part(f"{self.length(row.change)} closer", "better")]
        return [Part(f"{subject} ends up "), Part(f"{self.length(row.change)} farther away", "worse")]

    def stays(self, row: Row) -> str:
        """A distance that hardly changes: "3.1 km", or "about 3.1 km"."""
        return f"{'' if row.tone == 'same' else 'about '}{self.length(row.plan)}"

    def average(self, row: Row) -> list[Part]:
        """The clause on the average trip."""
        if _about(row):
            return [Part("the average trip stays at "), Part(self.stays(row), "same")]
        word = "shorter" if row.tone == "better" else "longer"
        return [Part("the average trip gets "), Part(f"{self.length(row.change)} {word}", row.tone)]

    def crowd(self, count: float) -> tuple[str, bool]:
        """A number of people as a phrase, and whether its verb is singular."""
        share = count / self.total
        if share > 1 - 1e-12:
            return f"every {singular(self.people)}", True
        if share >= 0.995:
            return f"over 99 % of {self.people}", False
        if share >= 0.01:
            return f"{100 * share:.0f} % of {self.people}", False
        whole = round(count)
        if whole == 0:
            return f"under 1 % of {self.people}", False
        return (f"1 {singular(self.people)}", True) if whole == 1 else (f"{whole:,} {self.people}", False)

    def who_pays(self, losers: float, gainers: float, most: float, *, only_adds: bool) -> list[Part]:
        """The clause on how many travel farther than in the reference, or that nobody does.

        `most` is the largest loss. Where the plan only adds to the reference, nobody can lose, and that is no news.
        """
        if round(self.total) == 1:
            return []
        if losers:
            phrase, one = self.crowd(losers)
            farther = f"{phrase} {'travels' if one else 'travel'} farther"
            return [Part(", and "), Part(farther, "worse"), Part(f" than {self.reference.than}")]
        if not gainers or only_adds:
            return []
        farther = "farther" if most < NOTHING[self.unit] else f"more than {self.smallest} farther"
        return [
            Part(", and "),
            Part(f"no {singular(self.people)} travels {farther}", "better"),
            Part(f" than {self.reference.than}"),
        ]

    def how_much(self, verb: Literal["lose", "gain"], lengths: Floats, weights: Floats) -> list[Part]:
        """The sentence on how much longer or shorter the changed trips are."""
        if round(self.total) == 1 or weights.sum() <= 0:
            return []
        subject = "Those who travel farther lose"
        if verb == "gain":
            phrase, one = self.crowd(float(weights.sum()))
            subject = f"{phrase[:1].upper()}{phrase[1:]} {'gains' if one else 'gain'}"
        mean = self.length(float(np.average(lengths, weights=weights)))
        most = self.length(float(lengths[weights > 0].max()))
        return [
            Part(f"{subject} "),
            Part(mean, "worse" if verb == "lose" else "better"),
            Part("." if mean == most else f" on average, {most} at most."),
        ]

    def also_worse(self, rows: tuple[Row, ...], words: dict[str, str]) -> list[Part]:
        """The sentence that names every other key figure that gets worse."""
        told = [
            worded(MEASURES[row.key].worse, self.unit).format(
                length=self.length(row.change), size=row.size_text, **words
            )
            for row in rows
            if row.tone == "worse"
        ]
        return [Part("Also worse: "), Part(listed(told), "worse"), Part(".")] if told else []

    def verdict(self, rows: tuple[Row, ...]) -> list[Part]:
        """The sentence for a plan that is better on no figure."""
        tones = {row.tone for row in rows}
        if "better" in tones or "worse" not in tones:
            return []
        return [Part(f"None of these figures is better than {self.reference.than}.", "worse")]


def _about(row: Row) -> bool:
    """Whether a distance stays about the same."""
    return row.tone == "same" or abs(row.change) < ABOUT * row.reference


def farthest_one(residents: Residents, people: str) -> str:
    """Whose trip is the farthest, in the singular: "home", or "area, measured at one point inside it,".

    Examples
    --------
    >>> farthest_one(Residents.from_lonlat([[1.40, 43.60], [1.41, 43.61]]), "homes")
    'home'
    """
    return singular(people) if residents.areas is None else "area, measured at one point inside it,"
