"""Implementations that are right but for one fault, which shows under conditions that are known by construction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc, Region
from dmlcts.suites.mutants.bases import broadcast, inverted, larger, permuted, scaled, strided
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Kernel, Reference

Array = np.ndarray[Any, np.dtype[Any]]
Bindings = Mapping[str, Region]
Condition = Callable[[OperatorDesc, Bindings], bool]


def _first(operator: OperatorDesc) -> Any:
    return next(iter(operator.inputs.values()))


def _second(operator: OperatorDesc) -> Any:
    return list(operator.inputs.values())[1]


def _any(operator: OperatorDesc, of: Callable[[Any], bool]) -> bool:
    return any(of(tensor) for tensor in operator.inputs.values())


def more_than(count: int) -> Condition:
    """More elements than ``count``."""
    return lambda operator, _: operator.output.element_count > count


def of_type(*names: str) -> Condition:
    """The first input is of one of these types: a condition that is no need, for the block's types say it."""
    return lambda operator, _: _first(operator).data_type.name in names


CONDITIONS: Mapping[str, tuple[str, Condition]] = {
    "first strided": ("input strides", lambda o, _: strided(_first(o))),
    "first repeated": ("input strides", lambda o, _: broadcast(_first(o))),
    "first permuted": ("input strides", lambda o, _: permuted(_first(o)) and not broadcast(_first(o))),
    "second strided": ("input strides", lambda o, _: strided(_second(o))),
    "second repeated": ("input strides", lambda o, _: broadcast(_second(o))),
    "any strided": ("input strides", lambda o, _: _any(o, strided)),
    "output strided": ("output strides", lambda o, _: strided(o.output)),
    "output permuted": ("output strides", lambda o, _: permuted(o.output)),
    "scaled": ("scaling", lambda o, _: scaled(o)),
    "inverted": ("bounds", lambda o, _: inverted(o)),
    "more than 4 dimensions": ("rank", lambda o, _: o.output.rank > 4),
    "more than 11 elements": ("count", more_than(11)),
    "more than 39 elements": ("count", more_than(39)),
    "more than 1024 elements": ("count", more_than(1024)),
    "more than 70000 elements": ("count", more_than(70000)),
    "in place": ("in place", lambda o, b: any(b[n] == b[o.output_name] for n in o.inputs)),
    "one region": ("one region", lambda o, b: len({b[n] for n in o.inputs}) < len(o.inputs)),
    "larger output": ("total size", lambda o, _: larger(o.output)),
    "offset": ("offset", lambda o, b: b[next(iter(o.inputs))].offset % 256 != 0),
}
"""By name: the factor of :mod:`dmlcts.suites.attribution.needs` that it is about, and the condition itself."""


def plus_one(right: Array, *_: Array) -> Array:
    """Every result one step further: the next floating-point number's neighbour far off, or another integer."""
    if right.dtype.kind == "f":
        return np.where(np.isfinite(right), right + right.dtype.type(1) + np.abs(right), right.dtype.type(1))
    return right ^ right.dtype.type(1)


def last(right: Array, *_: Array) -> Array:
    """The last result alone is wrong."""
    flat = np.ascontiguousarray(right).reshape(-1).copy()
    flat[-1:] = plus_one(flat[-1:])
    return flat.reshape(right.shape)


def from_twelfth(right: Array, *_: Array) -> Array:
    """The twelfth result, where there is one."""
    flat = np.ascontiguousarray(right).reshape(-1).copy()
    flat[11:12] = plus_one(flat[11:12])
    return flat.reshape(right.shape)


def where(chosen: Callable[..., Any], instead: Callable[..., Any] = plus_one) -> Callable[..., Array]:
    """Results of chosen inputs."""
    return lambda right, *xs: np.where(chosen(*xs), instead(right, *xs), right)


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        operator: its short name.
        conditions: names of :data:`CONDITIONS` that must all hold.
        wrong: the wrong results, of the right ones and of the inputs.
        types: the types of the first input on which it strikes; all where empty.
        clause: the clause that it breaks.
        needs: factors that a block must name; those of the conditions where ``None``.
    """

    operator: str
    conditions: tuple[str, ...]
    clause: str
    wrong: Callable[..., Array] = plus_one
    types: tuple[str, ...] = ()
    needs: frozenset[str] | None = None

    @property
    def factors(self) -> frozenset[str]:
        """What a block must name as needed."""
        return (
            frozenset(CONDITIONS[condition][0] for condition in self.conditions) if self.needs is None else self.needs
        )

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Whether a dispatch shows it."""
        if operator.name != f"ELEMENT_WISE_{self.operator}":
            return False
        if self.types and _first(operator).data_type.name not in self.types:
            return False
        return all(CONDITIONS[condition][1](operator, bindings) for condition in self.conditions)


class _Spoiling(Kernel):
    """Runs the right kernel, then spoils its results where the fault strikes."""

    def dispatch(self, memory: Array, bindings: Bindings) -> None:
        """Run once."""
        fault: Fault = self.device.fault  # type: ignore[attr-defined]  # of a class made by this module
        operator, device = self.operator, self.device
        if not fault.strikes(operator, bindings):
            super().dispatch(memory, bindings)
            return
        inputs = [device.read(memory, bindings[name], tensor) for name, tensor in operator.inputs.items()]
        super().dispatch(memory, bindings)
        region = bindings[operator.output_name]
        right = device.read(memory, region, operator.output)
        with np.errstate(all="ignore"):
            wrong = np.asarray(fault.wrong(right, *inputs)).astype(right.dtype)
        device.write(memory, region, operator.output, wrong)


class Wrong(Reference):
    """Right but for one fault."""

    level = LEVEL
    fault: Fault

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel whose results are spoiled under the fault's conditions."""
        super().create(operator)
        return _Spoiling(self, operator)


FAULTS: Mapping[str, Fault] = {
    # one condition
    "AbsOfRepeated": Fault("ABS", ("first repeated",), "tensor.strides.broadcast"),
    "SinPermuted": Fault("SIN", ("first permuted",), "tensor.strides.permuted"),
    "NegateIntoStrides": Fault("NEGATE", ("output strided",), "tensor.strides.output"),
    "AddOfOneRegion": Fault("ADD", ("one region",), "binding.same-resource"),
    "ExpScaled": Fault("EXP", ("scaled",), "exp.scale-bias"),
    "SignAboveFourDimensions": Fault("SIGN", ("more than 4 dimensions",), "tensor.position"),
    "CeilInPlace": Fault("CEIL", ("in place",), "ceil.in-place"),
    "FloorAtOffsets": Fault("FLOOR", ("offset",), "binding.offset"),
    "TwelfthOfBitNot": Fault(
        "BIT_NOT", ("more than 11 elements",), "tensor.position", from_twelfth, needs=frozenset({"element"})
    ),
    "LastOfManyMax": Fault("MAX", ("more than 39 elements",), "tensor.position", last),
    "IsNanOfMany": Fault("IS_NAN", ("more than 70000 elements",), "tensor.position", last),
    "IntoLargerRecip": Fault("RECIP", ("larger output",), "tensor.total-size.larger"),
    # values alone
    "FloorWrong": Fault("FLOOR", (), "floor.formula"),
    "TanhAbove45": Fault("TANH", (), "tanh.accuracy", where(lambda x: x > 45, lambda r, x: r * 0 + np.nan)),
    "CeilOfHalves": Fault("CEIL", (), "ceil.formula", where(lambda x: np.abs(x - np.trunc(x)) == 0.5)),
    "MinOfEvenInt32": Fault("MIN", (), "min.formula", where(lambda a, b: (a & 1 == 0) & (b > a)), ("INT32",)),
    "SubtractInt8": Fault("SUBTRACT", (), "subtract.formula", plus_one, ("INT8",)),
    "ClipInverted": Fault("CLIP", ("inverted",), "clip.bounds.inverted"),
    # two conditions
    "LogScaledStrided": Fault("LOG", ("scaled", "first strided"), "tensor.strides.packed"),
    "SqrtStridedBothWays": Fault("SQRT", ("first strided", "output strided"), "tensor.strides.output"),
    "SecondOfMultiply": Fault("MULTIPLY", ("second repeated", "more than 39 elements"), "tensor.strides.broadcast"),
    "OrAboveFourDimensionsStrided": Fault(
        "LOGICAL_OR", ("more than 4 dimensions", "any strided"), "tensor.strides.padded"
    ),
    "ThresholdInPlaceScaled": Fault("THRESHOLD", ("in place", "scaled"), "threshold.in-place"),
    "XorInPlaceOfMany": Fault("BIT_XOR", ("in place", "more than 11 elements"), "bit-xor.in-place"),
    "IdentityPermutedIntoLarger": Fault("IDENTITY", ("first permuted", "larger output"), "tensor.strides.permuted"),
    "ClipInvertedStrided": Fault("CLIP", ("inverted", "first strided"), "tensor.strides.padded"),
    "RoundOfManyAtOffsets": Fault("ROUND", ("offset", "more than 1024 elements"), "binding.offset", last),
    "DividePermutedInt32": Fault("DIVIDE", ("any strided",), "tensor.strides.permuted", plus_one, ("INT32",)),
    # three conditions
    "AtanOfThree": Fault("ATAN", ("scaled", "first strided", "more than 4 dimensions"), "tensor.strides.padded"),
    "CosOfThree": Fault("COS", ("scaled", "first permuted", "output strided"), "tensor.strides.permuted"),
    "AbsOfThree": Fault(
        "ABS", ("first repeated", "output permuted", "more than 39 elements"), "tensor.strides.broadcast"
    ),
    "MeanOfThree": Fault(
        "MEAN", ("second strided", "output strided", "more than 11 elements"), "tensor.strides.output"
    ),
    "ThresholdOfThree": Fault(
        "THRESHOLD", ("scaled", "first strided", "more than 11 elements"), "tensor.strides.padded"
    ),
}
"""The faults, by the names of the classes that have them."""

globals().update(
    {
        name: type(
            name,
            (Wrong,),
            {
                "__doc__": f"{fault.operator}, {fault.conditions}",
                "__module__": __name__,
                "fault": fault,
                "operator": f"ELEMENT_WISE_{fault.operator}",
                "clause": fault.clause,
            },
        )
        for name, fault in FAULTS.items()
    }
)
