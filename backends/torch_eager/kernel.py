"""Dispatching a function of PyTorch: tensors are views with the description's own strides.

They lie over the suite's memory, or over a copy of all of it on a device with memory of its own: a stray write shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.bindings import check_bindings, check_memory
from dmlcts.backends.contract import ExecutionFailed
from dmlcts.backends.runtimes import ALIGNMENT, element_count
from dmlcts.specs import OperatorDesc, Region, TensorDesc
from dmlcts.specs.models import OperatorTable

Tensor = Any
Program = Callable[[Sequence[Tensor], Tensor], None]


def message_of(error: BaseException) -> str:
    """The first line of PyTorch's own words."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


class TorchKernel:
    """A function of PyTorch with its operands; ``create`` of ``TorchDevice`` makes it.

    Args:
        torch: the package.
        own: the device, where it has memory of its own; ``None``: tensors are views of the suite's.
        operator: the description.
        table: the operator's.
        dtypes: what each tensor is viewed as.
        program: writes the output tensor.
    """

    def __init__(
        self,
        torch: Any,
        own: Any,
        operator: OperatorDesc,
        table: OperatorTable,
        dtypes: Mapping[str, Any],
        program: Program,
    ) -> None:
        self._torch = torch
        self._own = own
        self._tensors = operator.tensors
        self._inputs, self._output = table.inputs, table.output
        self._may_alias = table.tensors[table.output].may_alias
        self._dtypes = dtypes
        self._program = program
        self._closed = False

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run once, on the memory itself or on a copy of all of it.

        Raises:
            ExecutionFailed: the kernel is closed, memory or bindings cannot be used, or PyTorch failed.
        """
        if self._closed:
            raise ExecutionFailed("the kernel is closed")
        check_memory(memory)
        check_bindings(memory, bindings, self._tensors, ALIGNMENT, output=self._output, may_alias=self._may_alias)
        try:
            # By Python's buffer protocol: from_numpy of a torch that was built for numpy 1 knows no array of numpy 2.
            whole = self._torch.frombuffer(memory, dtype=self._torch.uint8)
            if self._own is not None:
                whole = whole.to(self._own)
            y = self._view(whole, bindings[self._output], self._output)
            inputs = [self._input(whole, bindings, name, y) for name in self._inputs]
            self._program(inputs, y)
            if self._own is not None:
                self._torch.frombuffer(memory, dtype=self._torch.uint8).copy_(whole)
        except Exception as error:  # RuntimeError for nearly everything
            raise ExecutionFailed(f"torch: {message_of(error)}") from error

    def _input(self, whole: Tensor, bindings: Mapping[str, Region], name: str, y: Tensor) -> Tensor:
        x = self._view(whole, bindings[name], name)
        if bindings[name] != bindings[self._output]:
            return x
        # In place where both are one tensor; other strides over the same bytes need the input elsewhere.
        return y if x.stride() == y.stride() and x.dtype == y.dtype else x.clone()

    def _view(self, whole: Tensor, region: Region, name: str) -> Tensor:
        tensor: TensorDesc = self._tensors[name]
        count = element_count(tensor) * tensor.data_type.itemsize
        flat = whole[region.offset : region.offset + count].view(self._dtypes[name])
        return flat.as_strided(tensor.sizes, tensor.element_strides)

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True
