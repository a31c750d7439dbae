"""Relations of approximate results that do not hold: bounds are wide, so that it takes more than a bit to break one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import Clause, OperatorTable
from dmlcts.suites.mutants.making import Fault, Row, made

FAULTS: dict[str, tuple[str, Fault]] = {
    "odd": ("The sign is lost", lambda y, *xs: np.abs(y)),
    "within-one": ("Results are one percent too great", lambda y, *xs: y * y.dtype.type(1.01)),
    "whole": ("Where nothing remains the divisor does", lambda y, *xs: np.where(y == 0, xs[-1], y)),
    "side": ("The sign is another", lambda y, *xs: -y),
    "below": ("The divisor is added", lambda y, *xs: y + np.copysign(xs[-1], y)),
    "positive": ("The sign is another", lambda y, *xs: -y),
}
"""What breaks a relation, by what follows the operator's prefix in its clause's id."""


def is_bounded(table: OperatorTable, clause: Clause) -> bool:
    """Whether a relation has a bound of approximate results, so that a bit more or less is within it."""
    return clause.check == "relation" and bool(table.accuracy) and _kind(clause) in FAULTS


def _kind(clause: Clause) -> str:
    return clause.id.split(".")[1]


def _rows() -> Iterator[tuple[str, Row]]:
    for table in load_tables().operators.values():
        for clause in table.clauses:
            if is_bounded(table, clause):
                tail = clause.id.partition(".")[2]
                description, fault = FAULTS[_kind(clause)]
                kinds = clause.data_types if isinstance(clause.data_types, tuple) else ("FLOAT32", "FLOAT16")
                name = "".join(word.capitalize() for word in clause.id.replace(".", "-").split("-"))
                yield (
                    f"{name}Broken",
                    Row(table.short_name, f"{description}: {clause.text}", fault, tail, " ".join(kinds).lower()),
                )


ROWS = dict(_rows())

globals().update(made(__name__, ROWS))
