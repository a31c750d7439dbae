"""Markdown that a person wrote, as HTML: paragraphs, code spans, and links to the web; nothing else has a meaning."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from dmlcts.reports.summaries.characters import visible

_SPAN = re.compile(r"(`+)(?!`)(.*?)(?<!`)\1(?!`)|\[([^\]\[]*)\]\(([^)\s]*)\)", re.DOTALL)


def inline(text: str) -> Markup:
    """One paragraph. A link that does not lead to the web is its words alone: what it names is no page of the site."""
    shown = str(visible(text))
    parts, start = [], 0
    for span in _SPAN.finditer(shown):
        parts.append(escape(shown[start : span.start()]))
        code, words, address = span[2], span[3], span[4]
        if code is not None:
            parts.append(Markup("<code>{}</code>").format(code.strip()))
        elif address.startswith(("https://", "http://")):
            parts.append(Markup('<a href="{}" rel="noreferrer">{}</a>').format(address, words))
        else:
            parts.append(escape(words))
        start = span.end()
    return Markup("").join([*parts, escape(shown[start:])])


def paragraphs(text: str) -> Markup:
    """A text of several paragraphs."""
    blocks = [block for block in re.split(r"\n\s*\n", text.strip()) if block]
    return Markup("\n").join(Markup("<p>{}</p>").format(inline(block)) for block in blocks)
