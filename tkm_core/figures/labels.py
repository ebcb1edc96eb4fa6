"""Labels that do not overlap: close points share one, and far-off points are listed instead of drawn."""

from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import east_asian_width

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


Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels
LETTER, LINE = 6.4, 14.0  # pixels that a letter and a line of text take at 12 pixels
GAP = 3.0  # pixels between a mark and its label


def text_width(words: str) -> float:
    """About how wide a text is at 12 pixels; letters of East Asian scripts are twice as wide.

    Examples
    --------
    >>> text_width("Mill") < text_width("図書館本館") < text_width("Old mill by the lake")
    True
    """
    return sum(LETTER * (2 if east_asian_width(letter) in "WF" else 1) for letter in words)


def free_place(
    at: tuple[float, float], size: float, words: str, taken: Sequence[Box], room: Box
) -> Box | None:
    """Where a label fits beside a mark without covering anything: right, left, above or below of it.

    Parameters
    ----------
    at : tuple of float
        Centre of the mark in pixels.
    size : float
        Half the width of the mark.
    words : str
        One line at 12 pixels.
    taken : sequence of Box
        What must not be covered.
    room : Box
        What the label must not leave.

    Returns
    -------
    Box or None
        None if there is no such place.

    Examples
    --------
    >>> free_place((20, 20), 5, "Mill", [], (0, 0, 100, 40))
    (28.0, 13.0, 53.6, 27.0)
    >>> free_place((20, 20), 5, "Mill", [(28, 13, 40, 27)], (0, 0, 100, 60))
    (7.2, 28.0, 32.8, 42.0)
    >>> free_place((20, 20), 5, "Mill", [], (0, 0, 40, 30)) is None
    True
    """
    (x, y), wide, away = at, text_width(words), size + GAP
    corners = (
        (x + away, y - LINE / 2),
        (x - away - wide, y - LINE / 2),
        (x - wide / 2, y + away),
        (x - wide / 2, y - away - LINE),
    )
    for left, top in corners:
        box = (round(left, 1), round(top, 1), round(left + wide, 1), round(top + LINE, 1))
        inside = box[0] >= room[0] and box[1] >= room[1] and box[2] <= room[2] and box[3] <= room[3]
        if inside and not any(overlap(box, other) for other in taken):
            return box
    return None


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share more than an edge.

    Examples
    --------
    >>> overlap((0, 0, 2, 2), (1, 1, 3, 3)), overlap((0, 0, 2, 2), (2, 0, 3, 2))
    (True, False)
    """
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
