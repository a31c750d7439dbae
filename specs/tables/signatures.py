"""Signatures: which data types an operator's type variables stand for, and which optional tensors are there."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from dmlcts.specs.computed import computed
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models import OperatorTable


@dataclass(frozen=True)
class Signature:
    """One assignment of data types to a table's type variables.

    Attributes:
        types: a data type for each type variable, in the table's order.
        present: the optional tensors that are there.
    """

    types: tuple[tuple[str, DataType], ...]
    present: frozenset[str] = frozenset()

    def __getitem__(self, variable: str) -> DataType:
        """The data type that a type variable stands for.

        Raises:
            KeyError: the signature has no such variable.
        """
        return dict(self.types)[variable]

    @property
    def data_type(self) -> DataType:
        """The data type of the first type variable, which records call the row's."""
        return self.types[0][1]

    @classmethod
    def of(cls, operator: OperatorDesc, table: OperatorTable) -> Signature:
        """The signature of a description: the first tensor of each type variable says what it stands for."""
        return _of(ByIdentity(table), operator.kind[1])

    def exchanged(self, variable: str, data_type: DataType) -> Signature:
        """The same signature, but that a type variable stands for another type."""
        types = tuple((name, data_type if name == variable else own_type) for name, own_type in self.types)
        return Signature(types, self.present)

    def __str__(self) -> str:
        return self._text

    @computed
    def _text(self) -> str:
        names = [data_type.name for _, data_type in self.types]
        with_optional = [f"with {name}" for name in sorted(self.present)]
        return ", ".join([" to ".join(names), *with_optional])


@lru_cache(maxsize=1024)
def _of(table: ByIdentity[OperatorTable], tensors: tuple[tuple[str, DataType], ...]) -> Signature:
    """As :meth:`Signature.of`, of the tensors that are there, each with its type."""
    types: dict[str, DataType] = {}
    tensor_types = dict(tensors)
    for name, row in table.value.tensors.items():
        if name in tensor_types:
            types.setdefault(row.type, tensor_types[name])
    ordered = tuple((variable, types[variable]) for variable in table.value.type_variables if variable in types)
    return Signature(
        ordered, frozenset(name for name, row in table.value.tensors.items() if row.optional and name in tensor_types)
    )


def is_approximate(table: OperatorTable, signature: Signature) -> bool:
    """Whether accuracy rules are about a signature: about one of its floating-point types."""
    kinds = {data_type.name for _, data_type in signature.types if data_type.is_floating}
    return any(kinds & set(rule.data_types) for rule in table.accuracy)


def signatures(table: OperatorTable, level: FeatureLevel | None = None) -> tuple[Signature, ...]:
    """The signatures that a table supports at a level, or at any; each once, those of the highest level first."""
    return _signatures(ByIdentity(table), level)


@lru_cache(maxsize=1024)
def _signatures(table: ByIdentity[OperatorTable], level: FeatureLevel | None) -> tuple[Signature, ...]:
    return tuple(dict.fromkeys(_all(table.value, level)))


def signatures_on(table: OperatorTable, data_type: DataType) -> tuple[Signature, ...]:
    """The signatures whose first type variable stands for a type; for a type that no table lists, one made up of it."""
    return _signatures_on(ByIdentity(table), data_type)


@lru_cache(maxsize=1024)
def _signatures_on(table: ByIdentity[OperatorTable], data_type: DataType) -> tuple[Signature, ...]:
    every = _signatures(table, None)
    candidates = tuple(signature for signature in every if signature.data_type is data_type)
    if candidates:
        return candidates
    (first, _), *others = every[0].types
    return (Signature(((first, data_type), *others), every[0].present),)


def unlisted_beside(table: OperatorTable, known: Iterable[DataType]) -> Mapping[str, tuple[DataType, ...]]:
    """The types of ``known`` that no support table lists for a type variable, of each variable but the first.

    Variables that may stand for every one of them are left out.
    """
    types_by_variable = {}
    for variable in table.type_variables[1:]:
        listed = {name for support in table.support for name in support.types.get(variable, ())}
        types_by_variable[variable] = tuple(data_type for data_type in known if data_type.name not in listed)
    return {variable: types for variable, types in types_by_variable.items() if types}


def _all(table: OperatorTable, level: FeatureLevel | None) -> Iterator[Signature]:
    for support in table.support if level is None else table.support_at(level):
        variables = [variable for variable in table.type_variables if variable in support.types]
        fixed = (*support.lacks, *support.requires)
        optional = [name for name, row in table.tensors.items() if row.optional and name not in fixed]
        choices = [[DataType[name] for name in support.types[variable]] for variable in variables]
        for types in itertools.product(*choices):
            if not support.allows(dict(zip(variables, types, strict=True))):
                continue
            for count in range(len(optional), -1, -1):
                for there in itertools.combinations(optional, count):
                    present = frozenset((*there, *support.requires))
                    yield Signature(tuple(zip(variables, types, strict=True)), present)
