"""What an operator is asked to do: tensors, operators and the bytes they are bound to.

Every value here is frozen and compares by content; NaN attributes compare by their bits.
Descriptions are deliberately able to hold what DirectML must refuse (rank 9, a zero size),
because the suite has to say those things to the implementation under test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from dmlcts.specs.computed import computed
from dmlcts.specs.datatypes import DataType


def _elements_spanned(sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    if strides is None:
        return math.prod(sizes)
    if not all(sizes):
        return 0
    spanned = 1
    for size, stride in zip(sizes, strides, strict=True):
        spanned += (size - 1) * stride
    return spanned


def minimum_size_in_bytes(data_type: DataType, sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    """Bytes from the first element to the end of the last, before any rounding up."""
    return _elements_spanned(sizes, strides) * data_type.itemsize


def documented_total_size(data_type: DataType, sizes: Sequence[int], strides: Sequence[int] | None) -> int:
    """The documented total size: the last element's end, rounded up to a multiple of 4 bytes.

    Source: DirectML's page "DirectML helper functions" (``DMLCalcBufferTensorSize``).
    """
    return whole_words(minimum_size_in_bytes(data_type, sizes, strides))


def whole_words(size: int) -> int:
    """Bytes, rounded up to a multiple of 4."""
    return (size + 3) // 4 * 4


@dataclass(frozen=True, init=False)
class TensorDesc:
    """A buffer tensor (``DML_BUFFER_TENSOR_DESC``).

    Args:
        data_type: the element type.
        sizes: elements along each dimension; the rank is ``len(sizes)``.
        strides: elements between neighbours along each dimension, or ``None`` for packed row-major.
        total_size_in_bytes: bytes of the buffer; ``None`` means the documented formula.

    Raises:
        ValueError: ``strides`` has another length than ``sizes`` (the C struct cannot say that).
    """

    data_type: DataType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None
    total_size_in_bytes: int

    def __init__(
        self,
        data_type: DataType,
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        total_size_in_bytes: int | None = None,
    ) -> None:
        if strides is not None and len(strides) != len(sizes):
            raise ValueError(f"{len(strides)} strides for {len(sizes)} sizes; give one stride a dimension")
        exact_sizes = tuple(map(int, sizes))
        exact_strides = None if strides is None else tuple(map(int, strides))
        put = self.__dict__  # as object.__setattr__ would, in half the time: a run makes millions
        if total_size_in_bytes is None:
            least = put["minimum_size_in_bytes"] = minimum_size_in_bytes(data_type, exact_sizes, exact_strides)
            total_size_in_bytes = whole_words(least)
        put["data_type"] = data_type
        put["sizes"] = exact_sizes
        put["strides"] = exact_strides
        put["total_size_in_bytes"] = int(total_size_in_bytes)

    def __hash__(self) -> int:
        return self._hash

    @computed
    def _hash(self) -> int:
        return hash((self.data_type, self.sizes, self.strides, self.total_size_in_bytes))

    def __repr__(self) -> str:
        return self._text

    @computed
    def _text(self) -> str:
        return (
            f"TensorDesc(data_type={self.data_type!r}, sizes={self.sizes!r}, strides={self.strides!r}, "
            f"total_size_in_bytes={self.total_size_in_bytes!r})"
        )

    @property
    def rank(self) -> int:
        """The number of dimensions (``DimensionCount``)."""
        return len(self.sizes)

    @computed
    def element_count(self) -> int:
        """The number of logical elements: the product of the sizes."""
        return math.prod(self.sizes)

    @computed
    def minimum_size_in_bytes(self) -> int:
        """Bytes from the first element to the end of the last, before rounding up."""
        return minimum_size_in_bytes(self.data_type, self.sizes, self.strides)

    @computed
    def layout(self) -> tuple[Any, ...]:
        """All but what the elements mean: how long each is, and where they stand."""
        return self.data_type.itemsize, self.sizes, self.strides, self.total_size_in_bytes

    @computed
    def element_strides(self) -> tuple[int, ...]:
        """The strides in elements, the packed row-major ones where none were given."""
        if self.strides is not None:
            return self.strides
        strides = []
        step = 1
        for size in reversed(self.sizes):
            strides.append(step)
            step *= size
        return tuple(reversed(strides))


@dataclass(frozen=True, init=False)
class ScaleBias:
    """``DML_SCALE_BIAS``: g(x) = x * scale + bias, applied to the input; both are FLOAT."""

    scale: np.float32
    bias: np.float32

    def __init__(self, scale: float | np.float32, bias: float | np.float32) -> None:
        object.__setattr__(self, "scale", np.float32(scale))
        object.__setattr__(self, "bias", np.float32(bias))

    @computed
    def bits(self) -> tuple[int, int]:
        """The two bit patterns, which is what equality looks at."""
        return int(self.scale.view(np.uint32)), int(self.bias.view(np.uint32))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScaleBias) and self.bits == other.bits

    def __hash__(self) -> int:
        return hash(self.bits)


@dataclass(frozen=True)
class ScalarUnion:
    """``DML_SCALAR_UNION``: a number of the type that the struct's ``DML_TENSOR_DATA_TYPE`` member names.

    The union has no FLOAT16 member; the bits of a FLOAT16 stand in ``UInt16``, as Microsoft's DxDispatch writes them.

    Args:
        data_type: the number's type.
        bits: its pattern, as an unsigned integer of the type's width.

    Raises:
        ValueError: ``bits`` does not fit the type's width.
    """

    data_type: DataType
    bits: int

    def __post_init__(self) -> None:
        if not 0 <= self.bits < 1 << 8 * self.data_type.itemsize:
            raise ValueError(f"{self.bits:#x} is no pattern of {self.data_type.name}; give one of its width")

    @classmethod
    def of(cls, data_type: DataType, value: float | np.generic) -> ScalarUnion:
        """A number in a type: floating-point types round it to nearest, integers must hold it.

        Raises:
            ValueError: the integer type does not hold the number.
        """
        if not data_type.is_floating:
            limits = np.iinfo(data_type.numpy)
            if not np.isfinite(value) or int(value) != value or not limits.min <= int(value) <= limits.max:
                raise ValueError(f"{data_type.name} does not hold {value}; give one of its integers")
            value = int(value)
        with np.errstate(over="ignore"):
            array = np.asarray(value).astype(data_type.numpy)
        return cls(data_type, int(array.view(data_type.bits_dtype)))

    @property
    def value(self) -> Any:
        """The number as a numpy scalar of its type."""
        return np.array(self.bits, self.data_type.bits_dtype).view(self.data_type.numpy)[()]


def _identity(value: Attribute) -> Any:
    if isinstance(value, np.float32):
        return "f32", value.tobytes()  # a NaN equals none, and -0 equals 0
    return ("enumerator", int(value)) if isinstance(value, np.uint32) else value


@lru_cache(maxsize=1 << 14)
def _first_of(kind: tuple[Any, ...]) -> tuple[Any, ...]:
    """The first of equal kinds: they stand in the keys of every cache, and one object is soon found equal to itself."""
    return kind


def _exact(value: Attribute | float) -> Attribute:
    """An attribute as a description holds it: a number as a FLOAT, whatever its type was."""
    if type(value) is np.float32:
        return value
    return np.float32(value) if isinstance(value, (int, float, np.floating)) else value


def _output_of(tensors: Mapping[str, TensorDesc]) -> str:
    """The name of an output tensor that is not called OutputTensor: all structs call theirs Output…, no input so."""
    return next((name for name in tensors if name.startswith("Output")), "OutputTensor")


@dataclass(frozen=True, init=False, eq=False)
class OperatorDesc:
    """An operator with its tensors and attributes (``DML_OPERATOR_DESC``).

    Args:
        name: the header's name without ``DML_``, for example ``"ELEMENT_WISE_CLIP"``.
        tensors: the struct's tensor members ("InputTensor", "ATensor", "OutputTensor", ...) to their descriptions; an
            optional tensor that is not there is missing.
        attributes: FLOAT members as ``numpy.float32`` (a Python float is rounded to one),
            "ScaleBias" as :class:`ScaleBias` or ``None``, "RoundingMode" as the enumerator's name, or as a
            ``numpy.uint32`` where the enumeration has no name for the number; a ``DML_TENSOR_DATA_TYPE`` as the
            type's name ("INT64"), a ``DML_SCALAR_UNION`` as :class:`ScalarUnion`; a ``DML_OPERATOR_DESC``, which is an
            activation that is fused, as an operator without tensors, or ``None``.
    """

    name: str
    tensors: Mapping[str, TensorDesc]
    attributes: Mapping[str, Attribute]
    output_name: str = field(init=False, repr=False)

    def __init__(
        self,
        name: str,
        tensors: Mapping[str, TensorDesc],
        attributes: Mapping[str, Attribute | float] | None = None,
    ) -> None:
        put = self.__dict__  # see TensorDesc
        put["name"] = name
        put["tensors"] = MappingProxyType(dict(tensors))
        put["output_name"] = "OutputTensor" if "OutputTensor" in tensors else _output_of(tensors)
        put["attributes"] = MappingProxyType({key: _exact(value) for key, value in (attributes or {}).items()})

    @computed
    def inputs(self) -> Mapping[str, TensorDesc]:
        """The descriptions of the input tensors, by name, in the struct's order."""
        return MappingProxyType({name: tensor for name, tensor in self.tensors.items() if name != self.output_name})

    @computed
    def input_name(self) -> str:
        """The name of the first input tensor; the output's where there is none."""
        return next((name for name in self.tensors if name != self.output_name), self.output_name)

    @property
    def input(self) -> TensorDesc:
        """The description of the first input tensor."""
        return self.tensors[self.input_name]

    @computed
    def data_type(self) -> DataType:
        """The data type that records call the operator's: the first input's, but for a condition, which only chooses.

        It is that of the first type variable of the operator's table.
        """
        for name, tensor in self.tensors.items():
            if name not in (self.output_name, "ConditionTensor"):
                return tensor.data_type
        return self.input.data_type

    @property
    def output(self) -> TensorDesc:
        """The description of the output tensor."""
        return self.tensors[self.output_name]

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, OperatorDesc) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    @computed
    def _hash(self) -> int:
        return hash(self._key)

    @computed
    def _key(self) -> tuple[Any, ...]:
        return (
            self.name,
            frozenset(self.tensors.items()),
            frozenset([(key, _identity(value)) for key, value in self.attributes.items()]),
        )

    @computed
    def kind(self) -> tuple[Any, ...]:
        """What an answer depends on besides the elements: the name, the type of each tensor, and the attributes."""
        return _first_of(
            (
                self.name,
                tuple([(name, tensor.data_type) for name, tensor in self.tensors.items()]),
                frozenset([(key, _identity(value)) for key, value in self.attributes.items()]),
            )
        )

    def __repr__(self) -> str:
        return f"OperatorDesc({self.name!r}, {dict(self.tensors)!r}, {dict(self.attributes)!r})"

    @computed
    def scale_bias(self) -> ScaleBias | None:
        """The scale and bias that it is given, whatever its attribute is called."""
        return next((value for value in self.attributes.values() if isinstance(value, ScaleBias)), None)

    @computed
    def activation(self) -> OperatorDesc | None:
        """The operator that is fused into this one: the attribute that is an operator itself."""
        return next((value for value in self.attributes.values() if isinstance(value, OperatorDesc)), None)


Attribute = np.float32 | ScaleBias | ScalarUnion | OperatorDesc | str | np.uint32 | None
"""What an attribute may be; an operator is one that is fused into the description's own."""


@dataclass(frozen=True, init=False)
class Region:
    """``size`` bytes of a memory, from byte ``offset`` (a multiple of 16 when bound to a tensor)."""

    offset: int
    size: int

    def __init__(self, offset: int, size: int) -> None:
        put = self.__dict__  # see TensorDesc
        put["offset"] = offset
        put["size"] = size

    @property
    def end(self) -> int:
        """The first byte past the region."""
        return self.offset + self.size
