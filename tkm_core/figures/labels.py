"""Labels that do not overlap: close points share one, and far-off points are listed instead of drawn."""

from collections.abc import Mapping
from typing import Any

Points = Mapping[str, tuple[float, float]]


def nearby(points: Points, x: tuple[float, float], y: tuple[float, float], most: float = 0.6) -> Points:
    """The points that extend the ranges `x` and `y` by at most `most` of their length.

    Examples
    --------
    >>> sorted(nearby({"MV": (6.6, 39.6), "JKL": (7.4, 90.0)}, (6.0, 10.0), (15.0, 40.0)))
    ['MV']
    """

    def fits(value: float, low: float, high: float) -> bool:
        """Whether a value lies within the extended range."""
        room = most * (high - low)
        return low - room <= value <= high + room

    return {name: spot for name, spot in points.items() if fits(spot[0], *x) and fits(spot[1], *y)}


def shared(points: Points, near_x: float, near_y: float) -> list[tuple[float, float, str]]:
    """One label for points that are close together: its position (the highest of them) and the names.

    Examples
    --------
    >>> shared({"k-means++": (6.5, 38.7), "MV": (6.6, 39.6), "JKL": (7.4, 61.7)}, 0.5, 5.0)
    [(6.6, 39.6, 'k-means++, MV'), (7.4, 61.7, 'JKL')]
    """
    groups: list[list[str]] = []
    for name, (x, y) in points.items():
        home = next(
            (
                group
                for group in groups
                if any(abs(points[one][0] - x) < near_x and abs(points[one][1] - y) < near_y for one in group)
            ),
            None,
        )
        if home is None:
            groups.append([name])
        else:
            home.append(name)
    tops = [max((points[name] for name in group), key=lambda spot: spot[1]) for group in groups]
    return [(*top, ", ".join(group)) for top, group in zip(tops, groups, strict=True)]


def corner(text: str, color: str) -> dict[str, Any]:
    """A remark in the upper right corner."""
    place = {"xref": "paper", "yref": "paper", "x": 1, "y": 1, "xanchor": "right", "yanchor": "top"}
    return {**place, "text": text, "font": {"color": color}}
