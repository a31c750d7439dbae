"""The shape of the spec tables: frozen pydantic models, from which the JSON Schemas are generated.

A table that fits these models and passes :mod:`dmlcts.specs.loading`'s checks is one the oracle,
the suites and the reports can rely on without looking again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from dmlcts.specs.checks import OwnCheck, SharedCheck
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.latitudes import LatitudeName
from dmlcts.specs.levels import FeatureLevel

Obligation = Literal["required", "implied", "unspecified"]
LevelName = Literal[
    "1.0", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0", "5.1", "5.2", "6.0", "6.1", "6.2", "6.3", "6.4"
]
DataTypeName = Literal[
    "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8", "FLOAT64"
]  # fmt: skip
ClauseId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+$")]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Text = Annotated[str, Field(min_length=1)]
TypeVariable = Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9]*$")]
Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]


class Model(BaseModel):
    """Base: frozen, strict about types, no unknown keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Source(Model):
    """Where a rule is written."""

    id: Word
    title: Text = Field(description="the document's title")
    locale: Text = Field("en-us", description="the language version that was read")
    revision: Text = Field(description="date or digest of the revision that was read")


class Quotation(Model):
    """A few words of a source that a clause rests on."""

    source: Word = Field(description="id of one of the table's sources")
    words: Text = Field(description="quoted exactly; short")


class Disagreement(Model):
    """Another Microsoft document that says something else, recorded beside the clause."""

    source: Word
    says: Text


class Clause(Model):
    """One checkable statement."""

    id: ClauseId
    check: OwnCheck | SharedCheck = Field(description="what the suite checks it with")
    when: dict[Identifier, Identifier] = Field(
        default_factory=dict, description="enumeration attributes with the enumerators that it is about; else all"
    )
    text: Text = Field(description="the statement, in our words")
    obligation: Obligation
    subject: Literal[
        "formula", "casting", "rounding", "special values", "scale and bias", "descriptions",
        "layout", "memory", "aliasing", "state", "properties",
    ]  # fmt: skip
    quotation: Quotation | None = None
    sources: tuple[Word, ...] = Field((), description="further sources, by id")
    data_types: Literal["all", "floating", "integer", "unlisted", "not-FLOAT32"] | tuple[DataTypeName, ...] = Field(
        "all", description="the listed types it is about; `unlisted`: those in no support row"
    )
    level: LevelName | None = Field(
        None, description="for `check: support.level`: the support table it states; obliged from there on"
    )
    latitude: tuple[LatitudeName, ...] = Field((), description="what is left open; it acts on the clause's types")
    permitted: tuple[Text, ...] = Field((), description="for `unspecified`: the outcomes that are permitted")
    disagreements: tuple[Disagreement, ...] = ()


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
    elements: Literal["one"] | None = Field(None, description="`one`: it holds a single element, for all of the others")
    may_alias: tuple[Identifier, ...] = Field((), description="for the output: the inputs whose memory it may be")


class ConstraintGroup(Model):
    """What some of the tensors must have in common."""

    same: tuple[Literal["DataType", "DimensionCount", "Sizes"], ...] = Field(min_length=1)
    tensors: tuple[Identifier, ...] = Field(min_length=2)


@dataclass(frozen=True)
class SupportRow:
    """One row of a page's support table: a tensor with its lowest and highest rank and its data types."""

    tensor: str
    kind: Literal["Input", "Output"]
    dimension_counts: tuple[int, int]
    data_types: tuple[str, ...]


class SupportTable(Model):
    """What holds at a feature level and above."""

    level: LevelName
    dimension_counts: tuple[int, int] = Field(description="lowest and highest rank")
    tensor_dimension_counts: dict[Identifier, tuple[int, int]] = Field(
        default_factory=dict, description="of tensors whose ranks are others"
    )
    types: dict[TypeVariable, tuple[DataTypeName, ...]] = Field(
        min_length=1, description="the data types of each type variable; all combinations are supported"
    )
    lacks: tuple[Identifier, ...] = Field((), description="optional tensors that are not there yet")

    @cached_property
    def feature_level(self) -> FeatureLevel:
        """The level as a :class:`FeatureLevel`."""
        return FeatureLevel(self.level)

    @cached_property
    def data_types(self) -> tuple[DataType, ...]:
        """The element types of the first type variable, in the page's order."""
        return tuple(DataType[name] for name in next(iter(self.types.values())))

    @cached_property
    def ranks(self) -> range:
        """The ranks of the tensors that have none of their own."""
        low, high = self.dimension_counts
        return range(low, high + 1)


class AttributeTable(Model):
    """An attribute: a number, the optional scale and bias, or an enumeration."""

    name: Identifier
    type: Literal["FLOAT", "INT", "UINT", "BOOL", "ENUM", "DML_SCALE_BIAS", "DML_SCALAR_UNION"]
    cast: Literal["documented", "undocumented"] | None = Field(
        None, description="FLOAT only: does the page document its cast to the tensor's type?"
    )
    role: Literal["low", "high", "other"] | None = Field(
        None, description="of a number, what it is for: a lower or an upper bound, or something else"
    )
    data_type: Identifier | None = Field(
        None, description="DML_SCALAR_UNION only: the struct's DML_TENSOR_DATA_TYPE member that says which it is"
    )
    formula: Text | None = Field(None, description="DML_SCALE_BIAS only: what it does to x")
    enumerators: tuple[Identifier, ...] = Field((), description="ENUM only: in the header's order, from 0")


class Tolerance(Model):
    """How far a result may be from the real number: any one of the bounds suffices."""

    ulp: float | None = Field(None, ge=0, description="in units of the last place of the result's type")
    relative: float | None = Field(None, ge=0)
    absolute: float | None = Field(None, ge=0)


class AccuracyRule(Model):
    """How exact a function of the formula has to be."""

    function: Identifier
    data_types: tuple[DataTypeName, ...] = Field(min_length=1)
    judged: Tolerance
    strict: Tolerance
    source: Word


class Example(Model):
    """Official vectors: inputs and the outputs a page gives for them."""

    clause: ClauseId
    source: Word
    attributes: dict[Identifier, Identifier | float] = Field(default_factory=dict)
    inputs: tuple[float, ...]
    outputs: tuple[float, ...]


class OperatorTable(Model):
    """One operator, from one page."""

    format: Literal["dmlcts/operator/2"]
    operator: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
    code: int = Field(ge=1, description="DML_OPERATOR_TYPE's number")
    introduced: LevelName
    summary: Text
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
        return tuple(clause for clause in self.clauses if clause.check == check)

    def clause_of(self, *checks: OwnCheck, **enumerators: object) -> str | None:
        """The id of the clause that the first of ``checks`` which the table knows checks, or ``None``.

        Args:
            checks: what checks it, in order of preference.
            enumerators: attributes of a description; a clause that is about other enumerators is passed over.
        """
        for check in checks:
            for clause in self.checked_by(check):
                if all(enumerators.get(name, wanted) == wanted for name, wanted in clause.when.items()):
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

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The names of the attributes that are numbers, which a formula may use, in the struct's order."""
        return tuple(item.name for item in self.attributes if item.type not in ("ENUM", "DML_SCALE_BIAS"))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the input tensors' members, in the struct's order."""
        return tuple(name for name, row in self.tensors.items() if row.kind == "input")

    @cached_property
    def output(self) -> str:
        """The name of the output tensor's member."""
        return next(name for name, row in self.tensors.items() if row.kind == "output")

    @cached_property
    def formula_names(self) -> dict[str, str]:
        """The input tensors' members by the names that the formula has for them."""
        return {row.name: member for member, row in self.tensors.items() if row.name is not None}

    @cached_property
    def type_variables(self) -> tuple[str, ...]:
        """The type variables of the tensors, in the struct's order."""
        return tuple(dict.fromkeys(row.type for row in self.tensors.values()))

    @property
    def in_place(self) -> bool:
        """Whether the output may be bound to the memory of an input."""
        return bool(self.tensors[self.output].may_alias)

    @cached_property
    def in_common(self) -> tuple[str, ...]:
        """What the page's tensors must have in common, in the words of its constraints."""
        return tuple(dict.fromkeys(word for group in self.constraints for word in group.same))

    def support_rows(self, support: SupportTable) -> tuple[SupportRow, ...]:
        """A level's support as a page's table has it: a row a tensor."""
        return tuple(
            SupportRow(
                name,
                "Input" if row.kind == "input" else "Output",
                support.tensor_dimension_counts.get(name, support.dimension_counts),
                support.types[row.type],
            )
            for name, row in self.tensors.items() if name not in support.lacks
        )  # fmt: skip

    @property
    def has_scale_bias(self) -> bool:
        """Whether the operator takes an optional DML_SCALE_BIAS."""
        return any(attribute.type == "DML_SCALE_BIAS" for attribute in self.attributes)

    def support_at(self, level: FeatureLevel) -> tuple[SupportTable, ...]:
        """The support tables that hold at ``level``."""
        return tuple(table for table in self.support if table.feature_level <= level)

    @cached_property
    def lowest_levels(self) -> dict[tuple[DataType, int], FeatureLevel]:
        """The lowest level that obliges an implementation to take a type at a rank, by type and rank."""
        found: dict[tuple[DataType, int], FeatureLevel] = {}
        for table in self.support:
            for data_type in table.data_types:
                for rank in table.ranks:
                    known = found.get((data_type, rank), table.feature_level)
                    found[data_type, rank] = min(known, table.feature_level)
        return found

    def obliged(self, data_type: DataType, rank: int, level: FeatureLevel) -> bool:
        """Whether ``level`` obliges an implementation to take this type at this rank."""
        lowest = self.lowest_levels.get((data_type, rank))
        return lowest is not None and lowest <= level

    def listed(self, data_type: DataType, rank: int) -> bool:
        """Whether any level's table lists this type at this rank."""
        return any(data_type in table.data_types and rank in table.ranks for table in self.support)


class RulesTable(Model):
    """Rules that all operators share: limits with their clauses."""

    format: Literal["dmlcts/rules/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    limits: dict[Identifier, int] = Field(default_factory=dict)
    clauses: tuple[Clause, ...] = ()


class Latitude(Model):
    """Something the pages leave open, and the outcomes a conforming implementation may choose from."""

    name: LatitudeName
    text: Text
    permitted: tuple[Text, ...] = Field(min_length=1)
    strict: Text = Field(description="the behaviour that --strict leaves")
    kept_when_strict: bool = Field(description="does --strict keep the latitude as it is?")
    source: Word


class LatitudeTable(Model):
    """Every latitude, by name."""

    format: Literal["dmlcts/latitude/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    latitudes: tuple[Latitude, ...] = Field(min_length=1)


class CastRule(Model):
    """How a FLOAT attribute becomes a value of the tensor's type."""

    target: Literal["integer", "FLOAT16", "FLOAT32"]
    rounding: Literal["toward zero", "to nearest, ties to even", "exact"]
    range: Text = Field(description="which values the rule covers")
    beyond: Text = Field(description="what is known of the others")
    source: Word


class CastsTable(Model):
    """The documented casts of FLOAT attributes."""

    format: Literal["dmlcts/casts/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    casts: tuple[CastRule, ...] = Field(min_length=1)


class DataTypeRow(Model):
    """One element type."""

    name: DataTypeName
    value: int = Field(ge=1, description="the enumerator's number")
    size_in_bytes: int = Field(ge=1, le=8)
    kind: Literal["floating", "signed", "unsigned"]


class DataTypesTable(Model):
    """The element types."""

    format: Literal["dmlcts/data-types/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    data_types: tuple[DataTypeRow, ...] = Field(min_length=1)


class FeatureLevelRow(Model):
    """One feature level."""

    level: LevelName
    value: int = Field(ge=1, description="the enumerator's number")


class FeatureLevelsTable(Model):
    """The feature levels, ascending."""

    format: Literal["dmlcts/feature-levels/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    feature_levels: tuple[FeatureLevelRow, ...] = Field(min_length=1)


class LevelRow(Model):
    """One level of a factor."""

    name: Word
    text: Text = Field(description="what a case of this level has, in our words")
    data_types: Literal["all", "floating", "integer", "not-FLOAT32"] = Field("all", description="the types it is for")
    needs: tuple[Identifier, ...] = Field((), description="attributes without which there is no such level")
    in_place: bool = Field(False, description="only for operators whose output may alias the input")
    masks: bool = Field(False, description="does it hide what the other factors do?")
    counts: tuple[int, int] | None = Field(None, description="for numbers of elements: the least and the greatest")

    def applies(self, table: OperatorTable, data_type: DataType) -> bool:
        """Whether there is such a level for the operator on the type."""
        types = {
            "all": True, "floating": data_type.is_floating, "integer": not data_type.is_floating,
            "not-FLOAT32": data_type is not DataType.FLOAT32,
        }  # fmt: skip
        known = all(table.attribute(name) is not None for name in self.needs)
        return types[self.data_types] and known and (table.in_place or not self.in_place)


class FactorRow(Model):
    """One thing that a case varies. The first level is the base, unless another one is named."""

    name: Word
    text: Text
    of: Literal["DML_SCALE_BIAS", "FLOAT", "ENUM", "case"] = Field(
        description="the attributes that it is about: an operator without one has no such factor"
    )
    levels: tuple[LevelRow, ...] = ()
    levels_of: Literal["enumerators", "ranks"] | None = Field(
        None, description="where the levels come from, if they are not listed: one factor an enumeration; the ranks"
    )
    base: Text | None = Field(None, description="the base among the levels that are not listed, where it is there")


LevelsByFactor = dict[Word, tuple[Word, ...]]


class ConstraintRow(Model):
    """Levels that do not go together: those of ``when`` with those of ``never``, or what ``holds`` rules out."""

    id: Word
    text: Text = Field(description="why")
    data_types: Literal["all", "floating", "integer"] = "all"
    holds: Literal["sizes", "order", "same-layout"] | None = Field(
        None, description="a rule that names cannot state; see dmlcts.suites.combinations.constraints"
    )
    when: LevelsByFactor = Field(default_factory=dict)
    never: LevelsByFactor = Field(default_factory=dict)


class EconomyRow(Model):
    """Levels that a profile combines with fewer others than the rest."""

    why: Text
    profiles: tuple[Literal["quick", "full", "certification"], ...] = Field(min_length=1)
    data_types: tuple[DataTypeName, ...] = Field((), description="for these types; for all where none is named")
    levels: LevelsByFactor
    strength: int = Field(ge=0, le=2, description="0: not at all, 1: each at least once, 2: in pairs only")


class Strengths(Model):
    """How many levels at once are combined in all ways, by profile."""

    quick: int = Field(ge=1, le=3)
    full: int = Field(ge=1, le=3)
    certification: int = Field(ge=1, le=3)


class FactorsTable(Model):
    """What a case varies: the factors with their levels, and which combinations are tried."""

    format: Literal["dmlcts/factors/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    strengths: Strengths
    factors: tuple[FactorRow, ...] = Field(min_length=1)
    constraints: tuple[ConstraintRow, ...] = ()
    economies: tuple[EconomyRow, ...] = ()


AnyTable = OperatorTable | RulesTable | LatitudeTable | CastsTable | DataTypesTable | FeatureLevelsTable | FactorsTable

MODELS: dict[str, type[AnyTable]] = {
    "dmlcts/operator/2": OperatorTable,
    "dmlcts/rules/1": RulesTable,
    "dmlcts/latitude/1": LatitudeTable,
    "dmlcts/casts/1": CastsTable,
    "dmlcts/data-types/1": DataTypesTable,
    "dmlcts/feature-levels/1": FeatureLevelsTable,
    "dmlcts/factors/1": FactorsTable,
}
