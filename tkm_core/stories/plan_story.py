"""What a plan does to people, in words and in a table: written once, for app, report and command line."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tkm_core.evaluation import Evaluation

Tone = Literal["better", "worse", "same", ""]
Floats = npt.NDArray[np.float64]

METRES = {"km": 1000.0, "mi": 1609.344}
WORDS = {"km": "km", "mi": "miles"}
IRREGULAR = {"people": "person", "persons": "person", "children": "child", "families": "family"}

# What evaluate() calls a measure, what a planner calls it, and the power of the length unit it is in.
KEY_ROWS = (
    ("largest_distance", "Farthest {one}", 1),
    ("mean_distance", "Average distance", 1),
    ("p95_distance", "95th percentile", 1),
    ("overall_variance_of_distance", "Variance of the distance", 2),
    ("share_within", "{many} within {standard}", 0),
)
MORE_ROWS = (
    ("median_distance", "Median distance", 1),
    ("p90_distance", "90th percentile", 1),
    ("worst_decile_mean", "Average of the worst-off 10 %", 1),
    ("kolm_pollak_ede", "Kolm-Pollak equivalent distance", 1),
    ("gini", "Gini coefficient of the distance", 0),
    ("sse", "Mean squared distance (SSE)", 2),
    ("overall_variance", "Variance of the squared distance", 4),
)
POWERS = {0: "", 1: "", 2: "²", 4: "⁴"}


@dataclass(frozen=True)
class Part:
    """A piece of a sentence; `tone` says whether it is good or bad news."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Row:
    """One figure of the plan next to that of k-means++, all rounded to the same decimals.

    Attributes
    ----------
    key : str
        The measure's name in Evaluation.
    label : str
        With the unit: "Farthest home, km".
    plan, baseline, change : float
        Rounded; `change` is the difference of the rounded values, so that the table adds up.
    tone : {"better", "worse", "same"}
        Which way the change is for people.
    decimals : int
        Digits to show.
    """

    key: str
    label: str
    plan: float
    baseline: float
    change: float
    tone: Tone
    decimals: int

    @property
    def plan_text(self) -> str:
        """The plan's value as shown."""
        return f"{self.plan:,.{self.decimals}f}"

    @property
    def baseline_text(self) -> str:
        """The value of k-means++ as shown."""
        return f"{self.baseline:,.{self.decimals}f}"

    @property
    def size_text(self) -> str:
        """The size of the change, without its sign."""
        return f"{abs(self.change):,.{self.decimals}f}"

    @property
    def arrow(self) -> str:
        """▲ for a higher, ▼ for a lower number, = for the same."""
        return "=" if self.change == 0 else "▲" if self.change > 0 else "▼"

    @property
    def change_text(self) -> str:
        """Arrow and size: "▼ 6.0", or "=" where nothing changes."""
        return "=" if self.change == 0 else f"{self.arrow} {self.size_text}"


@dataclass(frozen=True)
class Story:
    """What a plan does, against k-means++.

    Attributes
    ----------
    headline : tuple of Part
        One sentence: the farthest, the average, and who pays.
    detail : tuple of Part
        Further sentences: how much losers lose and gainers gain, every other key figure that gets worse, and
        whether k-means++ is simply better. May be empty.
    context : str
        What is compared: "6 facilities for 932 homes, tilted k-means at t = 0.3 against k-means++."
    rows, more : tuple of Row
        The key figures, and the rest.
    losers, gainers : float
        How many people travel noticeably farther, or less far, than under k-means++.
    """

    headline: tuple[Part, ...]
    detail: tuple[Part, ...]
    context: str
    rows: tuple[Row, ...]
    more: tuple[Row, ...]
    losers: float
    gainers: float

    @property
    def headline_text(self) -> str:
        """The headline without tones."""
        return "".join(part.text for part in self.headline)

    @property
    def detail_text(self) -> str:
        """The detail without tones."""
        return "".join(part.text for part in self.detail)

    @property
    def text(self) -> str:
        """Headline and detail as plain text."""
        return " ".join(text for text in (self.headline_text, self.detail_text) if text)


def singular(people: str) -> str:
    """One of them: "homes" gives "home".

    Examples
    --------
    >>> [singular(word) for word in ("homes", "people", "addresses", "school children", "cities")]
    ['home', 'person', 'address', 'school child', 'city']
    """
    head, space, last = people.rpartition(" ")
    if last in IRREGULAR:
        last = IRREGULAR[last]
    elif last.endswith("ies"):
        last = last[:-3] + "y"
    elif last.endswith(("sses", "shes", "ches", "xes")):
        last = last[:-2]
    elif last.endswith("s") and not last.endswith("ss"):
        last = last[:-1]
    return head + space + last


def tell(
    plan: Evaluation,
    baseline: Evaluation,
    weights: Floats,
    *,
    context: str,
    unit: str = "km",
    standard: float | None = None,
    people: str = "residents",
) -> Story:
    """Compare two evaluations of the same residents, in metres, in words and rows.

    Parameters
    ----------
    plan, baseline : Evaluation
        In metres, with `standard` if a row on it is wanted.
    weights : ndarray of shape (n,)
        People at each point.
    context : str
        What is compared with what.
    unit : {"km", "mi"}
        Unit of what is shown.
    standard : float, optional
        The service standard in metres.
    people : str
        Who is served, in the plural.

    Returns
    -------
    Story
    """
    if unit not in METRES:
        msg = f"Distances can be told in {' or '.join(METRES)}, not in {unit!r}."
        raise ValueError(msg)
    decimals = distance_decimals(plan, baseline, unit)
    limit = f"{(standard or 0) / METRES[unit]:g} {unit}"
    words = {"one": singular(people), "many": people.capitalize(), "standard": limit}
    rows, more = (
        tuple(
            _row(key, label.format(**words), power, plan, baseline, unit, decimals)
            for key, label, power in table
            if getattr(plan, key) is not None and getattr(baseline, key) is not None
        )
        for table in (KEY_ROWS, MORE_ROWS)
    )
    change = (baseline.distance - plan.distance) / METRES[unit]
    step = 0.5 * 10.0**-decimals  # what is shown as no change is no change
    losing, gaining = change <= -step, change >= step
    teller = _Teller(people, unit, decimals, float(weights.sum()))
    losers, gainers = float(weights[losing].sum()), float(weights[gaining].sum())
    still = not losers and not gainers and all(row.tone == "same" for row in rows[:2])
    if still:
        certain = (
            "Nothing changes" if all(row.tone == "same" for row in rows) else "Nothing changes noticeably"
        )
        headline = [Part(certain, "same"), Part(f": {teller.every_trip()} with k-means++.")]
    else:
        headline = [
            *teller.farthest(rows[0]),
            Part("; "),
            *teller.average(rows[1]),
            *teller.who_pays(losers, gainers),
            Part("."),
        ]
    sentences = [
        teller.how_much("lose", -change[losing], weights[losing]),
        teller.how_much("gain", change[gaining], weights[gaining]),
        teller.also_worse(rows[2:], limit),
        [] if still else teller.verdict(rows),
    ]
    told = [sentence for sentence in sentences if sentence]
    detail = [part for sentence in told for part in (Part(" "), *sentence)][1:]
    return Story(tuple(headline), tuple(detail), context, rows, more, losers, gainers)


def alone(found: Evaluation, count: int, unit: str) -> str:
    """What the existing facilities do today, without the new ones, in a sentence."""
    length = _Teller("", unit, distance_decimals(found, found, unit), 0.0).length
    mean, most = (length(metres / METRES[unit]) for metres in (found.mean_distance, found.largest_distance))
    subject = "Today, with the existing one" if count == 1 else f"Today, with the {count} existing ones"
    return f"{subject} alone, the average trip is {mean} and the longest {most}."


def distance_decimals(plan: Evaluation, baseline: Evaluation, unit: str) -> int:
    """Digits for all distances of a table by the average trip: three for a hamlet, none for a continent."""
    mean = max(baseline.mean_distance, plan.mean_distance) / METRES[unit]
    if mean >= 100:
        return 0
    return 1 if mean >= 1 or mean == 0 else 2 if mean >= 0.1 else 3


def _figure_decimals(*values: float) -> int:
    """Digits that show at least three figures of the smaller value, at most six."""
    smallest = min((abs(value) for value in values if value), default=1.0)
    return int(np.clip(2 - np.floor(np.log10(smallest)), 0, 6))


def _row(
    key: str, label: str, power: int, plan: Evaluation, baseline: Evaluation, unit: str, decimals: int
) -> Row:
    """Bring a measure into its unit, with its label and digits."""
    factor = 100.0 if key == "share_within" else METRES[unit] ** -power
    values = [float(getattr(side, key)) * factor for side in (plan, baseline)]
    if key == "share_within":
        decimals, label = 1, f"{label}, %"
    elif power == 1:
        label = f"{label}, {unit}"
    else:
        decimals = 3 if key == "gini" else _figure_decimals(*values)
        label = f"{label}, {unit}{POWERS[power]}" if power else label
    return rounded_row(key, label, *values, decimals=decimals)


def rounded_row(key: str, label: str, plan: float, baseline: float, *, decimals: int) -> Row:
    """Round both values, then take their difference, so that the table adds up.

    Examples
    --------
    >>> rounded_row("largest_distance", "Farthest home, km", 16.14, 18.06, decimals=1).change_text
    '▼ 2.0'
    """
    after, before = (round(value, decimals) + 0.0 for value in (plan, baseline))
    change = round(after - before, decimals) + 0.0
    lower_is_better = key != "share_within"
    tone: Tone = "same" if change == 0 else "better" if (change < 0) == lower_is_better else "worse"
    return Row(key, label, after, before, change, tone, decimals)


@dataclass(frozen=True)
class _Teller:
    """Writes the clauses of a story for one audience."""

    people: str
    unit: str
    decimals: int
    total: float

    def length(self, value: float) -> str:
        """A distance in words: "3.1 km", "1 mile"."""
        text = f"{abs(value):,.{self.decimals}f}"
        word = "mile" if text == "1" and self.unit == "mi" else WORDS[self.unit]
        return f"{text} {word}"

    def every_trip(self) -> str:
        """The subject of a plan that changes nothing."""
        if round(self.total) == 1:
            return f"the only {singular(self.people)} travels as far as"
        return f"all {self.people} travel as far as"

    def farthest(self, row: Row) -> list[Part]:
        """What becomes of the longest trip."""
        subject = f"The {'only' if round(self.total) == 1 else 'farthest'} {singular(self.people)}"
        if row.tone == "same":
            return [Part(f"{subject} stays at "), Part(self.length(row.plan), "same")]
        if row.tone == "better":
            return [Part(f"{subject} comes "), Part(f"{self.length(row.change)} closer", "better")]
        return [Part(f"{subject} ends up "), Part(f"{self.length(row.change)} farther away", "worse")]

    def average(self, row: Row) -> list[Part]:
        """What becomes of the average trip."""
        if row.tone == "same":
            return [Part("the average trip stays at "), Part(self.length(row.plan), "same")]
        word = "shorter" if row.tone == "better" else "longer"
        return [Part("the average trip gets "), Part(f"{self.length(row.change)} {word}", row.tone)]

    def crowd(self, count: float) -> tuple[str, bool]:
        """So many people as a phrase, and whether it takes a verb in the singular."""
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

    def who_pays(self, losers: float, gainers: float) -> list[Part]:
        """Say how many travel farther than under k-means++, or that nobody does."""
        if round(self.total) == 1:
            return []
        if losers:
            phrase, one = self.crowd(losers)
            return [Part(", and "), Part(f"{phrase} {'travels' if one else 'travel'} farther", "worse")]
        if gainers:
            return [Part(", and "), Part(f"no {singular(self.people)} travels farther", "better")]
        return []

    def how_much(self, verb: Literal["lose", "gain"], lengths: Floats, weights: Floats) -> list[Part]:
        """How much farther, or less far, those travel whose trip changes."""
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

    def also_worse(self, rows: tuple[Row, ...], standard: str) -> list[Part]:
        """Name every other key figure that gets worse."""
        told = []
        for row in rows:
            if row.tone != "worse":
                continue
            if row.key == "share_within":
                told.append(f"{row.size_text} points fewer {self.people} are within {standard}")
            elif row.key == "p95_distance":
                told.append(f"the 95th percentile is {self.length(row.change)} longer")
            else:
                told.append("the distances vary more")
        if not told:
            return []
        listed = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
        return [Part("Also worse: "), Part(listed, "worse"), Part(".")]

    def verdict(self, rows: tuple[Row, ...]) -> list[Part]:
        """Say plainly when k-means++ wins everywhere."""
        tones = {row.tone for row in rows}
        if "better" in tones or "worse" not in tones:
            return []
        return [Part("On none of these figures is this plan better than k-means++.", "worse")]
