"""Whether two files list departures of the same operators on the same types: ``departing.py A B [CLIP,ROUND]``.

Each file is a results.json or, where it ends in ``.yaml``, a baseline, or, in ``.md``, a page of ``dmlcts findings``.
Without the third argument all operators count. Of two files, what one of them lacks is
printed as ``diff`` does, and the exit code is 1. It is 1 too where neither lists a departure: what is compared here is
known to depart.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

_FOUND = re.compile(r"^\| ([A-Z0-9_]+) \| ([^|]+) \|", re.MULTILINE)  # a row of a page's tables
_TYPE = re.compile(r"\b(?:FLOAT|UINT|INT)\d+\b")  # each of them may be a link


def _rows(path: Path) -> Iterable[tuple[str, str, str]]:
    if path.suffix == ".yaml":
        from dmlcts.reports.comparing.baseline import load

        return [(row.operator, row.data_type, str(row.outcome)) for row in load(path).departures]
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [(operator, name, "fail") for operator, types in _FOUND.findall(text) for name in _TYPE.findall(types)]
    rows = json.loads(text)["clauses"]
    return [(row["operator"], row["data_type"], row["outcome"]) for row in rows]


def departing(path: Path, operators: str) -> set[str]:
    """Which of the operators (of all, where none is named) depart, each with a type."""
    named = operators.split(",") if operators else ()
    return {
        f"{operator.removeprefix('ELEMENT_WISE_')} {data_type}"
        for operator, data_type, outcome in _rows(path)
        if outcome == "fail" and (not named or operator.removeprefix("ELEMENT_WISE_") in named)
    }


def main(first: str, other: str, operators: str = "") -> int:
    """Compare them; the exit code."""
    left, right = departing(Path(first), operators), departing(Path(other), operators)
    sys.stdout.writelines(f"{'<' if name in left else '>'} {name}\n" for name in sorted(left ^ right))
    if not left | right:
        sys.stdout.write(f"no departure of {operators or 'any operator'} in {first} nor in {other}\n")
    return int(left != right or not left)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
