"""What JAX has for each of DirectML's operators.

A function of ``jax.numpy`` is named where it computes the same formula on the same arrays, one of ``jax.lax`` where
``jax.numpy`` has none. All of them are compiled by XLA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.backends.runtimes import Counterpart, none

COUNTERPARTS: Mapping[str, Counterpart] = {
    "CLIP": Counterpart("numpy.clip"),
    "CLIP1": Counterpart("numpy.clip"),
    "THRESHOLD": Counterpart("numpy.clip", note="with no maximum"),
    "ROUND HALVES_TO_NEAREST_EVEN": Counterpart("numpy.round"),
    "ROUND TOWARD_ZERO": Counterpart("numpy.trunc"),
    "ROUND TOWARD_INFINITY": Counterpart("lax.round", attributes={"rounding_method": "AWAY_FROM_ZERO"}),
    "IDENTITY": Counterpart("numpy.copy"),
    "ABS": Counterpart("numpy.abs"),
    "NEGATE": Counterpart("numpy.negative"),
    "SIGN": Counterpart("numpy.sign"),
    "CEIL": Counterpart("numpy.ceil"),
    "FLOOR": Counterpart("numpy.floor"),
    "MAX": Counterpart("numpy.maximum"),
    "MIN": Counterpart("numpy.minimum"),
    "ADD": Counterpart("numpy.add"),
    "SUBTRACT": Counterpart("numpy.subtract"),
    "MULTIPLY": Counterpart("numpy.multiply"),
    "DIVIDE": Counterpart("numpy.divide"),
    "DIVIDE of integers": Counterpart("lax.div", note="jax.numpy.divide gives floats"),
    "MEAN": none("jax has no mean of two arrays"),
    "MODULUS_TRUNCATE": Counterpart("numpy.fmod"),
    "MODULUS_FLOOR": Counterpart("numpy.remainder"),
    "DIFFERENCE_SQUARE": none("jax has no square of a difference"),
    "LOGICAL_EQUALS": Counterpart("numpy.equal", truth=True),
    "LOGICAL_GREATER_THAN": Counterpart("numpy.greater", truth=True),
    "LOGICAL_LESS_THAN": Counterpart("numpy.less", truth=True),
    "LOGICAL_GREATER_THAN_OR_EQUAL": Counterpart("numpy.greater_equal", truth=True),
    "LOGICAL_LESS_THAN_OR_EQUAL": Counterpart("numpy.less_equal", truth=True),
    "LOGICAL_AND": Counterpart("numpy.logical_and", truth=True),
    "LOGICAL_OR": Counterpart("numpy.logical_or", truth=True),
    "LOGICAL_XOR": Counterpart("numpy.logical_xor", truth=True),
    "LOGICAL_NOT": Counterpart("numpy.logical_not", truth=True),
    "IS_NAN": Counterpart("numpy.isnan", truth=True),
    "IS_INFINITY EITHER": Counterpart("numpy.isinf", truth=True),
    "IS_INFINITY POSITIVE": Counterpart("numpy.isposinf", truth=True),
    "IS_INFINITY NEGATIVE": Counterpart("numpy.isneginf", truth=True),
    "BIT_AND": Counterpart("numpy.bitwise_and", patterns=True),
    "BIT_OR": Counterpart("numpy.bitwise_or", patterns=True),
    "BIT_XOR": Counterpart("numpy.bitwise_xor", patterns=True),
    "BIT_NOT": Counterpart("numpy.bitwise_not", patterns=True),
    "BIT_COUNT": Counterpart("lax.population_count", patterns=True, converted=True),
    "BIT_SHIFT_LEFT": Counterpart("numpy.left_shift"),
    "BIT_SHIFT_RIGHT": Counterpart("numpy.right_shift"),
    "IF": Counterpart("numpy.where"),
    "CLIP_GRAD": Counterpart("vjp of numpy.clip", note="JAX's own derivative of its clip"),
    "CLIP_GRAD1": Counterpart("vjp of numpy.clip", note="JAX's own derivative of its clip"),
    "SQRT": Counterpart("numpy.sqrt"),
    "RECIP": Counterpart("numpy.reciprocal"),
    "EXP": Counterpart("numpy.exp"),
    "LOG": Counterpart("numpy.log"),
    "POW": Counterpart("numpy.power"),
    "SIN": Counterpart("numpy.sin"),
    "COS": Counterpart("numpy.cos"),
    "TAN": Counterpart("numpy.tan"),
    "ASIN": Counterpart("numpy.arcsin"),
    "ACOS": Counterpart("numpy.arccos"),
    "ATAN": Counterpart("numpy.arctan"),
    "ATAN_YX": Counterpart("numpy.arctan2"),
    "SINH": Counterpart("numpy.sinh"),
    "COSH": Counterpart("numpy.cosh"),
    "TANH": Counterpart("numpy.tanh"),
    "ASINH": Counterpart("numpy.arcsinh"),
    "ACOSH": Counterpart("numpy.arccosh"),
    "ATANH": Counterpart("numpy.arctanh"),
    "ERF": Counterpart("scipy.special.erf"),
    "ADD1": Counterpart("numpy.add"),
    "CONSTANT_POW": Counterpart("numpy.power", note="the exponent is an array of no dimension, a FLOAT32"),
    "QUANTIZE_LINEAR": none("jax has no quantised arrays"),
    "DEQUANTIZE_LINEAR": none("jax has no quantised arrays"),
    "QUANTIZED_LINEAR_ADD": none("jax has no quantised arrays"),
}


def function_of(jax: Any, counterpart: Counterpart) -> Callable[..., Any]:
    """The function, made to take the arrays in the order of the page, and the scalars behind them.

    Args:
        jax: the package, with its modules ``jax.numpy`` and ``jax.scipy.special`` loaded.
        counterpart: one that has a name.
    """
    if counterpart.name.startswith("vjp of "):
        return _derivative(jax, named(jax, counterpart.name.removeprefix("vjp of ")))
    function = named(jax, counterpart.name)
    if counterpart.name == "lax.clamp":
        return lambda x, low, high: function(low, x, high)
    if "rounding_method" in counterpart.attributes:
        method = getattr(jax.lax.RoundingMethod, counterpart.attributes["rounding_method"])
        return lambda x: function(x, method)
    return function


def named(jax: Any, name: str) -> Callable[..., Any]:
    """The function that a path below the package names: "numpy.add", "lax.div"."""
    thing = jax
    for step in name.split("."):
        thing = getattr(thing, step)
    function: Callable[..., Any] = thing
    return function


def _derivative(jax: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def derivative(x: Any, gradient: Any, *scalars: Any) -> Any:
        return jax.vjp(lambda value: function(value, *scalars), x)[1](gradient)[0]

    return derivative
