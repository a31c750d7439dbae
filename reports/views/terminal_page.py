"""A page on a terminal: paragraphs, tables and gaps in characters that its stream has."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dmlcts.reports.summaries.characters import one_line

_FALLBACKS = str.maketrans(
    {"—": "-", "·": "|", "…": "...", "✓": "+", "✗": "x", "“": '"', "”": '"', "\u2018": "'", "\u2019": "'"}
)


class Page:
    """A console that is only ever given what it can encode."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._encoding = console.encoding or "ascii"

    def fit(self, text: str) -> str:
        """The text in characters that the stream has, and nothing but text."""
        text = one_line(text)
        try:
            text.encode(self._encoding)
        except (UnicodeError, LookupError):
            usable = text.translate(_FALLBACKS)
            return usable.encode("ascii", "backslashreplace").decode("ascii")
        return text

    def line(self, *parts: str | tuple[str, str], indent: int = 0, whole: bool = False) -> None:
        """Print one paragraph, its later lines indented; ``whole`` leaves it on one line, to be copied."""
        text = Text()
        for part in parts:
            words, style = (part, "") if isinstance(part, str) else part
            text.append(self.fit(words), style)
        if whole:
            self._console.print(Text(" " * indent) + text, soft_wrap=True, highlight=False)
            return
        for number, row in enumerate(text.wrap(self._console, max(self._console.width - indent - 2, 20))):
            row.rstrip()
            lead = indent + (2 if number and indent else 0)
            self._console.print(Text(" " * lead) + row, soft_wrap=True, highlight=False)

    def gap(self) -> None:
        """Print an empty line."""
        self._console.print()

    def table(self, table: Table) -> None:
        """Print a table."""
        self._console.print(table)

    @property
    def width(self) -> int:
        """Columns of the console."""
        return self._console.width
