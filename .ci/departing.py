"""Whether two files tell departures of the same operators on the same types: ``departing.py A B CLIP,ROUND``.

Each file is a results.json or, where it ends in ``.yaml``, a baseline. Of two files, what one of them lacks is printed
as ``diff`` does, and the exit code is 1. It is 1 too where neither tells a departure: what is compared here is known to
depart.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path


def _rows(path: Path) -> Iterable[tuple[str, str, str]]:
    if path.suffix == ".yaml":
        from dmlcts.reports.comparing.baseline import load

        return [(row.operator, row.data_type, str(row.outcome)) for row in load(path).departures]
    rows = json.loads(path.read_text(encoding="utf-8"))["clauses"]
    return [(row["operator"], row["data_type"], row["outcome"]) for row in rows]


def departing(path: Path, operators: str) -> set[str]:
    """Which of the operators depart, each with a type."""
    named = operators.split(",")
    return {f"{operator.removeprefix('ELEMENT_WISE_')} {data_type}" for operator, data_type, outcome in _rows(path)
            if outcome == "fail" and operator.removeprefix("ELEMENT_WISE_") in named}  # fmt: skip


def main(one: str, other: str, operators: str) -> int:
    """Compare them; the exit code."""
    left, right = departing(Path(one), operators), departing(Path(other), operators)
    sys.stdout.writelines(f"{'<' if name in left else '>'} {name}\n" for name in sorted(left ^ right))
    if not left | right:
        sys.stdout.write(f"no departure of {operators} in {one} nor in {other}\n")
    return int(left != right or not left)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
