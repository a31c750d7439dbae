"""The links of a site, read from the text of its pages alone."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

LOADED = {"src": "img script", "href": "a link"}


class Page(HTMLParser):
    """What a page holds: ids, links and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        members = dict(attrs)
        self.tags.append((tag, members))
        if members.get("id"):
            self.ids.append(str(members["id"]))
        for name, tags in LOADED.items():
            if tag in tags.split() and members.get(name) is not None:
                self.links.append(str(members[name]))


def pages(files: Mapping[str, bytes]) -> dict[str, Page]:
    """The pages among the files of a site."""
    return {name: Page(data.decode()) for name, data in files.items() if name.endswith(".html")}


def target(page: str, link: str) -> tuple[str, str] | None:
    """The file and the anchor that a link of a page leads to; ``None`` for one to the web."""
    address = urlsplit(link)
    if address.scheme or address.netloc:
        return None
    name = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(address.path))) if address.path else page
    return name, unquote(address.fragment)


def broken_links(files: Mapping[str, bytes]) -> Iterator[str]:
    """The links of a site that lead nowhere, and ids that stand twice on a page."""
    read = pages(files)
    for name, page in read.items():
        yield from (f"{name}: id {id_} stands twice" for id_ in set(page.ids) if page.ids.count(id_) > 1)
        for link in page.links:
            place = target(name, link)
            if place is None:
                if not link.startswith(("https://", "http://")):
                    yield f"{name}: {link} is no address of the web"
            elif place[0] not in files:
                yield f"{name}: {link} leads to no file"
            elif place[1] and place[1] not in read[place[0]].ids:
                yield f"{name}: {link} leads to no place on its page"


def reached(files: Mapping[str, bytes], start: str = "index.html") -> set[str]:
    """The files that links lead to from a page, directly or over others."""
    read = pages(files)
    seen, waiting = {start}, [start]
    while waiting:
        name = waiting.pop()
        for link in read[name].links if name in read else ():
            place = target(name, link)
            if place is not None and place[0] in files and place[0] not in seen:
                seen.add(place[0])
                waiting.append(place[0])
    return seen
