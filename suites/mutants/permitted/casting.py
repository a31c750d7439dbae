"""How a bound that the tensor's type cannot represent is converted."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.mutants.permitted.steps import FLOATING, INTEGER, Permitted
from dmlcts.suites.mutants.reference import Array


def fits(value: np.float32, data_type: DataType) -> bool:
    """Whether the truncated value lies within the integer type."""
    limits = np.iinfo(data_type.numpy)
    return bool(np.isfinite(value)) and int(limits.min) <= int(value) <= int(limits.max)


def wrapped(value: int, data_type: DataType) -> Any:
    """The integer modulo the type's size, as a 0-dimensional array."""
    bits = 8 * data_type.itemsize
    return np.asarray(value % (1 << bits), f"u{data_type.itemsize}").view(data_type.numpy)


class _OutOfRange(Permitted):
    """A bound beyond the integer type becomes what :meth:`beyond` says."""

    choice = ("cast",)
    touches = (INTEGER,)

    def beyond(self, value: np.float32, data_type: DataType) -> int:
        """The integer, before it is wrapped into the type."""
        return 0

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        """The reference's within the type."""
        if data_type.is_floating or fits(value, data_type):
            return super().cast(value, data_type, name)
        return wrapped(self.beyond(value, data_type), data_type)


class OutOfRangeSaturates(Permitted):
    """A bound beyond the integer type becomes the nearest limit, NaN becomes 0."""

    choice = ("cast",)
    touches = (INTEGER,)


class OutOfRangeWraps(_OutOfRange):
    """A bound beyond the integer type wraps; NaN and infinities become 0."""

    def beyond(self, value: np.float32, data_type: DataType) -> int:
        """All of its bits."""
        return int(value) if np.isfinite(value) else 0


class OutOfRangeIsIndefinite(_OutOfRange):
    """A bound beyond INT32 (INT64 for 32 and 64 bits) becomes the least integer; it is truncated for narrower types."""

    def beyond(self, value: np.float32, data_type: DataType) -> int:
        """What cvttss2si gives."""
        least = -(1 << 31) if data_type.itemsize < 4 or data_type is DataType.INT32 else -(1 << 63)
        return int(value) if np.isfinite(value) and least <= int(value) < -least else least


class OutOfRangeIsZero(_OutOfRange):
    """A bound beyond the integer type becomes 0."""


class Float16OverflowSaturates(Permitted):
    """A finite bound of magnitude 65520 or more becomes 65504 of its sign."""

    choice = ("float16 overflow",)
    touches = (FLOATING,)

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        """Clamp finite values first."""
        if data_type is DataType.FLOAT16 and np.isfinite(value):
            value = np.clip(value, np.float32(-65504), np.float32(65504))
        return super().cast(value, data_type, name)


class _RoundsThresholdMin(Permitted):
    """A Min of THRESHOLD that the type cannot represent is rounded by :meth:`rounded`."""

    choice = ("threshold min",)

    def rounded(self, value: np.float32) -> np.float32:
        """A whole number."""
        return value

    def nearby(self, value: np.float32) -> np.float32:
        """A FLOAT16 value."""
        return np.float32(np.float16(value))

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Replace Min by a value that the type represents."""
        value, data_type = operator.attributes.get("Min"), operator.input.data_type
        if operator.name == "ELEMENT_WISE_THRESHOLD" and isinstance(value, np.float32) and np.isfinite(value):
            if data_type is DataType.FLOAT16 and abs(value) < 65504:
                value = self.nearby(value)
            if not data_type.is_floating and fits(value, data_type) and fits(self.rounded(value), data_type):
                value = self.rounded(value)
            operator = OperatorDesc(operator.name, operator.tensors, {**operator.attributes, "Min": value})
        return super().compute(operator, x)


class ThresholdMinRoundedUp(_RoundsThresholdMin):
    """A Min of THRESHOLD that the type cannot represent is rounded up."""

    def rounded(self, value: np.float32) -> np.float32:
        """Up."""
        return np.ceil(value)  # type: ignore[no-any-return]  # a FLOAT

    def nearby(self, value: np.float32) -> np.float32:
        """Up."""
        near = np.float16(value)
        return np.float32(near if near >= value else np.nextafter(near, np.float16(np.inf)))


class ThresholdMinRoundedDown(_RoundsThresholdMin):
    """A Min of THRESHOLD that the type cannot represent is rounded down."""

    def rounded(self, value: np.float32) -> np.float32:
        """Down."""
        return np.floor(value)  # type: ignore[no-any-return]  # as above

    def nearby(self, value: np.float32) -> np.float32:
        """Down."""
        near = np.float16(value)
        return np.float32(near if near <= value else np.nextafter(near, np.float16(-np.inf)))


class ThresholdMinRoundedToNearest(_RoundsThresholdMin):
    """A Min of THRESHOLD that the type cannot represent is rounded to nearest, ties to even."""

    def rounded(self, value: np.float32) -> np.float32:
        """To nearest."""
        return np.rint(value)  # type: ignore[no-any-return]  # as above


class _WiderThreshold(Permitted):
    """THRESHOLD on integers compares with Min as a real number, and :meth:`stored` brings the maximum into the type."""

    choice = ("threshold range",)
    touches = (INTEGER,)

    def stored(self, value: int, data_type: DataType) -> Any:
        """A Min above the type, in the type."""
        raise NotImplementedError

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """A Min above the type replaces everything, one below it nothing; a NaN acts as what the cast makes of it."""
        value, data_type = operator.attributes.get("Min"), operator.input.data_type
        integers = operator.name == "ELEMENT_WISE_THRESHOLD" and not data_type.is_floating
        if not integers or not isinstance(value, np.float32) or np.isnan(value) or fits(value, data_type):
            return super().compute(operator, x)
        least = np.float32(np.iinfo(data_type.numpy).min)
        operator = OperatorDesc(operator.name, operator.tensors, {**operator.attributes, "Min": least})
        y = super().compute(operator, x)
        if value < 0:
            return y
        beyond = int(value) if np.isfinite(value) else 1 << 80
        return np.full_like(y, self.stored(beyond, data_type))


class ThresholdMaximumSaturates(_WiderThreshold):
    """THRESHOLD takes the maximum with a Min above the integer type in a wider type and saturates it."""

    def stored(self, value: int, data_type: DataType) -> Any:
        """The greatest value."""
        return np.iinfo(data_type.numpy).max


class ThresholdMaximumWraps(_WiderThreshold):
    """THRESHOLD takes the maximum with a Min above the integer type in a wider type and stores its low bits."""

    def stored(self, value: int, data_type: DataType) -> Any:
        """Modulo the type's size; infinity saturates to INT32 or to the type first."""
        wide = np.iinfo(np.int32 if data_type.itemsize < 4 else data_type.numpy)
        return wrapped(value if value < 1 << 80 else int(wide.max), data_type)
