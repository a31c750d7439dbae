"""Pages in fewer bytes: without what HTML lets a page leave out, and with the style and the script of the site."""

from __future__ import annotations

import re

from dmlcts.reports.views.html import inlined, template

_ENDS = re.compile(r"</(?:td|th|tr|thead|tbody|li|dt|dd|option)>")
_NEXT = r"</?(?:div|section|article|details|main|li)\b|<(?:p|ul|ol|dl|h[1-6]|table|pre|form|blockquote)\b"
_PARAGRAPH = re.compile(rf"</p>(?=\s*(?:{_NEXT}))")
_TAG = re.compile(r"<[a-z][^>]*>")  # a value holds no ">": it is escaped
_QUOTED = re.compile(r"""="([^\s"'=<>`]+)"(?=[ >])""")


def tightened(page: str) -> str:
    """A page without the end tags that follow from what comes next, and without the quotes of plain values.

    Args:
        page: HTML with all end tags and quotes, and with escaped texts and values.
    """
    fewer = _PARAGRAPH.sub("", _ENDS.sub("", page))
    return _TAG.sub(lambda tag: _QUOTED.sub(r"=\1", tag[0]), fewer)


def with_shared(page: bytes, sheet: str, script: str, policy: str) -> bytes:
    """A self-contained page as a part of a site; one that this version did not write stays as it is.

    Args:
        page: the page, with its own style and script.
        sheet: the address of a style sheet that begins with ``report.css``.
        script: the address of ``page.js``.
        policy: the content security policy of the site.
    """
    own = inlined(template("report.css"), template("page.js"))
    loaded = {
        f"<style>{own['style']}</style>": f'<link rel="stylesheet" href="{sheet}">',
        f"<script>{own['script']}</script>": f'<script src="{script}" defer></script>',
        str(own["policy"]): policy,
    }
    text = page.decode("utf-8", "replace")
    if not all(part in text for part in loaded):
        return page
    for part, address in loaded.items():
        text = text.replace(part, address)
    return tightened(text).encode()
