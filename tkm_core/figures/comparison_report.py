"""The HTML report that compares saved plans: maps, figures, and who gains and loses."""

import base64
from collections.abc import Sequence
from datetime import date
from html import escape

import pandas as pd

from tkm_core.figures.report_page import figures_table, isolated, page, toned
from tkm_core.measures import figure_decimals
from tkm_core.stories import Story
from tkm_core.wording import counted

MORE_STYLE = """img { width: 100%; }
.chart svg { max-width: 460px; }
"""


def comparison_report(
    names: Sequence[str],
    maps: Sequence[str],
    notes: Sequence[str],
    table: pd.DataFrame,
    best: Sequence[Sequence[bool]],
    *,
    title: str,
    author: str = "",
    chart: tuple[str, str] = ("", ""),
    change: tuple[str, str, Story] | None = None,
    today: date | None = None,
) -> str:
    """A self-contained page that compares plans side by side: it needs no network and prints well.

    Parameters
    ----------
    names, maps, notes : sequence of str
        For each plan its name, its small map as SVG, and a note; the map and the note may be empty.
    table : DataFrame
        A column "Measure", then one for each plan with its figures.
    best : sequence of sequence of bool
        For each row, which figures are the best of the row.
    title : str
        Title of the data.
    author : str
        Who prepared the report, if it should say so.
    chart : tuple of (str, str), optional
        The plans on one chart as SVG, from `scenarios_svg`, and the same in words.
    change : tuple of (str, str, Story), optional
        From which plan to which, and who gains and loses by it.
    today : date, optional
        The date on the report.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> figures = pd.DataFrame({"Measure": ["Average, km"], "A": [7.5], "B <b>": [7.0]})
    >>> page = comparison_report(["A", "B <b>"], ["", ""], ["", "why"], figures, [[False, True]], title="Town")
    >>> '<td class="better"><b>7.00</b></td>' in page, "B &lt;b&gt;" in page
    (True, True)
    """
    numbered = [f"{number} {name}" for number, name in enumerate(names, start=1)]
    shown = "".join(_card(*one) for one in zip(numbered, maps, notes, strict=True))
    drawn, words = chart
    trade = (
        f'<section><h2>Trade-off</h2><figure class="chart">{drawn}<figcaption class="muted">{escape(words)} The '
        "numbers are those of the plans above; each stands on the curve of what its dial can reach."
        "</figcaption></figure></section>"
        if drawn
        else ""
    )
    heads = "".join(f"<th>{escape(str(name))}</th>" for name in table.columns)
    rows = "".join(
        _row(list(row), marks) for row, marks in zip(table.itertuples(index=False), best, strict=True)
    )
    told = ""
    if change is not None:
        first, last, story = change
        told = f"""<section><h2>From {escape(first)} to {escape(last)}</h2>
<p>{toned(story.headline)} {toned(story.detail)}</p><p class="muted">{escape(story.context)}</p>
{figures_table(story.rows, first)}</section>"""
    body = f"""<div class="pair">{shown}</div>
<section><h2>Figures</h2><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>
<p class="muted">The best of each row is bold.</p></section>
{trade}{told}"""
    about = f"{counted(len(names), 'plan')} side by side"
    return page(title, about, body, author=author, today=today, style=MORE_STYLE)


def _card(name: str, drawn: str, note: str) -> str:
    """A plan's map as an image, in which no script can run."""
    coded = base64.b64encode(drawn.encode()).decode()
    picture = f'<img alt="" src="data:image/svg+xml;base64,{coded}">' if drawn else ""
    about = f'<p class="muted">{escape(note)}</p>' if note else ""
    return f"<figure>{picture}<figcaption><b>{isolated(name)}</b>{about}</figcaption></figure>"


def _row(cells: Sequence[object], marks: Sequence[bool]) -> str:
    """A table row, with the best figures in bold."""
    values = [float(str(cell)) for cell in cells[1:]]
    digits = figure_decimals(*values)
    told = "".join(
        f'<td class="better"><b>{value:,.{digits}f}</b></td>' if mark else f"<td>{value:,.{digits}f}</td>"
        for value, mark in zip(values, marks, strict=True)
    )
    return f"<tr><td>{escape(str(cells[0]))}</td>{told}</tr>"
