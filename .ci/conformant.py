"""Whether a results.json holds what is required: ``conformant.py FILE [--every-operator] [--every-row]``.

The verdict must be CONFORMANT. With ``--every-operator`` the run was whole (no shard, nothing selected but element
types) and judged each operator that has a table; with ``--every-row`` each row passed or is characterised, none is
skipped. What does not hold is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_GOOD = ("pass", "characterised")


def lacking(results: dict[str, Any], *, every_operator: bool, every_row: bool) -> Iterator[str]:
    """What does not hold, a line each."""
    if results["verdict"] != "CONFORMANT":
        yield f"the verdict is {results['verdict']}"
    if every_operator:
        yield from _left_out(results)
    if every_row:
        rows = [row for row in results["clauses"] if row["outcome"] not in _GOOD]
        yield from (f"{row['operator']} {row['data_type']} {row['id']}: {row['outcome']}" for row in rows[:3])


def _left_out(results: dict[str, Any]) -> Iterator[str]:
    from dmlcts.specs.loading import load_tables

    if results["shard"]:
        yield f"only shard {results['shard']} ran"
    if selected := results["selection"].keys() - {"data_types"}:
        yield f"only a selection ran: {', '.join(sorted(selected))}"
    missing = set(load_tables().operators) - {row["operator"] for row in results["clauses"]}
    if missing:
        yield f"not judged: {', '.join(sorted(missing))}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Look at one file; the exit code."""
    parser = argparse.ArgumentParser(prog="conformant.py", description="Whether a results.json holds what CI requires.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--every-operator", action="store_true", help="all operators were judged, nothing was selected")
    parser.add_argument("--every-row", action="store_true", help="every row passed or is characterised")
    asked = parser.parse_args(arguments)
    results = json.loads(asked.file.read_text(encoding="utf-8"))
    problems = list(lacking(results, every_operator=asked.every_operator, every_row=asked.every_row))
    sys.stdout.writelines(f"{asked.file}: {line}\n" for line in problems)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
