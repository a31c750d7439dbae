"""Which outputs the oracle of a description accepts, whichever its table asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.specs.tables.signatures import Signature, is_approximate
from dmlcts.suites.selftest.family.family_tables import family

Array = np.ndarray[Any, np.dtype[Any]]


def accepted(
    table: OperatorTable, operator: OperatorDesc, values: Mapping[str, Array], output: Array, strict: bool
) -> Any:
    """Which elements of an output are acceptable.

    Args:
        table: the operator's.
        operator: the description.
        values: the elements of the inputs by the formula's names, 1-D.
        output: the output's, 1-D.
        strict: whether ``--strict`` is on.
    """
    law = family().law(table)
    if law.of_one_input:
        return VectorOracle(law, operator, strict=strict).acceptance(values["x"]).admits(output)
    if is_approximate(table, Signature.of(operator, table)):
        return ApproximateVectorOracle(law, operator, strict=strict).acceptance(values).admits(output)
    typed = TypedVectorOracle(law, operator, strict=strict)
    return typed.acceptance(values).admits(output.view(typed.output.numpy))
