"""The tensor data types of DirectML (``DML_TENSOR_DATA_TYPE``)."""

from __future__ import annotations

import enum
from functools import cached_property
from typing import Any

import numpy as np


class DataType(enum.Enum):
    """A tensor element type; the value is the enumerator's number in ``DirectML.h``."""

    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT16 = 4
    UINT8 = 5
    INT32 = 6
    INT16 = 7
    INT8 = 8
    FLOAT64 = 9
    UINT64 = 10
    INT64 = 11

    __hash__ = object.__hash__  # an Enum's asks for that of its name: it stands in the keys of every cache

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype of one element, in the machine's byte order."""
        return np.dtype(self.name.lower())

    @cached_property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.numpy.itemsize)

    @cached_property
    def dml_value(self) -> int:
        """The enumerator's number in ``DirectML.h``."""
        return self.value

    @cached_property
    def is_floating(self) -> bool:
        """Whether the elements are IEEE 754 binary floating-point numbers."""
        return self.numpy.kind == "f"

    @cached_property
    def is_signed(self) -> bool:
        """Whether negative values can be represented."""
        return self.numpy.kind != "u"

    @cached_property
    def bits_dtype(self) -> np.dtype[Any]:
        """The unsigned numpy dtype of the same width, for looking at bit patterns."""
        return np.dtype(f"u{self.itemsize}")

    def __repr__(self) -> str:
        return f"DataType.{self.name}"
