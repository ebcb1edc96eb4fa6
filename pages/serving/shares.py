"""Share the server among those who ask: so much of each thing for an address, a person or a page.

Pages, websockets, uploads and calls of the API all take from this one account before they get anything. Whose turn it
is to compute is in `jobs.turns`, and how many bytes are held for whom in `uploads`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from pages.serving.config import Config, config

ALL_CALLS = 128  # calls of the API at a time, of all together; each has a thread
UPLOADS_OF_PAGE, UPLOADS_OF_ADDRESS = 12, 48  # on their way; a shapefile has up to eight parts
ALL = ""  # the name under which all together are counted


class Refusal(Exception):  # noqa: N818  a no, not a mistake
    """A request that is refused: the status and the sentence of the answer, and what the log says about it, once."""

    def __init__(
        self, status: int, sentence: str, *, retry: int = 0, notice: str = "", scheme: str = ""
    ) -> None:
        super().__init__(sentence)
        self.status, self.retry, self.notice, self.scheme = status, retry, notice, scheme


@dataclass(frozen=True)
class Limit:
    """How much of a thing one name may have at a time, and what is said to who wants more."""

    most: int
    sentence: str
    setting: str = ""


def limits(settings: Config) -> dict[str, Limit]:
    """What is shared: by address, by person, by page, or among all."""
    uploading = "Too many uploads at once. Wait until the others have arrived, then try again."
    calling = "Too many calls at once. Wait until some of them are answered, then try again."
    return {
        # half of them may be between two requests
        "connections of an address": Limit(2 * settings.most_connections, "Too many connections."),
        "requests of an address": Limit(
            settings.most_connections,
            "Too many requests and open pages at once from your address. Close some, then try again.",
            "EVENREACH_MOST_CONNECTIONS",
        ),
        "pages of an address": Limit(
            settings.most_pages,
            "Too many open pages from your address. Close some, then reload this one.",
            "EVENREACH_MOST_PAGES",
        ),
        "calls of an address": Limit(settings.most_calls, calling, "EVENREACH_MOST_CALLS"),
        "calls of a person": Limit(max(1, settings.most_calls // 2), calling),
        "calls of all": Limit(
            ALL_CALLS, "This server has too many calls to answer now. Try again in a few minutes."
        ),
        "uploads of an address": Limit(UPLOADS_OF_ADDRESS, uploading),
        "uploads of a page": Limit(UPLOADS_OF_PAGE, uploading),
    }


class Shares:
    """The account: who has how much of what. Only the server's event loop keeps it.

    Parameters
    ----------
    limits : mapping
        What is shared, and how much of it one name may have.

    Examples
    --------
    >>> shares = Shares({"calls of a person": Limit(1, "Too many calls at once.")})
    >>> with shares.holding("calls of a person", "Ann"), shares.holding("calls of a person", "Bob"):
    ...     with shares.holding("calls of a person", "Ann"):
    ...         pass
    Traceback (most recent call last):
    ...
    pages.serving.shares.Refusal: Too many calls at once.
    """

    def __init__(self, limits: Mapping[str, Limit]) -> None:
        self.limits = limits
        self.held: Counter[tuple[str, str]] = Counter()

    def take(self, kind: str, name: str) -> None:
        """Count one more for a name.

        Raises
        ------
        Refusal
            If the name has its share already.
        """
        limit = self.limits[kind]
        if self.held[kind, name] >= limit.most:
            notice = f"{kind.capitalize()} have reached {limit.setting}." if limit.setting else ""
            raise Refusal(429, limit.sentence, retry=10, notice=notice)
        self.held[kind, name] += 1

    def give(self, kind: str, name: str) -> None:
        """Count one less; who has nothing is not remembered."""
        self.held[kind, name] -= 1
        if not self.held[kind, name]:
            del self.held[kind, name]

    @contextmanager
    def holding(self, kind: str, name: str) -> Iterator[None]:
        """Count one more for a name as long as the block lasts.

        Raises
        ------
        Refusal
            If the name has its share already.
        """
        self.take(kind, name)
        try:
            yield
        finally:
            self.give(kind, name)


@cache
def shares() -> Shares:
    """The account of this server."""
    return Shares(limits(config()))
