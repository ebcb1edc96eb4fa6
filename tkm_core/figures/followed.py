"""The differences between a chart's versions along the dial, so that the browser can update it by itself."""

from collections.abc import Sequence
from typing import Any

from tkm_core.figures.drawn import DrawnFigure


def followed(charts: Sequence[DrawnFigure]) -> list[dict[str, Any]] | None:
    """For each version of a chart, the parts that turn any other version into it.

    Parameters
    ----------
    charts : sequence of DrawnFigure
        The chart at every setting of the dial.

    Returns
    -------
    list of dict or None
        With ``traces``, the parts that differ by trace number, and ``layout``. None if the charts do not have the same
        number of traces.

    Examples
    --------
    >>> line = {"type": "scatter", "y": [1, 2]}
    >>> one, other = (DrawnFigure([line, {"x": [at], "y": [0]}], {"height": 9}) for at in (3, 4))
    >>> followed([one, other])
    [{'traces': {'1': {'x': [3]}}, 'layout': {}}, {'traces': {'1': {'x': [4]}}, 'layout': {}}]
    """
    contents = [chart.to_dict() for chart in charts]
    first = contents[0]
    if any(len(one["data"]) != len(first["data"]) for one in contents):
        return None
    traces = {
        number: _differing([one["data"][number] for one in contents]) for number in range(len(first["data"]))
    }
    layout = _differing([one["layout"] for one in contents])
    return [
        {
            "traces": {
                str(number): {key: one["data"][number].get(key) for key in keys}
                for number, keys in traces.items()
                if keys
            },
            "layout": {key: one["layout"].get(key) for key in layout},
        }
        for one in contents
    ]


def _differing(parts: Sequence[dict[str, Any]]) -> list[str]:
    """The keys whose values are not equal in all parts."""
    keys = dict.fromkeys(key for part in parts for key in part)
    return [key for key in keys if any(part.get(key) != parts[0].get(key) for part in parts)]
