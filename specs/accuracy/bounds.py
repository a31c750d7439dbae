"""How far from the real number the law lets a result be, at elements and those next to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.accuracy.array_reference import ArrayReference, units_in
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.oracle.outcome import Acceptance
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.specs.tables.law import Law
from dmlcts.specs.tables.signatures import Signature, is_approximate

_NEIGHBOURS = np.arange(-8, 9)

Array = NDArray[Any]


def accepted(law: Law, operator: OperatorDesc, inputs: Mapping[str, Array], *, strict: bool) -> Acceptance:
    """What the vectorised oracle accepts for each element.

    Args:
        law: what the tables say of the operator.
        operator: the description.
        inputs: 1-D arrays of one length, by the tensors' names, of the tensors' types.
        strict: whether ``--strict-ieee`` narrows the latitudes and tolerances.
    """
    if law.of_one_input:
        return VectorOracle(law, operator, strict=strict).acceptance(inputs[operator.input_name])
    names = {member: name for name, member in law.table.formula_names.items() if member in inputs}
    named_inputs = {names[member]: array for member, array in inputs.items()}
    if is_approximate(law.table, Signature.of(operator, law.table)):
        return ApproximateVectorOracle(law, operator, strict=strict).acceptance(named_inputs)
    return TypedVectorOracle(law, operator, strict=strict).acceptance(named_inputs)


def reach(law: Law, operator: OperatorDesc, inputs: Mapping[str, Array], *, strict: bool) -> NDArray[np.float64]:
    """The distances from the real numbers to the farthest acceptable ones, in units of the last place there.

    A tolerance of one unit reaches half a unit only where the next number lies just beyond it: what is given for an
    element is the most of it and of the sixteen beside it, with the first input's pattern up to eight less or more.
    Infinity counts as the power of two beyond the largest number.

    Args:
        law: what the tables say of the operator.
        operator: the description.
        inputs: 1-D arrays of one length, by the tensors' names, of the tensors' types.
        strict: whether ``--strict-ieee`` narrows the latitudes and tolerances.

    Returns:
        The distances; NaN where any value is acceptable, or no number is.
    """
    name, first = next(iter(inputs.items()))
    kind = operator.tensors[name].data_type
    patterns = first.view(kind.bits_dtype)[:, None] + _NEIGHBOURS.astype(kind.bits_dtype)[None, :]
    near = {other: np.repeat(array, _NEIGHBOURS.size) for other, array in inputs.items()}
    near[name] = patterns.reshape(-1).view(kind.numpy)
    distances = _reach(law, operator, near, strict=strict).reshape(first.size, _NEIGHBOURS.size)
    own = distances[:, _NEIGHBOURS.size // 2]
    most = np.max(np.where(np.isnan(distances), -1.0, distances), axis=1)
    return np.where(np.isnan(own), np.nan, most)


def _reach(law: Law, operator: OperatorDesc, inputs: Mapping[str, Array], *, strict: bool) -> NDArray[np.float64]:
    real, _ = ArrayReference(law, operator).result(inputs)
    kind = operator.output.data_type
    with np.errstate(all="ignore"):
        acceptance = accepted(law, operator, inputs, strict=strict)
        ends = [*acceptance.alternatives, *(end for span in acceptance.spans for end in span)]
        distances = [np.abs(_numbers(end, kind) - real) for end in ends]
        farthest = np.fmax.reduce([np.where(np.isfinite(distance), distance, np.nan) for distance in distances])
        farthest = farthest * units_in(kind, real)
    if acceptance.any_value is not None:
        farthest = np.where(acceptance.any_value, np.nan, farthest)
    return np.asarray(np.where(np.isfinite(real), farthest, np.nan))


def _numbers(end: Array, kind: DataType) -> NDArray[np.float64]:
    wide = end.astype(np.float64)
    if not kind.is_floating:
        return wide
    beyond = 2.0 ** int(np.finfo(kind.numpy).maxexp)
    return np.where(np.isinf(wide), np.copysign(beyond, wide), wide)
