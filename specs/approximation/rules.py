"""The rules of a table about approximate results, parsed: bounds, conditions, and the readings of the formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScaleBias
from dmlcts.specs.errors import UsageError
from dmlcts.specs.formula import Expression, parse
from dmlcts.specs.models import Tolerance
from dmlcts.specs.tables.law import Law
from dmlcts.specs.tables.signatures import Signature, is_approximate

ARGUMENTS = ("x", "y")
"""What a bound calls the arguments of the function that it is about."""

NAMES = (*ARGUMENTS, "t", "ulp")
"""What a bound may be an expression of: the arguments, the real result, and the spacing of numbers there."""


@lru_cache(maxsize=512)
def bound(text: str) -> Expression:
    """A bound, or a condition, that is an expression.

    Raises:
        FormulaError: it is none.
    """
    return parse(text, NAMES)


def bounds_of(tolerance: Tolerance) -> Iterator[tuple[str, float | Expression]]:
    """The bounds that a tolerance names, parsed: "ulp", "relative" or "absolute", and how much."""
    for name in ("ulp", "relative", "absolute"):
        amount = getattr(tolerance, name)
        if amount is not None:
            yield name, bound(amount) if isinstance(amount, str) else float(amount)


def factor_of(tolerance: Tolerance) -> float | Expression | None:
    """What a tolerance lets the real result be multiplied with or divided by, parsed."""
    amount = tolerance.factor
    return bound(amount) if isinstance(amount, str) else amount


def leaves_nan_open(tolerance: Tolerance | None) -> bool:
    """Whether a rule says itself that it is about no NaN (``not is_nan(x)``), and so leaves open what one gives."""
    return tolerance is not None and tolerance.within is not None and "is_nan(" in tolerance.within


_WIDER = {DataType.FLOAT16: DataType.FLOAT32, DataType.FLOAT32: DataType.FLOAT64}


@dataclass(frozen=True)
class Reading:
    """One way to compute a formula.

    Attributes:
        expression: the formula, without choices of enumerators.
        where: the condition on the inputs under which it counts, or ``None``.
        widened: the type that is computed in a wider one and converted at the end: FLOAT16 in FLOAT32, or FLOAT32 in
            FLOAT64; ``None`` where each is computed in itself.
    """

    expression: Expression
    where: Expression | None
    widened: DataType | None

    def computing(self, data_type: DataType) -> DataType:
        """The type in which values of a type are computed."""
        return _WIDER[data_type] if data_type is self.widened else data_type


def readings(law: Law, expression: Expression, signature: Signature, *, strict: bool) -> tuple[Reading, ...]:
    """Every way in which a description's results may be computed: its own formula, and those permitted besides.

    Args:
        law: what the tables say of the operator.
        expression: its formula, without choices.
        signature: the types.
        strict: leave the ways that ``--strict-ieee`` keeps.
    """
    formulas = [(expression, None), *law.permitted_formulas(signature, strict=strict)]
    types = {data_type for _, data_type in signature.types}
    ways: list[DataType | None] = [None]
    if DataType.FLOAT16 in types and "float16-intermediate" in law.latitudes(signature.data_type, strict=False):
        ways.append(DataType.FLOAT16)
    if DataType.FLOAT32 in types and "wider-activation" in law.latitudes(signature.data_type, strict=strict):
        ways.append(DataType.FLOAT32)
    return tuple(Reading(formula, where, widened) for formula, where in formulas for widened in ways)


class DescribedResults:
    """What both oracles of approximate results read from the tables alike; what they compute of it is their own.

    Args:
        law: what the tables say of the operator.
        operator: the description; its tensors say which types the type variables stand for.
        strict: whether the strict tolerances count, and only the latitudes that ``--strict-ieee`` keeps.

    Raises:
        UsageError: no accuracy rule is about the description's types.
    """

    def __init__(self, law: Law, operator: OperatorDesc, strict: bool = False) -> None:
        self.law, self.table, self.operator, self.strict = law, law.table, operator, strict
        self.scale_bias = next(
            (attribute for attribute in operator.attributes.values() if isinstance(attribute, ScaleBias)), None
        )
        self.signature = Signature.of(operator, law.table)
        if not is_approximate(law.table, self.signature):
            raise UsageError(f"{operator.name} is exact on {self.signature}", "ask the oracle of exact results")
        self.latitudes = law.latitudes(self.signature.data_type, strict=strict)
        self.types = dict(self.signature.types)
        self.output = self.types[self.table.tensors[self.table.output].type]
        self.readings = readings(law, law.expression_for(operator), self.signature, strict=strict)
