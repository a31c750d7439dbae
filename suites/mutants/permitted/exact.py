"""What the pages leave open of the exact operators: overflow, division by zero, halves, NaN, zeros, far shifts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.formulas import Array, shifted
from dmlcts.suites.mutants.permitted.steps import FLOATING, INTEGER, Permitted

COMPARISONS = (
    "LOGICAL_EQUALS",
    "LOGICAL_GREATER_THAN",
    "LOGICAL_LESS_THAN",
    "LOGICAL_GREATER_THAN_OR_EQUAL",
    "LOGICAL_LESS_THAN_OR_EQUAL",
)
COMPARE: dict[str, Callable[[Any, Any], Any]] = dict(
    zip(COMPARISONS, (np.equal, np.greater, np.less, np.greater_equal, np.less_equal), strict=True)
)
EXACT: dict[str, Callable[..., Any]] = {
    "ADD": lambda a, b: a + b,
    "SUBTRACT": lambda a, b: a - b,
    "MULTIPLY": lambda a, b: a * b,
    "ABS": abs,
    "NEGATE": lambda x: -x,
}
DIVISIONS = ("DIVIDE", "MODULUS_TRUNCATE", "MODULUS_FLOOR")


def whole(x: Array) -> Array:
    """As Python's integers."""
    return x.astype(object)


def nearest(exact: Array, dtype: np.dtype[Any]) -> Array:
    """Exact integers at the nearest limit of a type."""
    limits = np.iinfo(dtype)
    return np.minimum(np.maximum(exact, int(limits.min)), int(limits.max)).astype(dtype)


def wrapped(exact: Array, dtype: np.dtype[Any]) -> Array:
    """Exact integers modulo 2^bits."""
    return (exact & ((1 << 8 * dtype.itemsize) - 1)).astype(f"u{dtype.itemsize}").view(dtype)


class Exact(Permitted):
    """One thing that some of the exact operators may do; the first three are left as they are."""

    level = "6.4"

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """As ever, then changed where it may be."""
        right = super().compute_exact(operator, inputs)
        name = operator.name.removeprefix("ELEMENT_WISE_")
        if name not in self.among or operator.attributes.get("ScaleBias") is not None:
            return right
        kind = FLOATING if inputs[-1].dtype.kind == "f" else INTEGER
        if kind not in self.touches:
            return right
        return np.asarray(self.changed(name, right, *inputs))

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """What the operator gives."""
        raise NotImplementedError


class OverflowSaturates(Exact):
    """Sums, differences, products and magnitudes of integers outside the type become its nearest limit."""

    choice, touches, among = ("integer overflow",), (INTEGER,), tuple(EXACT)

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The nearest limit."""
        return nearest(EXACT[name](*map(whole, inputs)), y.dtype)


class _Square(Exact):
    choice, touches, among = ("square",), (INTEGER,), ("DIFFERENCE_SQUARE",)


class SquareSaturates(_Square):
    """The square of a difference of integers becomes the nearest limit at the end."""

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """At the end."""
        a, b = map(whole, inputs)
        return nearest((a - b) * (a - b), y.dtype)


class SquareSaturatesInEachStep(_Square):
    """The difference of integers becomes the nearest limit, and so does its square."""

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """In each step."""
        a, b = map(whole, inputs)
        difference = whole(nearest(a - b, y.dtype))
        return nearest(difference * difference, y.dtype)


class SquareOfWrappedSaturates(_Square):
    """The difference of integers wraps, its square becomes the nearest limit."""

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """In the second step."""
        a, b = map(whole, inputs)
        difference = whole(wrapped(a - b, y.dtype))
        return nearest(difference * difference, y.dtype)


class SquareOfSaturatedWraps(_Square):
    """The difference of integers becomes the nearest limit, its square wraps."""

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """In the first step."""
        a, b = map(whole, inputs)
        difference = whole(nearest(a - b, y.dtype))
        return wrapped(difference * difference, y.dtype)


class _ByZero(Exact):
    choice, touches, among = ("division by zero",), (INTEGER,), DIVISIONS

    def result_of(self, a: Array) -> Any:
        """The result of a division of ``a`` by 0."""
        raise NotImplementedError

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """Where the divisor is 0."""
        a, b = inputs
        return np.where(b == 0, self.result_of(a), y).astype(y.dtype)


class ByZeroGivesZero(_ByZero):
    """A division of integers by zero gives 0."""

    def result_of(self, a: Array) -> Any:
        """0."""
        return a.dtype.type(0)


class ByZeroGivesDividend(_ByZero):
    """A division of integers by zero gives the dividend, as WGSL has it."""

    def result_of(self, a: Array) -> Any:
        """The dividend."""
        return a


class ByZeroGivesLimits(_ByZero):
    """A division of integers by zero gives the limit of the dividend's sign."""

    def result_of(self, a: Array) -> Any:
        """A limit."""
        limits = np.iinfo(a.dtype)
        least, most = a.dtype.type(limits.min), a.dtype.type(limits.max)
        return np.where(a == 0, a, np.where(a < 0, least, most))


class LeastByMinusOneGivesGreatest(Exact):
    """The least integer divided by -1 gives the greatest, and leaves the dividend."""

    choice, touches, among = ("least by minus one",), (INTEGER,), DIVISIONS

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """Where it is."""
        a, b = inputs
        if a.dtype.kind == "u":
            return y
        limits = np.iinfo(a.dtype)
        limit = limits.max if name == "DIVIDE" else limits.min
        return np.where((a == limits.min) & (b == -1), limit, y).astype(y.dtype)


class _Mean(Exact):
    choice, touches, among = ("halves",), (INTEGER,), ("MEAN",)


class MeanFloors(_Mean):
    """Half of an odd sum of integers is rounded down."""

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The exact sum, floored."""
        a, b = map(whole, inputs)
        return ((a + b) // 2).astype(y.dtype)


class MeanRoundsUp(_Mean):
    """Half of an odd sum of integers is rounded up."""

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The exact sum and 1, floored."""
        a, b = map(whole, inputs)
        return ((a + b + 1) // 2).astype(y.dtype)


class MeanOfWrappedSum(_Mean):
    """The sum of integers wraps before it is halved and truncated."""

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The wrapped sum, truncated."""
        a, b = map(whole, inputs)
        total = whole(wrapped(a + b, y.dtype))
        return (np.sign(total) * (abs(total) // 2)).astype(y.dtype)


class MeanOfWrappedSumFloors(_Mean):
    """The sum of integers wraps before it is halved and rounded down."""

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The wrapped sum, floored."""
        a, b = map(whole, inputs)
        return (whole(wrapped(a + b, y.dtype)) // 2).astype(y.dtype)


class ComparisonsFlush(Exact):
    """FLOAT32 subnormals count as zero where they are compared."""

    choice, touches, among = ("compared subnormals",), (FLOATING,), COMPARISONS

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """As zeros."""
        a, b = inputs
        if a.dtype != np.float32:
            return y
        tiny = np.finfo(a.dtype).tiny
        return COMPARE[name](*(np.where(np.abs(x) < tiny, x.dtype.type(0), x) for x in (a, b)))


class ExtremesOfNumbers(Exact):
    """MAX and MIN with one NaN give the other operand."""

    choice, touches, among = ("nan operand",), (FLOATING,), ("MAX", "MIN")

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The other one."""
        a, b = inputs
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, y))


class ExtremesTakeFirstZero(Exact):
    """MAX and MIN of zeros give the first."""

    choice, touches, among = ("zero operand",), (FLOATING,), ("MAX", "MIN")

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The first one."""
        a, b = inputs
        return np.where((a == 0) & (b == 0), a, y)


class ExtremesTakeSecondZero(Exact):
    """MAX and MIN of zeros give the second."""

    choice, touches, among = ("zero operand",), (FLOATING,), ("MAX", "MIN")

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The second one."""
        a, b = inputs
        return np.where((a == 0) & (b == 0), b, y)


class SignOfNanIsNan(Exact):
    """SIGN of NaN is NaN."""

    choice, touches, among = ("sign of nan",), (FLOATING,), ("SIGN",)

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """NaN."""
        return np.where(np.isnan(inputs[0]), inputs[0], y)


class ZerosOfSignsAreKept(Exact):
    """SIGN of negative zero is negative zero."""

    choice, touches, among = ("zero of sign",), (FLOATING,), ("SIGN",)

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """The zero itself."""
        return np.where(inputs[0] == 0, inputs[0], y)


class CopiesFlush(Exact):
    """FLOAT32 subnormals become zeros of their sign where IDENTITY, ABS, NEGATE, IF, MAX and MIN pass them on."""

    choice, touches, among = ("copied subnormals",), (FLOATING,), ("IDENTITY", "ABS", "NEGATE", "IF", "MAX", "MIN")

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """Zeros."""
        if y.dtype != np.float32:
            return y
        return np.where((np.abs(y) < np.finfo(y.dtype).tiny) & (y != 0), self.zeros(y), y)

    def zeros(self, y: Array) -> Any:
        """What subnormals become."""
        return np.copysign(y.dtype.type(0), y)


class CopiesFlushToPositiveZero(CopiesFlush):
    """FLOAT32 subnormals become +0 there, negative ones too: a latitude on subnormals says zero, not which."""

    def zeros(self, y: Array) -> Any:
        """+0."""
        return y.dtype.type(0)


class CopiesQuietNans(Exact):
    """NaNs that IDENTITY, ABS, NEGATE and IF pass on become one quiet NaN."""

    choice, touches, among = ("copied nans",), (FLOATING,), ("IDENTITY", "ABS", "NEGATE", "IF")

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """One NaN."""
        return np.where(np.isnan(y), y.dtype.type(np.nan), y)


class _Shifts(Exact):
    choice, touches, among = ("shift beyond",), (INTEGER,), ("BIT_SHIFT_LEFT", "BIT_SHIFT_RIGHT")

    def count(self, b: Array) -> Array:
        """The count that is used where it is the width or more."""
        raise NotImplementedError

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """By another count."""
        a, b = inputs
        beyond = b >= 8 * b.dtype.itemsize
        return np.where(beyond, shifted(a, self.count(b).astype(b.dtype), left=name.endswith("LEFT")), y)


class ShiftsMask(_Shifts):
    """Counts of the width or more are taken modulo the width."""

    def count(self, b: Array) -> Array:
        """Modulo the width."""
        return b % b.dtype.type(8 * b.dtype.itemsize)


class ShiftsMaskTo32(_Shifts):
    """Counts of the width or more are taken modulo 32, as Direct3D's instructions do."""

    def count(self, b: Array) -> Array:
        """Modulo 32."""
        return b % b.dtype.type(32)


class ShiftsBeyondGiveFirst(_Shifts):
    """Counts of the width or more shift by nothing."""

    def count(self, b: Array) -> Array:
        """0."""
        return np.zeros_like(b)


class GradientOfNanIsZero(Exact):
    """CLIP_GRAD and CLIP_GRAD1 give 0 where x is NaN."""

    choice, touches, among = ("gradient of nan",), (FLOATING,), ("CLIP_GRAD", "CLIP_GRAD1")

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """0."""
        return np.where(np.isnan(inputs[0]), y.dtype.type(0), y)


class GradientsFlush(Exact):
    """Subnormal FLOAT32 gradients become 0."""

    choice, touches, among = ("gradient subnormals",), (FLOATING,), ("CLIP_GRAD", "CLIP_GRAD1")

    def changed(self, name: str, y: Array, *inputs: Array) -> Any:
        """0."""
        return np.where((y.dtype == np.float32) & (np.abs(y) < np.finfo(y.dtype).tiny), y.dtype.type(0), y)


PERMITTED_EXACT: tuple[type[Permitted], ...] = (
    OverflowSaturates,
    SquareSaturates,
    SquareSaturatesInEachStep,
    SquareOfWrappedSaturates,
    SquareOfSaturatedWraps,
    ByZeroGivesZero,
    ByZeroGivesDividend,
    ByZeroGivesLimits,
    LeastByMinusOneGivesGreatest,
    MeanFloors,
    MeanRoundsUp,
    MeanOfWrappedSum,
    MeanOfWrappedSumFloors,
    ComparisonsFlush,
    ExtremesOfNumbers,
    ExtremesTakeFirstZero,
    ExtremesTakeSecondZero,
    SignOfNanIsNan,
    ZerosOfSignsAreKept,
    CopiesFlush,
    CopiesFlushToPositiveZero,
    CopiesQuietNans,
    ShiftsMask,
    ShiftsMaskTo32,
    ShiftsBeyondGiveFirst,
    GradientOfNanIsZero,
    GradientsFlush,
)
