"""Operator descriptions as plain data, bit for bit: for failure files, and for the way between two processes.

NaN payloads and what DirectML must refuse are written as well. Reading trusts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import Attribute, OperatorDesc, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.specs.errors import UsageError
from dmlcts.specs.number_text import text

_MEND = "use a file that dmlcts wrote under failures/"
_MOST_TENSORS = 16
_MOST_NESTED = 1  # an activation has none itself


class DataReader:
    """Typed access to the members of untrusted plain data.

    Args:
        data: what should be a mapping.
        where: what to call it in a message.

    Raises:
        UsageError: it is no mapping; the methods, where a member is missing or of another form.
    """

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise UsageError(f"{where} is not a mapping", _MEND)
        self.data = data
        self.where = where

    def mapping_or_value(self, key: str) -> Any:
        """A member of any form.

        Raises:
            UsageError: there is no such member.
        """
        if key not in self.data:
            raise UsageError(f"{self.where} lacks {key!r}", _MEND)
        return self.data[key]

    def _fail(self, key: str, wanted: str) -> UsageError:
        return UsageError(f"{self.where}.{key} is not {wanted}", _MEND)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A member that is a mapping with text as its keys."""
        value = self.mapping_or_value(key)
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise self._fail(key, "a mapping")
        return value

    def text(self, key: str, pattern: str) -> str:
        """A member that is text of a pattern, as a whole."""
        value = self.mapping_or_value(key)
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise self._fail(key, "text of the expected form")
        return value

    def number(self, key: str, most: int) -> int:
        """A member that is a whole number from 0 to ``most``."""
        value = self.mapping_or_value(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self._fail(key, f"a whole number from 0 to {most}")
        return value

    def numbers(self, key: str) -> tuple[int, ...]:
        """A member that is a list of up to 16 whole numbers below 2^33."""
        value = self.mapping_or_value(key)
        if (
            not isinstance(value, list)
            or len(value) > 16
            or not all(isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 1 << 33 for item in value)
        ):
            raise self._fail(key, "a list of up to 16 whole numbers")
        return tuple(value)

    def flag(self, key: str) -> bool:
        """A member that is true or false."""
        value = self.mapping_or_value(key)
        if not isinstance(value, bool):
            raise self._fail(key, "true or false")
        return value


def write_operator(operator: OperatorDesc) -> dict[str, Any]:
    """The description as plain data: ``operator``, ``tensors`` and ``attributes``."""
    tensors = {
        name: {
            "data_type": tensor.data_type.name,
            "sizes": list(tensor.sizes),
            "strides": None if tensor.strides is None else list(tensor.strides),
            "total_size_in_bytes": tensor.total_size_in_bytes,
        }
        for name, tensor in operator.tensors.items()
    }
    return {"operator": operator.name, "tensors": tensors, "attributes": write_attributes(operator)}


def read_operator(written: Any, where: str = "operator", nested: int = _MOST_NESTED) -> OperatorDesc:
    """The description that :func:`write_operator` wrote.

    Args:
        written: plain data; further members of the mapping are passed over.
        where: what to call it in a message.
        nested: how deep operators may stand in the attributes of one another.

    Raises:
        UsageError: it is not one; the message names what is wrong.
    """
    reader = DataReader(written, where)
    tensors = reader.mapping("tensors")
    if len(tensors) > _MOST_TENSORS:
        raise UsageError(f"{where} has {len(tensors)} tensors", f"up to {_MOST_TENSORS} are read")
    return OperatorDesc(
        reader.text("operator", r"[A-Z][A-Z0-9_]{0,80}"),
        {name: _read_tensor(DataReader(value, f"tensors.{name}")) for name, value in tensors.items()},
        read_attributes(reader, nested),
    )


def write_attributes(operator: OperatorDesc) -> dict[str, Any]:
    """The attributes of a description as plain data."""
    return {name: _written(value) for name, value in operator.attributes.items()}


def read_attributes(reader: DataReader, nested: int = _MOST_NESTED) -> dict[str, Attribute]:
    """The attributes that :func:`write_attributes` wrote, as the member ``attributes``.

    Args:
        reader: what holds them.
        nested: how deep operators may stand in the attributes of one another.

    Raises:
        UsageError: one of them is malformed.
    """
    return {name: _read_attribute(name, value, nested) for name, value in reader.mapping("attributes").items()}


def _read_tensor(reader: DataReader) -> TensorDesc:
    data_type = _read_type(reader, "data_type")
    strides = None if reader.mapping_or_value("strides") is None else reader.numbers("strides")
    sizes = reader.numbers("sizes")
    if strides is not None and len(strides) != len(sizes):
        raise UsageError(f"{reader.where} has {len(strides)} strides for {len(sizes)} sizes", "give one a dimension")
    return TensorDesc(data_type, sizes, strides, reader.number("total_size_in_bytes", (1 << 64) - 1))


def _read_type(reader: DataReader, key: str) -> DataType:
    name = reader.text(key, r"[A-Z0-9]{1,10}")
    if name not in DataType.__members__:
        raise UsageError(
            f"{reader.where}.{key} {name!r} does not exist", f"choose one of {', '.join(DataType.__members__)}"
        )
    return DataType[name]


def _bits(value: np.float32) -> dict[str, str]:
    return {"bits": f"0x{int(value.view(np.uint32)):08x}", "value": text(value)}


def _written(value: Attribute) -> Any:
    if isinstance(value, np.float32):
        return _bits(value)
    if isinstance(value, ScaleBias):
        return {"scale": _bits(value.scale), "bias": _bits(value.bias)}
    if isinstance(value, np.uint32):
        return {"enumerator": int(value)}
    if isinstance(value, OperatorDesc):
        return write_operator(value)
    if isinstance(value, ScalarUnion):
        width = 2 * value.data_type.itemsize
        return {"data_type": value.data_type.name, "bits": f"0x{value.bits:0{width}x}", "value": text(value.value)}
    return value


def _read_float(name: str, written: Any) -> np.float32:
    match written:
        case {"bits": str() as bits} if re.fullmatch(r"0x[0-9a-fA-F]{8}", bits):
            return np.uint32(int(bits, 16)).view(np.float32)
    raise UsageError(f"attribute {name} is not a FLOAT", 'write it as {bits: "0x3f800000"}')


def _read_attribute(name: str, written: Any, nested: int) -> Attribute:
    if written is None or isinstance(written, str):
        return written
    if isinstance(written, Mapping):
        reader = DataReader(written, f"attribute {name}")
        if {"scale", "bias"} <= set(written):
            scale, bias = (_read_float(f"{name}.{part}", written[part]) for part in ("scale", "bias"))
            return ScaleBias(scale, bias)
        if "operator" in written:
            if nested < 1:
                raise UsageError(f"attribute {name} is an operator within a fused one", "fuse one that has none itself")
            return read_operator(written, f"attribute {name}", nested - 1)
        if "enumerator" in written:
            return np.uint32(reader.number("enumerator", (1 << 32) - 1))
        if "data_type" in written:
            data_type = _read_type(reader, "data_type")
            return ScalarUnion(data_type, int(reader.text("bits", f"0x[0-9a-fA-F]{{{2 * data_type.itemsize}}}"), 16))
    return _read_float(name, written)
