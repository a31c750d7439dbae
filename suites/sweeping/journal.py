"""The journal: a line for every finished block, so that a sweep that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from dmlcts.specs import UsageError
from dmlcts.suites.sweeping.targets import Block
from dmlcts.suites.sweeping.totals import Totals

NAME = "sweep-journal.jsonl"
_FORMAT = "dmlcts-sweep-journal/1"


@dataclass
class Journal:
    """A results folder's journal, open for appending."""

    stream: TextIO

    @classmethod
    def begin(cls, folder: Path, header: Mapping[str, Any]) -> Journal:
        """Start a new journal; an earlier sweep's is overwritten."""
        stream = (folder / NAME).open("w", encoding="utf-8")
        journal = cls(stream)
        journal._write({"format": _FORMAT, **header})
        return journal

    @classmethod
    def resume(cls, folder: Path, header: Mapping[str, Any]) -> tuple[Journal, dict[str, Totals]]:
        """Open the journal of a sweep that was stopped.

        Returns:
            The journal, and the totals of the blocks that are finished, by the block's id, each once.

        Raises:
            UsageError: there is none, or it is another sweep's.
        """
        path = folder / NAME
        if not path.is_file():
            raise UsageError(
                f"{folder} holds no sweep to resume", "give the results folder of a sweep that was stopped"
            )
        lines, length = [], 0
        with path.open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    break  # cut off in the middle of writing it
                lines.append(json.loads(line))
                length += len(line)
        written = lines[0] if lines else {}
        for name, value in {"format": _FORMAT, **header}.items():
            if written.get(name) != value:
                raise UsageError(
                    f"{path} is of another sweep: its {name} is {written.get(name)!r}, not {value!r}",
                    "give the options of that sweep, or another folder",
                )
        with path.open("r+b") as stream:
            stream.truncate(length)
        done = {line["block"]: Totals.from_json(line["totals"]) for line in lines[1:]}
        return cls(path.open("a", encoding="utf-8")), done

    def finished(self, block: Block, totals: Totals) -> None:
        """Write down a finished block."""
        self._write({"block": block.id, "totals": totals.to_json()})

    def _write(self, line: Mapping[str, Any]) -> None:
        self.stream.write(json.dumps(line) + "\n")
        self.stream.flush()

    def close(self) -> None:
        """Close the file."""
        self.stream.close()
