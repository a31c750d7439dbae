"""The clause that a value breaks which is wrong by itself, where its element decides on that.

A test of what happens at zeros, NaN or subnormals, or to integers that FLOAT32 does not count, has others beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, ScalarUnion
from dmlcts.suites.attribution.simpler import subject_of
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Array
from dmlcts.suites.combinations.magnitudes import in_exact_domain
from dmlcts.suites.judging.findings import Finding, streams_of


def _tiny(numbers: NDArray[np.float64], data_type: DataType) -> NDArray[np.bool_]:
    """Subnormal or zero, or the smallest normal number, which is kept where flushing ends."""
    return np.abs(numbers) <= float(np.finfo(data_type.numpy).smallest_normal)


_POINTS: Mapping[str, Callable[[NDArray[np.float64], DataType], NDArray[np.bool_]]] = {
    "zero-sign": lambda numbers, _: numbers == 0,
    "nan.input": lambda numbers, _: np.isnan(numbers),
    "subnormal": _tiny,
}
"""By the checks of clauses on special values: whether one of the numbers is such."""


def of_its_value(bench: Bench, finding: Finding) -> Finding:
    """A wrong value under the clause that its element is about.

    The clause with ``check: scale-bias.integer`` is about what integers and FLOAT32 share: a whole scale and bias,
    and an element, a product and a result that the type holds and FLOAT32 counts one by one. All else is about
    ``scale-bias.integer-inexact``. A clause on the sign of zero is about elements, bounds and results that are zero,
    one on NaN and one on subnormals likewise; another value that is wrong in its test breaks the clause on values.
    """
    case = finding.case
    if not finding.wrong:
        return finding
    clause = _of_scaled_integer(bench, finding) or _of_special_value(bench, finding)
    if clause is None or clause == finding.clause:
        return finding
    return replace(finding, clause=clause, case=replace(case, clause=clause))


def _of_scaled_integer(bench: Bench, finding: Finding) -> str | None:
    case = finding.case
    table = bench.tables.operator(case.operator.name)
    exact, inexact = table.clause_of("scale-bias.integer"), table.clause_of("scale-bias.integer-inexact")
    scale_bias = case.operator.scale_bias
    if exact is None or inexact is None or finding.clause not in (exact, inexact) or scale_bias is None:
        return None
    if case.data_type.is_floating:
        return None
    value = int(next(iter(_elements(finding).values()))[0])
    return exact if in_exact_domain(value, scale_bias, case.data_type) else inexact


def _of_special_value(bench: Bench, finding: Finding) -> str | None:
    """The clause on values, where the element is none that the clause is about."""
    case = finding.case
    special = _POINTS.get(bench.tables.clause(case.clause).check)
    if special is None or finding.clause != case.clause or not case.data_type.is_floating:
        return None
    inputs = _elements(finding)
    acceptance = bench.oracle(case.operator).acceptance(inputs)
    results = [acceptance.alternatives, *acceptance.spans]
    numbers = [*inputs.values(), *_numbers_given(case), *(array for arrays in results for array in arrays)]
    flat_numbers = np.concatenate([np.atleast_1d(array).astype(np.float64) for array in numbers])
    if special(flat_numbers, case.data_type).any():
        return None
    return subject_of(bench, case).values_clause(case.operator.attributes)


def _elements(finding: Finding) -> dict[str, Array]:
    """The inputs' elements that the finding is about, by the tensors' names."""
    case = finding.case
    values = streams_of(case, finding.suspects[0]) if finding.suspects else case.values
    return {name: stream.array(1) for name, stream in values.items()}


def _numbers_given(case: Case) -> list[Array]:
    """The numbers among the attributes: bounds, of the tensors' type or FLOAT."""
    attribute_values = (
        attribute.value if isinstance(attribute, ScalarUnion) else attribute
        for attribute in case.operator.attributes.values()
    )
    return [np.asarray(number) for number in attribute_values if isinstance(number, np.generic)]
