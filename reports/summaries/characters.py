"""A stranger's words inside Markdown and HTML: no markup, no link but to the web and to places beside it."""

from __future__ import annotations

import re

from dmlcts.specs.characters import one_line, visible


def escaped(text: object) -> str:
    """A stranger's text inside Markdown, in a cell of a table as well: one line, no markup, no HTML, no link."""
    shown = one_line(" ".join(str(text).split()))
    shown = "".join(f"\\{character}" if character in "\\`*_~[]|#!" else character for character in shown)
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace("@", "@\u200b")  # nobody is called by a submission


_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\]\((?!<?(?:https?://|#|[\w./-]+[)\s]))|^(\s{0,3}\[[^]]+\]):", re.MULTILINE)


def prose(text: str) -> str:
    """Markdown that a person wrote, perhaps a stranger: no HTML, no links but to the web and to places beside it.

    What stands in code spans stays as it is, for there nothing has a meaning.
    """
    shown = str(visible(text))
    parts, start = [], 0
    for span in _SPAN.finditer(shown):
        parts += [_defused(shown[start : span.start()]), span[0]]
        start = span.end()
    return "".join([*parts, _defused(shown[start:])])


def _defused(text: str) -> str:
    without = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    return _LINK.sub(lambda match: f"{match[1]}\\:" if match[1] else "]\\(", without)
