"""What the reports share: the page around them, sentences with their tones, and tables of figures."""

from collections.abc import Sequence
from datetime import date
from html import escape

from tkm_core.planning import Row
from tkm_core.stories import Part
from tkm_core.version import VERSION

CITATION = (
    f"Made with EvenReach {VERSION}. The method: S. Zhu et al., Efficient k-means with Individual Fairness via "
    "Exponential Tilting, 2024."
)
STYLE = """
:root { color-scheme: light; }
body { font: 14px/1.5 "Public Sans", system-ui, -apple-system, "Segoe UI", sans-serif; color: #16242A;
  max-width: 780px; margin: 32px auto; padding: 0 24px; background: #fff; }
h1 { font-size: 23px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 15px; margin: 26px 0 6px; break-after: avoid; }
.better { color: #0B6B4F; } .worse { color: #9C4A00; } .same, .muted, footer { color: #55656B; }
svg { width: 100%; height: auto; display: block; } figure { margin: 14px 0; break-inside: avoid; }
section { break-inside: avoid; } section.long { break-inside: auto; } tr { break-inside: avoid; }
h2 + table, thead { break-before: avoid; } thead, thead + tbody tr:first-child { break-after: avoid; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 20px; break-inside: avoid; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
thead { display: table-header-group; }
th, td { padding: 4px 10px 4px 0; border-bottom: 1px solid #DCE3E1; text-align: right; }
th:first-child, td:first-child, .words { text-align: left; } td { overflow-wrap: break-word; }
td:not(:first-child, .words) { white-space: nowrap; } dd, p { overflow-wrap: anywhere; }
thead th { font-weight: 500; color: #55656B; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; } dt { color: #55656B; } dd { margin: 0; }
footer { break-before: avoid; }
footer { border-top: 1px solid #DCE3E1; margin-top: 28px; padding-top: 8px; font-size: 12px; }
@media (max-width: 560px) { .pair { grid-template-columns: 1fr; } }
@media print { body { margin: 0; max-width: none; padding: 0; font-size: 11pt; } @page { margin: 15mm; } }
"""


def page(title: str, about: str, body: str, *, today: date | None = None, style: str = "") -> str:
    """A whole report: the title of the data, what it says about them, its body as HTML, the date, and how to cite."""
    made = (today or date.today()).isoformat()
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}: {escape(about)}</title><style>{STYLE}{style}</style></head><body>
<p class="muted">EvenReach · {escape(title)} · {made}</p>
{body}
<footer>{escape(CITATION)}</footer></body></html>"""


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
