"""A case: one operator description, the values of its input, where the tensors stand, and what is expected.

Everything that a test checks is a case, so that everything that fails can be written down and replayed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc, UsageError
from dmlcts.specs.descriptions import Attribute
from dmlcts.suites.cases.recipe import Recipe
from dmlcts.suites.cases.values import Values, text

_ALIGNMENT = 16
_MOST_EXPLICIT = 4096
_MOST_EARLIER = 64


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


@dataclass(frozen=True)
class Placement:
    """Where the tensors stand in the memory, in bytes; all counts but ``slack`` are multiples of 16.

    Attributes:
        front: guard bytes before the first tensor.
        gap: guard bytes between the two.
        tail: guard bytes after the last.
        in_place: the output is bound to the input's region.
        output_first: the output stands before the input.
        slack: bytes by which a bound region is larger than its tensor's total size.
    """

    front: int = 512
    gap: int = 256
    tail: int = 512
    in_place: bool = False
    output_first: bool = False
    slack: int = 0

    def regions(self, source: TensorDesc, target: TensorDesc) -> tuple[Region, Region, int]:
        """The input's region, the output's region, and the size of the memory."""
        read = source.total_size_in_bytes + self.slack
        written = target.total_size_in_bytes + self.slack
        if self.in_place:
            region = Region(self.front, max(read, written))
            return region, region, _aligned(region.end) + self.tail
        first, second = (written, read) if self.output_first else (read, written)
        one = Region(self.front, first)
        two = Region(_aligned(one.end) + self.gap, second)
        size = _aligned(two.end) + self.tail
        return (two, one, size) if self.output_first else (one, two, size)


@dataclass(frozen=True)
class Case:
    """One thing to check.

    Attributes:
        operator: the description that the implementation is given.
        values: the stream that fills the input, in the order of its addresses.
        clause: the id of the clause that a wrong value breaks.
        layout_clause: the id of the clause that is broken where the same value comes out right from a
            packed tensor of one element; ``None`` where the clause is about the value alone.
        expectation: the name of the judge, see :mod:`dmlcts.suites.judging.expectations`.
        placement: where the tensors stand.
        recipe: what a covering array made it of, see :mod:`dmlcts.suites.combinations`; ``None`` for other cases.
        earlier: cases that are judged before, on the same device, whatever comes of them.
        beside: for the expectation "beside others", the kernels that are alive, in the order in which they are made,
            the case's own among them and all on tensors like its own; empty: those that the expectation chooses.
    """

    operator: OperatorDesc
    values: Values
    clause: str
    layout_clause: str | None = None
    expectation: str = "oracle"
    placement: Placement = field(default_factory=Placement)
    recipe: Recipe | None = field(default=None, compare=False)
    earlier: tuple[Case, ...] = ()
    beside: tuple[OperatorDesc, ...] = ()

    @property
    def data_type(self) -> DataType:
        """The input's element type."""
        return self.operator.input.data_type

    def with_operator(self, operator: OperatorDesc) -> Case:
        """The same case of another description; the kernels beside it take its tensors."""
        beside = tuple(
            operator if one == self.operator else OperatorDesc(one.name, operator.tensors, one.attributes)
            for one in self.beside
        )
        return replace(self, operator=operator, beside=beside, recipe=None)

    def to_json(self) -> dict[str, Any]:
        """The case as plain data, for a failure file."""
        tensors = {}
        for name, tensor in self.operator.tensors.items():
            tensors[name] = {
                "data_type": tensor.data_type.name,
                "sizes": list(tensor.sizes),
                "strides": None if tensor.strides is None else list(tensor.strides),
                "total_size_in_bytes": tensor.total_size_in_bytes,
            }
        company: dict[str, Any] = {"earlier": [one.to_json() for one in self.earlier]} if self.earlier else {}
        if self.beside:
            company["beside"] = [{"operator": one.name, "attributes": _attributes(one)} for one in self.beside]
        return {
            "operator": self.operator.name,
            "tensors": tensors,
            "attributes": _attributes(self.operator),
            "values": self.values.to_json(_MOST_EXPLICIT),
            "clause": self.clause,
            "layout_clause": self.layout_clause,
            "expectation": self.expectation,
            "placement": {
                "front": self.placement.front,
                "gap": self.placement.gap,
                "tail": self.placement.tail,
                "in_place": self.placement.in_place,
                "output_first": self.placement.output_first,
                "slack": self.placement.slack,
            },
            **company,
        }

    @classmethod
    def from_json(cls, written: Any, *, nested: bool = False) -> Case:
        """The case that :meth:`to_json` wrote.

        Args:
            written: plain data.
            nested: whether it is one that runs before another, and has none before itself.

        Raises:
            UsageError: it is not one; the message names what is wrong.
        """
        reader = _Reader(written, "case")
        operator = OperatorDesc(
            reader.text("operator", r"[A-Z][A-Z0-9_]{0,80}"),
            {
                name: _read_tensor(_Reader(value, f"tensors.{name}"))
                for name, value in reader.mapping("tensors").items()
            },
            {name: _read_attribute(name, value) for name, value in reader.mapping("attributes").items()},
        )
        if set(operator.tensors) != {"InputTensor", "OutputTensor"}:
            raise UsageError("a case needs InputTensor and OutputTensor", "write both under `tensors`")
        placement = _Reader(reader.mapping("placement"), "placement")
        sizes = {name: placement.number(name, 1 << 32) for name in ("front", "gap", "tail", "slack")}
        if any(sizes[name] % _ALIGNMENT for name in ("front", "gap", "tail")):
            raise UsageError("placement.front, gap and tail are not multiples of 16", "round them up")
        layout_clause = reader.mapping_or_value("layout_clause")
        earlier = reader.data.get("earlier", [])
        if not isinstance(earlier, list) or len(earlier) > _MOST_EARLIER or (nested and earlier):
            raise UsageError(f"case.earlier is not a list of up to {_MOST_EARLIER} cases",
                             "use a file that dmlcts wrote under failures/")  # fmt: skip
        beside = reader.data.get("beside", [])
        if not isinstance(beside, list) or len(beside) > _MOST_EARLIER:
            raise UsageError(f"case.beside is not a list of up to {_MOST_EARLIER} kernels",
                             "use a file that dmlcts wrote under failures/")  # fmt: skip
        company = tuple(_read_company(_Reader(one, "beside"), operator) for one in beside)
        if company and operator not in company:
            raise UsageError("case.beside does not hold the case's own kernel", "write it where it is made")
        return cls(
            operator,
            Values.from_json(operator.input.data_type, reader.mapping("values")),
            reader.text("clause", r"[a-z0-9.-]{1,80}"),
            None if layout_clause is None else reader.text("layout_clause", r"[a-z0-9.-]{1,80}"),
            reader.text("expectation", r"[a-z -]{1,40}"),
            Placement(
                sizes["front"], sizes["gap"], sizes["tail"],
                placement.flag("in_place"), placement.flag("output_first"), sizes["slack"],
            ),
            earlier=tuple(cls.from_json(one, nested=True) for one in earlier),
            beside=company,
        )  # fmt: skip


class _Reader:
    """Typed access to untrusted plain data."""

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise UsageError(f"{where} is not a mapping", "use a file that dmlcts wrote under failures/")
        self.data = data
        self.where = where

    def mapping_or_value(self, key: str) -> Any:
        if key not in self.data:
            raise UsageError(f"{self.where} lacks {key!r}", "use a file that dmlcts wrote under failures/")
        return self.data[key]

    def _fail(self, key: str, wanted: str) -> UsageError:
        return UsageError(f"{self.where}.{key} is not {wanted}", "use a file that dmlcts wrote under failures/")

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.mapping_or_value(key)
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise self._fail(key, "a mapping")
        return value

    def text(self, key: str, pattern: str) -> str:
        value = self.mapping_or_value(key)
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise self._fail(key, "text of the expected form")
        return value

    def number(self, key: str, most: int) -> int:
        value = self.mapping_or_value(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self._fail(key, f"a whole number from 0 to {most}")
        return value

    def numbers(self, key: str) -> tuple[int, ...]:
        value = self.mapping_or_value(key)
        if not isinstance(value, list) or len(value) > 16 or not all(
            isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 1 << 33 for item in value
        ):  # fmt: skip
            raise self._fail(key, "a list of up to 16 whole numbers")
        return tuple(value)

    def flag(self, key: str) -> bool:
        value = self.mapping_or_value(key)
        if not isinstance(value, bool):
            raise self._fail(key, "true or false")
        return value


def _read_tensor(reader: _Reader) -> TensorDesc:
    name = reader.text("data_type", r"[A-Z0-9]{1,10}")
    if name not in DataType.__members__:
        raise UsageError(f"{reader.where}.data_type {name!r} does not exist",
                         f"choose one of {', '.join(DataType.__members__)}")  # fmt: skip
    strides = None if reader.mapping_or_value("strides") is None else reader.numbers("strides")
    sizes = reader.numbers("sizes")
    if strides is not None and len(strides) != len(sizes):
        raise UsageError(f"{reader.where} has {len(strides)} strides for {len(sizes)} sizes", "give one a dimension")
    return TensorDesc(DataType[name], sizes, strides, reader.number("total_size_in_bytes", 1 << 40))


def _bits(value: np.float32) -> dict[str, str]:
    return {"bits": f"0x{int(value.view(np.uint32)):08x}", "value": text(value)}


def _written(value: Attribute) -> Any:
    if isinstance(value, np.float32):
        return _bits(value)
    if isinstance(value, ScaleBias):
        return {"scale": _bits(value.scale), "bias": _bits(value.bias)}
    if isinstance(value, np.uint32):
        return {"enumerator": int(value)}
    return value


def _attributes(operator: OperatorDesc) -> dict[str, Any]:
    return {name: _written(value) for name, value in operator.attributes.items()}


def _read_company(reader: _Reader, own: OperatorDesc) -> OperatorDesc:
    attributes = {name: _read_attribute(name, value) for name, value in reader.mapping("attributes").items()}
    return OperatorDesc(reader.text("operator", r"[A-Z][A-Z0-9_]{0,80}"), own.tensors, attributes)


def _read_float(name: str, written: Any) -> np.float32:
    match written:
        case {"bits": str() as bits} if re.fullmatch(r"0x[0-9a-fA-F]{8}", bits):
            return np.uint32(int(bits, 16)).view(np.float32)
    raise UsageError(f"attribute {name} is not a FLOAT", 'write it as {bits: "0x3f800000"}')


def _read_attribute(name: str, written: Any) -> Attribute:
    if written is None or isinstance(written, str):
        return written
    if isinstance(written, Mapping) and {"scale", "bias"} <= set(written):
        return ScaleBias(_read_float(f"{name}.scale", written["scale"]), _read_float(f"{name}.bias", written["bias"]))
    if isinstance(written, Mapping) and "enumerator" in written:
        return np.uint32(_Reader(written, f"attribute {name}").number("enumerator", (1 << 32) - 1))
    return _read_float(name, written)
