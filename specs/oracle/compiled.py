"""The compiled first comparison (extra ``fast``): formulas on bit patterns, in integers alone, by numba.

It computes what ``--strict-ieee`` leaves, one output for each input, without a single floating-point operation, and
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

_STRETCH = 1 << 13


class NotCompiled(Exception):  # noqa: N818  # a way to take, not a fault
    """There is no compiled comparison here; numpy does all of the judging."""


def available() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


def prepare() -> None:
    """Import numba, where it is installed, before it is needed."""
    if available():
        importlib.import_module("numba")


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
            raise NotCompiled("DML_SCALE_BIAS")
        data_type = oracle.data_type
        if not oracle.any_payload:
            raise NotCompiled("payloads of NaN count")
        names = tuple(oracle.attributes)  # raises where a clause leaves the cast open
        self._compare, self._compare_alone, self._compare_patterns, self._consecutive = _compiled(
            oracle.expression, names, data_type
        )
        self._computed_type = _computed_type(data_type)
        bounds = [oracle.plain.attributes[name][0].reshape(1).view(self._computed_type) for name in names]
        self._bounds = np.concatenate(bounds) if bounds else np.zeros(1, self._computed_type)

    def outputs(self, x: Array, output: Array, poison: int | None) -> bool:
        """Whether every output is right for its input, and none equals the poison.

        Args:
            x: the inputs, 1-D, of the tensor's type.
            output: the outputs, likewise.
            poison: a bit pattern, or ``None``.
        """
        return bool(
            self._compare(
                x.view(self._computed_type),
                output.view(self._computed_type),
                self._bounds,
                self._as_computed(poison or 0),
                poison is not None,
            )
        )

    def patterns(self, first: int, x: Array, output: Array, poison: int) -> bool:
        """Whether ``x`` holds consecutive patterns from ``first`` on, and :meth:`outputs` as well.

        ``x`` and ``output`` are 1-D, of one length and of the tensor's type; ``first`` and ``poison`` are bit patterns.
        """
        held, start = self._as_computed(poison), self._as_computed(first)
        return bool(
            self._compare_patterns(
                x.view(self._computed_type), output.view(self._computed_type), self._bounds, held, start
            )
        )

    def alone(self, first: int, output: Array, poison: int) -> bool:
        """Whether every output is right for consecutive patterns from ``first`` on, and none equals the poison.

        ``output`` is 1-D, of the tensor's type; ``first`` and ``poison`` are bit patterns.
        """
        held, start = self._as_computed(poison), self._as_computed(first)
        return bool(self._compare_alone(output.view(self._computed_type), self._bounds, held, start))

    def consecutive(self, first: int, x: Array) -> bool:
        """Whether ``x`` holds consecutive patterns from ``first`` on.

        ``x`` is 1-D, of the tensor's type; ``first`` is a bit pattern.
        """
        return bool(self._consecutive(x.view(self._computed_type), self._as_computed(first)))

    def _as_computed(self, pattern: int) -> Any:
        """A bit pattern of the type as what is computed on."""
        width = 8 * self._computed_type.itemsize
        return self._computed_type.type(
            pattern - (pattern >> (width - 1) << width) if self._computed_type.kind == "i" else pattern
        )


def _computed_type(data_type: DataType) -> np.dtype[Any]:
    """What is computed on: bit patterns of floats, values of integers."""
    return data_type.bits_dtype if data_type.is_floating else data_type.numpy


@lru_cache(maxsize=64)
def _compiled(
    expression: Expression, names: tuple[str, ...], data_type: DataType
) -> tuple[Function, Function, Function, Function]:
    """Comparisons for a formula: on any inputs, on consecutive patterns, on those with a look at the inputs; that look.

    Numba compiles each when it is first called, in about half a second. Consecutive patterns are taken in runs whose
    upper bits stay as they are, the exponent among them: what follows from these the compiler takes out of the loop.
    """
    numba: Any = importlib.import_module("numba")
    if data_type not in (DataType.FLOAT32, DataType.FLOAT16) and data_type.is_floating:
        raise NotCompiled(data_type.name)
    makers = _floating(numba.njit, data_type) if data_type.is_floating else _integer(numba.njit)
    function = _function(expression, names, makers)
    bits_type = _computed_type(data_type).type
    zero = bits_type(0)
    unlike = makers["unlike"]()
    run_bits = np.finfo(data_type.numpy).nmant if data_type.is_floating else min(8 * data_type.itemsize - 1, 23)
    run = np.int64(1 << run_bits)
    lower = bits_type((1 << run_bits) - 1)

    def compare(x: Array, output: Array, bounds: Array, poison: Any, guarded: bool) -> bool:
        differing = zero
        kept = False
        for index in range(x.size):
            differing |= unlike(function(x[index], bounds), output[index])
            kept |= output[index] == poison
        return differing == 0 and not (kept and guarded)

    def compare_alone(output: Array, bounds: Array, poison: Any, first: Any) -> bool:
        differing = zero
        kept = False
        start: Any = np.int64(0)
        while start < output.size:
            pattern = bits_type(first + bits_type(start))
            low, upper = np.int64(pattern & lower), bits_type(pattern & ~lower)
            stop = min(start + run - low, output.size)
            part = output[start:stop]
            for index in range(part.size):
                value = bits_type(upper | (bits_type(low + index) & lower))
                differing |= unlike(function(value, bounds), part[index])
                kept |= part[index] == poison
            start = stop
        return differing == 0 and not kept

    def consecutive(x: Array, first: Any) -> bool:
        differing = zero
        for index in range(x.size):
            differing |= x[index] ^ bits_type(first + bits_type(index))
        return bool(differing == 0)

    compiled = numba.njit(nogil=True)
    alone, ordered = compiled(compare_alone), compiled(consecutive)

    def compare_patterns(x: Array, output: Array, bounds: Array, poison: Any, first: Any) -> bool:
        # Two loops over a stretch that stays in the cache: in one, nothing would be taken out of it.
        right = True
        for start in range(0, x.size, _STRETCH):
            stop = min(start + _STRETCH, x.size)
            pattern = bits_type(first + bits_type(start))
            right &= ordered(x[start:stop], pattern) and alone(output[start:stop], bounds, poison, pattern)
        return right

    return compiled(compare), alone, compiled(compare_patterns), ordered


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

    def unlike() -> Function:
        return njit(lambda first, other: first ^ other)

    return _common(njit) | {"min": smaller, "max": larger, "unlike": unlike}


def _floating(njit: Compiler, data_type: DataType) -> dict[str, Maker]:
    """Functions of bit patterns of a floating-point type, computed in signed 32-bit integers.

    A finite number's pattern without its sign counts up with its magnitude, through every exponent. So rounding
    the magnitude up is adding to the pattern, and a carry out of the significand is the next exponent's.
    """
    information = np.finfo(data_type.numpy)
    mantissa = np.int32(information.nmant)
    bias = np.int32((1 << (information.nexp - 1)) - 1)
    whole = np.int32(bias + mantissa)  # from this exponent on every number is an integer
    unity = np.int32(int(bias) << int(mantissa))
    half = np.int32(int(bias - 1) << int(mantissa))
    infinity = np.int32(((1 << information.nexp) - 1) << information.nmant)
    width = 8 * data_type.itemsize
    magnitudes = np.int32((1 << (width - 1)) - 1)
    bits_type = data_type.bits_dtype.type
    sign_bit = bits_type(1 << (width - 1))
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
                    small = (
                        (unity if magnitude > half else nothing) if even else (unity if magnitude >= half else nothing)
                    )
                result = small if magnitude < unity else result
                return bits_type(result) | bits_type(bits & sign_bit)

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
        return njit(lambda value, bounds: bits_type(operand(value, bounds) & ~sign_bit))

    def negated(operand: Function) -> Function:
        return njit(lambda value, bounds: bits_type(operand(value, bounds) ^ sign_bit))

    def unlike() -> Function:
        def differing(first: Any, other: Any) -> Any:
            """Zero where the two are the same, or both NaN."""
            both = ((np.int32(first) & magnitudes) > infinity) & ((np.int32(other) & magnitudes) > infinity)
            return bits_type(0) if both else bits_type(first ^ other)

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
