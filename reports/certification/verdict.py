"""The result of a verification: one line a check, a verdict, and a page for people."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dmlcts.reports.documents.waivers import with_waived
from dmlcts.reports.summaries.characters import escaped, one_line
from dmlcts.specs.number_text import many


class Status(enum.StrEnum):
    """How one check ended."""

    PASS = "PASS"  # noqa: S105 - a status, no password
    FAIL = "FAIL"
    OPEN = "OPEN"


_MEANING = {
    Status.PASS: "checked, and in order",
    Status.FAIL: "checked, and wrong: the submission is refused",
    Status.OPEN: "could not be decided here, or wants a person's eye: the submission is not yet accepted",
}


class Standing(enum.StrEnum):
    """What a submission is worth."""

    PASS = "PASS"  # noqa: S105 - a standing, no password
    FAIL = "FAIL"
    DRAFT = "DRAFT"
    INCOMPLETE = "INCOMPLETE"


_EXIT_CODES = {Standing.PASS: 0, Standing.FAIL: 1, Standing.DRAFT: 4, Standing.INCOMPLETE: 4}


@dataclass(frozen=True)
class Line:
    """What one check says.

    Attributes:
        check: the check's name.
        status: how it ended.
        wording: one sentence.
        count: how many faults it stands for.
    """

    check: str
    status: Status
    wording: str
    count: int = 1


Statements = Iterator[tuple[Status, str] | tuple[Status, str, int]]
"""What a check yields: the faults it finds, with their number where one stands for several, or one pass."""


def first_of_each(status: Status, faults: Iterable[tuple[str, str]]) -> Statements:
    """The first fault of each kind, with the number of those of its kind.

    Args:
        status: of each.
        faults: kind and sentence of each, in the order in which they were found.
    """
    kinds: dict[str, list[str]] = {}
    for kind, text in faults:
        kinds.setdefault(kind, []).append(text)
    for first, *more in kinds.values():
        yield status, f"{first} (and {len(more):,} more of this kind)" if more else first, 1 + len(more)


@dataclass(frozen=True)
class Verification:
    """All lines of a verification.

    Attributes:
        lines: in the order of the checks.
        draft: whether the submission calls itself a draft.
        about: what the submission says of itself, by label; empty where it cannot be read.
        rows: the clause rows of its results, those that a waiver covers marked ``waived``; empty where none count.
    """

    lines: tuple[Line, ...]
    draft: bool
    about: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...] = ()

    @property
    def standing(self) -> Standing:
        """FAIL with any failed check; else DRAFT for a draft; else INCOMPLETE with any open one; else PASS."""
        statuses = {line.status for line in self.lines}
        if Status.FAIL in statuses or not self.lines:
            return Standing.FAIL
        if self.draft:
            return Standing.DRAFT
        return Standing.INCOMPLETE if Status.OPEN in statuses else Standing.PASS

    @property
    def exit_code(self) -> int:
        """0 for a PASS, 1 for a FAIL, 4 for a DRAFT or what is INCOMPLETE."""
        return _EXIT_CODES[self.standing]

    def text(self, exit_code: int | None = None) -> Iterator[str]:
        """The lines for a terminal, the standing last.

        Args:
            exit_code: that of the command that says them; ``None`` where it is the verification's own.
        """
        code = self.exit_code if exit_code is None else exit_code
        for line in self.lines:
            yield f"{line.status}  {line.check:<10} {one_line(line.wording)}"
        yield ""
        yield f"{self.words}: {one_line(self.summary())} (exit code {code})"

    @property
    def words(self) -> str:
        """The standing, and what waivers leave out of it: "PASS with 2 waived clauses (3 of 786 rows, 0.4 %)"."""
        return with_waived(self.standing.value, self.rows)

    def summary(self) -> str:
        """The standing in half a sentence."""
        failed = [line for line in self.lines if line.status is Status.FAIL]
        faults = sum(line.count for line in failed)
        opened = [line for line in self.lines if line.status is Status.OPEN]
        match self.standing:
            case Standing.FAIL:
                return f"{many(faults, 'fault')}, the first: {failed[0].wording}" if failed else "nothing was checked"
            case Standing.DRAFT:
                return "it is what it says, and it says that it certifies nothing"
            case Standing.INCOMPLETE:
                return f"no fault was found, but {opened[0].wording}"
        return f"{self.about.get('product', 'it')} is what it says"

    def markdown(self, name: str) -> str:
        """The verification as a page, with a legend.

        Args:
            name: what to call the submission.
        """
        lines = [f"# Submission {escaped(name)}: {self.words}", "", f"{escaped(self.summary()).capitalize()}.", ""]
        lines += ["| | |", "|---|---|", *(f"| {label} | {escaped(value)} |" for label, value in self.about.items()), ""]
        lines += ["| check | | |", "|---|---|---|"]
        lines += [f"| {line.check} | **{line.status}** | {escaped(line.wording)} |" for line in self.lines]
        used = sorted({line.status for line in self.lines})
        lines += ["", *(f"- **{status}**: {_MEANING[status]}" for status in used), ""]
        return "\n".join(lines)


def about(statement: Mapping[str, Any]) -> dict[str, str]:
    """What a statement says of itself, by label."""
    device = statement["device"]
    named = [str(device.get(name) or "") for name in ("name", "adapter", "driver", "library", "version")]
    return {
        "product": statement["product"],
        "vendor": statement["vendor"],
        "backend": statement["backend"],
        "device": ", ".join(dict.fromkeys(name for name in named if name)),
        "feature level": statement["feature_level"],
        **({"operators": ", ".join(statement["operators"])} if "operators" in statement else {}),
        "verdict claimed": statement["verdict"],
        "run": f"{statement['started']} to {statement['finished']}, seed {statement['seed']}",
        "suite": f"{statement['suite']['version']}, digest {statement['suite']['digest'][:16]}, "
        f"{statement['suite']['commit'] or 'not from a checkout'}",
    } | ({"draft because": "; ".join(statement["draft"])} if statement["draft"] else {})


def collect(name: str, check: Callable[[], Statements], expected: tuple[type[Exception], ...]) -> Iterable[Line]:
    """The lines of one check; an error of the stranger's making is a fault that it found.

    Args:
        name: the check's name.
        check: yields what it says.
        expected: the errors that reading a stranger's documents may raise.
    """
    lines = []
    try:
        lines = [Line(name, status, text, *count) for status, text, *count in check()]
    except expected as error:
        lines.append(Line(name, Status.FAIL, " ".join(str(error).split())))
    return lines
