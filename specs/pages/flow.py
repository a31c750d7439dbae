"""A page's lines as one flow of text, in which a sentence or a formula may go over several lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from dmlcts.specs.pages.words import normal


class Flow:
    """All lines as one text, single spaces between words, with the way back from an offset to a line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        numbered = [(number, line) for number, line in enumerate(lines, 1) if line]
        self.text = " ".join(line for _, line in numbered)
        self.numbers = [number for number, _ in numbered]
        self.starts: list[int] = []
        offset = 0
        for _, line in numbered:
            self.starts.append(offset)
            offset += len(line) + 1

    def line(self, offset: int) -> int:
        """The number of the line on which ``offset`` stands."""
        return self.numbers[bisect_right(self.starts, offset) - 1]

    def begins_line(self, offset: int) -> bool:
        """Whether a line begins at ``offset``."""
        return self.starts[bisect_right(self.starts, offset) - 1] == offset

    def end_of_line(self, offset: int) -> int:
        """Where the line of ``offset`` ends."""
        following = bisect_right(self.starts, offset)
        return self.starts[following] - 1 if following < len(self.starts) else len(self.text)

    def matching(self, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
        """The lines on which a match of ``pattern`` begins, with their numbers."""
        numbers = dict.fromkeys(self.line(match.start()) for match in pattern.finditer(self.text))
        return [(number, self.lines[number - 1]) for number in numbers]

    def occurrences(self, words: str) -> Iterator[int]:
        """The offsets at which ``words`` stand as whole words, white space normalised."""
        wanted = normal(words)
        offset = self.text.find(wanted)
        while offset >= 0:
            around = self.text[max(0, offset - 1) : offset], self.text[offset + len(wanted) : offset + len(wanted) + 1]
            if not any(re.match(r"\w", character) for character in around):
                yield offset
            offset = self.text.find(wanted, offset + 1)


def lines_from(lines: Sequence[str], start: int, count: int) -> list[str]:
    """The next lines from index ``start`` on that are not empty."""
    return list(islice((lines[index] for index in range(max(start, 0), len(lines)) if lines[index]), count))
