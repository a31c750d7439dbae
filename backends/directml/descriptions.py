"""Operator descriptions as DirectML's structures, exactly as they were given: the library does the checking."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from dmlcts.backends.contract import InvalidArgument
from dmlcts.backends.directml.abi.com import U32, U64
from dmlcts.backends.directml.abi.dml import (
    DML_BUFFER_TENSOR_DESC,
    DML_IS_INFINITY_MODE,
    DML_OPERATOR_DESC,
    DML_ROUNDING_MODE,
    DML_SCALE_BIAS,
    DML_TENSOR_DESC,
    DML_TENSOR_TYPE,
)
from dmlcts.backends.directml.elementwise import ACTIVATIONS, LAYOUTS, OperatorLayout
from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, ScaleBias, TensorDesc

_MODES = {
    "rounding_mode": {mode.name.removeprefix("DML_ROUNDING_MODE_"): mode.value for mode in DML_ROUNDING_MODE},
    "infinity_mode": {mode.name.removeprefix("DML_IS_INFINITY_MODE_"): mode.value for mode in DML_IS_INFINITY_MODE},
}


class Description:
    """A ``DML_OPERATOR_DESC`` with all that it points to.

    Args:
        operator: what to describe; an activation among its attributes is described as well, its tensors null.

    Raises:
        InvalidArgument: the C structures cannot say it: an operator, member or mode that DirectML.h does not
            have, or a number outside of its type.

    Attributes:
        layout: the operator's members.
        desc: the structure.
    """

    def __init__(self, operator: OperatorDesc) -> None:
        layout = LAYOUTS.get(operator.name)
        if layout is None:
            raise InvalidArgument(f"DirectML.h has no element-wise operator {operator.name}")
        self.layout: OperatorLayout = layout
        self._kept: list[Any] = []
        self.desc = self._described(operator, layout)

    def _described(self, operator: OperatorDesc, layout: OperatorLayout) -> DML_OPERATOR_DESC:
        members = layout.structure()
        base = ctypes.addressof(members)
        for name, kind in layout.members.items():
            self._put(members, base, name, kind, operator)
        for name in (*operator.tensors, *operator.attributes):
            if name not in layout.members:
                raise InvalidArgument(f"{operator.name} has no member {name} in DirectML.h")
        self._kept.append(members)
        return DML_OPERATOR_DESC(layout.code, base)

    def _fused(self, name: str, value: OperatorDesc) -> int:
        """The address of the description of what is fused: an activation, or an operator that is none."""
        layout = ACTIVATIONS.get(value.name) or LAYOUTS.get(value.name)
        if layout is None:
            raise InvalidArgument(f"{name} is {value.name}, of which this backend has no structure")
        desc = self._described(value, layout)
        self._kept.append(desc)
        return ctypes.addressof(desc)

    def _put(self, members: Any, base: int, name: str, kind: str, operator: OperatorDesc) -> None:
        if kind == "tensor":
            if name in operator.tensors:
                setattr(members, name, self._tensor(name, operator.tensors[name]))
            return
        value = operator.attributes.get(name)
        if kind == "scale_bias":
            if isinstance(value, ScaleBias):
                setattr(members, name, self._scale_bias(value))
            elif value is not None:
                raise InvalidArgument(f"{name} is {value!r}, not a ScaleBias or None")
        elif kind == "float":
            # Through the bits: by way of a Python float a signalling NaN would become a quiet one.
            if not isinstance(value, np.float32):
                raise InvalidArgument(f"{name} is {value!r}, not a FLOAT")
            offset = getattr(type(members), name).offset
            U32.from_address(base + offset).value = int(value.view(np.uint32))
        elif kind in _MODES:
            modes = _MODES[kind]
            if isinstance(value, np.uint32):  # a number without a name: the library says what it makes of it
                setattr(members, name, int(value.astype(np.int32)))
                return
            if not isinstance(value, str) or value not in modes:
                raise InvalidArgument(f"{name} is {value!r}, not one of {', '.join(modes)}")
            setattr(members, name, modes[value])
        elif kind == "data_type":
            setattr(members, name, _data_type(name, value))
        elif kind == "scalar":
            if not isinstance(value, ScalarUnion):
                raise InvalidArgument(f"{name} is {value!r}, not a ScalarUnion")
            # The bits lie at the union's beginning whatever its type; those of FLOAT16 are its UInt16.
            offset = getattr(type(members), name).offset
            U64.from_address(base + offset).value = value.bits
        elif isinstance(value, OperatorDesc):
            setattr(members, name, self._fused(name, value))
        elif value is not None:
            raise InvalidArgument(f"{name} is {value!r}, not an operator or None")

    def _tensor(self, name: str, tensor: TensorDesc) -> int:
        count = len(tensor.sizes)
        sizes = _numbers(f"the sizes of {name}", tensor.sizes)
        strides = None if tensor.strides is None else _numbers(f"the strides of {name}", tensor.strides)
        total = tensor.total_size_in_bytes
        if not 0 <= total < 1 << 64:
            raise InvalidArgument(f"the total size of {name} is {total}, which is no UINT64")
        buffer = DML_BUFFER_TENSOR_DESC(
            tensor.data_type.dml_value,
            0,
            count,
            ctypes.addressof(sizes),
            None if strides is None else ctypes.addressof(strides),
            total,
            0,
        )
        desc = DML_TENSOR_DESC(DML_TENSOR_TYPE.DML_TENSOR_TYPE_BUFFER, ctypes.addressof(buffer))
        self._kept += (sizes, strides, buffer, desc)
        return ctypes.addressof(desc)

    def _scale_bias(self, value: ScaleBias) -> int:
        made = DML_SCALE_BIAS.from_buffer_copy(np.array(value.bits, np.uint32).tobytes())
        self._kept.append(made)
        return ctypes.addressof(made)


def _data_type(name: str, value: Any) -> int:
    """The ``DML_TENSOR_DATA_TYPE`` that ``value`` names; a number without a name is what it is."""
    if isinstance(value, np.uint32):
        return int(value.astype(np.int32))
    if not isinstance(value, str) or value not in DataType.__members__:
        raise InvalidArgument(f"{name} is {value!r}, not one of {', '.join(DataType.__members__)}")
    return DataType[value].dml_value


def _numbers(what: str, values: Sequence[int]) -> Any:
    if any(not 0 <= value < 1 << 32 for value in values):
        raise InvalidArgument(f"{what} are {list(values)}, which are not all of UINT")
    # An array of no elements would have no address worth giving.
    return (U32 * max(1, len(values)))(*values)
