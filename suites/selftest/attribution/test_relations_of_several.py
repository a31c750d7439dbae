"""A relation between operators that does not hold: the one that gave a wrong result is blamed, and no other."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import OperatorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.proof.probes import probes

TABLES = load_tables()


class Right(Reference):
    """The reference, as a control."""

    level = LEVEL
    wrong = ""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """One more than is right, of one operator, where the second operand is 2."""
        y = super().compute_exact(operator, inputs)
        return np.where(inputs[1] == 2, y + 1, y) if operator.name == f"ELEMENT_WISE_{self.wrong}" else y


class WrongModulus(Right):
    """As ONNX Runtime computes it from 2^53 on, of operands that are small."""

    wrong = "MODULUS_TRUNCATE"


class WrongQuotient(Right):
    """Quotients by 2 are one more."""

    wrong = "DIVIDE"


@pytest.mark.parametrize(
    ("made", "report"),
    [
        (Right, set()),
        (WrongModulus, {("ELEMENT_WISE_MODULUS_TRUNCATE", "modulus-truncate.formula")}),
        (WrongQuotient, {("ELEMENT_WISE_DIVIDE", f"divide.{name}") for name in ("itself", "remainder")}),
    ],
)
def test_a_relation_blames_the_operator_that_is_wrong(made: type[Reference], report: set[tuple[str, str]]) -> None:
    (probe,) = [
        candidate
        for candidate in probes(TABLES)
        if candidate.table.short_name == "DIVIDE"
        and str(candidate.signature) == "INT32"
        and "relations_hold" in candidate.test
    ]
    bench = Bench("x", made(), {}, TABLES)
    judge = probe.run(bench, 0)
    result = {
        (finding.case.operator.name, finding.clause)
        for finding in (smallest(bench, it) for it in judge.ledger.findings)
    }
    assert result == report
    failed = {(operator, clause) for (clause, operator, _), tally in judge.ledger.tallies.items() if tally.failures}
    assert failed == report
