"""Do all links of the built pages lead somewhere? Files and anchors within the site; addresses elsewhere with --online.

    python -m sphinx docs docs/_build/html && python docs/links.py docs/_build/html [--online]

Ends with 1 and a list where a file or an anchor is missing, or where a server says that there is no such page. A server
that does not answer proves nothing about a link: it is named, and no more.
"""

from __future__ import annotations

import argparse
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

GONE = (404, 410)  # "not found" and "gone"; all else is a matter of the server


class _Page(HTMLParser):
    """What a page links to, and what may be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Of every element: where it leads, what it shows, and its own name."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name == "id" and value:
                self.anchors.add(value)


def missing(folder: Path) -> tuple[list[str], set[str]]:
    """Links within the site that lead nowhere, each with its page, and all addresses elsewhere."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")
             if "_static" not in path.relative_to(folder).parts}  # files of the theme, among them templates
    found: list[str] = []
    elsewhere: set[str] = set()
    for path, page in sorted(pages.items()):
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme in ("http", "https"):
                    elsewhere.add(urldefrag(link).url)
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor, where = unquote(parts.fragment), path.relative_to(folder.resolve())
            if not target.exists():
                found.append(f"{where}: {link}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{where}: {link} (no such anchor)")
    return found, elsewhere


def unreachable(addresses: Iterable[str]) -> tuple[list[str], list[str]]:
    """Addresses that do not exist, and those that did not answer."""
    gone, silent = [], []
    for address in sorted(addresses):
        request = urllib.request.Request(address, headers={"User-Agent": "Mozilla/5.0 (a check of links)"})
        try:
            urllib.request.urlopen(request, timeout=10).close()
        except urllib.error.HTTPError as error:
            (gone if error.code in GONE else silent).append(f"{address}: {error.code} {error.reason}")
        except (OSError, ValueError) as error:
            silent.append(f"{address}: {error}")
    return gone, silent


def main() -> int:
    """Print what is wrong; 0 if nothing is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the built pages")
    parser.add_argument("--online", action="store_true", help="ask other servers, too")
    options = parser.parse_args()
    found, elsewhere = missing(options.folder)
    if options.online:
        gone, silent = unreachable(elsewhere)
        found += gone
        print(*(f"no answer: {line}" for line in silent), sep="\n", end="\n" if silent else "")
    print(*found, f"{len(found)} links lead nowhere, {len(elsewhere)} addresses of other sites", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
