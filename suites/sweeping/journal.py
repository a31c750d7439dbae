"""The journal: a line for every finished block, so that a sweep that was stopped goes on where it was.

A journal is read as a stranger's: the file may have been damaged, cut or altered since. A block counts only where it
is a block of the plan, stands there once, and accounts for each of its elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.journal import Journal as Lines
from dmlcts.reports.documents.journal import JournalLine, journal_lines
from dmlcts.reports.documents.validation import DocumentError
from dmlcts.reports.documents.writing import SWEEP_JOURNAL
from dmlcts.specs import UsageError
from dmlcts.suites.running.run import difference
from dmlcts.suites.sweeping.blocks.accounting import unaccounted
from dmlcts.suites.sweeping.blocks.targets import Block, Plan
from dmlcts.suites.sweeping.blocks.totals import MalformedTotals, Totals

NAME = SWEEP_JOURNAL
SCHEMA = "dmlcts-sweep-journal/2"
_COMMAND = "dmlcts sweep"
_HINT = "give the results folder of a sweep that this version of dmlcts wrote, or begin the sweep anew"


class Journal:
    """A sweep's journal, open for appending.

    Args:
        lines: the file.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    @classmethod
    def begin(cls, folder: Path, header: Mapping[str, Any], replaces: Sequence[Path] = ()) -> Journal:
        """Start a new journal; there must be none, unless it is one of ``replaces``.

        Args:
            folder: the results folder.
            header: what the sweep is.
            replaces: as :class:`dmlcts.reports.documents.journal.Journal` takes it.

        Raises:
            UsageError: it cannot be written.
        """
        lines = Lines(folder / NAME, command=_COMMAND, replaces=replaces)
        lines.begin("sweep", header)
        return cls(lines)

    @classmethod
    def resume(
        cls, folder: Path, header: Mapping[str, Any], plan: Plan, replaces: Sequence[Path] = ()
    ) -> tuple[Journal, dict[str, Totals]]:
        """Open the journal of a sweep that was stopped.

        Args:
            folder: the results folder.
            header: what the sweep is.
            plan: its blocks.
            replaces: as :class:`dmlcts.reports.documents.journal.Journal` takes it.

        Returns:
            The journal, and the totals of the blocks that are finished, by the block's id.

        Raises:
            UsageError: there is none, it is of a sweep that differs (the message names the difference), or it cannot
                be written.
            DocumentError: it is damaged.
        """
        path = folder / NAME
        if not path.exists():
            raise UsageError(
                f"{folder} holds no sweep to resume", "give the results folder of a sweep that was stopped"
            )
        blocks = {block.id: block for block in plan.blocks()}
        done: dict[str, Totals] = {}
        end = 0
        for line in journal_lines(path, _HINT):
            if not end:
                _check_header(line, header)
            elif line.kind != "block":
                line.fail(f"is of the unknown kind {line.kind[:40]!r}")
            else:
                name, totals = _read_block(line, blocks, plan)
                if name in done:
                    line.fail(f"holds the block {name} a second time")
                done[name] = totals
            end = line.end
        if not end:
            raise DocumentError(str(path), "", "is empty", _HINT)
        return cls(Lines(path, keep=end, command=_COMMAND, replaces=replaces)), done

    def finished(self, block: Block, totals: Totals) -> None:
        """Write down a finished block.

        Raises:
            UsageError: it cannot be written; the blocks before it stand there.
        """
        self._lines.append("block", {"id": block.id, "totals": totals.to_json()})

    def settle(self) -> None:
        """Remove what the sweep replaces, where that still stands: its record is about to be written.

        Raises:
            UsageError: it cannot be removed.
        """
        self._lines.settle()

    def close(self) -> None:
        """Close the file."""
        self._lines.close()


def _check_header(line: JournalLine, header: Mapping[str, Any]) -> None:
    if line.kind != "sweep" or line.content.get("schema") != SCHEMA:
        line.fail(f"does not begin a journal of the format {SCHEMA}")
    differs = difference(line.content, header)
    if differs:
        raise UsageError(
            f"{line.path} is of a sweep that differs in {differs}", "resume with the same, or begin a new sweep"
        )


def _read_block(line: JournalLine, blocks: Mapping[str, Block], plan: Plan) -> tuple[str, Totals]:
    name = line.content.get("id")
    if set(line.content) != {"id", "totals"} or not isinstance(name, str):
        line.fail("does not say which block it is about, and what came of it")
    block = blocks.get(name)
    if block is None:
        line.fail(f"is about {name[:40]!r}, which is no block of this sweep")
    try:
        totals = Totals.from_json(line.content["totals"])
    except MalformedTotals as malformed:
        line.fail(f"does not say what came of the block {name}: {malformed}")
    fault = unaccounted(totals, plan.targets[block.target], block)
    if fault:
        line.fail(f"does not account for the block {name}: {fault}")
    return name, totals
