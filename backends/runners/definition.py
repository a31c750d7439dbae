"""The protocol's definition, read from ``protocol.json``: numbers, limits, layouts and the operators' members."""

from __future__ import annotations

import importlib.resources
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

_CODES = {"u16": "H", "u32": "I", "u64": "Q"}


@dataclass(frozen=True)
class Field:
    """One field of a layout: its type is u16, u32, u64, u32[N], char[N] (text, zero-padded) or byte[N]."""

    name: str
    base: str
    count: int
    meaning: str = ""

    @property
    def code(self) -> str:
        """The field in the language of :mod:`struct`."""
        if self.base in ("char", "byte"):
            return f"{self.count}s"
        return _CODES[self.base] if self.count == 1 else f"{self.count}{_CODES[self.base]}"


class Layout:
    """A fixed layout of bytes, little-endian, without gaps.

    Args:
        name: as in the definition.
        fields: in the order of their offsets.
    """

    def __init__(self, name: str, fields: tuple[Field, ...]) -> None:
        self.name = name
        self.fields = fields
        self._struct = struct.Struct("<" + "".join(field.code for field in fields))
        self.size = self._struct.size

    def pack(self, **values: Any) -> bytes:
        """The bytes; fields that are not given are zero.

        Raises:
            ValueError: a value does not fit its field, or there is no such field.
        """
        flat: list[Any] = []
        for field in self.fields:
            value = values.pop(field.name, None)
            if field.base == "char":
                flat.append(_text_bytes(field, value or ""))
            elif field.base == "byte":
                flat.append(bytes(value or b""))
            elif field.count == 1:
                flat.append(value or 0)
            else:
                numbers = tuple(value or ())
                if len(numbers) > field.count:
                    raise ValueError(f"{self.name}.{field.name} holds {field.count} numbers, not {len(numbers)}")
                flat += [*numbers, *(0,) * (field.count - len(numbers))]
        if values:
            raise ValueError(f"{self.name} has no {', '.join(values)}")
        try:
            return self._struct.pack(*flat)
        except struct.error as error:
            raise ValueError(f"{self.name}: {error}") from None

    def unpack(self, data: bytes | memoryview, offset: int = 0) -> dict[str, Any]:
        """The fields of the bytes from ``offset`` on; text ends at its first zero, what is no UTF-8 is replaced."""
        flat = iter(self._struct.unpack_from(data, offset))
        values: dict[str, Any] = {}
        for field in self.fields:
            if field.base == "char":
                values[field.name] = next(flat).partition(b"\0")[0].decode("utf-8", "replace")
            elif field.base == "byte" or field.count == 1:
                values[field.name] = next(flat)
            else:
                values[field.name] = tuple(next(flat) for _ in range(field.count))
        return values


def _text_bytes(field: Field, text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    if len(data) >= field.count or b"\0" in data:
        raise ValueError(f"{field.name} holds up to {field.count - 1} bytes without a zero")
    return data


@dataclass(frozen=True)
class OperatorMembers:
    """An operator's number in ``DML_OPERATOR_TYPE``, and its structure's members in order, name to kind."""

    code: int
    members: Mapping[str, str]


@dataclass(frozen=True)
class Definition:
    """What ``protocol.json`` says; the attributes are its keys."""

    protocol: str
    mark: int
    reply: int
    limits: Mapping[str, int]
    kinds: Mapping[str, int]
    statuses: Mapping[str, int]
    statuses_of: Mapping[str, frozenset[str]]
    hello_flags: Mapping[str, int]
    attribute_kinds: Mapping[str, int]
    places: Mapping[str, int]
    data_types: Mapping[str, int]
    enumerations: Mapping[str, Mapping[str, int]]
    layouts: Mapping[str, Layout]
    operators: Mapping[str, OperatorMembers]


def _field(written: Mapping[str, Any]) -> Field:
    base, _, count = written["type"].partition("[")
    return Field(written["name"], base, int(count[:-1]) if count else 1, written["meaning"])


@lru_cache(maxsize=1)
def definition() -> Definition:
    """The protocol that this version of the suite speaks."""
    text = importlib.resources.files(__package__).joinpath("protocol.json").read_text(encoding="utf-8")
    read = json.loads(text)
    layouts = {name: Layout(name, tuple(map(_field, layout["fields"]))) for name, layout in read["layouts"].items()}
    operators = {
        name: OperatorMembers(operator["code"], MappingProxyType(dict(operator["members"])))
        for name, operator in read["operators"].items()
    }
    statuses_of = {kind: frozenset(names) for kind, names in read["statuses_of"].items()}
    tables = ("limits", "kinds", "statuses", "hello_flags", "attribute_kinds", "places", "data_types", "enumerations")
    return Definition(
        protocol=read["protocol"],
        mark=read["mark"],
        reply=read["reply"],
        statuses_of=MappingProxyType(statuses_of),
        layouts=MappingProxyType(layouts),
        operators=MappingProxyType(operators),
        **{name: MappingProxyType(read[name]) for name in tables},
    )
