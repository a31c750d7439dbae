"""What torch.compile makes of PyTorch's functions, on flat arrays of a few lengths.

A program takes seconds to compile, and another type, rank or layout is another program. Flat arrays need one for each
function on each combination of types.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dmlcts.backends.arrays import Array, Call, Program, first_line, padded, padded_count
from dmlcts.backends.contract import NotSupported
from dmlcts.backends.runtimes import Counterpart, Mapped
from dmlcts.backends.torch_eager.functions import COUNTERPARTS, function_of

# Distinct types are distinct programs to the compiler, and it must not fall back to eager execution unseen.
_MOST_COMPILED = 1 << 16
_LIMITS = ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit", "accumulated_cache_size_limit")


def compiling(torch: Any) -> Any:
    """Settings under which what cannot be compiled is an error and never runs eagerly; a context manager."""
    config = torch._dynamo.config
    return config.patch({name: _MOST_COMPILED for name in _LIMITS if hasattr(config, name)})


class CompiledTorch:
    """PyTorch's functions through torch.compile, as a runtime of arrays.

    Args:
        torch: the package.
        device: what tensors are made on.
        adapter: what it computes on, for reports.
        options: those of the backend, checked.
    """

    name = "torch"
    prefix = "torch."
    ranked = False
    counterparts = COUNTERPARTS

    def __init__(self, torch: Any, device: Any, adapter: str, options: Mapping[str, str]) -> None:
        self._torch = torch
        self._device = device
        self.adapter = adapter
        self.options = options
        self.version = str(torch.__version__)
        self.rows: Sequence[Mapped] = [
            Mapped(
                "every function", "torch.compile(…, dynamic=True, fullgraph=True)", "runtime", "nothing runs eagerly"
            ),
            Mapped(
                "sizes",
                "arrays of one dimension, at their end behind ones, of a few lengths",
                "backend",
                "clauses on shapes say nothing of the runtime",
            ),
            Mapped("Min and Max", "tensors of no dimension", "runtime"),
            Mapped("IF", "where, of a bool", "runtime", "the backend makes truth values: the compiler takes no UINT8"),
        ]

    def takes(self, call: Call, counterpart: Counterpart) -> None:
        """Run the function on ones, eagerly.

        Raises:
            NotSupported: PyTorch has no such type, no such function on it, or gives a result of another type.
        """
        torch, function = self._torch, function_of(self._torch, counterpart)
        ones = [torch.ones(1, dtype=self._dtype(kind), device=self._device) for kind in (*call.kinds, call.result)]
        try:
            result = function(*ones[:-1], **self._operands(call, counterpart, [1] * len(call.scalars)))
        except (RuntimeError, TypeError) as error:  # NotImplementedError is a RuntimeError
            raise NotSupported(f"torch: {first_line(error)}") from error
        if result.dtype not in (ones[-1].dtype, torch.bool):
            raise NotSupported(f"torch: torch.{counterpart.name} gives {result.dtype}, not {call.result}")

    def program(self, call: Call, counterpart: Counterpart) -> Program:
        """The function, compiled at its first call."""
        torch, device = self._torch, self._device
        function = _where(torch) if counterpart.name == "where" else function_of(torch, counterpart)
        dtypes = [self._dtype(kind) for kind in call.kinds]

        def written(inputs: Sequence[Any], y: Any, operands: Mapping[str, Any]) -> None:
            y.copy_(function(*inputs, **operands))

        compiled = torch.compile(written, dynamic=True, fullgraph=True)

        def run(arrays: Sequence[Array], scalars: Sequence[Any]) -> Array:
            count = arrays[0].size
            length = padded_count(count)
            longer = [padded(array, length) for array in arrays]
            inputs = [
                torch.frombuffer(array, dtype=dtype).to(device) for array, dtype in zip(longer, dtypes, strict=True)
            ]
            result = np.zeros(length, call.result)
            target = torch.frombuffer(result, dtype=self._dtype(call.result))
            y = target.to(device)
            with warnings.catch_warnings(), compiling(torch):
                warnings.simplefilter("ignore")  # of the compiler's own making
                compiled(inputs, y, self._operands(call, counterpart, scalars))
            if y is not target:
                target.copy_(y)
            return result[length - count :]

        return run

    def _dtype(self, kind: np.dtype[Any]) -> Any:
        """PyTorch's name of a type.

        Raises:
            NotSupported: it has none.
        """
        if not hasattr(self._torch, kind.name):
            raise NotSupported(f"torch {self.version} has no type {kind.name}")
        return getattr(self._torch, kind.name)

    def _operands(self, call: Call, counterpart: Counterpart, scalars: Sequence[Any]) -> dict[str, Any]:
        """What is passed by name: the function's own attributes, and bounds as tensors of no dimension."""
        operands = dict(counterpart.attributes)
        for name, value in zip(call.scalars, scalars, strict=True):
            buffer = bytearray(np.asarray(value, call.kinds[0]).tobytes())
            tensor = self._torch.frombuffer(buffer, dtype=self._dtype(call.kinds[0]))
            operands[name.lower()] = tensor.reshape(()).to(self._device)
        return operands

    def close(self) -> None:
        """Nothing is held that the collector does not release."""


def _where(torch: Any) -> Callable[..., Any]:
    """``torch.where`` of a condition that is converted to bool, which is exact: any number but 0 is true."""

    def where(condition: Any, first: Any, other: Any) -> Any:
        return torch.where(condition.bool(), first, other)

    return where
