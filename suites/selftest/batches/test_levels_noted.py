"""Noting what was dispatched: what is kept for cases that are laid out alike never counts one as another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import pytest

from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.batches.plans import Plans
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.combinations.building import space
from dmlcts.suites.combinations.classifying import levels_of
from dmlcts.suites.combinations.coverage import Seen, encoded
from dmlcts.suites.combinations.factors import counts_of
from dmlcts.suites.combinations.rows import cheap_cases
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
LEVEL = FeatureLevel("5.0")
OPERATORS = ("CLIP", "IS_NAN", "IF", "ADD", "ADD1", "BIT_COUNT", "QUANTIZED_LINEAR_ADD", "POW")
HISTORIES = ("fresh", "again", "after-another", "beside-another")


def subjects() -> Iterator[Subject]:
    """Operators of all forms, each on its first signatures."""
    for name in OPERATORS:
        table = TABLES.operators[f"ELEMENT_WISE_{name}"]
        chosen = [signature for signature in signatures(table) if signature.data_type.itemsize in (1, 4)][:6]
        yield from (Subject(table, signature, LEVEL, 0, profile=QUICK) for signature in chosen)


def dispatched() -> Iterator[tuple[Subject, Case, str]]:
    """Rows of covering arrays, and cases that have a plan in common with those of other operators and types."""
    for number, subject in enumerate(subjects()):
        for place, case in enumerate(list(cheap_cases(subject, TABLES))[number % 8 :: 8]):
            yield subject, case, HISTORIES[place % len(HISTORIES)]
        first, *others = subject.bulk(3).streams
        values = Streams(((first[0], subject.distinct(9).streams.first), *others))
        for sizes in ((6,), (1, 1, 1, 6), (2, 1, 3), (1, 1, 1, 2, 3)):
            for placement in (Placement(), Placement(front=528), *subject.in_place):
                operator = subject.describe(sizes, subject.attributes())
                yield subject, Case(operator, values, "tensor.position", placement=placement), "fresh"


def expected(dispatches: list[tuple[Subject, Case, str]]) -> dict[tuple[str, str], set[str]]:
    """The rows by what each case is, without anything kept."""
    assert TABLES.factors is not None
    counts = counts_of(TABLES.factors)
    rows: dict[tuple[str, str], set[str]] = defaultdict(set)
    for subject, case, history in dispatches:
        text = encoded(space(subject, TABLES.factors), levels_of(case, subject.table, counts, history))
        rows[case.operator.name, case.data_type.name].add(text)
    return dict(rows)


@pytest.mark.parametrize("kept", [True, False], ids=["kept by plan", "nothing kept"])
def test_rows_are_what_the_cases_are(kept: bool) -> None:
    seen, plans = Seen(TABLES, LEVEL), Plans()
    dispatches = list(dispatched())
    for _ in range(2):  # the second time from what is kept
        for _, case, history in dispatches:
            plan = plans.of(case.operator, case.placement)
            noted: dict[Hashable, Any] | None = plan.noted if kept and plan is not None else None
            seen.note(case, history, noted)
    assert seen.rows == expected(dispatches)
    assert [tuple(record.rows) for record in seen.records()] == [
        tuple(sorted(rows)) for _, rows in sorted(seen.rows.items())
    ]
