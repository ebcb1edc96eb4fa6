"""What the reports share: the page around them, sentences with their tones, and tables of figures."""

from collections.abc import Sequence
from datetime import date
from html import escape

from tkm_core.figures.svg import FONTS
from tkm_core.planning import Row
from tkm_core.stories import Part
from tkm_core.version import VERSION

CITATION = (
    f"Made with EvenReach {VERSION}. The method: S. Zhu et al., Efficient k-means with Individual Fairness via "
    "Exponential Tilting, 2024."
)
STYLE = f"""
:root {{ color-scheme: light; }}
body {{ font: 14px/1.5 {FONTS}; color: #16242A;
"""
STYLE += """  max-width: 780px; margin: 32px auto; padding: 0 24px; background: #fff; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 2px; }
h2 { font-size: 15px; margin: 26px 0 6px; break-after: avoid; }
.lead { font-size: 17px; line-height: 1.35; font-weight: 600; margin: 16px 0 6px; }
.better { color: #0B6B4F; } .worse { color: #9C4A00; } .same, .muted, footer { color: #55656B; }
svg { width: 100%; height: auto; display: block; } figure { margin: 14px 0; break-inside: avoid; }
svg.map { max-width: 100%; margin: 0 auto 6px; } .er-legend { font-size: 0.93em !important; }
p { margin: 6px 0; } ul { margin: 6px 0; padding-left: 20px; }
section { break-inside: avoid; } section.long { break-inside: auto; } tr { break-inside: avoid; }
h2 + table, thead { break-before: avoid; } thead, thead + tbody tr:first-child { break-after: avoid; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 20px; break-inside: avoid; }
.pair > * { min-width: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
thead { display: table-header-group; }
th, td { padding: 4px 10px 4px 0; border-bottom: 1px solid #DCE3E1; text-align: right; vertical-align: top; }
th:first-child, td:first-child, .words { text-align: left; } td { overflow-wrap: break-word; }
td:first-child, td.words { overflow-wrap: anywhere; }
td:not(:first-child, .words) { white-space: nowrap; } dd, p, h1, li { overflow-wrap: anywhere; }
thead th { font-weight: 500; color: #55656B; }
dl { margin: 6px 0; display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; }
dt { color: #55656B; } dd { margin: 0; }
footer { break-before: avoid; border-top: 1px solid #DCE3E1; margin-top: 28px; padding-top: 8px; font-size: 12px; }
@media (max-width: 560px) { .pair { grid-template-columns: 1fr; } }
@media print {
  body { margin: 0; max-width: none; padding: 0; font-size: 10.5pt; }
  svg.map { width: 156mm; } h2 { margin-top: 14px; } td, th { padding-top: 2px; padding-bottom: 2px; }
}
"""
PAPER = """@page {{ margin: 15mm 15mm 18mm;
  @bottom-left {{ content: {about}; font: 8.5pt {fonts}; color: #55656B; }}
  @bottom-right {{ content: "Page " counter(page) " of " counter(pages); font: 8.5pt {fonts}; color: #55656B; }}
}}
"""
FOOT = 60  # letters of the place's name that fit beside the page number


def page(
    place: str,
    about: str,
    body: str,
    *,
    subtitle: str = "",
    author: str = "",
    today: date | None = None,
    style: str = "",
) -> str:
    """A whole report: the place and what it is about, date and author, the body as HTML, and how to cite.

    On paper its pages are numbered.
    """
    made = today or date.today()
    written = f"{made.day} {made:%B %Y}"
    line = [written, f"prepared by {isolated(author)}" if author else "", escape(subtitle)]
    name = place if len(place) <= FOOT else f"{place[: FOOT - 1].rstrip()}…"
    foot = ": ".join(filter(None, (f"\u2068{name}\u2069" if name else "", about)))  # isolated, as in HTML
    paper = PAPER.format(about=_css_text(f"{foot} · {written}"), fonts=FONTS)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(": ".join(filter(None, (place, about))))}</title><style>{STYLE}{paper}{style}</style></head><body>
<h1>{": ".join(filter(None, (isolated(place), escape(about))))}</h1>
<p class="muted">{" · ".join(filter(None, line))}</p>
{body}
<footer>{escape(CITATION)}</footer></body></html>"""


def isolated(name: str) -> str:
    """A name as HTML that keeps its own direction, so that Arabic or Hebrew does not turn the sentence around it."""
    return f"<bdi>{escape(name)}</bdi>" if name else ""


def _css_text(words: str) -> str:
    r"""A text as a CSS string: all but letters, digits and blanks by their numbers, so that nothing ends it.

    >>> print(_css_text('a"</style>'))
    "a\22 \3c \2f style\3e "
    """
    return '"' + "".join(one if one.isalnum() or one == " " else f"\\{ord(one):x} " for one in words) + '"'


def toned(parts: Sequence[Part]) -> str:
    """A sentence as HTML, with good and bad news in colour."""
    return "".join(
        f'<span class="{part.tone}">{escape(part.text)}</span>' if part.tone else escape(part.text)
        for part in parts
    )


def figures_table(rows: Sequence[Row], heading: str, *, alone: bool = False) -> str:
    """A table of figures of the plan and its reference; with `alone`, of today only."""
    if alone:
        body = "".join(
            f"<tr><td>{escape(row.label)}</td><td><b>{row.plan_text}</b></td></tr>" for row in rows
        )
        return f"<table><thead><tr><th>Figure</th><th>{escape(heading)}</th></tr></thead><tbody>{body}</tbody></table>"
    body = "".join(
        f"<tr><td>{escape(row.label)}</td><td><b>{row.plan_text}</b></td><td>{row.reference_text}</td>"
        f'<td class="{row.tone}">{row.change_text}</td></tr>'
        for row in rows
    )
    head = f"<tr><th>Figure</th><th>This plan</th><th>{escape(heading)}</th><th>Change</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
