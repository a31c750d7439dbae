"""Unsafe implementations: exceptions, lost devices, and what only an isolated process survives."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from dmlcts.backends import DeviceLost, ExecutionFailed
from dmlcts.specs import DataType, OperatorDesc, Region
from dmlcts.suites.mutants.reference import Array, Kernel, Reference

Bindings = Mapping[str, Region]


class RaisesOnNan(Reference):
    """A NaN input raises FloatingPointError."""

    clause = "clip.nan.input"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Check, then compute."""
        if np.isnan(x).any():
            raise FloatingPointError("invalid value encountered")
        return super().compute(operator, x)


class RaisesOnNanInRound(RaisesOnNan):
    """A NaN input of ROUND raises, as a conversion to an integer does."""

    clause = "round.nan"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Check ROUND alone."""
        if operator.name == "ELEMENT_WISE_ROUND" and np.isnan(x).any():
            raise ValueError("cannot convert float NaN to integer")
        return Reference.compute(self, operator, x)


class RaisesOnInfinityInRound(Reference):
    """An infinite input of ROUND raises OverflowError, as a conversion to an integer does."""

    clause = "round.infinity"

    def round(self, x: Array, mode: str) -> Array:
        """Check, then round."""
        if np.isinf(x).any():
            raise OverflowError("cannot convert float infinity to integer")
        return super().round(x, mode)


class RaisesOnNanBound(Reference):
    """A NaN bound raises at creation."""

    clause = "clip.nan.bound"

    def refuses(self, operator: OperatorDesc) -> str:
        """Check the FLOATs first."""
        if any(isinstance(value, np.float32) and np.isnan(value) for value in operator.attributes.values()):
            raise ValueError("a bound is NaN")
        return super().refuses(operator)


class RaisesOnOutOfRangeBound(Reference):
    """A bound beyond the integer type raises OverflowError, as Python's conversions do."""

    clause = "clip.cast.out-of-range"

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        """Convert without care."""
        if not data_type.is_floating and np.isfinite(value):
            return np.asarray(data_type.numpy.type(int(value)))
        return super().cast(value, data_type, name)


class RaisesOnInvertedBounds(Reference):
    """Min greater than Max fails an assertion, as std::clamp may."""

    clause = "clip.bounds.inverted"
    modelled_on = "https://en.cppreference.com/w/cpp/algorithm/clamp"

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """Assert, then clamp."""
        if low > high:
            raise AssertionError("!(hi < lo)")
        return super().clip(x, low, high)


class WrongExceptionForRefusals(Reference):
    """Descriptions are refused with ValueError."""

    clause = "clip.constraint.sizes"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Refuse in another way."""
        reason = self.refuses(operator)
        if reason:
            raise ValueError(reason)
        return super().create(operator)


class ExecutionFailedForRefusals(Reference):
    """Rank 9 is refused with ExecutionFailed where it is created."""

    clause = "tensor.rank.maximum"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Refuse in another way."""
        if operator.input.rank > 8:
            raise ExecutionFailed("too many dimensions")
        return super().create(operator)


class RefusesAtDispatch(Reference):
    """What must be refused at creation fails at the dispatch only."""

    clause = "tensor.total-size.minimum"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Accept everything."""
        return Kernel(self, operator)

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Refuse here."""
        reason = self.refuses(operator)
        if reason:
            raise ExecutionFailed(reason)
        super().dispatch(operator, memory, bindings)


class DeviceLostOnUint16(Reference):
    """The device is lost whenever UINT16 is dispatched."""

    clause = "clip.formula"
    modelled_on = "https://github.com/gpuweb/cts/issues/146"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Lose the device."""
        if operator.input.data_type is DataType.UINT16:
            raise DeviceLost("device removed")
        return super().compute(operator, x)


class ExecutionFailedOnRank7(Reference):
    """Dispatches of rank 7 fail."""

    clause = "clip.support.level-3-0"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Fail."""
        if x.ndim == 7:
            raise ExecutionFailed("unsupported rank")
        return super().compute(operator, x)


class OutOfMemoryOnLargeTensors(Reference):
    """More than four million elements raise MemoryError."""

    clause = "tensor.position"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Give up."""
        if x.size > 4_000_000:
            raise MemoryError("staging buffer")
        return super().compute(operator, x)


class RaisesOnSecondDispatch(Reference):
    """A kernel that has run once raises."""

    clause = "execution.repeatable"

    class _RunsOneTime(Kernel):
        done = False

        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Run once."""
            if self.done:
                raise RuntimeError("command list already closed")
            self.done = True
            super().dispatch(memory, bindings)

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel for one use."""
        super().create(operator)
        return self._RunsOneTime(self, operator)


class RaisesOnClose(Reference):
    """Closing a kernel that has run in place raises."""

    clause = "clip.in-place"

    class _Closing(Kernel):
        aliased = False

        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Note whether the tensors alias."""
            self.aliased |= bindings["InputTensor"] == bindings["OutputTensor"]
            super().dispatch(memory, bindings)

        def close(self) -> None:
            """Release the same region twice."""
            if self.aliased:
                raise RuntimeError("double free")

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that fails to close."""
        super().create(operator)
        return self._Closing(self, operator)


class AbortsOnRank7(Reference):
    """A dispatch of rank 7 aborts the process."""

    clause = "clip.support.level-3-0"
    modelled_on = "https://github.com/microsoft/DirectML/issues/445"
    needs = "isolation"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Abort."""
        if x.ndim == 7:
            os.abort()
        return super().compute(operator, x)


class AbortsOnNan(Reference):
    """A NaN input aborts the process."""

    clause = "clip.nan.input"
    needs = "isolation"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Abort."""
        if np.isnan(x).any():
            os.abort()
        return super().compute(operator, x)


class HangsOnRank6(Reference):
    """A dispatch of rank 6 never comes back."""

    clause = "clip.support.level-3-0"
    modelled_on = "https://github.com/KhronosGroup/VK-GL-CTS/issues/437"
    needs = "isolation"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Wait for ever."""
        while x.ndim == 6:
            time.sleep(60)
        return super().compute(operator, x)


class LeaksMemory(Reference):
    """Every dispatch keeps 16 MiB that are never released."""

    clause = "execution.repeatable"
    needs = "isolation"
    leaked: ClassVar[list[Array]] = []

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Keep, then compute."""
        self.leaked.append(np.ones(16 << 20, np.uint8))
        return super().compute(operator, x)
