"""The ``dx.op`` intrinsics that only compute: one table from opcode to the body of its function.

Numbers and names are those of DXIL.rst (DirectXShaderCompiler); so are the results for special values, where
it gives them. Opcodes that need more than their operands (handles, memory, thread numbers) are in
``memory`` and ``translation``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dmlcts.backends.directml.d3d12_software.codegen.arithmetic import Arithmetic, infinity_bits, suffix
from dmlcts.backends.directml.d3d12_software.shaders.ir import FLOAT_BITS, INT_BITS, Body, Definitions


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an intrinsic: where to define functions, its types, and whether it is marked precise."""

    definitions: Definitions
    arithmetic: Arithmetic
    result: str
    kinds: tuple[str, ...]
    precise: bool = False

    @property
    def kind(self) -> str:
        """The type of the first operand after the opcode."""
        return self.kinds[0]


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A ``dx.op`` intrinsic: DXIL's name, and what defines its function and gives that function's name.

    Args:
        name: as in DXIL.rst.
        overloads: the types its first operand may have.
        function: called with a :class:`Call`.
    """

    name: str
    overloads: frozenset[str]
    function: Callable[[Call], str]


FLOATS = frozenset(FLOAT_BITS)
WORDS = frozenset({"i16", "i32", "i64"})
_INT = frozenset({"i32"})


def _unary(build: Callable[[Body, str, str], str]) -> Callable[[str], Callable[[Call], str]]:
    return lambda name: lambda call: call.arithmetic.unary(name, call.kind, build)


def _llvm(function: str) -> Callable[[str], Callable[[Call], str]]:
    """A function of LLVM's of one floating-point operand."""
    return _unary(lambda body, kind, value: body.call(kind, f"llvm.{function}.{suffix(kind)}", (kind, value)))


def _fraction(body: Body, kind: str, value: str) -> str:
    down = body.call(kind, f"llvm.floor.{suffix(kind)}", (kind, value))
    fraction = body.let(f"fsub {kind} {value}, {down}")
    # A tiny negative operand would round up to one, which Frc never returns.
    below_one = {"float": "0x3FEFFFFFE0000000", "double": "0x3FEFFFFFFFFFFFFF"}[kind]
    return body.let(f"select i1 {body.let(f'fcmp oge {kind} {fraction}, 1.0')}, {kind} {below_one}, {kind} {fraction}")


def _reciprocal_root(body: Body, kind: str, value: str) -> str:
    return body.let(f"fdiv {kind} 1.0, {body.call(kind, f'llvm.sqrt.{suffix(kind)}', (kind, value))}")


def _plain(build: Callable[..., str]) -> Callable[[str], Callable[[Call], str]]:
    """A function whose body ``build(body, call, *operands)`` writes."""

    def named(name: str) -> Callable[[Call], str]:
        def function(call: Call) -> str:
            return call.definitions.function(
                f"dx.{name}.{'.'.join(call.kinds)}",
                call.result,
                call.kinds,
                lambda body, *operands: build(body, call, *operands),
            )

        return function

    return named


def _saturate(body: Body, call: Call, value: str) -> str:
    kind = call.kind
    raised = body.call(kind, call.arithmetic.extreme(False, kind), (kind, value), (kind, "0.0"))
    return body.call(kind, call.arithmetic.extreme(True, kind), (kind, raised), (kind, "1.0"))


def _absolute(body: Body, call: Call, value: str) -> str:
    return body.call(call.kind, f"llvm.fabs.{suffix(call.kind)}", (call.kind, value))


def _magnitude(body: Body, call: Call, value: str) -> tuple[str, str, int]:
    kind = f"i{FLOAT_BITS[call.kind]}"
    sign = 1 << (FLOAT_BITS[call.kind] - 1)
    return kind, body.let(f"and {kind} {body.bits(call.kind, value)}, {sign - 1}"), infinity_bits(call.kind)


def _class(condition: str) -> Callable[[str], Callable[[Call], str]]:
    """A test of the magnitude's bits against those of infinity."""

    def build(body: Body, call: Call, value: str) -> str:
        kind, magnitude, infinity = _magnitude(body, call, value)
        return body.let(f"icmp {condition} {kind} {magnitude}, {infinity}")

    return _plain(build)


def _is_normal(body: Body, call: Call, value: str) -> str:
    kind, magnitude, infinity = _magnitude(body, call, value)
    least = infinity & -infinity  # the lowest bit of the exponent
    return body.let(f"icmp ult {kind} {body.let(f'sub {kind} {magnitude}, {least}')}, {infinity - least}")


def _resized(body: Body, kind: str, value: str, result: str) -> str:
    """A small whole number in another integer type."""
    if kind == result:
        return value
    return body.let(f"{'trunc' if INT_BITS[kind] > INT_BITS[result] else 'zext'} {kind} {value} to {result}")


def _same_type(function: str) -> Callable[[str], Callable[[Call], str]]:
    """A function of LLVM's on integers, whose result may be narrower than its operands."""

    def build(body: Body, call: Call, *operands: str) -> str:
        value = body.call(call.kind, f"llvm.{function}.{call.kind}", *((call.kind, operand) for operand in operands))
        return _resized(body, call.kind, value, call.result)

    return _plain(build)


def _first_bit(function: str, signed: bool = False) -> Callable[[str], Callable[[Call], str]]:
    def build(body: Body, call: Call, value: str) -> str:
        kind = call.kind
        if signed:  # the first bit unlike the sign
            spread = body.let(f"ashr {kind} {value}, {INT_BITS[kind] - 1}")
            value = body.let(f"xor {kind} {value}, {spread}")
        place = body.call(kind, f"llvm.{function}.{kind}", (kind, value), ("i1", "false"))
        place = _resized(body, kind, place, call.result)
        empty = body.let(f"icmp eq {kind} {value}, 0")
        return body.let(f"select i1 {empty}, {call.result} -1, {call.result} {place}")

    return _plain(build)


def _long_product(extend: str) -> Callable[[str], Callable[[Call], str]]:
    """The whole 64-bit product as (high, low)."""

    def build(body: Body, call: Call, a: str, b: str) -> str:
        first, second = (body.let(f"{extend} i32 {operand} to i64") for operand in (a, b))
        product = body.let(f"mul i64 {first}, {second}")
        high = body.let(f"trunc i64 {body.let(f'lshr i64 {product}, 32')} to i32")
        low = body.let(f"trunc i64 {product} to i32")
        return body.struct(call.result, ("i32", high), ("i32", low))

    return _plain(build)


def _udiv(body: Body, call: Call, a: str, b: str) -> str:
    zero = body.let(f"icmp eq i32 {b}, 0")
    divisor = body.let(f"select i1 {zero}, i32 1, i32 {b}")
    parts = [body.let(f"{word} i32 {a}, {divisor}") for word in ("udiv", "urem")]
    parts = [body.let(f"select i1 {zero}, i32 -1, i32 {part}") for part in parts]
    return body.struct(call.result, *(("i32", part) for part in parts))


def _with_carry(function: str) -> Callable[[str], Callable[[Call], str]]:
    def build(body: Body, call: Call, a: str, b: str) -> str:
        pair = body.call("{ i32, i1 }", f"llvm.{function}.with.overflow.i32", ("i32", a), ("i32", b))
        members = [body.let(f"extractvalue {{ i32, i1 }} {pair}, {place}") for place in (0, 1)]
        return body.struct(call.result, ("i32", members[0]), ("i1", members[1]))

    return _plain(build)


def _integer_mad(body: Body, call: Call, a: str, b: str, c: str) -> str:
    return body.let(f"add {call.kind} {body.let(f'mul {call.kind} {a}, {b}')}, {c}")


def _bit_field(shift: str) -> Callable[[str], Callable[[Call], str]]:
    """Extract a field (width, offset, value), its upper bits filled by ``shift``."""

    def build(body: Body, call: Call, width: str, offset: str, value: str) -> str:
        width, offset = (body.let(f"and i32 {operand}, 31") for operand in (width, offset))
        reach = body.let(f"add i32 {width}, {offset}")
        inside = body.let(f"icmp ult i32 {reach}, 32")
        up = body.let(f"and i32 {body.let(f'sub i32 32, {reach}')}, 31")
        down = body.let(f"and i32 {body.let(f'sub i32 32, {width}')}, 31")
        cut = body.let(f"{shift} i32 {body.let(f'shl i32 {value}, {up}')}, {down}")
        rest = body.let(f"{shift} i32 {value}, {offset}")
        chosen = body.let(f"select i1 {inside}, i32 {cut}, i32 {rest}")
        return body.let(f"select i1 {body.let(f'icmp eq i32 {width}, 0')}, i32 0, i32 {chosen}")

    return _plain(build)


def _bit_insert(body: Body, call: Call, width: str, offset: str, value: str, into: str) -> str:
    width, offset = (body.let(f"and i32 {operand}, 31") for operand in (width, offset))
    ones = body.let(f"sub i32 {body.let(f'shl i32 1, {width}')}, 1")
    mask = body.let(f"shl i32 {ones}, {offset}")
    put = body.let(f"and i32 {body.let(f'shl i32 {value}, {offset}')}, {mask}")
    kept = body.let(f"and i32 {into}, {body.let(f'xor i32 {mask}, -1')}")
    return body.let(f"or i32 {put}, {kept}")


def _dot(size: int) -> Callable[[str], Callable[[Call], str]]:
    """Products added from left to right, each operation rounded."""

    def build(body: Body, call: Call, *operands: str) -> str:
        kind = call.kind
        times, plus = (call.arithmetic.instruction(word, kind) for word in ("fmul", "fadd"))
        total = ""
        for a, b in zip(operands[:size], operands[size:], strict=True):
            product = body.call(kind, times, (kind, a), (kind, b))
            total = body.call(kind, plus, (kind, total), (kind, product)) if total else product
        return total

    return _plain(build)


def _bitcast(body: Body, call: Call, value: str) -> str:
    return body.let(f"bitcast {call.kind} {value} to {call.result}")


def _make_double(body: Body, call: Call, low: str, high: str) -> str:
    parts = [body.let(f"zext i32 {half} to i64") for half in (low, high)]
    return body.floating("double", body.let(f"or i64 {parts[0]}, {body.let(f'shl i64 {parts[1]}, 32')}"))


def _split_double(body: Body, call: Call, value: str) -> str:
    bits = body.bits("double", value)
    low = body.let(f"trunc i64 {bits} to i32")
    high = body.let(f"trunc i64 {body.let(f'lshr i64 {bits}, 32')} to i32")
    return body.struct(call.result, ("i32", low), ("i32", high))


def _to_half_bits(body: Body, call: Call, value: str) -> str:
    half = body.call("half", call.arithmetic.narrowing("float", "half"), ("float", value))
    return body.let(f"zext i16 {body.bits('half', half)} to i32")


def _from_half_bits(body: Body, call: Call, value: str) -> str:
    half = body.floating("half", body.let(f"trunc i32 {value} to i16"))
    return body.call("float", call.arithmetic.widening("half", "float"), ("half", half))


def _to_float(body: Body, call: Call, value: str) -> str:
    return body.call("float", call.arithmetic.narrowing("double", "float"), ("double", value))


def _to_int(word: str) -> Callable[[str], Callable[[Call], str]]:
    return _plain(
        lambda body, call, value: body.call("i32", call.arithmetic.to_integer(word, "double", "i32"), ("double", value))
    )


def _table(
    *rows: tuple[int, str, frozenset[str], Callable[[str], Callable[[Call], str]]],
) -> dict[int, Intrinsic]:
    return {number: Intrinsic(name, overloads, make(name)) for number, name, overloads, make in rows}


def _of(function: Callable[[Call], str]) -> Callable[[str], Callable[[Call], str]]:
    return lambda _: function


INTRINSICS: dict[int, Intrinsic] = _table(
    (6, "FAbs", FLOATS, _plain(_absolute)),
    (7, "Saturate", FLOATS, _plain(_saturate)),
    (8, "IsNaN", FLOATS, _class("ugt")),
    (9, "IsInf", FLOATS, _class("eq")),
    (10, "IsFinite", FLOATS, _class("ult")),
    (11, "IsNormal", FLOATS, _plain(_is_normal)),
    (12, "Cos", FLOATS, _llvm("cos")),
    (13, "Sin", FLOATS, _llvm("sin")),
    (14, "Tan", FLOATS, _llvm("tan")),
    (15, "Acos", FLOATS, _llvm("acos")),
    (16, "Asin", FLOATS, _llvm("asin")),
    (17, "Atan", FLOATS, _llvm("atan")),
    (18, "Hcos", FLOATS, _llvm("cosh")),
    (19, "Hsin", FLOATS, _llvm("sinh")),
    (20, "Htan", FLOATS, _llvm("tanh")),
    (21, "Exp", FLOATS, _llvm("exp2")),
    (22, "Frc", FLOATS, _unary(_fraction)),
    (23, "Log", FLOATS, _llvm("log2")),
    (24, "Sqrt", FLOATS, _llvm("sqrt")),
    (25, "Rsqrt", FLOATS, _unary(_reciprocal_root)),
    (26, "Round_ne", FLOATS, _llvm("roundeven")),
    (27, "Round_ni", FLOATS, _llvm("floor")),
    (28, "Round_pi", FLOATS, _llvm("ceil")),
    (29, "Round_z", FLOATS, _llvm("trunc")),
    (30, "Bfrev", WORDS, _same_type("bitreverse")),
    (31, "Countbits", WORDS, _same_type("ctpop")),
    (32, "FirstbitLo", WORDS, _first_bit("cttz")),
    (33, "FirstbitHi", WORDS, _first_bit("ctlz")),
    (34, "FirstbitSHi", WORDS, _first_bit("ctlz", signed=True)),
    (35, "FMax", FLOATS, _of(lambda call: call.arithmetic.extreme(False, call.kind))),
    (36, "FMin", FLOATS, _of(lambda call: call.arithmetic.extreme(True, call.kind))),
    (37, "IMax", WORDS, _same_type("smax")),
    (38, "IMin", WORDS, _same_type("smin")),
    (39, "UMax", WORDS, _same_type("umax")),
    (40, "UMin", WORDS, _same_type("umin")),
    (41, "IMul", _INT, _long_product("sext")),
    (42, "UMul", _INT, _long_product("zext")),
    (43, "UDiv", _INT, _plain(_udiv)),
    (44, "UAddc", _INT, _with_carry("uadd")),
    (45, "USubb", _INT, _with_carry("usub")),
    (46, "FMad", FLOATS, _of(lambda call: call.arithmetic.mad(call.kind, call.precise))),
    (47, "Fma", frozenset({"double"}), _of(lambda call: call.arithmetic.fused(call.kind))),
    (48, "IMad", WORDS, _plain(_integer_mad)),
    (49, "UMad", WORDS, _plain(_integer_mad)),
    (51, "Ibfe", _INT, _bit_field("ashr")),
    (52, "Ubfe", _INT, _bit_field("lshr")),
    (53, "Bfi", _INT, _plain(_bit_insert)),
    (54, "Dot2", FLOATS, _dot(2)),
    (55, "Dot3", FLOATS, _dot(3)),
    (56, "Dot4", FLOATS, _dot(4)),
    (101, "MakeDouble", _INT, _plain(_make_double)),
    (102, "SplitDouble", frozenset({"double"}), _plain(_split_double)),
    (124, "BitcastI16toF16", frozenset({"i16"}), _plain(_bitcast)),
    (125, "BitcastF16toI16", frozenset({"half"}), _plain(_bitcast)),
    (126, "BitcastI32toF32", _INT, _plain(_bitcast)),
    (127, "BitcastF32toI32", frozenset({"float"}), _plain(_bitcast)),
    (128, "BitcastI64toF64", frozenset({"i64"}), _plain(_bitcast)),
    (129, "BitcastF64toI64", frozenset({"double"}), _plain(_bitcast)),
    (130, "LegacyF32ToF16", frozenset({"float"}), _plain(_to_half_bits)),
    (131, "LegacyF16ToF32", _INT, _plain(_from_half_bits)),
    (132, "LegacyDoubleToFloat", frozenset({"double"}), _plain(_to_float)),
    (133, "LegacyDoubleToSInt32", frozenset({"double"}), _to_int("fptosi")),
    (134, "LegacyDoubleToUInt32", frozenset({"double"}), _to_int("fptoui")),
)


def argument_kinds(arguments: Sequence[str]) -> tuple[str, ...]:
    """The types of arguments written as ``type value``."""
    return tuple(argument.rsplit(" ", 1)[0] for argument in arguments)
