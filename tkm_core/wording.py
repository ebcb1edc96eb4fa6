"""Plurals, lists and numbers in sentences."""

import math
from collections.abc import Sequence

IRREGULAR = {"people": "person", "persons": "person", "children": "child", "families": "family"}
NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
RANKS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def singular(people: str) -> str:
    """The singular of a plural: "homes" gives "home".

    Examples
    --------
    >>> [singular(word) for word in ("homes", "people", "addresses", "school children", "cities")]
    ['home', 'person', 'address', 'school child', 'city']
    """
    head, space, last = people.rpartition(" ")
    if last in IRREGULAR:
        last = IRREGULAR[last]
    elif last.endswith("ies"):
        last = last[:-3] + "y"
    elif last.endswith(("sses", "shes", "ches", "xes")):
        last = last[:-2]
    elif last.endswith("s") and not last.endswith("ss"):
        last = last[:-1]
    return head + space + last


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "facility", "facilities"), counted(1200, "row")
    ('1 facility', '1,200 rows')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence.

    Examples
    --------
    >>> listed(["JKL", "MV", "FR"]), listed(["JKL"]), listed([])
    ('JKL, MV and FR', 'JKL', '')
    """
    return names[0] if len(names) == 1 else " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def number_word(number: int) -> str:
    """A number as a word, if it is usually written out.

    Examples
    --------
    >>> number_word(7), number_word(8), number_word(40)
    ('seven', 'eight', '40')
    """
    return NUMBERS[number] if 0 <= number < len(NUMBERS) else f"{number:,}"


def rank_word(rank: int) -> str:
    """A rank as a word, if it is usually written out.

    Examples
    --------
    >>> rank_word(2), rank_word(8), rank_word(21)
    ('second', 'eighth', '21st')
    """
    return RANKS[rank] if 0 < rank < len(RANKS) else ordinal(rank)


def ordinal(number: int) -> str:
    """A rank in figures.

    Examples
    --------
    >>> [ordinal(number) for number in (1, 2, 11, 23)]
    ['1st', '2nd', '11th', '23rd']
    """
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ENDINGS.get(number % 10, 'th')}"


def dial_text(t: float) -> str:
    """A setting of the dial as it is shown.

    Examples
    --------
    >>> dial_text(0.3), dial_text(1230.0), dial_text(math.inf)
    ('0.3', '1,230', '∞')
    """
    return "∞" if math.isinf(t) else f"{t:,.0f}" if t >= 1000 else f"{t:g}"


def dial_near(t: float) -> str:
    """A setting of the dial to three digits, for the progress of long work.

    Examples
    --------
    >>> dial_near(0.057142), dial_near(1002.7), dial_near(math.inf)
    ('0.0571', '1,000', '∞')
    """
    return dial_text(float(f"{t:.3g}"))


def article(number: int) -> str:
    """The article before a number as read aloud.

    Examples
    --------
    >>> [article(number) for number in (7, 8, 11, 80)]
    ['a', 'an', 'an', 'an']
    """
    return "an" if number in (8, 11, 18) or 80 <= number < 90 else "a"
