"""ScaleBias on one floating-point element, exactly: rule 4 of ``specs/README.md``, path by path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.real_number import product_plus
from dmlcts.specs.arithmetic.value_sets import NAN, Arithmetic, Member, Values
from dmlcts.specs.formula import MultiplyAdd


@dataclass(frozen=True)
class _Path:
    """One way to compute a product plus a third.

    Attributes:
        arithmetic: the format that it is computed in.
        operation: which two of x, scale and bias are multiplied, and which is added.
        constants: the value sets of scale and bias in that format.
        fused: whether the product and the sum are rounded once, together.
    """

    arithmetic: Arithmetic
    operation: MultiplyAdd
    constants: Mapping[str, Values]
    fused: bool

    def result(self, x: Values, source: Format) -> Values:
        """The value set of the operation in the path's format; ``x`` is of the format ``source``."""
        arithmetic = self.arithmetic
        operands = {**self.constants, "x": arithmetic.converted(x, source)}
        a, b = (operands[name] for name in self.operation.factors)
        addend = operands[self.operation.addend]
        if self.fused:
            return arithmetic.apply(arithmetic.fused_multiply_add, a, b, addend)
        return arithmetic.apply(arithmetic.add, arithmetic.apply(arithmetic.multiply, a, b), addend)


class FloatingScaleBias:
    """The table's formula of x, scale and bias on a floating-point type, by every path that the latitudes permit.

    Args:
        tensor: the arithmetic of the tensor's type, with the latitudes that act.
        operation: what the table says of x, scale and bias.
        scale: the FLOAT32 pattern of scale.
        bias: the FLOAT32 pattern of bias.
    """

    def __init__(self, tensor: Arithmetic, operation: MultiplyAdd, scale: int, bias: int) -> None:
        self.tensor = tensor
        self.operation = operation
        self.factors: tuple[Member, ...] = tuple(
            None if BINARY32.decode(bits) is None else bits for bits in (scale, bias)
        )
        latitudes = tensor.latitudes
        self.contracts = "contraction" in latitudes
        self.through_others = tensor.form is BINARY16 and "float16-intermediate" in latitudes
        self.toward_zero = tensor.form is BINARY16 and "float16-conversion" in latitudes
        self.paths = tuple(self._paths())

    def applied(self, x: Values) -> Values:
        """The value set of every g for the members of ``x``."""
        results: set[Member] = set()
        for path in self.paths:
            results |= self.stored(path.result(x, self.tensor.form), path.arithmetic.form)
        if self.through_others:
            results |= self._correctly_rounded(x)
        return frozenset(results)  # closed, for each path's are

    @property
    def may_stay_wide(self) -> bool:
        """Whether what a wider format computes may go on in it, and be converted at the end."""
        return self.through_others or (self.contracts and self.tensor.form is BINARY32)

    def wide(self, x: Values) -> Iterable[tuple[Arithmetic, Values]]:
        """The value sets of the paths in wider formats than the tensor's, each with its arithmetic."""
        paths = [path for path in self.paths if path.arithmetic.form is not self.tensor.form]
        if self.tensor.form is BINARY32 and self.may_stay_wide:
            paths.append(self._path(BINARY64, self.factors, BINARY32, fused=False))
        for path in paths:
            yield path.arithmetic, path.result(x, self.tensor.form)

    def _formats(self) -> Iterable[Format]:
        """FLOAT32 for FLOAT16 and FLOAT32, FLOAT64 for itself; the others where a latitude permits them.

        FLOAT64 gives FLOAT32 one of the two numbers next to the exact sum, which contraction admits already; where it
        is not converted before the formula, :meth:`wide` has it.
        """
        narrow = self.tensor.form
        if self.through_others:
            yield BINARY16
        if narrow is not BINARY64:
            yield BINARY32
        if narrow is BINARY64 or self.through_others:
            yield BINARY64

    def _paths(self) -> Iterable[_Path]:
        for form in self._formats():
            exact_product = form is BINARY64 and self.tensor.form is not BINARY64  # separate is then the same as fused
            for factors, source in self._factors_for(form):
                for fused in (False, True):
                    if not fused or (self.contracts and not exact_product):
                        yield self._path(form, factors, source, fused)

    def _factors_for(self, form: Format) -> list[tuple[tuple[Member, ...], Format]]:
        """The pairs of scale and bias that enter the arithmetic of ``form``, each with its format."""
        pairs = [] if form is BINARY16 else [(self.factors, BINARY32)]
        if self.through_others:
            pairs += [(pair, BINARY16) for pair in self._narrowed_factors()]
        return pairs

    def _narrowed_factors(self) -> list[tuple[Member, ...]]:
        """Scale and bias as FLOAT16: both to nearest, and both toward zero where that may be and is another pair."""
        data = [None if member is None else BINARY32.decode(member) for member in self.factors]
        conversions = (BINARY16.round, BINARY16.toward_zero) if self.toward_zero else (BINARY16.round,)
        pairs = [tuple(None if datum is None else narrow(datum) for datum in data) for narrow in conversions]
        return list(dict.fromkeys(pairs))

    def _path(self, form: Format, factors: tuple[Member, ...], source: Format, fused: bool) -> _Path:
        arithmetic = Arithmetic(form, self.tensor.latitudes, truncating=self.contracts and form is BINARY32)
        scale, bias = (arithmetic.converted(frozenset({factor}), source) for factor in factors)
        return _Path(arithmetic, self.operation, {"scale": scale, "bias": bias}, fused)

    def stored(self, g: Values, source: Format) -> Values:
        """A path's value set in the tensor's type: n16 where it is FLOAT16 and narrower than the path's format."""
        if source is self.tensor.form:
            return g
        nearest = self.tensor.converted(g, source)
        if not self.toward_zero:
            return nearest
        data = (None if member is None else source.decode(member) for member in g)
        return nearest | self.tensor.closed(None if datum is None else BINARY16.toward_zero(datum) for datum in data)

    def _correctly_rounded(self, x: Values) -> Values:
        """Scale and bias as they are, one rounding from the exact number."""
        data = {
            name: None if factor is None else BINARY32.decode(factor)
            for name, factor in zip(("scale", "bias"), self.factors, strict=True)
        }
        results: set[Member] = set()
        for member in x:
            data["x"] = None if member is None else self.tensor.form.decode(member)
            a, b, addend = (data[name] for name in (*self.operation.factors, self.operation.addend))
            exact = None if a is None or b is None or addend is None else product_plus(a, b, addend)
            results |= NAN if exact is None else self.tensor.rounded(exact)
        return self.tensor.closed(results)
