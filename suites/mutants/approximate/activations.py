"""ADD1 with an activation that is computed wrongly, left out, or given other numbers than its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dmlcts.backends import ExecutionFailed
from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.formulas import ACTIVATIONS, Array
from dmlcts.suites.mutants.reference import Kernel, Reference

Numbers = Mapping[str, np.float64]
Wrong = Callable[[Array, list[Array], Numbers], Array]


class _WrongActivation(Reference):
    """Right, but for one activation."""

    level = "6.4"
    operator = "ELEMENT_WISE_ADD1"
    activation = ""
    wrong: Wrong

    def activate(self, activation: OperatorDesc, results: Array, inputs: list[Array]) -> Array:
        """The wrong results of the activation, of numbers in FLOAT64."""
        if activation.name != f"ACTIVATION_{self.activation}":
            return super().activate(activation, results, inputs)
        attributes = {name.lower(): np.float64(value) for name, value in activation.attributes.items()}  # type: ignore[arg-type]
        wide = [array.astype(np.float64) for array in (results, *inputs)]
        return np.asarray(type(self).wrong(wide[0], wide[1:], attributes)).astype(results.dtype)


@dataclass(frozen=True)
class Row:
    """One fault: of which activation, what is wrong in a sentence, and what makes the wrong results.

    Attributes:
        activation: its short name.
        wording: the mutant's docstring.
        wrong: of the sums, the inputs and the numbers.
    """

    activation: str
    wording: str
    wrong: Wrong


def plainly(name: str, x: Array, attributes: Numbers, **other: float) -> Array:
    """The right results of another activation, or of other numbers."""
    return np.asarray(ACTIVATIONS[name](x, **{**attributes, **other}))


def left_over(x: Array, right: Array, width: int) -> Array:
    """The right results, but for the elements behind the last whole vector of so many: these stay as they are."""
    results, whole = right.reshape(-1).copy(), x.size // width * width
    results[whole:] = x.reshape(-1)[whole:]
    return results.reshape(x.shape)


ROWS = {
    "ReluIgnored": Row("RELU", "The activation is not applied.", lambda x, ab, attributes: x),
    "ReluOfFirst": Row(
        "RELU", "The activation is applied to the first operand.", lambda x, ab, attributes: np.clip(ab[0], 0, None)
    ),
    "ReluBeforeSum": Row(
        "RELU",
        "The activation is applied to each operand before they are added.",
        lambda x, ab, attributes: np.clip(ab[0], 0, None) + np.clip(ab[1], 0, None),
    ),
    "ReluKeepsSmall": Row(
        "RELU",
        "Sums from -1 to 0 are kept.",
        lambda x, ab, parameters: np.where((x < 0) & (x > -1), x, np.clip(x, 0, None)),
    ),
    "LeakyOnPositive": Row(
        "LEAKY_RELU",
        "Alpha multiplies what is positive.",
        lambda x, ab, attributes: np.where(x < 0, x, attributes["alpha"] * x),
    ),
    "LeakyByDefault": Row(
        "LEAKY_RELU",
        "Alpha is 0.01, whatever is given.",
        lambda x, ab, parameters: plainly("LEAKY_RELU", x, parameters, alpha=0.01),
    ),
    "LeakyOfMagnitude": Row(
        "LEAKY_RELU",
        "The sign of what is negative is lost.",
        lambda x, ab, parameters: np.where(x < 0, np.abs(parameters["alpha"] * x), x),
    ),
    "ThresholdIncluded": Row(
        "THRESHOLDED_RELU", "What is Alpha is kept.", lambda x, ab, parameters: np.where(x >= parameters["alpha"], x, 0)
    ),
    "ThresholdByDefault": Row(
        "THRESHOLDED_RELU",
        "Alpha is 1, whatever is given.",
        lambda x, ab, parameters: plainly("THRESHOLDED_RELU", x, parameters, alpha=1),
    ),
    "ThresholdGivesAlpha": Row(
        "THRESHOLDED_RELU",
        "What is not above Alpha becomes Alpha.",
        lambda x, ab, parameters: np.where(x > parameters["alpha"], x, parameters["alpha"]),
    ),
    "ThresholdOfSecond": Row(
        "THRESHOLDED_RELU",
        "The second operand is compared with Alpha.",
        lambda x, ab, parameters: np.where(ab[1] > parameters["alpha"], x, 0),
    ),
    "LinearWithoutBeta": Row("LINEAR", "Beta is not added.", lambda x, ab, parameters: parameters["alpha"] * x),
    "LinearSwapped": Row(
        "LINEAR",
        "Alpha and Beta are taken for each other.",
        lambda x, ab, parameters: parameters["beta"] * x + parameters["alpha"],
    ),
    "LinearBetaFirst": Row(
        "LINEAR",
        "Beta is added before the product.",
        lambda x, ab, parameters: parameters["alpha"] * (x + parameters["beta"]),
    ),
    "LinearOfEach": Row(
        "LINEAR",
        "Each operand goes through the activation, and then they are added.",
        lambda x, ab, parameters: sum(parameters["alpha"] * operand + parameters["beta"] for operand in ab),
    ),
    "HardSigmoidWithoutTop": Row(
        "HARD_SIGMOID",
        "Results are not kept below 1.",
        lambda x, ab, parameters: np.clip(parameters["alpha"] * x + parameters["beta"], 0, None),
    ),
    "HardSigmoidWithoutBottom": Row(
        "HARD_SIGMOID",
        "Results are not kept above 0.",
        lambda x, ab, parameters: np.clip(parameters["alpha"] * x + parameters["beta"], None, 1),
    ),
    "HardSigmoidToMinusOne": Row(
        "HARD_SIGMOID",
        "Results are kept above -1.",
        lambda x, ab, parameters: np.clip(parameters["alpha"] * x + parameters["beta"], -1, 1),
    ),
    "HardSigmoidByDefault": Row(
        "HARD_SIGMOID",
        "Alpha is 0.2 and Beta 0.5, whatever is given.",
        lambda x, ab, parameters: plainly("HARD_SIGMOID", x, parameters, alpha=0.2, beta=0.5),
    ),
    "IdentityIsRelu": Row("IDENTITY", "What is negative is lost.", lambda x, ab, parameters: np.clip(x, 0, None)),
    "ShrinkOneWay": Row(
        "SHRINK",
        "Bias is taken away on both sides.",
        lambda x, ab, parameters: np.where(np.abs(x) > parameters["threshold"], x - parameters["bias"], 0),
    ),
    "ShrinkKeeps": Row(
        "SHRINK",
        "What is within the threshold is kept.",
        lambda x, ab, parameters: np.where(np.abs(x) > parameters["threshold"], plainly("SHRINK", x, parameters), x),
    ),
    "ShrinkIncludesThreshold": Row(
        "SHRINK",
        "What is on the threshold is moved.",
        lambda x, ab, parameters: np.where(
            np.abs(x) == parameters["threshold"], x - np.sign(x) * parameters["bias"], plainly("SHRINK", x, parameters)
        ),
    ),
    "ShrinkSwapped": Row(
        "SHRINK",
        "Bias and Threshold are taken for each other.",
        lambda x, ab, parameters: plainly("SHRINK", x, {}, bias=parameters["threshold"], threshold=parameters["bias"]),
    ),
    "SigmoidOfNegative": Row(
        "SIGMOID", "The sign of the exponent is lost.", lambda x, ab, parameters: 1 / (1 + np.exp(x))
    ),
    "TanhIsSigmoid": Row("TANH", "It is the sigmoid.", lambda x, ab, parameters: plainly("SIGMOID", x, parameters)),
    "ScaledTanhSwapped": Row(
        "SCALED_TANH",
        "Alpha and Beta are taken for each other.",
        lambda x, ab, parameters: plainly("SCALED_TANH", x, {}, alpha=parameters["beta"], beta=parameters["alpha"]),
    ),
    "EluWithoutOne": Row(
        "ELU", "1 is not taken away.", lambda x, ab, parameters: np.where(x < 0, parameters["alpha"] * np.exp(x), x)
    ),
    "EluByDefault": Row(
        "ELU", "Alpha is 1, whatever is given.", lambda x, ab, parameters: plainly("ELU", x, parameters, alpha=1)
    ),
    "CeluIsElu": Row(
        "CELU", "The sum is not divided by Alpha.", lambda x, ab, parameters: plainly("ELU", x, parameters)
    ),
    "ScaledEluIsElu": Row(
        "SCALED_ELU", "Gamma is not looked at.", lambda x, ab, parameters: plainly("SCALED_ELU", x, parameters, gamma=1)
    ),
    "SoftplusByDefault": Row(
        "SOFTPLUS",
        "Steepness is 1, whatever is given.",
        lambda x, ab, parameters: plainly("SOFTPLUS", x, parameters, steepness=1),
    ),
    "SoftplusIsRelu": Row("SOFTPLUS", "It is RELU.", lambda x, ab, parameters: np.clip(x, 0, None)),
    "ParametricSoftplusDivides": Row(
        "PARAMETRIC_SOFTPLUS",
        "It is divided by Beta, as SOFTPLUS.",
        lambda x, ab, parameters: plainly("PARAMETRIC_SOFTPLUS", x, parameters) / parameters["beta"],
    ),
    "SoftsignOfMagnitude": Row(
        "SOFTSIGN", "The sign is lost.", lambda x, ab, parameters: np.abs(plainly("SOFTSIGN", x, parameters))
    ),
    "GeluIsRelu": Row("GELU", "It is RELU.", lambda x, ab, parameters: np.clip(x, 0, None)),
}

BY_PLACE = {  # wrong by where an element stands, not by its value
    "ReluOfWholeVectors": Row(
        "RELU",
        "Behind the last four elements that make a vector the activation is left out.",
        lambda x, ab, parameters: left_over(x, np.clip(x, 0, None), 4),
    ),
    "ReluNotOfOneElement": Row(
        "RELU", "A single element stays as it is.", lambda x, ab, parameters: np.clip(x, 0, None) if x.size > 1 else x
    ),
    "ThresholdOfPairs": Row(
        "THRESHOLDED_RELU",
        "The last of an odd number of elements stays as it is.",
        lambda x, ab, parameters: left_over(x, plainly("THRESHOLDED_RELU", x, parameters), 2),
    ),
}


def _made() -> dict[str, type[Reference]]:
    return {
        name: type(
            name,
            (_WrongActivation,),
            {
                "__doc__": row.wording,
                "__module__": __name__,
                "activation": row.activation,
                "wrong": staticmethod(row.wrong),
                "clause": f"add1.activation.{row.activation.lower().replace('_', '-')}",
            },
        )
        for name, row in (ROWS | BY_PLACE).items()
    }


globals().update(_made())


class UnlistedActivationEndsTheDevice(Reference):
    """An activation that the list lacks does not end in a refusal, but in an error of the device."""

    level = "6.4"
    operator = "ELEMENT_WISE_ADD1"
    clause = "add1.activation.unlisted"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Fails where the activation is not known."""
        activation = operator.activation
        if activation is not None and not activation.name.startswith("ACTIVATION_"):
            raise ExecutionFailed("no such activation")
        return super().create(operator)


class LaterActivationIsIdentity(Reference):
    """An activation that only a later level has is accepted, and does nothing."""

    level = "2.0"
    operator = "ELEMENT_WISE_ADD1"
    clause = "add1.activation.later-level"

    def refuses(self, operator: OperatorDesc) -> str:
        """As ever, but for those activations."""
        reason = super().refuses(operator)
        later = operator.activation is not None and operator.activation.name in ("ACTIVATION_CELU", "ACTIVATION_GELU")
        return "" if later and reason.startswith(self.clause) else reason

    def activate(self, activation: OperatorDesc, results: Array, inputs: list[Array]) -> Array:
        """Those activations are left out."""
        if activation.name in ("ACTIVATION_CELU", "ACTIVATION_GELU"):
            return results
        return super().activate(activation, results, inputs)


class KernelsShareNumbers(Reference):
    """All kernels of an activation have the numbers of the one that was made last."""

    level = "6.4"
    operator = "ELEMENT_WISE_ADD1"
    clause = "execution.independent"

    def __init__(self) -> None:
        self.last: dict[str, OperatorDesc] = {}

    def create(self, operator: OperatorDesc) -> Kernel:
        """Remembers them."""
        if operator.activation is not None:
            self.last[operator.activation.name] = operator.activation
        return super().create(operator)

    def activate(self, activation: OperatorDesc, results: Array, inputs: list[Array]) -> Array:
        """With those."""
        return super().activate(self.last[activation.name], results, inputs)


class ActivationByPacks(Reference):
    """On tensors with strides the activation is left out."""

    level = "6.4"
    operator = "ELEMENT_WISE_ADD1"
    clause = "tensor.strides.padded"

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """As without it, where the first input has strides."""
        if operator.name != self.operator or operator.input.strides is None:
            return super().compute_exact(operator, inputs)
        return super().compute_exact(OperatorDesc(operator.name, operator.tensors, {"FusedActivation": None}), inputs)
