"""The table of one operator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models.accuracy import AccuracyRule, PermittedFormula
from dmlcts.specs.models.base import (
    ClauseId,
    DataTypeName,
    Identifier,
    LevelName,
    Model,
    Source,
    Text,
    TypeVariable,
    Word,
)
from dmlcts.specs.models.clauses import Clause
from dmlcts.specs.models.support import MAIN, SupportRow, SupportTable


class StructField(Model):
    """A member of the operator's C struct, in order."""

    name: Identifier
    type: Text = Field(description="the C type as the page writes it, without annotations")


class TensorRow(Model):
    """A tensor of the operator, by the name of its member in the C struct."""

    kind: Literal["input", "output"]
    type: TypeVariable = Field(description="the type variable that its data type is")
    name: Identifier | None = Field(None, description="what the formula calls it; for inputs")
    optional: bool = Field(False, description="may it be left out?")
    absent: float | None = Field(None, description="for an optional input: the value the formula takes without it")
    nonzero: bool = Field(
        False, description="what 0 does is undefined; it is never tried, nor a subnormal, which may be taken for 0"
    )
    elements: Literal["one"] | None = Field(None, description="`one`: it holds a single element, for all of the others")
    may_alias: tuple[Identifier, ...] = Field((), description="for the output: the inputs whose memory it may be")
    at_once: Literal["one", "several"] | None = Field(
        None, description="where it may alias several inputs: `one` of them, or `several` at once (`one or more of`)"
    )


class ConstraintGroup(Model):
    """What some of the tensors must have in common."""

    same: tuple[Literal["DataType", "DimensionCount", "Sizes"], ...] = Field(min_length=1)
    tensors: tuple[Identifier, ...] = Field(min_length=2)
    counting: dict[DataTypeName, DataTypeName] = Field(
        default_factory=dict,
        description="of DataType, where types need not be equal: types of the first tensor, each with the type that "
        "goes with it; its clause has `check: constraint.type-pair`",
    )


class AttributeTable(Model):
    """An attribute: a number, the type of numbers, the optional scale and bias, or an enumeration."""

    name: Identifier
    type: Literal[
        "FLOAT",
        "INT",
        "UINT",
        "BOOL",
        "ENUM",
        "DML_SCALE_BIAS",
        "DML_SCALAR_UNION",
        "DML_TENSOR_DATA_TYPE",
        "DML_OPERATOR_DESC",
    ]
    cast: Literal["documented", "undocumented"] | None = Field(
        None, description="FLOAT only: does the page document its cast to the tensor's type?"
    )
    role: Literal["low", "high", "other"] | None = Field(
        None, description="of a number, what it is for: a lower or an upper bound, or something else"
    )
    data_type: Identifier | None = Field(
        None, description="DML_SCALAR_UNION only: the struct's DML_TENSOR_DATA_TYPE member that says which it is"
    )
    same_as: Identifier | None = Field(
        None, description="DML_TENSOR_DATA_TYPE only: the tensor whose data type it has to be"
    )
    formula: Text | None = Field(None, description="DML_SCALE_BIAS only: what it does to x")
    enumerators: tuple[Identifier, ...] = Field((), description="ENUM only: in the header's order, from 0")

    @property
    def is_number(self) -> bool:
        """Whether it is a number, which a formula may use."""
        return self.type not in ("ENUM", "DML_SCALE_BIAS", "DML_TENSOR_DATA_TYPE", "DML_OPERATOR_DESC")


class Example(Model):
    """Official vectors: inputs and the outputs a page gives for them."""

    clause: ClauseId
    source: Word
    types: dict[TypeVariable, DataTypeName] = Field(
        default_factory=dict, description="the data types that the page gives them for; none: every listed one"
    )
    attributes: dict[Identifier, Identifier | float] = Field(default_factory=dict)
    inputs: tuple[float, ...] | dict[Identifier, tuple[float, ...]] = Field(
        description="of one input its elements, of several each one's by the name that the formula has for it"
    )
    outputs: tuple[float, ...]


def _named(value: object) -> object:
    """An attribute as clauses name it: an activation by its name."""
    return value.name if isinstance(value, OperatorDesc) else value


class OperatorTable(Model):
    """One operator, from one page."""

    format: Literal["dmlcts/operator/2"]
    operator: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
    code: int = Field(ge=1, description="DML_OPERATOR_TYPE's number")
    introduced: LevelName
    summary: Text
    groups: tuple[Word, ...] = Field((), description="the groups of operators that it belongs to, for `--operator`")
    sources: tuple[Source, ...] = Field(min_length=1)
    struct: tuple[StructField, ...] = Field(min_length=2)
    tensors: dict[Identifier, TensorRow] = Field(min_length=2, description="in the struct's order")
    attributes: tuple[AttributeTable, ...] = ()
    constraints: tuple[ConstraintGroup, ...] = ()
    support: tuple[SupportTable, ...] = Field(min_length=1, description="highest level first")
    formula: Text = Field(description="the operator in the expression language, of inputs and attributes")
    domain: Literal["number", "bits"] = Field(
        "number", description="`bits`: tensors are patterns, read as unsigned integers of their width"
    )
    accuracy: tuple[AccuracyRule, ...] = Field((), description="where results are approximate")
    permitted_formulas: tuple[PermittedFormula, ...] = Field((), description="how it may be computed besides")
    page_formula: Text | None = Field(None, description="the formula as the page prints it, if it does")
    clauses: tuple[Clause, ...] = Field(min_length=1)
    examples: tuple[Example, ...] = ()

    @property
    def short_name(self) -> str:
        """The name people use: CLIP for ELEMENT_WISE_CLIP."""
        return self.operator.removeprefix("ELEMENT_WISE_")

    @property
    def prefix(self) -> str:
        """What the operator's clause ids begin with: ``clip`` for ELEMENT_WISE_CLIP."""
        return self.short_name.lower().replace("_", "-")

    def checked_by(self, check: OwnCheck) -> tuple[Clause, ...]:
        """The operator's own clauses that ``check`` checks, in the table's order."""
        known = self._checked_by.get(check)
        if known is None or known[0] is not self.clauses:  # a copy with other clauses has the original's answers
            clauses = tuple(clause for clause in self.clauses if clause.check == check)
            known = self._checked_by[check] = self.clauses, clauses
        return known[1]

    @cached_property
    def _checked_by(self) -> dict[str, tuple[object, tuple[Clause, ...]]]:
        """What :meth:`checked_by` answered: the same few are asked with every case."""
        return {}

    def clause_of(
        self,
        *checks: OwnCheck,
        data_type: DataType | None = None,
        types: Mapping[str, DataType] | None = None,
        **enumerators: object,
    ) -> str | None:
        """The id of the clause that the first of ``checks`` which the table knows checks, or ``None``.

        Args:
            checks: what checks it, in order of preference.
            data_type: a type; a clause that is about floating-point types or integers alone, or about some types by
                name, and not about this one is passed over.
            types: what the type variables stand for; a clause that is about others is passed over.
            enumerators: attributes of a description; a clause that is about other enumerators, or activations, is
                passed over.
        """
        for check in checks:
            for clause in self.checked_by(check):
                if data_type is not None and not clause.may_be_about(data_type, types):
                    continue
                if all(_named(enumerators.get(name, wanted)) == wanted for name, wanted in clause.when.items()):
                    return clause.id
        return None

    @cached_property
    def data_types(self) -> tuple[DataType, ...]:
        """Every element type that any support table lists, in the newest table's order."""
        seen: dict[DataType, None] = {}
        for table in self.support:
            seen.update(dict.fromkeys(table.data_types))
        return tuple(seen)

    def attribute(self, name: str) -> AttributeTable | None:
        """The attribute called ``name``, or ``None``."""
        return next((attribute for attribute in self.attributes if attribute.name == name), None)

    @cached_property
    def float_attributes(self) -> tuple[str, ...]:
        """The names of the FLOAT attributes (Min, Max), in the struct's order."""
        return tuple(attribute.name for attribute in self.attributes if attribute.type == "FLOAT")

    def bound(self, role: Literal["low", "high"]) -> str | None:
        """The name of the number that is a lower or an upper bound (CLIP's Min, Max), or ``None``."""
        return next((item.name for item in self.attributes if item.is_number and item.role == role), None)

    @cached_property
    def lower(self) -> str | None:
        """The name of the lower bound, or ``None``."""
        return self.bound("low")

    @cached_property
    def upper(self) -> str | None:
        """The name of the upper bound, or ``None``."""
        return self.bound("high")

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The names of the attributes that are numbers, which a formula may use, in the struct's order."""
        return tuple(item.name for item in self.attributes if item.is_number)

    @cached_property
    def type_attributes(self) -> tuple[AttributeTable, ...]:
        """The attributes that have to be a tensor's data type, in the struct's order."""
        return tuple(item for item in self.attributes if item.same_as is not None)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the input tensors' members, in the struct's order."""
        return tuple(name for name, row in self.tensors.items() if row.kind == "input")

    @cached_property
    def wide_inputs(self) -> tuple[str, ...]:
        """The names of the inputs that always have as many elements as the output."""
        wanted = (name for name in self.inputs if self.tensors[name].elements is None)
        return tuple(name for name in wanted if not self.tensors[name].optional)

    @cached_property
    def output(self) -> str:
        """The name of the output tensor's member."""
        return next(name for name, row in self.tensors.items() if row.kind == "output")

    @cached_property
    def formula_names(self) -> dict[str, str]:
        """The input tensors' members by the names that the formula has for them."""
        return {row.name: member for member, row in self.tensors.items() if row.name is not None}

    def example_inputs(self, example: Example) -> dict[str, tuple[float, ...]]:
        """The elements of an example, by the names that the formula has for the inputs."""
        if isinstance(example.inputs, dict):
            return example.inputs
        return dict.fromkeys(list(self.formula_names)[:1], example.inputs)

    @cached_property
    def type_variables(self) -> tuple[str, ...]:
        """The type variables of the tensors: T, of which records and clauses speak, then the others in struct order."""
        variables = dict.fromkeys(row.type for row in self.tensors.values())
        return tuple(sorted(variables, key=lambda name: name != MAIN))

    @cached_property
    def of_one_type_variable(self) -> bool:
        """Whether all tensors have one data type and none is optional: a data type then says all of a signature."""
        return len(self.type_variables) == 1 and not any(row.optional for row in self.tensors.values())

    @cached_property
    def of_x_alone(self) -> bool:
        """Whether the formula is of one input, called x, of the output's type: numbers, and exact."""
        return (
            tuple(self.formula_names) == ("x",)
            and len(self.type_variables) == 1
            and self.domain == "number"
            and not self.accuracy
        )

    @property
    def in_place(self) -> bool:
        """Whether the output may be bound to the memory of an input."""
        return bool(self.tensors[self.output].may_alias)

    def alias_at_once(self, *inputs: str) -> Literal["one", "several"] | None:
        """How many of several inputs the output may alias at a time; ``None`` where it may not alias each of them."""
        row = self.tensors[self.output]
        return row.at_once if len(inputs) > 1 and set(inputs) <= set(row.may_alias) else None

    @cached_property
    def in_common(self) -> tuple[str, ...]:
        """What the page's tensors must have in common, in the words of its constraints."""
        return tuple(dict.fromkeys(word for group in self.constraints for word in group.same))

    def support_rows(self, support: SupportTable) -> tuple[SupportRow, ...]:
        """A level's support as a page's table has it: a row a tensor."""
        return tuple(
            SupportRow(
                name,
                "Output"
                if row.kind == "output"
                else "Optional input"
                if row.optional and name not in support.requires
                else "Input",
                support.tensor_dimension_counts.get(name, support.dimension_counts),
                support.types[row.type],
            )
            for name, row in self.tensors.items()
            if name not in support.lacks
        )

    def supports(self, tensors: Mapping[str, tuple[DataType, int]], level: FeatureLevel | None = None) -> bool:
        """Whether a support table lists these tensors together, at a level or at any.

        Args:
            tensors: the data type and the rank of each tensor that is there, by name.
            level: the level that is claimed; ``None``: any.
        """
        key = level, tuple(tensors.items())
        is_supported = self._supported.get(key)
        if is_supported is None:
            listed = self.support if level is None else self.support_at(level)
            is_supported = self._supported[key] = any(self._lists(support, tensors) for support in listed)
        return is_supported

    @cached_property
    def _supported(self) -> dict[tuple[FeatureLevel | None, tuple[tuple[str, tuple[DataType, int]], ...]], bool]:
        """What :meth:`supports` answered: the same few are asked with every description."""
        return {}

    def _lists(self, support: SupportTable, tensors: Mapping[str, tuple[DataType, int]]) -> bool:
        assigned: dict[str, DataType] = {}
        for name, (data_type, rank) in tensors.items():
            row = self.tensors[name]
            low, high = support.tensor_dimension_counts.get(name, support.dimension_counts)
            alike = assigned.setdefault(row.type, data_type) is data_type
            if name in support.lacks or not alike or not low <= rank <= high:
                return False
            if data_type.name not in support.types[row.type]:
                return False
        return all(name in tensors for name in support.requires) and support.allows(assigned)

    def types_of(self, tensor: str) -> tuple[DataType, ...]:
        """Every element type that any support table lists for a tensor, in the newest table's order."""
        return self._types_of[self.tensors[tensor].type]

    @cached_property
    def _types_of(self) -> dict[str, tuple[DataType, ...]]:
        """Every element type that any support table lists for a type variable."""
        variables = dict.fromkeys(variable for support in self.support for variable in support.types)
        names = {
            variable: dict.fromkeys(name for support in self.support for name in support.types.get(variable, ()))
            for variable in variables
        }
        return {variable: tuple(DataType[name] for name in type_names) for variable, type_names in names.items()}

    @cached_property
    def scale_bias(self) -> str | None:
        """The name of the optional DML_SCALE_BIAS that the operator takes, or ``None``."""
        return next((attribute.name for attribute in self.attributes if attribute.type == "DML_SCALE_BIAS"), None)

    @property
    def has_scale_bias(self) -> bool:
        """Whether the operator takes an optional DML_SCALE_BIAS."""
        return self.scale_bias is not None

    def support_at(self, level: FeatureLevel) -> tuple[SupportTable, ...]:
        """The support tables that hold at ``level``."""
        return tuple(table for table in self.support if table.feature_level <= level)

    @cached_property
    def lowest_levels(self) -> dict[tuple[DataType, int], FeatureLevel]:
        """The lowest level that obliges an implementation to take a type at a rank, by type and rank."""
        feature_levels: dict[tuple[DataType, int], FeatureLevel] = {}
        for table in self.support:
            for data_type in table.data_types:
                for rank in table.ranks:
                    known = feature_levels.get((data_type, rank), table.feature_level)
                    feature_levels[data_type, rank] = min(known, table.feature_level)
        return feature_levels

    def obliged(self, data_type: DataType, rank: int, level: FeatureLevel) -> bool:
        """Whether ``level`` obliges an implementation to take this type at this rank."""
        lowest = self.lowest_levels.get((data_type, rank))
        return lowest is not None and lowest <= level

    def listed(self, data_type: DataType, rank: int) -> bool:
        """Whether any level's table lists this type at this rank."""
        return any(data_type in table.data_types and rank in table.ranks for table in self.support)
