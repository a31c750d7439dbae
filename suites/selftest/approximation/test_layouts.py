"""Approximate results may differ from layout to layout as far as their bounds let each of them, and no further."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import OperatorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.proof.probes import probes

TABLES = load_tables()


class OneWay(Reference):
    """Right, whatever the layout."""

    level = LEVEL


class TwoWays(OneWay):
    """Tensors of rank 1 are computed by vectors, all others one by one: by another polynomial."""

    units = 1

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Moved by some units in the last place where the rank is another than 1."""
        y = super().compute_exact(operator, inputs)
        bits = np.ascontiguousarray(y).view(f"u{y.dtype.itemsize}")
        movable = np.isfinite(y) & (y != 0)
        moved = np.where(movable, bits + bits.dtype.type(self.units), bits).view(y.dtype)
        return y if operator.output.rank == 1 else moved


class TwoWaysTooFarApart(TwoWays):
    """The other polynomial is two terms short."""

    units = 1 << 20


def wrong(made: type[Reference], operator: str) -> bool:
    """Whether the test of shapes and positions finds something on FLOAT32."""
    (probe,) = [
        candidate
        for candidate in probes(TABLES)
        if candidate.table.short_name == operator
        and str(candidate.signature) == "FLOAT32"
        and "test_shape_and_position" in candidate.test
    ]
    return bool(probe.run(Bench("x", made(), {}, TABLES), 0).ledger.findings)


@pytest.mark.parametrize(
    ("made", "operator", "flag"),
    [
        (OneWay, "ATAN_YX", False),
        (TwoWays, "ATAN_YX", False),
        (TwoWaysTooFarApart, "ATAN_YX", True),
        (OneWay, "MAX", False),
        (TwoWays, "MAX", True),  # which is exact
    ],
)
@pytest.mark.size("thorough", brief=1)
def test_two_polynomials_are_no_departure_where_each_is_within_its_bound(
    made: type[Reference], operator: str, flag: bool
) -> None:
    assert wrong(made, operator) == flag
