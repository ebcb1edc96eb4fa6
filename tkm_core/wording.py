"""Plurals, lists and numbers in sentences."""

import math
import re
from collections.abc import Sequence

FACILITY = "facility"  # what a facility is called unless the planner has a word for it
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


def plural(noun: str) -> str:
    """The plural of an English noun: "library" gives "libraries".

    Examples
    --------
    >>> [plural(word) for word in ("library", "fire station", "playgroup day", "church", "school bus")]
    ['libraries', 'fire stations', 'playgroup days', 'churches', 'school buses']
    """
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "sh", "ch", "x", "z")) else "s")


def renamed(text: str, facility: str) -> str:
    """A sentence about facilities with the planner's own word for them; names in “quotes” stay as they are.

    Examples
    --------
    >>> renamed("Facilities: 2 new and 1 existing facility, none in “Old facility”.", "library")
    'Libraries: 2 new and 1 existing library, none in “Old facility”.'
    >>> renamed("A facility", "art gallery"), renamed("A facility", "facility")
    ('An art gallery', 'A facility')
    """
    if facility == FACILITY:
        return text
    words = {"facility": facility, "facilities": plural(facility)}

    def other(found: re.Match[str]) -> str:
        """The planner's word, with the article and the capital letter of the one that it replaces."""
        if found["name"] is not None:
            return found[0]
        word = words[found["noun"].lower()]
        word = word[:1].upper() + word[1:] if found["noun"][0] == "F" else word
        before = found["article"] or ""
        return f"{before[:1]}n {word}" if before and word[:1].lower() in "aeio" else before + word

    return re.sub(
        r"(?P<name>“[^”]*”)|(?P<article>\b[Aa] )?\b(?P<noun>[Ff]acility|[Ff]acilities)\b", other, text
    )


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
