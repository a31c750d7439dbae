"""The law of one operator: what its table, and the shared ones, say to the oracles.

The oracles get their rules from here and nowhere else: the formulas, parsed; the latitudes that act on a type; the
documented casts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.formula import Call, Choice, Expression, MultiplyAdd, Name, Number, choose, parse
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.latitudes import LatitudeName, Latitudes
from dmlcts.specs.models import CastRule, Clause, Latitude, OperatorTable, Tolerance
from dmlcts.specs.tables.fusing import is_about_activation
from dmlcts.specs.tables.signatures import Signature

CastTarget = str
"""A row of the table of casts: "integer", "FLOAT16" or "FLOAT32"."""


@dataclass(frozen=True, eq=False)
class Law:
    """What the tables say about one operator.

    Attributes:
        table: the operator's own table.
        expression: its formula.
        scale_bias: what its ScaleBias does, where it has one.
        latitude_table: the table of latitudes, by name.
        casts: the documented casts, by target.
    """

    table: OperatorTable
    expression: Expression
    scale_bias: MultiplyAdd | None
    latitude_table: Mapping[str, Latitude]
    casts: Mapping[CastTarget, CastRule]
    _found: dict[tuple[DataType, bool], Latitudes] = field(default_factory=dict, init=False, repr=False)
    _expressions: dict[tuple[str, ...], Expression] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def of_one_input(self) -> bool:
        """Whether the oracles of one input answer it, which know ScaleBias and the casts of FLOAT attributes.

        They do where the formula has one input, called x, of the output's type, and holds neither conditions nor casts.
        """
        return self.table.of_x_alone and _without_conditions(self.expression)

    def latitudes(self, data_type: DataType, *, strict: bool) -> Latitudes:
        """The latitudes that clauses of the table list for a type; with ``strict`` those alone that it keeps."""
        key = (data_type, strict)
        if key not in self._found:
            self._found[key] = frozenset(
                name
                for clause in self.table.clauses
                if is_about(clause, data_type, self.table) and is_about_activation(clause, self.table, None)
                for name in clause.latitude
                if not strict or self.latitude_table[name].kept_when_strict
            )
        return self._found[key]

    def expression_for(self, operator: OperatorDesc) -> Expression:
        """The formula with a description's enumerators chosen; no choice is left in it."""
        chosen = tuple(str(operator.attributes[name]) for name in self._enumerations)
        if chosen not in self._expressions:
            self._expressions[chosen] = choose(self.expression, dict(zip(self._enumerations, chosen, strict=True)))
        return self._expressions[chosen]

    @cached_property
    def _enumerations(self) -> tuple[str, ...]:
        return tuple(item.name for item in self.table.attributes if item.type == "ENUM")

    def cast_to(self, data_type: DataType) -> CastRule | None:
        """The documented cast of a FLOAT to a type, or ``None`` where the table of casts has none."""
        return self.casts.get(data_type.name if data_type.is_floating else "integer")

    def tolerance(self, function: str, data_type: DataType, *, strict: bool) -> Tolerance | None:
        """How far a function's result may be from the real number; ``None``: it is rounded once, to nearest."""
        for rule in self.table.accuracy:
            if rule.function == function and data_type.name in rule.data_types:
                return rule.strict if strict else rule.judged
        return None

    def permitted_formulas(
        self, signature: Signature, *, strict: bool
    ) -> tuple[tuple[Expression, Expression | None], ...]:
        """The formulas by which a signature may be computed besides, each with its condition on the inputs or ``None``.

        Where all types are integers there are none: nothing is rounded there, so that no formula is another.
        """
        if not any(data_type.is_floating for _, data_type in signature.types):
            return ()
        names = (*self.table.formula_names, *self.table.numbers)
        return tuple(
            (
                parse(permitted_formula.formula, names, types=self.table.type_variables),
                None if permitted_formula.where is None else parse(permitted_formula.where, names),
            )
            for permitted_formula in self.table.permitted_formulas
            if (permitted_formula.strict or not strict)
            and (not permitted_formula.data_types or signature.data_type.name in permitted_formula.data_types)
        )

    @cached_property
    def named(self) -> dict[LatitudeName, tuple[str, ...]]:
        """The ids of the clauses that list each latitude."""
        clause_ids: dict[LatitudeName, tuple[str, ...]] = {}
        for clause in self.table.clauses:
            for name in clause.latitude:
                clause_ids[name] = (*clause_ids.get(name, ()), clause.id)
        return clause_ids

    def with_expression(self, expression: Expression) -> Law:
        """The same law with another formula."""
        return replace(self, expression=expression)


def selects(expression: Expression) -> bool:
    """Whether a formula gives one of its operands, so that taking it in a wider type changes nothing."""
    match expression:
        case Call(function, arguments):
            return function in FUNCTIONS and FUNCTIONS[function].selects and all(map(selects, arguments))
    return True


def _without_conditions(expression: Expression) -> bool:
    match expression:
        case Name() | Number():
            return True
        case Choice(_, _, then, otherwise):
            return _without_conditions(then) and _without_conditions(otherwise)
        case Call(function, arguments):
            plain = function in FUNCTIONS and FUNCTIONS[function].gives == "T"
            return plain and all(map(_without_conditions, arguments))
    return False


def is_about(clause: Clause, data_type: DataType, table: OperatorTable) -> bool:
    """Whether a clause says something about a type; a type that no support table lists is treated as all others."""
    if clause.data_types == "unlisted":
        return data_type not in table.data_types
    return clause.may_be_about(data_type)
