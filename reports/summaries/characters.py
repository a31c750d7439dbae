"""Characters that are more than text, shown as what they are: used wherever a stranger's words leave the suite.

Control characters paint on terminals, characters that reorder text hide what stands there, and a line of one's own
may be a command to whatever reads the log.
"""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup

_LONGEST = 20_000
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _shown(character: str) -> str:
    """A character as its code point, in hexadecimal."""
    return f"\\u{{{ord(character):x}}}"


def visible(value: object) -> object:
    """Text with invisible and reordering characters written as code points, shortened if it is endless.

    Line breaks and tabs stay. Markup, which came from a template, and anything that is no text stay as they are.
    """
    if not isinstance(value, str) or isinstance(value, Markup) or (value.isprintable() and len(value) <= _LONGEST):
        return value
    text = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}… ({len(value):,} characters)"
    return "".join(
        _shown(character) if character not in "\n\t" and unicodedata.category(character) in _HIDDEN else character
        for character in text
    )


def one_line(text: object) -> str:
    """A stranger's text as a terminal, a log and a person can be given it: one line that is nothing but text.

    Control characters, line breaks and tabs among them, and characters that reorder text are shown as code points.
    So is what GitHub Actions would take for a command: ``::`` at the beginning of a line, and ``##[`` anywhere.
    """
    shown = str(visible(str(text)))
    for broken in "\n\t":
        shown = shown.replace(broken, _shown(broken))
    bare = shown.lstrip()
    if bare.startswith("::"):
        shown = f"{shown[: len(shown) - len(bare)]}{_shown(':')}{bare[1:]}"
    return shown.replace("##[", f"##{_shown('[')}")


def quoted(text: object) -> str:
    """A stranger's text of several lines: each is one line of nothing but text, and all but the first are marked."""
    first, *more = str(text).splitlines() or [""]
    return "\n".join([one_line(first), *(f"  | {one_line(line)}" for line in more)])


def as_text(text: str) -> str:
    """A text that the suite wrote, a stranger's words in it, for a terminal: its own line breaks stay, nothing else."""
    return "\n".join(one_line(line) for line in text.split("\n"))


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
