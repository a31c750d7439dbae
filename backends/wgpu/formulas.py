"""What each operator computes, as one WGSL expression over its tensors, and the functions that it takes from a library.

An expression names tensors as :func:`identifier` does ("ATensor" is ``a``) and calls functions of the same names
whatever the type: ``templates/integers``, ``pairs``, ``floats`` and ``words`` define them for the integers that WGSL
has, for 64-bit integers in two words, for the bits of floating-point numbers, and for bits that mean no number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_SCALED = {
    "IDENTITY": "input",
    "ABS": "absolute(input)",
    "CEIL": "ceiling(input)",
    "FLOOR": "floored(input)",
    "CLIP1": "larger(low, smaller(input, high))",
}
_REAL = {
    "SQRT": "root(input)",
    "RECIP": "reciprocal(input)",
    "EXP": "exponential(input)",
    "LOG": "logarithm(input)",
    "SIN": "sine(input)",
    "COS": "cosine(input)",
    "TAN": "tangent(input)",
    "ASIN": "arc_sine(input)",
    "ACOS": "arc_cosine(input)",
    "ATAN": "arc_tangent(input)",
    "SINH": "hyperbolic_sine(input)",
    "COSH": "hyperbolic_cosine(input)",
    "TANH": "hyperbolic_tangent(input)",
    "ASINH": "inverse_hyperbolic_sine(input)",
    "ACOSH": "inverse_hyperbolic_cosine(input)",
    "ATANH": "inverse_hyperbolic_tangent(input)",
    "ERF": "error_function(input)",
    "CONSTANT_POW": "power(input, low)",
}
_COMPUTED = {
    "ATAN_YX": "arc_tangent_of(a, b)",
    "ADD": "sum(a, b)",
    "ADD1": "sum(a, b)",
    "SUBTRACT": "difference(a, b)",
    "MULTIPLY": "product(a, b)",
    "DIVIDE": "quotient(a, b)",
    "MODULUS_FLOOR": "floored_remainder(a, b)",
    "MEAN": "mean(a, b)",
    "DIFFERENCE_SQUARE": "squared_difference(a, b)",
}
_CHOSEN = {
    "NEGATE": "negated(input)",
    "SIGN": "signum(input)",
    "MAX": "larger(a, b)",
    "MIN": "smaller(a, b)",
    "MODULUS_TRUNCATE": "remainder(a, b)",
    "CLIP_GRAD": "select(input_gradient, Value(), at_most(input, low) || at_most(high, input))",
    "CLIP_GRAD1": "select(input_gradient, Value(), at_most(input, low) || at_most(high, input))",
}
_TRUTHS = {
    "LOGICAL_EQUALS": "equal(a, b)",
    "LOGICAL_GREATER_THAN": "less(b, a)",
    "LOGICAL_LESS_THAN": "less(a, b)",
    "LOGICAL_GREATER_THAN_OR_EQUAL": "at_most(b, a)",
    "LOGICAL_LESS_THAN_OR_EQUAL": "at_most(a, b)",
    "LOGICAL_AND": "a != 0u && b != 0u",
    "LOGICAL_OR": "a != 0u || b != 0u",
    "LOGICAL_XOR": "(a != 0u) != (b != 0u)",
    "LOGICAL_NOT": "input == 0u",
    "IS_NAN": "is_nan(input)",
}
_INFINITIES = {
    "EITHER": "is_infinite(input)",
    "POSITIVE": "is_infinite(input) && !is_negative(input)",
    "NEGATIVE": "is_infinite(input) && is_negative(input)",
}
_WORDS = {
    "IF": "select(b, a, condition != 0u)",
    "BIT_AND": "a & b",
    "BIT_OR": "a | b",
    "BIT_XOR": "a ^ b",
    "BIT_NOT": "~input",
    "BIT_COUNT": "ones(input)",
    "BIT_SHIFT_LEFT": "shifted_left(a, b)",
    "BIT_SHIFT_RIGHT": "shifted_right(a, b)",
}

_ACTIVATIONS = {  # of x; low and high are the first and the second number
    "IDENTITY": "x",
    "RELU": "larger(x, Value())",
    "LEAKY_RELU": "select(product(low, x), x, at_most(Value(), x))",
    "THRESHOLDED_RELU": "select(Value(), x, less(low, x))",
    "LINEAR": "sum(product(low, x), high)",
    "HARD_SIGMOID": "larger(Value(), smaller(sum(product(low, x), high), one()))",
    "SHRINK": "select(select(Value(), sum(x, low), less(x, negated(high))), difference(x, low), less(high, x))",
    "SIGMOID": "quotient(one(), sum(one(), exponential(negated(x))))",
    "TANH": "hyperbolic_tangent(x)",
    "SCALED_TANH": "product(low, hyperbolic_tangent(product(high, x)))",
    "ELU": "select(product(low, difference(exponential(x), one())), x, at_most(Value(), x))",
    "CELU": "sum(larger(Value(), x), smaller(Value(), product(low, difference(exponential(quotient(x, low)), one()))))",
    "SCALED_ELU": (
        "select(product(high, difference(product(low, exponential(x)), low)), product(high, x), less(Value(), x))"
    ),
    "SOFTPLUS": "quotient(soft_larger(product(low, x)), low)",
    "PARAMETRIC_SOFTPLUS": "product(low, soft_larger(product(high, x)))",
    "SOFTSIGN": "quotient(x, sum(one(), absolute(x)))",
    "GELU": "product(product(half(), x), sum(one(), error_function(product(x, root_of_half()))))",
}

POW = "ELEMENT_WISE_POW"
QUANTIZE, DEQUANTIZE = "ELEMENT_WISE_QUANTIZE_LINEAR", "ELEMENT_WISE_DEQUANTIZE_LINEAR"
QUANTIZED_ADD = "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"
OF_MIXED_TYPES = frozenset({POW, QUANTIZE, DEQUANTIZE, QUANTIZED_ADD})
REAL_FUNCTIONS = frozenset(f"ELEMENT_WISE_{name}" for name in _REAL)
SCALED = frozenset(f"ELEMENT_WISE_{name}" for name in _SCALED) | REAL_FUNCTIONS | {POW}
COMPUTED = frozenset(f"ELEMENT_WISE_{name}" for name in _COMPUTED | _REAL)
ON_WORDS = frozenset(f"ELEMENT_WISE_{name}" for name in _WORDS)
FORMULAS: Mapping[str, str] = MappingProxyType(
    {f"ELEMENT_WISE_{name}": text for name, text in (_SCALED | _REAL | _COMPUTED | _CHOSEN | _WORDS).items()}
    | {f"ELEMENT_WISE_{name}": f"select(0u, 1u, {text})" for name, text in _TRUTHS.items()}
)
"""The operators that are nothing but one expression."""
ACTIVATIONS: Mapping[str, str] = MappingProxyType({f"ACTIVATION_{name}": text for name, text in _ACTIVATIONS.items()})
"""What may be fused to an operator, of what that gives."""
INFINITY = "ELEMENT_WISE_IS_INFINITY"
INFINITY_MODES = tuple(_INFINITIES)

_BLOCKS = re.compile(r"\n{2,}(?=\S)")
_DEFINED = re.compile(r"^(?:fn|alias|struct) (\w+)", re.MULTILINE)
_COMMENT = re.compile(r"//.*")
_NAME = re.compile(r"\b[A-Za-z]\w*\b")


def expression(operator: str, mode: str) -> str:
    """The expression of an operator; ``mode`` is IS_INFINITY's.

    Raises:
        KeyError: the operator is not computed by one.
    """
    return f"select(0u, 1u, {_INFINITIES[mode]})" if operator == INFINITY else FORMULAS[operator]


def identifier(tensor: str) -> str:
    """A tensor's name in WGSL: "ATensor" is ``a``, "AZeroPointTensor" is ``a_zero_point``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", tensor.removesuffix("Tensor")).lower()


def called(library: str, text: str) -> str:
    """Those definitions of ``library`` that ``text`` names, or that one of them names, in the library's order.

    A library is a comment, then functions, structs and aliases with a blank line between any two and none inside.
    """
    title, *blocks = _BLOCKS.split(library.strip())
    definitions = {match[1]: block for block in blocks if (match := _DEFINED.search(block))}
    wanted, new = set[str](), _names(text) & definitions.keys()
    while new:
        wanted |= new
        new = (_names("\n".join(definitions[name] for name in new)) & definitions.keys()) - wanted
    return "\n\n".join([title, *(block for name, block in definitions.items() if name in wanted)]) if wanted else ""


def _names(text: str) -> set[str]:
    return set(_NAME.findall(_COMMENT.sub("", text)))
