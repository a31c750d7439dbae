"""Operators and device descriptions as plain data, bit for bit, for the way between two processes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlcts.backends import DeviceInfo
from dmlcts.backends.contract import describe
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc

_MOST_LEVELS = 20  # of a third party's details, which may hold themselves


def _bits(value: np.float32) -> int:
    return int(value.view(np.uint32))


def _float(bits: int) -> np.float32:
    return np.uint32(bits).view(np.float32)


def _written(value: object) -> Any:
    if isinstance(value, np.float32):
        return {"float": _bits(value)}
    if isinstance(value, ScaleBias):
        return {"scale": _bits(value.scale), "bias": _bits(value.bias)}
    if isinstance(value, np.uint32):
        return {"enumerator": int(value)}
    return value


def _read(value: Any) -> Any:
    match value:
        case {"float": bits}:
            return _float(bits)
        case {"scale": scale, "bias": bias}:
            return ScaleBias(_float(scale), _float(bias))
        case {"enumerator": number}:
            return np.uint32(number)
    return value


def write_operator(operator: OperatorDesc) -> dict[str, Any]:
    """The description as plain data; NaN payloads and what DirectML must refuse included."""
    return {
        "name": operator.name,
        "tensors": {
            name: [
                tensor.data_type.name,
                list(tensor.sizes),
                None if tensor.strides is None else list(tensor.strides),
                tensor.total_size_in_bytes,
            ]
            for name, tensor in operator.tensors.items()
        },
        "attributes": {name: _written(value) for name, value in operator.attributes.items()},
    }


def read_operator(written: dict[str, Any]) -> OperatorDesc:
    """The description that :func:`write_operator` wrote."""
    tensors = {
        name: TensorDesc(DataType[data_type], sizes, strides, total)
        for name, (data_type, sizes, strides, total) in written["tensors"].items()
    }
    return OperatorDesc(written["name"], tensors, {name: _read(value) for name, value in written["attributes"].items()})


def write_info(info: object) -> dict[str, Any]:
    """What a device says of itself, as plain data.

    Raises:
        ContractError: it makes no sense.
    """
    found = describe(info)
    claimed = found.data_types
    return {
        **{name: getattr(found, name) for name in ("name", "adapter", "driver", "library", "version")},
        "feature_level": str(found.feature_level),
        "data_types": claimed and {name: sorted(one.name for one in types) for name, types in claimed.items()},
        "details": _plain(found.details),
    }


def _plain(value: object, levels: int = _MOST_LEVELS) -> Any:
    """JSON's own types stay; whatever else a third party puts into its details travels as text."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if not levels:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): _plain(member, levels - 1) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member, levels - 1) for member in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(member, levels - 1) for member in value), key=str)
    return str(value)


def read_info(written: dict[str, Any]) -> DeviceInfo:
    """The description that :func:`write_info` wrote.

    Raises:
        ContractError: it makes no sense.
    """
    return describe(written)
