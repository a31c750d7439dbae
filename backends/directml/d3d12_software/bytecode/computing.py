"""The instructions that only compute, each as DXIL's operation of the same meaning.

Sources: the instructions' pages under "Shader Model 5 Assembly" and "Shader Model 4 Assembly"; DXIL.rst of
DirectXShaderCompiler for what each becomes.
"""

from __future__ import annotations

from collections.abc import Callable

from dmlcts.backends.directml.d3d12_software.bytecode.module import Module
from dmlcts.backends.directml.d3d12_software.bytecode.tokens import Instruction, Operand

Read = Callable[[Operand, int], str]
Compute = Callable[..., str]

# DXIL's numbers and LLVM's words.
_FLOAT_OF_ONE = {
    "exp": 21,
    "frc": 22,
    "log": 23,
    "sqrt": 24,
    "rsq": 25,
    "round_ne": 26,
    "round_ni": 27,
    "round_pi": 28,
    "round_z": 29,
}
_FLOAT_OF_TWO = {"add": "fadd", "mul": "fmul", "div": "fdiv"}
_FLOAT_EXTREMES = {"max": 35, "min": 36}
_FLOAT_TESTS = {"eq": "oeq", "ge": "oge", "lt": "olt", "ne": "une"}
_DOTS = {"dp2": 2, "dp3": 3, "dp4": 4}
_INTEGER_OF_TWO = {"iadd": "add", "ishl": "shl", "ishr": "ashr", "ushr": "lshr", "and": "and", "or": "or", "xor": "xor"}
_INTEGER_EXTREMES = {"imax": 37, "imin": 38, "umax": 39, "umin": 40}
_INTEGER_TESTS = {"ieq": "eq", "ige": "sge", "ilt": "slt", "ine": "ne", "ult": "ult", "uge": "uge"}
_BITS_OF_ONE = {"bfrev": 30, "countbits": 31, "firstbit_lo": 32, "firstbit_hi": 33, "firstbit_shi": 34}
_INTEGER_OF_THREE = {"imad": 48, "umad": 49, "ibfe": 51, "ubfe": 52}
_TO_INTEGER = {"ftoi": "fptosi", "ftou": "fptoui"}
_FROM_INTEGER = {"itof": "sitofp", "utof": "uitofp"}
_SATURATE, _COSINE, _SINE, _MULTIPLY_ADD, _INSERT = 7, 12, 13, 46, 53
_TO_HALF, _FROM_HALF = 130, 131
_WITH_CARRY = {"uaddc": 44, "usubb": 45}
_PRODUCTS = {"imul": "sext", "umul": "zext"}

COMPUTED = frozenset(
    {
        *_FLOAT_OF_ONE,
        *_FLOAT_OF_TWO,
        *_FLOAT_EXTREMES,
        *_FLOAT_TESTS,
        *_DOTS,
        *_INTEGER_OF_TWO,
        *_INTEGER_EXTREMES,
        *_INTEGER_TESTS,
        *_BITS_OF_ONE,
        *_INTEGER_OF_THREE,
        *_TO_INTEGER,
        *_FROM_INTEGER,
        *_WITH_CARRY,
        *_PRODUCTS,
        "mov",
        "movc",
        "swapc",
        "mad",
        "rcp",
        "ineg",
        "not",
        "bfi",
        "f32tof16",
        "f16tof32",
        "sincos",
        "udiv",
    }
)


def compute(module: Module, instruction: Instruction) -> None:
    """Write an instruction whose name is in COMPUTED.

    Raises:
        UnsupportedShader: an operand is none that such an instruction can have here.
    """
    if instruction.name in _TWO_RESULTS:
        _TWO_RESULTS[instruction.name](module, instruction)
        return
    target, *sources = instruction.operands
    formula, read = _formula(module, instruction)
    if instruction.name in _DOTS:
        value = formula(*(read(source, place) for source in sources for place in range(_DOTS[instruction.name])))
        module.put(target, dict.fromkeys(target.mask, value))
        return
    module.put(target, {place: formula(*(read(source, place) for source in sources)) for place in target.mask})


def _formula(module: Module, instruction: Instruction) -> tuple[Compute, Read]:
    """What computes one component of the result, as i32, of what is read of each source, and how that is read."""
    name, let = instruction.name, module.let
    if name in ("mov", "movc"):
        return _moved(module, instruction), module.floating_bits
    for made in (_floating(module, instruction), _integer(module, instruction)):
        if made is not None:
            return made
    if name in _TO_INTEGER:
        return lambda value: let(f"{_TO_INTEGER[name]} float {value} to i32"), module.floating
    if name in _FROM_INTEGER:
        return lambda value: module.as_bits(let(f"{_FROM_INTEGER[name]} i32 {value} to float")), module.number
    if name == "f32tof16":
        return lambda value: module.intrinsic(_TO_HALF, "i32", "f32", f"float {value}"), module.floating
    return (
        lambda value: module.as_bits(module.intrinsic(_FROM_HALF, "float", "i32", f"i32 {value}")),
        module.number,
    )  # f16tof32


def _moved(module: Module, instruction: Instruction) -> Compute:
    def saturated(value: str) -> str:
        return (
            _result(module, instruction, module.let(f"bitcast i32 {value} to float"))
            if instruction.saturates
            else value
        )

    def chosen(condition: str, first: str, second: str) -> str:
        test = module.let(f"icmp ne i32 {condition}, 0")
        return saturated(module.let(f"select i1 {test}, i32 {first}, i32 {second}"))

    return saturated if instruction.name == "mov" else chosen


def _result(module: Module, instruction: Instruction, value: str) -> str:
    """A floating-point result, put between 0 and 1 where the instruction says so, as i32."""
    if instruction.saturates:
        value = module.intrinsic(_SATURATE, "float", "f32", f"float {value}")
    return module.as_bits(value)


def _floating(module: Module, instruction: Instruction) -> tuple[Compute, Read] | None:
    name, let = instruction.name, module.let
    fast, mark = ("", ", !dx.precise !0") if instruction.precise else ("fast ", "")

    def call(number: int, *values: str) -> str:
        arguments = (f"float {value}" for value in values)
        return _result(
            module, instruction, module.intrinsic(number, "float", "f32", *arguments, precise=instruction.precise)
        )

    formula: Compute
    if name in _FLOAT_OF_ONE:
        formula = lambda a: call(_FLOAT_OF_ONE[name], a)  # noqa: E731 - a table of formulas reads best as such
    elif name in _FLOAT_EXTREMES:
        formula = lambda a, b: call(_FLOAT_EXTREMES[name], a, b)  # noqa: E731
    elif name == "mad":
        formula = lambda a, b, c: call(_MULTIPLY_ADD, a, b, c)  # noqa: E731
    elif name in _DOTS:
        formula = lambda *values: call(52 + _DOTS[name], *values)  # noqa: E731
    elif name in _FLOAT_OF_TWO:
        formula = lambda a, b: _result(module, instruction, let(f"{_FLOAT_OF_TWO[name]} {fast}float {a}, {b}{mark}"))  # noqa: E731
    elif name == "rcp":
        formula = lambda a: _result(module, instruction, let(f"fdiv {fast}float 1.0, {a}{mark}"))  # noqa: E731
    elif name in _FLOAT_TESTS:
        formula = lambda a, b: _mask(module, f"fcmp {_FLOAT_TESTS[name]} float {a}, {b}")  # noqa: E731
    else:
        return None
    return formula, module.floating


def _mask(module: Module, test: str) -> str:
    """All bits where a test holds, none where it does not."""
    return module.let(f"sext i1 {module.let(test)} to i32")


def _integer(module: Module, instruction: Instruction) -> tuple[Compute, Read] | None:
    name, let = instruction.name, module.let

    def call(number: int, *values: str) -> str:
        return module.intrinsic(number, "i32", "i32", *(f"i32 {value}" for value in values))

    formula: Compute
    if name in _INTEGER_OF_TWO:
        formula = lambda a, b: let(f"{_INTEGER_OF_TWO[name]} i32 {a}, {b}")  # noqa: E731
    elif name in _INTEGER_TESTS:
        formula = lambda a, b: _mask(module, f"icmp {_INTEGER_TESTS[name]} i32 {a}, {b}")  # noqa: E731
    elif name == "ineg":
        formula = lambda a: let(f"sub i32 0, {a}")  # noqa: E731
    elif name == "not":
        formula = lambda a: let(f"xor i32 {a}, -1")  # noqa: E731
    else:
        numbers = {**_INTEGER_EXTREMES, **_BITS_OF_ONE, **_INTEGER_OF_THREE, "bfi": _INSERT}
        if name not in numbers:
            return None
        formula = lambda *values: call(numbers[name], *values)  # noqa: E731
    return formula, module.number


# Instructions with two results; either may be left out.


def _both(module: Module, instruction: Instruction, pair: Callable[..., tuple[str, str]], read: Read) -> None:
    first, second, *sources = instruction.operands
    made: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for place in sorted({*_places(first), *_places(second)}):
        values = pair(*(read(source, place) for source in sources))
        for target, results, value in zip((first, second), made, values, strict=True):
            if place in _places(target):
                results[place] = value
    module.put(first, made[0])
    module.put(second, made[1])


def _places(target: Operand) -> tuple[int, ...]:
    return () if target.register == "null" else target.mask


def _sine_and_cosine(module: Module, instruction: Instruction) -> None:
    def pair(value: str) -> tuple[str, str]:
        sine, cosine = (
            _result(
                module,
                instruction,
                module.intrinsic(number, "float", "f32", f"float {value}", precise=instruction.precise),
            )
            for number in (_SINE, _COSINE)
        )
        return sine, cosine

    _both(module, instruction, pair, module.floating)


def _quotient_and_remainder(module: Module, instruction: Instruction) -> None:
    _both(
        module,
        instruction,
        lambda a, b: (module.let(f"udiv i32 {a}, {b}"), module.let(f"urem i32 {a}, {b}")),
        module.number,
    )


def _long_product(module: Module, instruction: Instruction) -> None:
    def pair(a: str, b: str) -> tuple[str, str]:
        wide = [module.let(f"{_PRODUCTS[instruction.name]} i32 {value} to i64") for value in (a, b)]
        product = module.let(f"mul i64 {wide[0]}, {wide[1]}")
        high = module.let(f"trunc i64 {module.let(f'lshr i64 {product}, 32')} to i32")
        return high, module.let(f"trunc i64 {product} to i32")

    _both(module, instruction, pair, module.number)


def _with_carry(module: Module, instruction: Instruction) -> None:
    def pair(a: str, b: str) -> tuple[str, str]:
        kind = "%dx.types.i32c"
        made = module.intrinsic(_WITH_CARRY[instruction.name], kind, "i32", f"i32 {a}", f"i32 {b}")
        carry = module.let(f"zext i1 {module.let(f'extractvalue {kind} {made}, 1')} to i32")
        return module.let(f"extractvalue {kind} {made}, 0"), carry

    _both(module, instruction, pair, module.number)


def _swapped(module: Module, instruction: Instruction) -> None:
    def pair(condition: str, a: str, b: str) -> tuple[str, str]:
        test = module.let(f"icmp ne i32 {condition}, 0")
        return module.let(f"select i1 {test}, i32 {b}, i32 {a}"), module.let(f"select i1 {test}, i32 {a}, i32 {b}")

    _both(module, instruction, pair, module.floating_bits)


_TWO_RESULTS: dict[str, Callable[[Module, Instruction], None]] = {
    "sincos": _sine_and_cosine,
    "udiv": _quotient_and_remainder,
    "imul": _long_product,
    "umul": _long_product,
    "uaddc": _with_carry,
    "usubb": _with_carry,
    "swapc": _swapped,
}
