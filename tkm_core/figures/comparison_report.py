"""The report of a comparison: saved plans side by side in one HTML file, with their maps, figures and who gains."""

import base64
from collections.abc import Sequence
from datetime import date
from html import escape

import pandas as pd

from tkm_core.figures.report import CITATION, STYLE, _figures, _toned
from tkm_core.measures import figure_decimals
from tkm_core.stories import Story


def comparison_report(
    names: Sequence[str],
    maps: Sequence[str],
    notes: Sequence[str],
    table: pd.DataFrame,
    best: Sequence[Sequence[bool]],
    *,
    title: str,
    change: tuple[str, str, Story] | None = None,
    today: date | None = None,
) -> str:
    """A self-contained page that sets plans side by side: it needs no network and prints well.

    Parameters
    ----------
    names, maps, notes : sequence of str
        For each plan its name, its small map as SVG, and a note; the map and the note may be empty.
    table : DataFrame
        A column "Measure", then one for each plan with its figures.
    best : sequence of sequence of bool
        For each row, which figures are the best of the row.
    title : str
        Of the data.
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
    shown = "".join(_card(*one) for one in zip(names, maps, notes, strict=True))
    heads = "".join(f"<th>{escape(str(name))}</th>" for name in table.columns)
    rows = "".join(
        _row(list(row), marks) for row, marks in zip(table.itertuples(index=False), best, strict=True)
    )
    told = ""
    if change is not None:
        first, last, story = change
        told = f"""<section><h2>From {escape(first)} to {escape(last)}</h2>
<p>{_toned(story.headline)} {_toned(story.detail)}</p><p class="muted">{escape(story.context)}</p>
{_figures(story.rows, first)}</section>"""
    made = (today or date.today()).isoformat()
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}: {len(names)} plans compared</title><style>{STYLE} img {{ width: 100%; }}</style></head><body>
<p class="muted">EvenReach · {escape(title)} · {made}</p>
<h1>{len(names)} plans side by side</h1>
<div class="pair">{shown}</div>
<section><h2>Figures</h2><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>
<p class="muted">The best of each row is bold.</p></section>
{told}<footer>{escape(CITATION)}</footer></body></html>"""


def _card(name: str, drawn: str, note: str) -> str:
    """A plan's map as a picture: nothing in it can run."""
    coded = base64.b64encode(drawn.encode()).decode()
    picture = f'<img alt="" src="data:image/svg+xml;base64,{coded}">' if drawn else ""
    about = f'<p class="muted">{escape(note)}</p>' if note else ""
    return f"<figure>{picture}<figcaption><b>{escape(name)}</b>{about}</figcaption></figure>"


def _row(cells: Sequence[object], marks: Sequence[bool]) -> str:
    values = [float(str(cell)) for cell in cells[1:]]
    digits = figure_decimals(*values)
    told = "".join(
        f'<td class="better"><b>{value:,.{digits}f}</b></td>' if mark else f"<td>{value:,.{digits}f}</td>"
        for value, mark in zip(values, marks, strict=True)
    )
    return f"<tr><td>{escape(str(cells[0]))}</td>{told}</tr>"
