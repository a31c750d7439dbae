"""ScaleBias of IDENTITY, ABS, CEIL, FLOOR and CLIP1 gone wrong, for each of their clauses."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import OperatorDesc, ScaleBias
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference

OPERATORS = ("IDENTITY", "ABS", "CEIL", "FLOOR", "CLIP1")


class _Scaled(Reference):
    """ScaleBias of one operator is another one's."""

    level = LEVEL

    def instead(self, scale_bias: ScaleBias) -> ScaleBias | None:
        """What is applied."""
        return scale_bias

    def strikes(self, x: Array, scale_bias: ScaleBias) -> bool:
        """On which types and factors."""
        return True

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """With the other ScaleBias."""
        scale_bias = operator.attributes.get("ScaleBias")
        if operator.name == self.operator and isinstance(scale_bias, ScaleBias) and self.strikes(inputs[0], scale_bias):
            changed = {**operator.attributes, "ScaleBias": self.instead(scale_bias)}
            operator = OperatorDesc(operator.name, operator.tensors, changed)
        return super().compute_exact(operator, inputs)


class _BiasIgnored(_Scaled):
    """The bias is left out on floats."""

    def instead(self, scale_bias: ScaleBias) -> ScaleBias:
        """No bias."""
        return ScaleBias(scale_bias.scale, 0)

    def strikes(self, x: Array, scale_bias: ScaleBias) -> bool:
        """Floats."""
        return x.dtype.kind == "f"


class _ScaleIgnored(_Scaled):
    """The scale is left out on integers where it is one."""

    def instead(self, scale_bias: ScaleBias) -> ScaleBias:
        """No scale."""
        return ScaleBias(1, scale_bias.bias)

    def strikes(self, x: Array, scale_bias: ScaleBias) -> bool:
        """Integers with integral factors."""
        return (
            x.dtype.kind != "f"
            and scale_bias.scale == np.trunc(scale_bias.scale)
            and scale_bias.bias == np.trunc(scale_bias.bias)
        )


class _FractionsTruncated(_Scaled):
    """Scale and bias are truncated to integers before they scale integers, so that a scale of 1.5 is 1."""

    def instead(self, scale_bias: ScaleBias) -> ScaleBias:
        """Without fractions."""
        return ScaleBias(np.trunc(scale_bias.scale), np.trunc(scale_bias.bias))

    def strikes(self, x: Array, scale_bias: ScaleBias) -> bool:
        """Integers."""
        return x.dtype.kind != "f"


FAULTS = {
    "scale-bias": ("LosesBias", _BiasIgnored),
    "scale-bias.integer": ("LosesIntegerScale", _ScaleIgnored),
    "scale-bias.integer-inexact": ("TruncatesFactors", _FractionsTruncated),
}


def _of(operator: str) -> dict[str, type[Reference]]:
    mutants_by_name = {}
    for clause, (suffix, base) in FAULTS.items():
        if operator in ("CEIL", "FLOOR") and clause != "scale-bias":  # they take floats alone
            continue
        name = f"{operator.capitalize()}{suffix}"
        members = {
            "__doc__": f"{operator}: {base.__doc__}",
            "__module__": __name__,
            "level": LEVEL,
            "operator": f"ELEMENT_WISE_{operator}",
            "clause": f"{operator.lower()}.{clause}",
        }
        mutants_by_name[name] = type(name, (base,), members)
    return mutants_by_name


MADE = {name: made for operator in OPERATORS for name, made in _of(operator).items()}

globals().update(MADE)
