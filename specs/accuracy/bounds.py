"""How far from the real number the law lets a result be: the farthest acceptable number of one element."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dmlcts.specs.accuracy.exact_reference import FORMATS, decoded, unit_at
from dmlcts.specs.arithmetic.real_number import Enclosure
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.exact_typed import TypedOracle
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.specs.tables.law import Law


def accepted(law: Law, operator: OperatorDesc, elements: Mapping[str, int], *, strict: bool) -> Acceptable:
    """What the exact oracle accepts for one element.

    Args:
        law: what the tables say of the operator.
        operator: the description.
        elements: one element's pattern of each input, by the tensors' names.
        strict: whether ``--strict`` narrows the latitudes and tolerances.
    """
    if law.of_one_input:
        return ExactOracle(law, operator, strict).acceptable(elements[operator.input_name])
    names = {member: name for name, member in law.table.formula_names.items() if member in elements}
    given = {names[member]: bits for member, bits in elements.items()}
    return TypedOracle(law, operator, strict).acceptable(given)


def bound(acceptable: Acceptable, real: Enclosure, kind: DataType) -> Fraction | None:
    """The distance from the real number to the farthest number that is acceptable, in units of the last place there.

    Infinity counts as the power of two beyond the largest number, as in tolerances.

    Args:
        acceptable: what an oracle accepts.
        real: the real result, finite.
        kind: the output's type.

    Returns:
        The distance; ``None`` where any value is acceptable, or no number is.
    """
    if acceptable.any_value:
        return None
    patterns = {*acceptable.patterns, *(end for interval in acceptable.intervals for end in interval)}
    numbers = [number for number in (_number(bits, kind) for bits in patterns) if number is not None]
    if not numbers:
        return None
    ends = (real.low.fraction, real.high.fraction)
    return max(abs(number - end) for number in numbers for end in ends) / unit_at(kind, ends[0])


def _number(bits: int, kind: DataType) -> Fraction | None:
    datum = decoded(bits, kind)
    if datum is None or not datum.infinite:
        return None if datum is None else datum.fraction
    beyond = Fraction(2) ** (FORMATS[kind].max_exponent + 1)
    return -beyond if datum.negative else beyond
