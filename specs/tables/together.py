"""All spec tables together, with the look-ups that the rest of the project needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dmlcts.specs.checks import COMPARED_OPERATORS
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.errors import UsageError
from dmlcts.specs.formula import multiply_add, parse
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models import Activation, CastRule, Clause, FactorsTable, Latitude, OperatorTable, RulesTable, Source
from dmlcts.specs.spelling import did_you_mean, likely
from dmlcts.specs.tables.fusing import flattened, fused_attribute, fused_table
from dmlcts.specs.tables.law import Law
from dmlcts.specs.tables.signatures import unlisted_beside

_MOST_KNOWN = 1 << 14

RelationLevel = Callable[[OperatorTable, Clause, DataType], FeatureLevel | None]


def _of_no_relation(operator: OperatorTable, clause: Clause, data_type: DataType) -> FeatureLevel | None:
    return None


@dataclass(frozen=True)
class Tables:
    """The tables that a run rests on.

    Attributes:
        operators: operator table by ``OperatorDesc`` name ("ELEMENT_WISE_CLIP").
        rules: the rules that all operators share.
        latitudes: latitude by name.
        digests: SHA-256 of every table's bytes, by file name ("operators/clip.yaml").
        factors: what a case varies; ``None`` where no such table was loaded.
        casts: the documented casts of FLOAT attributes, by target.
        known_types: the element types that the table of data types lists.
        activations: what may be fused to an operator that takes an activation, by ``OperatorDesc`` name
            ("ACTIVATION_RELU").
        relation_level: the lowest level that obliges an implementation to every operator of a relation, on a type.
    """

    operators: Mapping[str, OperatorTable]
    rules: tuple[RulesTable, ...]
    latitudes: Mapping[str, Latitude]
    digests: Mapping[str, str]
    factors: FactorsTable | None = None
    casts: Mapping[str, CastRule] = field(default_factory=dict)
    known_types: tuple[DataType, ...] = tuple(DataType)
    activations: Mapping[str, Activation] = field(default_factory=dict)
    relation_level: RelationLevel = field(default=_of_no_relation, compare=False)

    def operator(self, name: str) -> OperatorTable:
        """The table of an operator, by its full name or by the short one ("CLIP"), in any case.

        Raises:
            UsageError: no table describes it; the message names the one that was probably meant, or lists all.
        """
        if name in self.operators:
            return self.operators[name]
        written = name.upper().removeprefix("DML_").removeprefix("OPERATOR_")
        for candidate in (written, f"ELEMENT_WISE_{written}"):
            if candidate in self.operators:
                return self.operators[candidate]
        known = [table.short_name for table in self.operators.values()]
        cause = f"no table describes the operator {name!r}"
        if meant := likely(written.removeprefix("ELEMENT_WISE_"), [*known, *self.groups]):
            raise UsageError(cause, f"did you mean {meant}? `dmlcts spec show` lists the operators and groups")
        groups = f", or a group: {', '.join(self.groups)}" if self.groups else ""
        raise UsageError(cause, f"choose one of {', '.join(known)}{groups}")

    @cached_property
    def groups(self) -> dict[str, tuple[OperatorTable, ...]]:
        """The operators of each group, by its name, in the order of their names."""
        tables_by_group: dict[str, tuple[OperatorTable, ...]] = {}
        for table in self.operators.values():
            for group in table.groups:
                tables_by_group[group] = (*tables_by_group.get(group, ()), table)
        return dict(sorted(tables_by_group.items()))

    def selected(self, name: str) -> tuple[OperatorTable, ...]:
        """The operators that a user means: one by its name, or a group's, in any case.

        Raises:
            UsageError: there is neither such an operator nor such a group.
        """
        group = self.groups.get(name.lower())
        if group is not None:
            return group
        return (self.operator(name),)

    @cached_property
    def limits(self) -> dict[str, int]:
        """Every numeric limit of the shared rules, by name."""
        return {name: value for rules in self.rules for name, value in rules.limits.items()}

    @cached_property
    def _clauses(self) -> dict[str, tuple[Clause, OperatorTable | RulesTable]]:
        owners: list[OperatorTable | RulesTable] = [*self.operators.values(), *self.rules]
        return {clause.id: (clause, owner) for owner in owners for clause in owner.clauses}

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """Every clause, operators first, in the order of the tables."""
        return tuple(clause for clause, _ in self._clauses.values())

    def clause(self, identifier: str) -> Clause:
        """The clause with this id.

        Raises:
            UsageError: there is none.
        """
        if identifier not in self._clauses:
            raise UsageError(f"no clause {identifier!r}", self.clause_mend(identifier))
        return self._clauses[identifier][0]

    def clause_mend(self, written: str, sign: str = "") -> str:
        """What to do about an id or a pattern of clauses that fits none: the likely id, and where all are listed.

        Args:
            written: the id or pattern.
            sign: what stood before it, and has to stand before the likely id.
        """
        mend = "`dmlcts run --list -v` lists the clauses"
        return did_you_mean(sign + written, [sign + identifier for identifier in self._clauses], mend)

    def applied_operators(self, identifier: str) -> tuple[str, ...]:
        """The operators that a clause's relation applies: SIGN and NEGATE of ``SIGN(NEGATE(x)) == -SIGN(x)``.

        Returns:
            Short names in their order; none for a clause that is no relation, or that no table holds. Of a check that
            is about another operator by its name, that operator.
        """
        clause = self._clauses[identifier][0] if identifier in self._clauses else None
        for check, other in COMPARED_OPERATORS.items():
            if clause is not None and clause.check == check:
                return (other,)
        names = re.findall(r"\b([A-Z][A-Z0-9_]*)\(", (clause and clause.holds) or "")
        return tuple(dict.fromkeys(name for name in names if f"ELEMENT_WISE_{name}" in self.operators))

    def owner(self, identifier: str) -> OperatorTable | RulesTable:
        """The table that the clause stands in."""
        self.clause(identifier)
        return self._clauses[identifier][1]

    def source(self, identifier: str) -> Source:
        """The document that the clause with this id rests on: its quotation's, or the first it names."""
        clause = self.clause(identifier)
        wanted = clause.quotation.source if clause.quotation else clause.sources[0]
        return next(source for source in self.owner(identifier).sources if source.id == wanted)

    def data_types(self, clause: Clause, operator: OperatorTable) -> tuple[DataType, ...]:
        """The element types for which ``clause`` says something about ``operator``."""
        if clause.data_types == "unlisted":
            unlisted = tuple(data_type for data_type in self.known_types if data_type not in operator.data_types)
            beside = operator.data_types if unlisted_beside(operator, self.known_types) else ()
            return (*unlisted, *beside)
        listed = operator.data_types
        if clause.level is not None:
            listed = next(table for table in operator.support if table.level == clause.level).data_types
        return tuple(data_type for data_type in listed if clause.may_be_about(data_type))

    def clauses_of(self, operator: OperatorTable) -> tuple[Clause, ...]:
        """The operator's own clauses, then the shared ones."""
        return (*operator.clauses, *self._shared)

    @cached_property
    def _shared(self) -> tuple[Clause, ...]:
        return tuple(clause for rules in self.rules for clause in rules.clauses)

    def checked_by(self, operator: OperatorTable, check: str) -> tuple[Clause, ...]:
        """Those of the operator's own clauses and of the shared ones that a check checks, in their order."""
        known = self._checked.get(operator.operator)
        if known is None or known[0] is not operator:
            clauses_by_check: dict[str, list[Clause]] = {}
            for clause in self.clauses_of(operator):
                clauses_by_check.setdefault(clause.check, []).append(clause)
            known = self._checked[operator.operator] = (
                operator,
                {name: tuple(clauses) for name, clauses in clauses_by_check.items()},
            )
        return known[1].get(check, ())

    @cached_property
    def _checked(self) -> dict[str, tuple[OperatorTable, dict[str, tuple[Clause, ...]]]]:
        return {}

    @cached_property
    def known_right(self) -> set[Hashable]:
        """What :meth:`note_right` noted: the same few kinds are asked for with every description."""
        return set()

    def note_right(self, kind: Hashable) -> None:
        """Note something about a kind of descriptions that is right whatever their sizes."""
        if len(self.known_right) >= _MOST_KNOWN:
            self.known_right.clear()
        self.known_right.add(kind)

    @cached_property
    def last_wrong(self) -> dict[FeatureLevel, tuple[OperatorDesc, Any]]:
        """The last wrong description and the rules that it breaks, by the level.

        :func:`dmlcts.specs.rules.violations.violations` writes it.
        """
        return {}

    def obliged(self, clause: Clause, operator: OperatorTable, level: FeatureLevel) -> tuple[DataType, ...]:
        """The element types for which ``level`` obliges an implementation of ``operator`` to fulfil ``clause``."""
        if clause.level is not None and FeatureLevel(clause.level) > level:
            return ()
        supported = {data_type for table in operator.support_at(level) for data_type in table.data_types}
        types = self.data_types(clause, operator)
        if clause.data_types == "unlisted":
            listed = set(operator.data_types)
            return (
                tuple(candidate for candidate in types if candidate in supported or candidate not in listed)
                if supported
                else ()
            )
        data_types = tuple(data_type for data_type in types if data_type in supported)
        if clause.check != "relation":
            return data_types
        lowest = {data_type: self.relation_level(operator, clause, data_type) for data_type in data_types}
        return tuple(data_type for data_type, least in lowest.items() if least is not None and least <= level)

    @cached_property
    def _laws(self) -> dict[str, Law]:
        return {}

    def law(self, operator: OperatorTable) -> Law:
        """What the tables say of an operator, for the oracles."""
        known = self._laws.get(operator.operator)
        if known is None or known.table is not operator:
            known = self._laws[operator.operator] = self._made(operator)
        return known

    def fused(self, operator: OperatorDesc) -> tuple[Law, OperatorDesc]:
        """What the tables say of a description, with an activation fused to it, and the description for the oracles.

        The law is that of one operator whose formula is the activation's around the operator's own, and the description
        has the activation's numbers among its attributes.

        Raises:
            UsageError: no table describes the operator, or the activation that is fused to it, or it takes none.
        """
        table, activation = self.operator(operator.name), operator.activation
        if activation is None:
            return self.law(table), operator
        if fused_attribute(table) is None or activation.name not in self.activations:
            known = ", ".join(candidate.short_name for candidate in self.activations.values()) or "none"
            raise UsageError(f"{table.short_name} cannot be given {activation.name}", f"known activations: {known}")
        key = f"{table.operator} {activation.name}"
        known_law = self._laws.get(key)
        if known_law is None:
            known_law = self._laws[key] = self._made(fused_table(table, self.activations[activation.name]))
        return known_law, flattened(operator)

    def _made(self, operator: OperatorTable) -> Law:
        enumerations = {item.name: item.enumerators for item in operator.attributes if item.type == "ENUM"}
        formulas = [item.formula for item in operator.attributes if item.formula is not None]
        return Law(
            operator,
            parse(
                operator.formula, (*operator.formula_names, *operator.numbers), enumerations, operator.type_variables
            ),
            multiply_add(formulas[0]) if formulas else None,
            self.latitudes,
            self.casts,
        )
