"""Words on screen: text from outside made harmless, and the story of a plan as Streamlit's Markdown."""

import re
from collections.abc import Sequence

import pandas as pd
import pyarrow as pa

from tkm_core.planning import Group, Row
from tkm_core.stories import Part, Story

TONES = {"better": "green", "worse": "orange", "same": "gray"}
FIGURE_SPACE = "\u2007"  # as wide as a digit: keeps decimals in line
# Streamlit makes icons, emoji and links of text after it has taken the backslashes away: this unseen mark prevents it
JOINER = "\u2060"
ACTIVE = re.compile(r"[\\`*_{}\[\]<>#$|~&]")
NAMING = re.compile(r":(?=\S|$)")  # :red[, :smile:, :material/home:, http://
LINKING = re.compile(r"(?i)@|www(?=\.)")
OPENING = re.compile(r"^(\s*)([-+=]|\d{1,9}(?=[.)]))")  # of a list or a heading
TURNING = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)  # marks that turn the text after them around


def escaped(text: str) -> str:
    r"""Text from outside, safe inside Markdown: it is shown as it is, in one line, whatever it looks like.

    Examples
    --------
    >>> print(escaped("a*b [Log in](//e.example)"))
    a\*b \[Log in\](//e.example)
    >>> escaped("1. www.e.example").replace(JOINER, "^")
    '1\\. www^.e.example'
    """
    text = ACTIVE.sub(r"\\\g<0>", TURNING.sub("", " ".join(re.split(r"\s+", text))))
    text = NAMING.sub(rf"\:{JOINER}", text)
    text = LINKING.sub(rf"\g<0>{JOINER}", text)
    return OPENING.sub(_not_opening, text)


def _not_opening(found: re.Match[str]) -> str:
    blank, sign = found.groups()
    return f"{blank}{sign}\\" if sign.isdigit() else f"{blank}\\{sign}"


def toned(parts: tuple[Part, ...]) -> str:
    """Sentence parts with their tones as colours."""
    return "".join(
        f":{TONES[part.tone]}[{escaped(part.text)}]" if part.tone in TONES else escaped(part.text)
        for part in parts
    )


def figures_table(story: Story, *, name: str = "This plan", alone: bool = False) -> pa.Table:
    """Key figures of the plan, and unless it stands alone of what it is compared with and the change between them.

    Sent at every turn of the dial: a DataFrame would take twice as much, half of it about its index.
    """
    if alone:
        return pa.table(
            {
                "Key figure": [escaped(row.label) for row in story.rows],
                escaped(story.reference.heading): [f"**{row.plan_text}**" for row in story.rows],
            }
        )
    width = max(len(text) for row in story.rows for text in (row.plan_text, row.reference_text))

    def lined_up(text: str) -> str:
        return FIGURE_SPACE * (width - len(text)) + text

    def change(row: Row) -> str:
        return f":{TONES.get(row.tone, 'gray')}[{row.change_text}]"

    return pa.table(
        {
            "Key figure": [escaped(row.label) for row in story.rows],
            escaped(name): [
                FIGURE_SPACE * (width - len(row.plan_text)) + f"**{row.plan_text}**" for row in story.rows
            ],
            escaped(story.reference.heading): [lined_up(row.reference_text) for row in story.rows],
            "Change": [change(row) for row in story.rows],
        }
    )


def figures_cells(story: Story) -> list[list[str]]:
    """The cells of `figures_table` without the labels, as plain text, each row with its tone."""
    width = max(len(text) for row in story.rows for text in (row.plan_text, row.reference_text))
    return [
        [
            row.plan_text.rjust(width, FIGURE_SPACE),
            row.reference_text.rjust(width, FIGURE_SPACE),
            row.change_text,
            row.tone,
        ]
        for row in story.rows
    ]


def groups_table(groups: Sequence[Group], heading: str, people: str) -> pd.DataFrame:
    """Average and longest trip of each group, next to what the plan is compared with."""
    return pd.DataFrame(
        {
            "Group": [group.name for group in groups],
            people.capitalize(): [round(group.people) for group in groups],
            **{
                f"{label} ({side})": [getattr(getattr(group, name), value) for group in groups]
                for name, label in _group_labels(groups).items()
                for side, value in (("this plan", "plan"), (heading, "reference"))
            },
            "Travel farther, %": [round(100 * group.losers, 1) for group in groups],
        }
    )


def _group_labels(groups: Sequence[Group]) -> dict[str, str]:
    first = groups[:1]
    return {name: getattr(group, name).label for group in first for name in ("average", "farthest")}
