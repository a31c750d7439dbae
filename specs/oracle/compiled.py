"""The compiled first comparison (extra ``fast``): formulas on bit patterns, in integers alone, by numba.

It computes what ``--strict`` leaves, one output for each input, without a single floating-point operation, and
compares it with the output's bits; so it shares neither code nor arithmetic with the numpy oracle that it spares
work. It only ever says "all of these are right"; whatever it does not certify is judged by numpy.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.formula import Call, Expression, Name
from dmlcts.specs.oracle.vectorised import VectorOracle

Array = NDArray[Any]
Function = Callable[..., Any]
Maker = Callable[..., Function]
Compiler = Callable[[Function], Function]
"""What ``numba.njit`` is; numba itself has no types."""

_ROUNDINGS = ("trunc", "round_half_even", "round_half_away")


class NotCompiled(Exception):  # noqa: N818  # a way to take, not a fault
    """There is no compiled comparison here; numpy does all of the judging."""


def available() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


class Certifier:
    """Says of outputs whether all of them are, bit for bit, what IEEE 754 gives.

    Args:
        oracle: whose formula and attributes count.

    Raises:
        NotCompiled: numba is missing, or the formula or type is not served.
        Unconstrained: a bound that no integer of the type follows from.
    """

    def __init__(self, oracle: VectorOracle) -> None:
        if not available():
            raise NotCompiled("numba is not installed")
        if oracle.scale_bias is not None:
            raise NotCompiled("ScaleBias")
        data_type = oracle.data_type
        if not oracle.any_payload:
            raise NotCompiled("payloads of NaN count")
        names = tuple(oracle.attributes)  # raises where a clause leaves the cast open
        self._compare = _compiled(oracle.expression, names, data_type)
        self._lane = _lane(data_type)
        bounds = [oracle.plain.attributes[name][0].reshape(1).view(self._lane) for name in names]
        self._bounds = np.concatenate(bounds) if bounds else np.zeros(1, self._lane)

    def outputs(self, x: Array, output: Array, poison: int | None) -> bool:
        """Whether every output is right for its input, and none equals the poison.

        Args:
            x: the inputs, 1-D, of the tensor's type.
            output: the outputs, likewise.
            poison: a bit pattern, or ``None``.
        """
        return self._compared(x, output, poison, 0, consecutive=False)

    def patterns(self, first: int, x: Array, output: Array, poison: int) -> bool:
        """Whether ``x`` holds consecutive patterns from ``first`` on, and :meth:`outputs` as well."""
        return self._compared(x, output, poison, first, consecutive=True)

    def _compared(self, x: Array, output: Array, poison: int | None, first: int, *, consecutive: bool) -> bool:
        bits = np.array([poison or 0, first, -int(consecutive) & (1 << 64) - 1], np.uint64)
        held, start, ones = bits.astype(f"u{self._lane.itemsize}").view(self._lane)
        guarded = poison is not None
        return bool(
            self._compare(x.view(self._lane), output.view(self._lane), self._bounds, held, guarded, start, ones)
        )


def _lane(data_type: DataType) -> np.dtype[Any]:
    """What is computed on: bit patterns of floats, values of integers."""
    return data_type.bits_dtype if data_type.is_floating else data_type.numpy


@lru_cache(maxsize=64)
def _compiled(expression: Expression, names: tuple[str, ...], data_type: DataType) -> Function:
    """The comparison for a formula; numba compiles it when it is first called, in about half a second."""
    numba: Any = importlib.import_module("numba")
    if data_type not in (DataType.FLOAT32, DataType.FLOAT16) and data_type.is_floating:
        raise NotCompiled(data_type.name)
    makers = _floating(numba.njit, data_type) if data_type.is_floating else _integer(numba.njit)
    function = _function(expression, names, makers)
    lane = _lane(data_type).type
    zero = lane(0)
    unlike = makers["unlike"]()

    def compare(
        x: Array, output: Array, bounds: Array, poison: Any, guarded: bool, first: Any, consecutive: Any
    ) -> bool:
        differing = zero
        kept = False
        for index in range(x.size):
            value = x[index]
            differing |= unlike(function(value, bounds), output[index])
            differing |= (value ^ lane(first + lane(index))) & consecutive
            kept |= output[index] == poison
        return differing == 0 and not (kept and guarded)

    compiled: Function = numba.njit(nogil=True)(compare)
    return compiled


def _function(expression: Expression, names: tuple[str, ...], makers: dict[str, Maker]) -> Function:
    match expression:
        case Name("x"):
            return makers["x"]()
        case Name(name):
            return makers["bound"](names.index(name))
        case Call(function, arguments) if function in makers:
            return makers[function](*(_function(argument, names, makers) for argument in arguments))
    raise NotCompiled(f"{expression}")


def _common(njit: Compiler) -> dict[str, Maker]:
    def x() -> Function:
        return njit(lambda value, bounds: value)

    def bound(place: int) -> Function:
        return njit(lambda value, bounds: bounds[place])

    return {"x": x, "bound": bound}


def _integer(njit: Compiler) -> dict[str, Maker]:
    def smaller(left: Function, right: Function) -> Function:
        return njit(lambda value, bounds: min(left(value, bounds), right(value, bounds)))

    def larger(left: Function, right: Function) -> Function:
        return njit(lambda value, bounds: max(left(value, bounds), right(value, bounds)))

    def same(operand: Function) -> Function:
        return operand

    def unlike() -> Function:
        return njit(lambda one, other: one ^ other)

    found: dict[str, Maker] = _common(njit) | {"min": smaller, "max": larger, "unlike": unlike}
    found.update(dict.fromkeys((*_ROUNDINGS, "floor", "ceil"), same))
    return found


def _floating(njit: Compiler, data_type: DataType) -> dict[str, Maker]:
    """Functions of bit patterns of a floating-point type, computed in signed 32-bit integers.

    A finite number's pattern without its sign counts up with its magnitude, through every exponent. So rounding
    the magnitude up is adding to the pattern, and a carry out of the significand is the next exponent's.
    """
    information = np.finfo(data_type.numpy)
    mantissa = np.int32(information.nmant)
    bias = np.int32((1 << (information.nexp - 1)) - 1)
    whole = np.int32(bias + mantissa)  # from this exponent on every number is an integer
    one = np.int32(int(bias) << int(mantissa))
    half = np.int32(int(bias - 1) << int(mantissa))
    infinity = np.int32(((1 << information.nexp) - 1) << information.nmant)
    width = 8 * data_type.itemsize
    magnitudes = np.int32((1 << (width - 1)) - 1)
    lane = data_type.bits_dtype.type
    sign_bit = lane(1 << (width - 1))
    unit, nothing = np.int32(1), np.int32(0)

    def rounding(nearest: bool, even: bool) -> Function:
        def make(operand: Function) -> Function:
            def rounded(value: Any, bounds: Any) -> Any:
                bits = operand(value, bounds)
                magnitude = np.int32(bits) & magnitudes
                exponent = magnitude >> mantissa
                places = min(max(whole - exponent, nothing), mantissa)  # bits of the fraction
                fraction = (unit << places) - unit
                step = nothing
                if nearest:
                    step = (fraction + unit) >> unit
                    if even:
                        step = step - unit + ((magnitude >> places) & unit)
                result = (magnitude + step) & ~fraction
                result = magnitude if exponent >= whole else result
                small = nothing
                if nearest:
                    small = (one if magnitude > half else nothing) if even else (one if magnitude >= half else nothing)
                result = small if magnitude < one else result
                return lane(result) | lane(bits & sign_bit)

            return njit(rounded)

        return make

    def ordered(bits: Any) -> Any:
        """An integer that counts as the number does, -0 below +0."""
        magnitude = np.int32(bits) & magnitudes
        return ~magnitude if bits & sign_bit else magnitude

    order = njit(ordered)

    def extremum(smaller: bool) -> Function:
        def make(left: Function, right: Function) -> Function:
            def chosen(value: Any, bounds: Any) -> Any:
                a, b = left(value, bounds), right(value, bounds)
                p, q = order(a), order(b)
                first = p < q if smaller else p > q
                result = a if first else b
                result = b if (np.int32(b) & magnitudes) > infinity else result
                return a if (np.int32(a) & magnitudes) > infinity else result

            return njit(chosen)

        return make

    def magnitude_only(operand: Function) -> Function:
        return njit(lambda value, bounds: lane(operand(value, bounds) & ~sign_bit))

    def negated(operand: Function) -> Function:
        return njit(lambda value, bounds: lane(operand(value, bounds) ^ sign_bit))

    def unlike() -> Function:
        def differing(one: Any, other: Any) -> Any:
            """Zero where the two are the same, or both NaN."""
            both = ((np.int32(one) & magnitudes) > infinity) & ((np.int32(other) & magnitudes) > infinity)
            return lane(0) if both else lane(one ^ other)

        return njit(differing)

    return _common(njit) | {
        "unlike": unlike,
        "trunc": rounding(nearest=False, even=False),
        "round_half_even": rounding(nearest=True, even=True),
        "round_half_away": rounding(nearest=True, even=False),
        "min": extremum(smaller=True),
        "max": extremum(smaller=False),
        "abs": magnitude_only,
        "neg": negated,
    }
