"""Judging blocks of many elements at speed: the vectorised oracle's verdicts, without its temporaries.

A block is judged in pieces that stay in the cache. Each piece is first compared, bit by bit, with one output
that the formula makes acceptable, computed into scratch memory that is allocated once. Only what differs is
looked at again, by ever more careful means, and the last word is always :class:`VectorOracle`'s. So the first
comparison may be narrow (it may miss what is acceptable) but never wide: whatever it agrees with is acceptable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.formula import Call, Expression, Name, Number
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.functions.in_arrays import InArrays
from dmlcts.specs.oracle.compiled import Certifier, NotCompiled
from dmlcts.specs.oracle.vectorised import VectorOracle

Array = NDArray[Any]
Step = Callable[[Array], Array]

PIECE = 1 << 16
"""Elements judged at once: input, output, scratch and mask together fit a second-level cache."""


class Unsupported(Exception):  # noqa: N818  # a way to take, not a fault
    """The formula or the type has no fast evaluation; the vectorised oracle evaluates it."""


@lru_cache(maxsize=1)
def _widened() -> NDArray[np.float32]:
    """Every FLOAT16 pattern as a FLOAT32: reading a table is quicker than converting."""
    with np.errstate(all="ignore"):
        table = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    table.setflags(write=False)
    return table


class FastFormula:
    """One acceptable output for each element of a piece, in scratch memory.

    FLOAT16 is computed in FLOAT32, which holds each of its values, as long as the formula only selects and
    rounds to integers. Where NaN meets ``min`` or ``max`` the result is NaN, or with ``number`` the other operand.

    Args:
        oracle: whose formula, attributes and latitudes count.
        size: the most elements of a piece.
        number: ``min`` and ``max`` prefer a number to NaN.
        flushed: subnormal inputs, bounds and results are zero; for FLOAT32, where the latitude acts.

    Raises:
        Unsupported: use :meth:`VectorOracle.expected`.
        Unconstrained: a bound that no integer of the type follows from.
    """

    def __init__(self, oracle: VectorOracle, size: int, *, number: bool = False, flushed: bool = False) -> None:
        if oracle.scale_bias is not None:
            raise Unsupported("DML_SCALE_BIAS")
        self._data_type = oracle.data_type
        self._ordered = oracle.signed_zeros and oracle.data_type.is_floating
        self._number = number
        self._narrow = self._data_type is DataType.FLOAT16
        self._work = np.dtype(np.float32) if self._narrow else self._data_type.numpy
        self._size = size
        _ = oracle.attributes  # raises where a clause leaves the cast open
        # Without any latitude the casts are acceptable under every law.
        self._attributes = {
            name: np.asarray(values[0]).astype(self._work)[()] for name, values in oracle.plain.attributes.items()
        }
        self._tiny: np.floating[Any] | None = None
        if flushed:
            if not oracle.rounding.flushes:
                raise Unsupported("nothing but FLOAT32 may be flushed, and only where a clause says so")
            self._tiny = self._work.type(np.finfo(np.float32).smallest_normal)
            self._attributes = {
                name: value * 0 if abs(value) < self._tiny else value for name, value in self._attributes.items()
            }
        self.selects = False
        self._input = np.empty(size, self._work)
        self._result = np.empty(size, self._data_type.numpy)
        self._run = self._compiled(oracle.expression)

    def __call__(self, x: Array) -> Array:
        """The outputs for ``x`` (1-D, of the tensor's type); valid until the next call."""
        count = x.size
        with np.errstate(all="ignore"):
            inputs = np.take(_widened(), x.view(np.uint16), out=self._input[:count]) if self._narrow else x
            if self._tiny is not None:
                inputs = self._flush(inputs)
            outputs = self._run(inputs)
            if self._tiny is not None:
                outputs = self._flush(outputs)
            if not self._narrow:
                return np.broadcast_to(outputs, x.shape)
            result = self._result[:count]
            np.copyto(result, outputs, casting="same_kind")
            return result

    def _flush(self, values: Array) -> Array:
        return np.where(np.abs(values) < self._tiny, self._work.type(0), values)

    def _scratch(self, dtype: np.dtype[Any] | None = None) -> Array:
        return np.empty(self._size, dtype or self._work)

    def _compiled(self, expression: Expression) -> Step:
        match expression:
            case Name("x"):
                return lambda x: x
            case Name(name):
                value = np.full(1, self._attributes[name])
                return lambda x: value
            case Number(constant):
                if not self._data_type.is_floating and not constant.is_integer():
                    raise Unsupported("a fraction on integers")
                value = np.full(1, self._data_type.numpy.type(constant)).astype(self._work)
                return lambda x: value
            case Call(function, arguments):
                return self._call(function, [self._compiled(argument) for argument in arguments])
        raise AssertionError(f"a choice is left in {expression}")

    def _call(self, function: str, operands: list[Step]) -> Step:
        target = self._scratch()
        if function in ("min", "max"):
            return self._extremum(function == "min", operands[0], operands[1], target)
        meaning = FUNCTIONS[function].arrays if function in FUNCTIONS else InArrays()
        if meaning.kept and not self._data_type.is_floating:
            return operands[0]
        if function == "round_half_away":
            return self._half_away(operands[0], target)
        ufunc = meaning.ufunc
        if ufunc is None:
            raise Unsupported(function)
        if len(operands) == 1:
            (operand,) = operands
            return lambda x: ufunc(operand(x), out=target[: x.size])
        if self._narrow:
            raise Unsupported("FLOAT16 arithmetic rounds")
        left, right = operands
        return lambda x: ufunc(left(x), right(x), out=target[: x.size])

    def _half_away(self, operand: Step, target: Array) -> Step:
        """trunc(x + copysign(1/2, x)) in FLOAT64, where the sum of narrower types is exact or too large to matter."""
        if self._work.itemsize > np.dtype(np.float32).itemsize:
            raise Unsupported("round_half_away of FLOAT64: the sum rounds")
        wide, half = self._scratch(np.dtype(np.float64)), self._scratch(np.dtype(np.float64))

        def rounded(x: Array) -> Array:
            value, result = operand(x), target[: x.size]
            total, step = wide[: x.size], half[: x.size]
            np.copyto(total, value)
            np.copysign(0.5, total, out=step)
            np.add(total, step, out=total)
            np.trunc(total, out=total)
            np.copyto(result, total, casting="same_kind")
            return result

        return rounded

    def _extremum(self, smaller: bool, left: Step, right: Step, target: Array) -> Step:
        self.selects = True
        propagating, ignoring = (np.minimum, np.fmin) if smaller else (np.maximum, np.fmax)
        ufunc = ignoring if self._number and self._data_type.is_floating else propagating
        ordered = self._ordered

        def chosen(x: Array) -> Array:
            a, b, result = left(x), right(x), target[: x.size]
            ufunc(a, b, out=result)
            if ordered:
                zeros = np.flatnonzero((result == 0) & (a == b))
                if zeros.size:
                    signs = [np.signbit(np.broadcast_to(side, result.shape)[zeros]) for side in (a, b)]
                    negative = signs[0] | signs[1] if smaller else signs[0] & signs[1]
                    result[zeros] = np.where(negative, self._work.type(-0.0), self._work.type(0.0))
            return result

        return chosen


@dataclass(frozen=True)
class Judged:
    """The result of judging a block.

    Attributes:
        elements: how many were judged.
        exact: how many equal, bit for bit, what was computed first, or are NaN where that is NaN.
        equal: how many are the other zero.
        other: how many are acceptable otherwise: min and max ignored a NaN, a subnormal was flushed, a bound cast
            another way.
        wrong: indices of those that are not acceptable, ascending.
        poison: indices of acceptable elements that equal the poison, so that nothing shows that they were written.
    """

    elements: int
    exact: int
    equal: int
    other: int
    wrong: NDArray[np.intp]
    poison: NDArray[np.intp]


_NONE: NDArray[np.intp] = np.zeros(0, np.intp)


class BlockJudge:
    """Judges outputs of one operator description, piece by piece; one for each thread.

    Args:
        oracle: the oracle of the description.
        compiled: also use the compiled first comparison, where numba is installed and it serves the formula.
    """

    def __init__(self, oracle: VectorOracle, *, compiled: bool = True) -> None:
        self.oracle = oracle
        self._data_type = oracle.data_type
        self._bits = oracle.data_type.bits_dtype
        self._certifier: Certifier | None = None
        if compiled:
            with contextlib.suppress(NotCompiled):
                self._certifier = Certifier(oracle)

    @cached_property
    def _mask(self) -> NDArray[np.bool_]:
        return np.empty(PIECE, bool)

    @cached_property
    def _fast(self) -> FastFormula | None:
        try:
            return FastFormula(self.oracle, PIECE)
        except Unsupported:
            return None

    @cached_property
    def _number(self) -> FastFormula | None:
        """What ``min`` and ``max`` give that prefer numbers to NaN."""
        useful = self._fast is not None and self._fast.selects and self._data_type.is_floating
        lenient = self.oracle.rounding.ignores_nan and not self.oracle.signed_zeros
        return FastFormula(self.oracle, PIECE, number=True) if useful and lenient else None

    @property
    def compiled(self) -> bool:
        """Whether the first comparison is a compiled one."""
        return self._certifier is not None

    @cached_property
    def _flushed(self) -> FastFormula | None:
        """What flushing every subnormal gives."""
        useful = self._fast is not None and self.oracle.rounding.flushes and not self.oracle.signed_zeros
        return FastFormula(self.oracle, PIECE, flushed=True) if useful else None

    def prepare(self, *, alone: bool = False) -> None:
        """Compile the comparisons of consecutive patterns, where there are compiled ones.

        Args:
            alone: those in read-only memory of :meth:`certifies_alone` and :meth:`are_consecutive` instead, which numba
                compiles apart.
        """
        if self._certifier is not None:
            buffer = np.zeros(1, self._data_type.numpy)
            if alone:
                buffer.setflags(write=False)
                self._certifier.alone(0, buffer, 0)
                self._certifier.consecutive(0, buffer)
            else:
                self._certifier.patterns(0, buffer, buffer, 0)

    def certifies(self, first: int, x: Array, output: Array, poison: int) -> bool:
        """Whether a compiled comparison finds everything in order; where there is none it never does.

        ``x`` and ``output`` are 1-D, of one length, of the operator's input and output types.

        Args:
            first: ``x`` must hold consecutive bit patterns from this one on.
            x: the inputs as they were found after the dispatch.
            output: the outputs; each must be right, bit for bit, or NaN where NaN is due.
            poison: no output may equal this bit pattern.
        """
        return self._certifier is not None and self._certifier.patterns(first, x, output, poison)

    def certifies_alone(self, first: int, output: Array, poison: int) -> bool:
        """The same of outputs for consecutive bit patterns from ``first`` on, of which nobody has the inputs.

        ``output`` is 1-D, of the output's type.
        """
        return self._certifier is not None and self._certifier.alone(first, output, poison)

    def are_consecutive(self, first: int, x: Array) -> bool:
        """Whether a compiled comparison finds consecutive bit patterns from ``first`` on; without one it never does.

        ``x`` is 1-D, of the input's type.
        """
        return self._certifier is not None and self._certifier.consecutive(first, x)

    def expected(self, x: Array) -> Array:
        """One acceptable output for each element of a piece; valid until the next call."""
        return self.oracle.expected(x) if self._fast is None else self._fast(x)

    def judge(self, x: Array, output: Array, poison: int | None = None) -> Judged:
        """Judge a block.

        Args:
            x: the inputs, 1-D, contiguous, of the tensor's type.
            output: the outputs, likewise.
            poison: the bit pattern that every output element held before, if it is to be looked for.
        """
        exact = equal = other = 0
        wrong: list[Array] = []
        kept: list[Array] = []
        for start in range(0, x.size, PIECE):
            inputs, outputs = x[start : start + PIECE], output[start : start + PIECE]
            piece = self._piece(inputs, outputs, poison)
            exact, equal, other = exact + piece.exact, equal + piece.equal, other + piece.other
            if piece.wrong.size:
                wrong.append(piece.wrong + start)
            if piece.poison.size:
                kept.append(piece.poison + start)
        return Judged(
            x.size,
            exact,
            equal,
            other,
            np.concatenate(wrong) if wrong else _NONE,
            np.concatenate(kept) if kept else _NONE,
        )

    def _piece(self, x: Array, output: Array, poison: int | None) -> Judged:
        count, bits = x.size, output.view(self._bits)
        if self._certifier is not None and self._certifier.outputs(x, output, poison):
            return Judged(count, count, 0, 0, _NONE, _NONE)
        mask = self._mask[:count]
        expected = self.expected(x)
        np.not_equal(bits, _as_bits(expected, self._bits), out=mask)
        judgement = Judged(count, count, 0, 0, _NONE, _NONE)
        if mask.any():
            judgement = self._differing(x, output, expected, mask)
        if poison is not None:
            np.equal(bits, self._bits.type(poison), out=mask)
            if mask.any():
                held = np.setdiff1d(np.flatnonzero(mask), judgement.wrong, assume_unique=True)
                judgement = Judged(count, judgement.exact, judgement.equal, judgement.other, judgement.wrong, held)
        return judgement

    def _differing(self, x: Array, output: Array, expected: Array, mask: NDArray[np.bool_]) -> Judged:
        """Judge a piece in which some elements (``mask``, which is overwritten) differ in their bits."""
        count = x.size
        if self._data_type.is_floating and self.oracle.any_payload:
            mask &= ~(np.isnan(output) & np.isnan(expected))
        exact = count - int(np.count_nonzero(mask))
        if self._data_type.is_floating and not self.oracle.signed_zeros:
            mask &= output != expected
        equal = count - exact - int(np.count_nonzero(mask))
        if mask.any() and self._number is not None:
            _strike(mask, output, self._number(x))
        if mask.any() and self._flushed is not None:
            _strike(mask, output, self._flushed(x))
        left = np.flatnonzero(mask)
        if left.size:
            with np.errstate(all="ignore"):
                left = left[self.oracle.judge(np.ascontiguousarray(x[left]), np.ascontiguousarray(output[left]))]
        return Judged(count, exact, equal, count - exact - equal - left.size, left, _NONE)


def _strike(mask: NDArray[np.bool_], output: Array, permitted: Array) -> None:
    """Strike from ``mask`` what equals a permitted output, either zero and any NaN being the same."""
    mask &= (output != permitted) & ~(np.isnan(output) & np.isnan(permitted))


def _as_bits(array: Array, dtype: np.dtype[Any]) -> Array:
    """The bit patterns of an array that may be a broadcast constant."""
    return array.view(dtype) if array.flags.c_contiguous else np.broadcast_to(array[:1].view(dtype), array.shape)
