"""Fails if a page of the built site would load anything from elsewhere: ``python -m docs.check_site out/docs``."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
FOREIGN = re.compile(r"(https?:)?//")
# what a style sheet or an inline script can load by itself
FETCHING = re.compile(r"""(?:url\(|@import\s+|import\(|fetch\()\s*["']?((?:https?:)?//[^"')\s]+)""")


class _Loads(HTMLParser):
    """Gathers the addresses a page loads when it is opened; links to follow are none of them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("rel") in {"canonical", "author", "license"}:
            return
        self.found += [address for address in [given.get(LOADING.get(tag, ""))] if address]
        if tag == "iframe" and given.get("srcdoc"):
            self.found += outside(given["srcdoc"] or "")


def outside(page: str) -> list[str]:
    """Addresses elsewhere that a page of HTML loads.

    >>> outside('<a href="https://a.example">text</a><script src="//b.example/x.js"></script><img src="here.png">')
    ['//b.example/x.js']
    >>> outside("<style>@import 'https://c.example/font.css';</style>")
    ['https://c.example/font.css']
    """
    reader = _Loads()
    reader.feed(page)
    return [one for one in reader.found if FOREIGN.match(one)] + FETCHING.findall(page)


def main(site: Path) -> int:
    """Look through all pages and style sheets."""
    pages = sorted(site.rglob("*.html"))
    found = {file: outside(file.read_text(encoding="utf-8")) for file in [*pages, *site.rglob("*.css")]}
    for file, addresses in found.items():
        for address in addresses:
            print(f"{file} loads {address}")
    print(f"{len(pages)} pages, {sum(map(len, found.values()))} addresses loaded from elsewhere")
    return 0 if pages and not any(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
