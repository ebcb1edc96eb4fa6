"""The story of a plan as Streamlit's Markdown: tones become colours, figures a table."""

import pandas as pd

from tkm_core.plan import Plan
from tkm_core.story import Part, Row, Story

TONES = {"better": "green", "worse": "orange", "same": "gray"}
FIGURE_SPACE = "\u2007"  # as wide as a digit: keeps decimals in line


def escaped(text: str) -> str:
    """Text from outside, safe inside Markdown."""
    for sign in "\\`*_{}[]<>#$|~:":
        text = text.replace(sign, "\\" + sign)
    return text


def plain(text: str, otherwise: str) -> str:
    """A name from outside as letters, digits and a few harmless signs: no mark-up, no marks that turn text around.

    Examples
    --------
    >>> plain("homes ![x](http://e.example) \u202egnp", "residents")
    'homes x http e.example gnp'
    >>> plain("<*>", "residents")
    'residents'
    """
    kept = "".join(sign if sign.isalnum() or sign in " .,-_'’&+" else " " for sign in text)
    return " ".join(kept.split())[:80] or otherwise


def toned(parts: tuple[Part, ...]) -> str:
    """Sentence parts with their tones as colours."""
    return "".join(
        f":{TONES[part.tone]}[{part.text}]" if part.tone in TONES else part.text for part in parts
    ).replace("$", "\\$")


def headline(story: Story) -> str:
    """The sentence that says it all."""
    return f"# {toned(story.headline)}"


def detail(story: Story, plan: Plan, i: int, budget: float) -> str:
    """The small print below it: what is compared, the budget, and who pays how much."""
    kept = "Within" if plan.meets_budget(i, budget) else "Beyond"
    cost = f"{round(plan.cost_percent(i), 1) + 0.0:+.1f} %"  # never -0.0
    context = f":gray[{story.context} {kept} your budget of +{budget:g} % average distance: {cost}.]"
    return f":small[{toned(story.detail)} {context}]" if story.detail else f":small[{context}]"


def figures_table(story: Story) -> pd.DataFrame:
    """Key figures of the plan, of k-means++ and the change between them."""
    width = max(len(text) for row in story.rows for text in (row.plan_text, row.baseline_text))

    def lined_up(text: str) -> str:
        return FIGURE_SPACE * (width - len(text)) + text

    def change(row: Row) -> str:
        return f":{TONES.get(row.tone, 'gray')}[{row.change_text}]"

    return pd.DataFrame(
        {
            "Key figure": [row.label for row in story.rows],
            "This plan": [
                FIGURE_SPACE * (width - len(row.plan_text)) + f"**{row.plan_text}**" for row in story.rows
            ],
            "k-means++": [lined_up(row.baseline_text) for row in story.rows],
            "Change": [change(row) for row in story.rows],
        }
    )
