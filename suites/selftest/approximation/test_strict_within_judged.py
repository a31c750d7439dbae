"""What ``--strict`` leaves is acceptable without it: no strict bound reaches farther than the judged one."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.selftest.approximation.probing import approximate, elements_of
from dmlcts.suites.selftest.family.family_tables import family

TABLES = family()
CASES = approximate(TABLES)
COUNT = 6000


def farther(table: OperatorTable, signature: Signature) -> list[str]:
    """Elements for which ``--strict`` accepts an end of an interval, or anything, that is refused without it."""
    result = []
    for operator, inputs in elements_of(table, signature, COUNT, seed=13):
        law = TABLES.law(table)
        strict = ApproximateVectorOracle(law, operator, strict=True).acceptance(inputs)
        judged = ApproximateVectorOracle(law, operator).acceptance(inputs)
        open_ = np.zeros(next(iter(inputs.values())).size, bool) if judged.any_value is None else judged.any_value
        opened = np.zeros_like(open_) if strict.any_value is None else strict.any_value
        beyond = opened & ~open_
        for end in (values for span in strict.spans for values in span):
            beyond |= ~opened & ~judged.admits(end) & ~np.isnan(end.astype(np.float64))
        for place in np.flatnonzero(beyond)[:2]:
            inputs = {name: array[place] for name, array in inputs.items()}
            spans = [(low[place], high[place]) for low, high in strict.spans]
            wider = [(low[place], high[place]) for low, high in judged.spans]
            result.append(f"{inputs}: strict {spans}, judged {wider}")
    return result


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("table", "signature"), CASES, ids=[f"{table.short_name}-{signature}" for table, signature in CASES]
)
def test_strict_lies_within_judged(table: OperatorTable, signature: Signature) -> None:
    assert farther(table, signature) == []
