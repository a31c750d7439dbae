"""ScaleBias on one floating-point element, exactly: rule 4 of ``specs/README.md``, and its strict form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dmlcts.specs.oracle.binary_format import BINARY16, BINARY32, BINARY64, Format
from dmlcts.specs.oracle.real_number import product_plus
from dmlcts.specs.oracle.value_sets import NAN, Arithmetic, Member, Values


@dataclass(frozen=True)
class _Path:
    """One way to compute x * scale + bias.

    Attributes:
        arithmetic: the format that it is computed in.
        scale: value set of scale in that format.
        bias: value set of bias in that format.
        fused: whether the product and the sum are rounded once, together.
    """

    arithmetic: Arithmetic
    scale: Values
    bias: Values
    fused: bool

    def result(self, x: Values, source: Format) -> Values:
        """The value set of x * scale + bias in the path's format; ``x`` is of the format ``source``."""
        arithmetic = self.arithmetic
        operand = arithmetic.converted(x, source)
        if self.fused:
            return arithmetic.apply(arithmetic.fused_multiply_add, operand, self.scale, self.bias)
        product = arithmetic.apply(arithmetic.multiply, operand, self.scale)
        return arithmetic.apply(arithmetic.add, product, self.bias)


class FloatingScaleBias:
    """``x * scale + bias`` on a floating-point type, by every path that rule 4 permits.

    Args:
        tensor: the arithmetic of the tensor's type, which says whether the rules are strict.
        scale: the FLOAT32 pattern of scale.
        bias: the FLOAT32 pattern of bias.
    """

    def __init__(self, tensor: Arithmetic, scale: int, bias: int) -> None:
        self.tensor = tensor
        self.factors: tuple[Member, ...] = tuple(
            None if BINARY32.decode(bits) is None else bits for bits in (scale, bias)
        )
        self.paths = tuple(self._strict_paths() if tensor.strict else self._paths())

    def applied(self, x: Values) -> Values:
        """The value set of every g for the members of ``x``."""
        results: set[Member] = set()
        for path in self.paths:
            results |= self._stored(path.result(x, self.tensor.form), path.arithmetic.form)
        if self.tensor.form is BINARY16 and not self.tensor.strict:
            results |= self._correctly_rounded(x)
        return frozenset(results)  # closed, for each path's are

    def _strict_paths(self) -> Iterable[_Path]:
        """FLOAT64 in itself; the others in FLOAT32, scale and bias as they are; always separate."""
        form = BINARY64 if self.tensor.form is BINARY64 else BINARY32
        yield self._path(Arithmetic(form, strict=True), self.factors, BINARY32, fused=False)

    def _paths(self) -> Iterable[_Path]:
        """In the tensor's format and in every wider one."""
        narrow = self.tensor.form
        for form in (BINARY16, BINARY32, BINARY64):
            if form.precision < narrow.precision:
                continue
            exact_product = form is BINARY64 and narrow is not BINARY64  # separate is then the same as fused
            for factors, source in self._factors_for(form):
                for fused in (True,) if exact_product else (False, True):
                    yield self._path(Arithmetic(form, strict=False), factors, source, fused)

    def _factors_for(self, form: Format) -> list[tuple[tuple[Member, ...], Format]]:
        """The pairs of scale and bias that enter the arithmetic of ``form``, each with its format."""
        found = [] if form is BINARY16 else [(self.factors, BINARY32)]
        if self.tensor.form is BINARY16:
            found += [(pair, BINARY16) for pair in self._narrowed_factors()]
        return found

    def _narrowed_factors(self) -> list[tuple[Member, ...]]:
        """Scale and bias as FLOAT16: both c = rn16, and both c = rz16 where that is another pair."""
        data = [None if member is None else BINARY32.decode(member) for member in self.factors]
        pairs = [
            tuple(None if datum is None else narrow(datum) for datum in data)
            for narrow in (BINARY16.round, BINARY16.toward_zero)
        ]
        return list(dict.fromkeys(pairs))

    @staticmethod
    def _path(arithmetic: Arithmetic, factors: tuple[Member, ...], form: Format, fused: bool) -> _Path:
        scale, bias = (arithmetic.converted(frozenset({factor}), form) for factor in factors)
        return _Path(arithmetic, scale, bias, fused)

    def _stored(self, g: Values, source: Format) -> Values:
        """A path's value set in the tensor's type: n16 where it is FLOAT16 and narrower than the path's format."""
        if source is self.tensor.form:
            return g
        nearest = self.tensor.converted(g, source)
        if self.tensor.form is not BINARY16 or self.tensor.strict:
            return nearest
        data = (None if member is None else source.decode(member) for member in g)
        return nearest | self.tensor.closed(None if datum is None else BINARY16.toward_zero(datum) for datum in data)

    def _correctly_rounded(self, x: Values) -> Values:
        """rn16(x * scale + bias): scale and bias as they are, one rounding from the exact number."""
        scale, bias = (None if factor is None else BINARY32.decode(factor) for factor in self.factors)
        results: set[Member] = set()
        for member in x:
            operand = None if member is None else self.tensor.form.decode(member)
            if operand is None or scale is None or bias is None:
                results |= NAN
                continue
            exact = product_plus(operand, scale, bias)
            results |= NAN if exact is None else self.tensor.rounded(exact)
        return self.tensor.closed(results)
