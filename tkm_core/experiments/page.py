"""An experiment as a self-contained HTML page: figure, findings and data."""

from collections.abc import Sequence
from html import escape

from tkm_core.experiments.model import Dataset, Experiment, Result
from tkm_core.figures import FONT, LIGHT

STYLE = f"""
body {{ margin: 0; background: {LIGHT.page}; color: {LIGHT.ink}; font: 16px/1.5 {FONT}; }}
main {{ max-width: 1120px; margin: 0 auto; padding: 24px 20px 48px; }}
h1 {{ font-size: 26px; line-height: 1.25; margin: 0 0 6px; }}
h2 {{ font-size: 18px; margin: 28px 0 6px; }}
p {{ margin: 0 0 6px; max-width: 100ch; }}
.quiet, li {{ color: {LIGHT.muted}; font-size: 14px; }}
ul {{ margin: 0; padding-left: 20px; }}
code {{ background: {LIGHT.ground}; padding: 1px 5px; border-radius: 4px; overflow-wrap: anywhere; }}
.figure {{ margin: 18px 0 0; overflow-x: auto; }}
"""


def page(experiment: Experiment, result: Result, data: Sequence[Dataset], command: str) -> str:
    """A self-contained HTML page; the figure stays interactive without a network.

    Parameters
    ----------
    experiment : Experiment
    result : Result
    data : sequence of Dataset
    command : str
        The command line that repeats the experiment.
    """
    figure = result.figure.to_html(
        include_plotlyjs=True, full_html=False, config={"displaylogo": False, "responsive": True}
    )
    stopped = "" if result.complete else "<p><strong>Stopped before the end.</strong></p>"
    read = [note for each in data for note in each.notes]
    about = f"<h2>Data</h2>{_items(read)}" if read else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(experiment.title)}</title>"
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main><h1>{escape(experiment.title)}</h1><p>{escape(experiment.description)}</p>"
        f'<p class="quiet">After “{escape(experiment.paper_figure)}” in Zhu et al., Efficient k-means with '
        f"Individual Fairness via Exponential Tilting. Repeat it: <code>{escape(command)}</code></p>{stopped}"
        f'<div class="figure">{figure}</div><h2>What the numbers say</h2>{_items(result.notes)}{about}'
        "</main></body></html>"
    )


def _items(sentences: Sequence[str]) -> str:
    """Sentences as an HTML list."""
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"
