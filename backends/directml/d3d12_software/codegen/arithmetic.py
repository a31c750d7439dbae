"""Floating-point arithmetic by the rules of Direct3D, under one personality.

Every function here is an LLVM function that a translated shader calls instead of LLVM's own instruction.
FLOAT16 is computed in FLOAT32 and rounded once more, which for one addition, product, quotient or root gives
the correctly rounded result (FLOAT32 carries more than twice the digits, plus two); where that does not
hold, in the fused multiply-add, the sum is first rounded to odd.
"""

from __future__ import annotations

from collections.abc import Callable

from dmlcts.backends.directml.d3d12_software.shaders.ir import FLOAT_BITS, Body, Definitions
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality

_SUFFIX = {"half": "f16", "float": "f32", "double": "f64"}
_INT_SUFFIX = {"half": "i16", "float": "i32", "double": "i64"}
_FRACTION_BITS = {"half": 10, "float": 23, "double": 52}


def suffix(kind: str) -> str:
    """LLVM's overload suffix of a floating-point type."""
    return _SUFFIX[kind]


def _sign(kind: str) -> int:
    return 1 << (FLOAT_BITS[kind] - 1)


def infinity_bits(kind: str) -> int:
    """The bits of positive infinity."""
    fraction = _FRACTION_BITS[kind]
    return (1 << (FLOAT_BITS[kind] - 1 - fraction)) - 1 << fraction


class Arithmetic:
    """Writes the functions of one module into ``definitions``."""

    def __init__(self, definitions: Definitions, personality: Personality) -> None:
        self._definitions = definitions
        self._personality = personality
        self._flushing = personality.denormals == "flush"

    # Pieces of bodies

    def taken(self, body: Body, kind: str, value: str) -> str:
        """An operand as arithmetic sees it: a FLOAT32 subnormal may count as a zero."""
        if kind != "float" or not self._flushing:
            return value
        bits = body.bits(kind, value)
        exponent = body.let(f"and i32 {bits}, {infinity_bits(kind)}")
        tiny = body.let(f"icmp eq i32 {exponent}, 0")
        zero = body.let(f"and i32 {bits}, {_sign(kind)}")
        return body.floating(kind, body.let(f"select i1 {tiny}, i32 {zero}, i32 {bits}"))

    def as_personality(self, body: Body, kind: str, value: str) -> str:
        """A result as arithmetic returns it: subnormals and NaN as the personality says."""
        value = self.taken(body, kind, value)
        if self._personality.nan == "propagate":
            return value
        quiet = infinity_bits(kind) | 1 << (_FRACTION_BITS[kind] - 1)
        chosen = quiet if self._personality.nan == "canonical" else _sign(kind) - 1
        isnan = body.let(f"fcmp uno {kind} {value}, {value}")
        bits = body.bits(kind, value)
        return body.floating(
            kind, body.let(f"select i1 {isnan}, i{FLOAT_BITS[kind]} {chosen}, i{FLOAT_BITS[kind]} {bits}")
        )

    @staticmethod
    def wide(body: Body, kind: str, value: str) -> tuple[str, str]:
        """A value in the type that it is computed in: FLOAT32 for FLOAT16, else its own."""
        if kind != "half":
            return kind, value
        return "float", body.let(f"fpext half {value} to float")

    @staticmethod
    def narrow(body: Body, kind: str, value: str) -> str:
        """A computed value back in its type."""
        return body.let(f"fptrunc float {value} to half") if kind == "half" else value

    # Whole functions

    def instruction(self, word: str, kind: str) -> str:
        """fadd, fsub, fmul, fdiv or frem of two ``kind``."""

        def build(body: Body, *operands: str) -> str:
            wide = [self.wide(body, kind, self.taken(body, kind, operand)) for operand in operands]
            result = body.let(f"{word} {wide[0][0]} {wide[0][1]}, {wide[1][1]}")
            return self.as_personality(body, kind, self.narrow(body, kind, result))

        return self._definitions.function(f"d3d.{word}.{suffix(kind)}", kind, [kind, kind], build)

    def comparison(self, condition: str, kind: str) -> str:
        """Fcmp of two ``kind``; zeros of both signs are equal, and so are flushed subnormals."""

        def build(body: Body, a: str, b: str) -> str:
            return body.let(f"fcmp {condition} {kind} {self.taken(body, kind, a)}, {self.taken(body, kind, b)}")

        return self._definitions.function(f"d3d.fcmp.{condition}.{suffix(kind)}", "i1", [kind, kind], build)

    def unary(self, name: str, kind: str, build: Callable[[Body, str, str], str]) -> str:
        """A function of one operand; ``build(body, type, value)`` computes in the wider type."""

        def whole(body: Body, operand: str) -> str:
            within, value = self.wide(body, kind, self.taken(body, kind, operand))
            return self.as_personality(body, kind, self.narrow(body, kind, build(body, within, value)))

        return self._definitions.function(f"d3d.{name}.{suffix(kind)}", kind, [kind], whole)

    def extreme(self, least: bool, kind: str) -> str:
        """FMin or FMax: the other operand where one is NaN, whichever kind of NaN it is.

        Two NaNs give the first. Subnormals are flushed for the comparison and in the result, if at all. LLVM's
        own minimum and maximum are not used: which zero or NaN they give has changed between its versions.
        """

        def build(body: Body, a: str, b: str) -> str:
            first, second = self.taken(body, kind, a), self.taken(body, kind, b)
            ordered = self._personality.zeros == "ordered"
            condition = "olt" if least else "ogt" if ordered else "oge"
            wins = body.let(f"fcmp {condition} {kind} {first}, {second}")
            alone = body.let(f"fcmp uno {kind} {second}, {second}")
            either = body.let(f"or i1 {wins}, {alone}")
            chosen = body.let(f"select i1 {either}, {kind} {first}, {kind} {second}")
            if ordered:
                # Equal numbers differ in the sign of zero if in anything: one with it, or without it, is chosen.
                whole = f"i{FLOAT_BITS[kind]}"
                bits = [body.bits(kind, operand) for operand in (first, second)]
                joined = body.floating(kind, body.let(f"{'or' if least else 'and'} {whole} {bits[0]}, {bits[1]}"))
                equal = body.let(f"fcmp oeq {kind} {first}, {second}")
                chosen = body.let(f"select i1 {equal}, {kind} {joined}, {kind} {chosen}")
            return self.as_personality(body, kind, chosen)

        return self._definitions.function(
            f"d3d.{'fmin' if least else 'fmax'}.{suffix(kind)}", kind, [kind, kind], build
        )

    def mad(self, kind: str, precise: bool) -> str:
        """FMad, a * b + c, with one rounding or two."""
        if precise or self._personality.mad == "separate":
            return self._separate(kind)
        return self.fused(kind)

    def _separate(self, kind: str) -> str:
        product, total = self.instruction("fmul", kind), self.instruction("fadd", kind)

        def build(body: Body, a: str, b: str, c: str) -> str:
            return body.call(kind, total, (kind, body.call(kind, product, (kind, a), (kind, b))), (kind, c))

        return self._definitions.function(f"d3d.mad.separate.{suffix(kind)}", kind, [kind] * 3, build)

    def fused(self, kind: str) -> str:
        """A * b + c rounded once."""

        def build(body: Body, *operands: str) -> str:
            if kind == "half":
                return self.as_personality(body, kind, self._fused_half(body, operands))
            a, b, c = (self.taken(body, kind, operand) for operand in operands)
            result = body.call(kind, f"llvm.fma.{suffix(kind)}", (kind, a), (kind, b), (kind, c))
            return self.as_personality(body, kind, result)

        return self._definitions.function(f"d3d.mad.fused.{suffix(kind)}", kind, [kind] * 3, build)

    def _fused_half(self, body: Body, operands: tuple[str, ...]) -> str:
        a, b, c = (body.let(f"fpext half {operand} to float") for operand in operands)
        product = body.let(f"fmul float {a}, {b}")  # exact: 22 digits, no exponent out of range
        total = body.let(f"fadd float {product}, {c}")
        # What the addition lost, exactly (Knuth's two-sum; no overflow is possible).
        part = body.let(f"fsub float {total}, {product}")
        rest = body.let(f"fsub float {total}, {part}")
        lost = body.let(
            f"fadd float {body.let(f'fsub float {product}, {rest}')}, {body.let(f'fsub float {c}, {part}')}"
        )
        return body.let(f"fptrunc float {_to_odd(body, 'float', total, lost)} to half")

    def narrowing(self, wide: str, narrow: str) -> str:
        """Fptrunc to nearest, ties to even; to FLOAT16 towards zero if the personality says so."""

        def build(body: Body, value: str) -> str:
            value = self.taken(body, wide, value)
            if (wide, narrow) == ("double", "half"):
                result = _half_of_double(body, value)
            else:
                result = body.let(f"fptrunc {wide} {value} to {narrow}")
            if narrow == "half" and self._personality.half == "zero":
                result = _towards_zero(body, wide, value, result)
            return self.as_personality(body, narrow, result)

        return self._definitions.function(f"d3d.fptrunc.{suffix(wide)}.{suffix(narrow)}", narrow, [wide], build)

    def widening(self, narrow: str, wide: str) -> str:
        """Fpext, exact; FLOAT16 subnormals become normal numbers whatever the personality."""

        def build(body: Body, value: str) -> str:
            return self.as_personality(
                body, wide, body.let(f"fpext {narrow} {self.taken(body, narrow, value)} to {wide}")
            )

        return self._definitions.function(f"d3d.fpext.{suffix(narrow)}.{suffix(wide)}", wide, [narrow], build)

    def to_integer(self, word: str, kind: str, whole: str) -> str:
        """Fptosi or fptoui that saturates, with NaN to 0 (pages ftoi and ftou of shader model 4)."""

        def build(body: Body, value: str) -> str:
            within, operand = self.wide(body, kind, value)
            return body.call(whole, f"llvm.{word}.sat.{whole}.{suffix(within)}", (within, operand))

        return self._definitions.function(f"d3d.{word}.{suffix(kind)}.{whole}", whole, [kind], build)

    def from_integer(self, word: str, whole: str, kind: str) -> str:
        """Sitofp or uitofp to nearest, ties to even."""

        def build(body: Body, value: str) -> str:
            if kind != "half":
                return body.let(f"{word} {whole} {value} to {kind}")
            # A 64-bit integer may round twice on its way through FLOAT32, but from 65520 on the result is
            # infinite, and below that FLOAT32 is exact.
            return body.let(f"fptrunc float {body.let(f'{word} {whole} {value} to float')} to half")

        return self._definitions.function(f"d3d.{word}.{whole}.{suffix(kind)}", kind, [whole], build)


def _half_of_double(body: Body, value: str) -> str:
    """A FLOAT64 as the nearest FLOAT16. No processor has this in one step: it is rounded to odd in between."""
    middle = body.let(f"fptrunc double {value} to float")
    exact = body.let(f"fsub double {value}, {body.let(f'fpext float {middle} to double')}")
    # The sign of what was lost is all that counts; the loss itself may underflow in FLOAT32.
    lost = body.let(f"select i1 {body.let(f'fcmp ogt double {exact}, 0.0')}, float 1.0, float 0.0")
    lost = body.let(f"select i1 {body.let(f'fcmp olt double {exact}, 0.0')}, float -1.0, float {lost}")
    return body.let(f"fptrunc float {_to_odd(body, 'float', middle, lost)} to half")


def _towards_zero(body: Body, wide: str, value: str, nearest: str) -> str:
    """The FLOAT16 next to ``nearest`` towards zero if that lies beyond ``value``; infinity's is 65504."""
    sizes = [
        body.call(wide, f"llvm.fabs.{suffix(wide)}", (wide, operand))
        for operand in (value, body.let(f"fpext half {nearest} to {wide}"))
    ]
    beyond = body.let(f"fcmp ogt {wide} {sizes[1]}, {sizes[0]}")
    bits = body.bits("half", nearest)
    return body.floating("half", body.let(f"sub i16 {bits}, {body.let(f'zext i1 {beyond} to i16')}"))


def _to_odd(body: Body, kind: str, rounded: str, lost: str) -> str:
    """A sum rounded to odd, from its value rounded to nearest and (the sign of) what that lost.

    If something was lost and the last digit is even, the odd neighbour in the direction of the loss is meant.
    Infinities and NaN lose nothing, or NaN, which compares with nothing.
    """
    whole = _INT_SUFFIX[kind]
    bits = body.bits(kind, rounded)
    inexact = body.let(f"fcmp one {kind} {lost}, 0.0")
    even = body.let(f"icmp eq {whole} {body.let(f'and {whole} {bits}, 1')}, 0")
    limit = body.let(f"and {whole} {bits}, {_sign(kind) - 1}")
    # A zero is left alone: what underflows in FLOAT32 is a zero of the same sign in FLOAT16.
    finite = body.let(f"icmp ult {whole} {body.let(f'sub {whole} {limit}, 1')}, {infinity_bits(kind) - 1}")
    positive = body.let(f"fcmp ogt {kind} {rounded}, 0.0")
    upwards = body.let(f"fcmp ogt {kind} {lost}, 0.0")
    away = body.let(f"icmp eq i1 {positive}, {upwards}")
    step = body.let(f"select i1 {away}, {whole} 1, {whole} -1")
    moved = body.let(f"add {whole} {bits}, {step}")
    needed = body.let(f"and i1 {body.let(f'and i1 {inexact}, {even}')}, {finite}")
    return body.floating(kind, body.let(f"select i1 {needed}, {whole} {moved}, {whole} {bits}"))
