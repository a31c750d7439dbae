"""A plain implementation of the operators, made to be broken: every step is a method that a mutant overrides.

It is right, vectorised, and deliberately simple; it shares no arithmetic with the oracles or with the cpu backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dmlcts.backends import DeviceInfo, InvalidArgument
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.rules import violations
from dmlcts.suites.mutants.formulas import ACTIVATIONS, FORMULAS, QUANTISING, numbers, scaled

Array = np.ndarray[Any, np.dtype[Any]]


class Reference:
    """A backend whose device and kernel are the object itself; one subclass a fault.

    Attributes:
        clause: id of the clause that the fault breaks; a suite that catches it reports this clause.
        modelled_on: the public bug that the fault was modelled on, as a link or citation, or "".
        needs: what it takes to be caught beyond the quick profile ("isolation", "full", "sweep"), or "".
        level: the feature level that is claimed.
        operator: the operator that the fault is about, by its full name, or "": one or more of the first three.
    """

    name = "reference"
    operator = ""
    clause = ""
    modelled_on = ""
    needs = ""
    level = "5.0"

    def open(self) -> Reference:
        """Open the device; what the tables say is read now, not within the time of the first kernel."""
        load_tables()
        return self

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held."""

    @property
    def info(self) -> DeviceInfo:
        """What the device says of itself."""
        return DeviceInfo(name=type(self).__name__, feature_level=self.level, library="mutant of numpy")

    # -- descriptions ------------------------------------------------------------------------------

    def refuses(self, operator: OperatorDesc) -> str:
        """Why ``operator`` is refused, or ""."""
        rule_violations = violations(operator, FeatureLevel(self.level), load_tables())
        return "; ".join(f"{violation.clause}: {violation.text}" for violation in rule_violations)

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel, or InvalidArgument."""
        reason = self.refuses(operator)
        if reason:
            raise InvalidArgument(reason)
        return Kernel(self, operator)

    # -- memory ------------------------------------------------------------------------------------

    def view(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        """The tensor's elements in ``memory``, in the tensor's shape."""
        item = tensor.data_type.itemsize
        flat = memory[region.offset : region.offset + tensor.minimum_size_in_bytes].view(tensor.data_type.numpy)
        return as_strided(flat, tensor.sizes, [stride * item for stride in tensor.element_strides])

    def read(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        """The logical elements, a copy in the tensor's shape."""
        return self.view(memory, region, tensor).copy()

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Store the logical elements."""
        self.view(memory, region, tensor)[...] = values

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        """Read, compute, write."""
        x = self.read(memory, bindings["InputTensor"], operator.input)
        with np.errstate(all="ignore"):
            y = self.compute(operator, x)
        self.write(memory, bindings["OutputTensor"], operator.output, y)

    def dispatch_exact(
        self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Mapping[str, Region]
    ) -> None:
        """Read all inputs, compute, write: the operators that have a formula of :mod:`formulas`."""
        names = [name for name in table.inputs if name in operator.tensors]
        inputs = [self.read(memory, bindings[name], operator.tensors[name]) for name in names]
        with np.errstate(all="ignore"):
            y = self.compute_exact(operator, inputs)
        target = operator.tensors[table.output]
        self.write(memory, bindings[table.output], target, np.asarray(y).astype(target.data_type.numpy))

    # -- arithmetic --------------------------------------------------------------------------------

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """The results for the elements of the inputs, in the order of the page; truth values may be ``bool``."""
        short = operator.name.removeprefix("ELEMENT_WISE_")
        if short in QUANTISING:
            named_inputs = dict(zip(operator.inputs, inputs, strict=True))
            return QUANTISING[short](named_inputs, operator.output.data_type.numpy)
        kind = next(iter(operator.tensors.values())).data_type
        first = scaled(inputs[0], operator.attributes.get("ScaleBias"), self.scale_bias, kind)
        formula = FORMULAS[short]
        results = np.asarray(formula(first, *inputs[1:], *numbers(operator, self.cast)))
        return results if operator.activation is None else self.activate(operator.activation, results, inputs)

    def activate(self, activation: OperatorDesc, results: Array, inputs: list[Array]) -> Array:
        """The fused activation of results that are rounded to the tensor's type, computed in FLOAT64."""
        attributes = {name.lower(): np.float64(value) for name, value in activation.attributes.items()}  # type: ignore[arg-type]
        formula = ACTIVATIONS[activation.name.removeprefix("ACTIVATION_")]
        return np.asarray(formula(results.astype(np.float64), **attributes)).astype(results.dtype)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """The operator's values for the elements ``x``, of x's type and shape."""
        attributes = operator.attributes
        data_type = operator.input.data_type
        if operator.name == "ELEMENT_WISE_ROUND":
            return self.round(x, str(attributes["RoundingMode"]))
        scale_bias = attributes["ScaleBias"]
        if isinstance(scale_bias, ScaleBias):
            x = self.scale_bias(x, scale_bias, data_type)
        low = self.cast(attributes["Min"], data_type, "Min")  # type: ignore[arg-type]  # a FLOAT attribute
        if operator.name == "ELEMENT_WISE_THRESHOLD":
            return self.threshold(x, low)
        return self.clip(x, low, self.cast(attributes["Max"], data_type, "Max"))  # type: ignore[arg-type]  # as above

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        """A FLOAT bound as a 0-dimensional array of the tensor's type; ``name`` is "Min" or "Max"."""
        if data_type.is_floating:
            return np.asarray(value).astype(data_type.numpy)
        limits = np.iinfo(data_type.numpy)
        whole = 0 if np.isnan(value) else int(np.clip(np.float64(value), -(2.0**70), 2.0**70))
        return np.asarray(min(max(whole, int(limits.min)), int(limits.max)), data_type.numpy)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """max(Min, min(x, Max))."""
        return self.maximum(low, self.minimum(x, high))

    def threshold(self, x: Array, low: Any) -> Array:
        """max(x, Min)."""
        return self.maximum(x, low)

    def minimum(self, a: Any, b: Any) -> Array:
        """The smaller; NaN propagates, -0 is less than +0."""
        return np.where((a < b) | ((a == b) & np.signbit(a)) | np.isnan(a), a, b)  # type: ignore[no-any-return]

    def maximum(self, a: Any, b: Any) -> Array:
        """The larger; NaN propagates, -0 is less than +0."""
        return np.where((a > b) | ((a == b) & ~np.signbit(a)) | np.isnan(a), a, b)  # type: ignore[no-any-return]

    def round(self, x: Array, mode: str) -> Array:
        """The three rounding modes."""
        if mode == "HALVES_TO_NEAREST_EVEN":
            return np.rint(x)
        if mode == "TOWARD_ZERO":
            return np.trunc(x)
        return self.half_away(x)

    def half_away(self, x: Array) -> Array:
        """To nearest, halves away from zero."""
        whole = np.trunc(x)
        return np.copysign(np.where(np.abs(x - whole) >= 0.5, np.abs(whole) + 1, np.abs(whole)), x).astype(x.dtype)

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        """X * scale + bias: separate FLOAT32 operations for floats, FLOAT64 and saturating for integers."""
        if data_type.is_floating:
            wide = x.astype(np.float32) * scale_bias.scale + scale_bias.bias
            return wide.astype(x.dtype)
        if scale_bias.scale == 1 and scale_bias.bias == 0:
            return x  # also what FLOAT64 does not hold
        exact = x.astype(np.float64) * np.float64(scale_bias.scale) + np.float64(scale_bias.bias)
        return self.saturate(exact, data_type)

    def saturate(self, exact: Array, data_type: DataType) -> Array:
        """Reals truncated toward zero and saturated to the integer type."""
        limits = np.iinfo(data_type.numpy)
        top = np.nextafter(np.float64(limits.max), 0) if limits.bits == 64 else np.float64(limits.max)
        result = np.clip(np.trunc(exact), np.float64(limits.min), top).astype(data_type.numpy)
        return np.where(exact >= np.float64(limits.max), data_type.numpy.type(limits.max), result)


class Kernel:
    """An operator of a :class:`Reference` that is ready to run."""

    def __init__(self, device: Reference, operator: OperatorDesc) -> None:
        self.device = device
        self.operator = operator

    def dispatch(self, memory: Array, bindings: Mapping[str, Region]) -> None:
        """Run once."""
        if self.operator.name.removeprefix("ELEMENT_WISE_") in (*FORMULAS, *QUANTISING):
            self.device.dispatch_exact(self.operator, load_tables().operator(self.operator.name), memory, bindings)
        else:
            self.device.dispatch(self.operator, memory, bindings)

    def close(self) -> None:
        """Nothing is held."""
