"""Descriptions of the exact operators accepted that must be refused, and refused that a level obliges to accept.

One mutant for each clause of each table that says something of descriptions, made from the table itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dmlcts.specs import FeatureLevel, OperatorDesc
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable, SupportTable
from dmlcts.specs.rules import violations
from dmlcts.specs.tables.signatures import unlisted_beside
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL, named
from dmlcts.suites.mutants.reference import Reference

OVERLOOKED = {
    "constraint.data-type": ("constraint.data-type", "support.unlisted", "support.later-level"),
    "constraint.dimension-count": ("constraint.dimension-count", "constraint.sizes", "support.later-level"),
    "constraint.sizes": ("constraint.sizes",),
    "constraint.type-pair": ("constraint.type-pair", "support.unlisted", "support.later-level"),
    "constraint.attribute-type": ("constraint.attribute-type",),
}


class _Overlooking(Reference):
    """Descriptions that break only the rules of :attr:`overlooked` are accepted."""

    level = LEVEL
    overlooked: tuple[str, ...] = ()

    def refuses(self, operator: OperatorDesc) -> str:
        """For every other rule."""
        if operator.name != self.operator:
            return super().refuses(operator)
        rule_violations = violations(operator, FeatureLevel(self.level), load_tables())
        return "; ".join(violation.text for violation in rule_violations if violation.clause not in self.overlooked)


class _Refusing(Reference):
    """What a level adds is refused, though it is claimed."""

    level = LEVEL
    support: SupportTable
    table: OperatorTable

    def refuses(self, operator: OperatorDesc) -> str:
        """What only this level's row lists."""
        if operator.name == self.operator:
            tensors = {name: (tensor.data_type, tensor.rank) for name, tensor in operator.tensors.items()}
            below = [support for support in self.table.support if support.feature_level < self.support.feature_level]
            levels = [FeatureLevel(support.level) for support in below]
            listed = self.table.supports(tensors, self.support.feature_level)
            if listed and not any(self.table.supports(tensors, level) for level in levels):
                return "not supported"
        return super().refuses(operator)


class _Accepting(_Overlooking):
    """What need not be supported is accepted, and every element comes out as 1."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """1 throughout, where it could have been refused."""
        if operator.name == self.operator and Reference.refuses(self, operator):
            return np.ones_like(inputs[0])
        return super().compute_exact(operator, inputs)


class _AcceptingBeside(_Accepting):
    """The same where only the tensors of one further type variable hold what need not be supported."""

    members: tuple[str, ...] = ()

    def refuses(self, operator: OperatorDesc) -> str:
        """Unlisted types of other tensors."""
        if operator.name == self.operator:
            table = load_tables().operator(operator.name)
            odd = [name for name, tensor in operator.tensors.items() if tensor.data_type not in table.types_of(name)]
            if not set(odd) <= set(self.members):
                return f"{odd[0]} holds an unlisted type"
        return super().refuses(operator)


def means_nothing(table: OperatorTable) -> bool:
    """Whether nothing says what is right on any type that no level lists."""
    if not table.accuracy:
        return False
    unlisted = [known_type for known_type in load_tables().known_types if known_type not in table.data_types]
    functions = [FUNCTIONS[row.function] for row in table.accuracy]
    return not any(all(function.means(data_type) for function in functions) for data_type in unlisted)


def _made(name: str, base: type[Reference], description: str, **members: Any) -> type[Reference]:
    return type(name, (base,), {"__doc__": description, "__module__": __name__, **members})


def of_table(table: OperatorTable) -> Iterator[type[Reference]]:
    """The mutants of a table's clauses."""
    pairs = tuple(clause.id for clause in table.checked_by("constraint.type-pair"))  # unlisted types make none
    for clause in table.clauses:
        about: Mapping[str, Any] = {"operator": table.operator, "clause": clause.id}
        if clause.check in OVERLOOKED:
            ids = tuple(other.id for check in OVERLOOKED[clause.check] for other in table.checked_by(check))  # type: ignore[arg-type]  # its keys are checks
            description = f"{table.short_name} does not look at the rule: {clause.text}"
            yield _made(named(clause, "Overlooked"), _Overlooking, description, overlooked=ids, **about)
        elif clause.check == "support.level":
            support = next(candidate for candidate in table.support if candidate.level == clause.level)
            description = f"{table.short_name} refuses what level {support.level} adds."
            yield _made(named(clause, "Refused"), _Refusing, description, support=support, table=table, **about)
        elif clause.check == "support.unlisted" and means_nothing(table):
            continue
        elif clause.check in ("support.unlisted", "support.later-level"):
            first = table.introduced if len(table.support) > 1 else "1.0"  # a later one only from below
            level = first if clause.check == "support.later-level" else LEVEL
            description = f"{table.short_name} accepts what it need not and gives 1: {clause.text}"
            made = _made(
                named(clause, "AcceptedWrongly"), _Accepting, description, overlooked=(clause.id, *pairs), **about
            )
            made.level = level
            yield made
        if clause.check == "support.unlisted":
            for variable in unlisted_beside(table, load_tables().known_types):
                members = tuple(name for name, row in table.tensors.items() if row.type == variable)
                description = (
                    f"{table.short_name} accepts types of {members[0]} that it need not and gives 1: {clause.text}"
                )
                name = named(clause, f"AcceptedWronglyAs{members[0]}")
                yield _made(
                    name, _AcceptingBeside, description, overlooked=(clause.id, *pairs), members=members, **about
                )


MADE = {
    made.__name__: made
    for table in load_tables().operators.values()
    if table.short_name not in ("CLIP", "ROUND", "THRESHOLD")
    for made in of_table(table)
}

globals().update(MADE)
