"""The kernel of the ``onnxruntime`` backend: a loaded model, run on the memory itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.bindings import check_bindings, check_memory
from dmlcts.backends.contract import ExecutionFailed
from dmlcts.backends.onnxruntime.models import Node
from dmlcts.backends.onnxruntime.ways import Way
from dmlcts.backends.runtimes import ALIGNMENT
from dmlcts.specs import OperatorDesc, Region
from dmlcts.specs.models import OperatorTable

Array = NDArray[Any]


class OnnxRuntimeKernel:
    """A loaded model; ``create`` of the device makes it.

    Args:
        operator: the description.
        table: its operator's.
        node: what it is mapped to.
        way: how the model was made.
        session: the loaded model; None where ``folded`` makes one for each dispatch.
        folded: loads a model of which the inputs' elements are constants.
    """

    def __init__(
        self,
        operator: OperatorDesc,
        table: OperatorTable,
        node: Node,
        way: Way,
        session: Any,
        folded: Callable[[Mapping[str, Array]], Any],
    ) -> None:
        self._operator = operator
        self._table = table
        self._node = node
        self._way = way
        self._session = session
        self._folded = folded if session is None else None
        self._closed = False

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run the model once, on the memory itself.

        Raises:
            ExecutionFailed: the kernel is closed, memory or bindings cannot be used, or the runtime failed.
        """
        if self._closed:
            raise ExecutionFailed("the kernel is closed")
        check_memory(memory)
        operator, node, output = self._operator, self._node, self._table.output
        may_alias = self._table.tensors[output].may_alias
        check_bindings(memory, bindings, operator.tensors, ALIGNMENT, output=output, may_alias=may_alias)
        sources = {
            name: self._view(memory, bindings, name, node.bound_as(tensor))
            for name, tensor in operator.tensors.items()
            if name != output
        }
        target = self._view(memory, bindings, output, node.result_as(operator.tensors[output]))
        inputs, result = sources, target
        if self._way.shapes == "row":
            inputs = {name: np.resize(view, self._bound(name)) for name, view in sources.items()}
            result = np.empty(self._bound(output), target.dtype)
        try:
            self._run(inputs, result)
        except ExecutionFailed:
            raise
        except Exception as error:  # as in OnnxRuntimeDevice.session
            raise ExecutionFailed(f"onnxruntime: {' '.join(str(error).split())}") from error
        if result is not target:
            target.reshape(-1)[:] = result.reshape(-1)[: target.size]

    def _run(self, sources: Mapping[str, Array], target: Array) -> None:
        session = self._session if self._folded is None else self._folded(sources)
        binding = session.io_binding()
        if self._folded is None:
            for name, source in sources.items():
                self._bind(binding.bind_input, name, source)
        if self._way.bounds == "input":
            for name, value in self._node.values.items():
                binding.bind_cpu_input(name, np.asarray(value))
        self._bind(binding.bind_output, "y", target)
        session.run_with_iobinding(binding)

    def _bound(self, name: str) -> tuple[int, ...]:
        return self._way.bound(name, self._operator.tensors[name], self._node)

    def _view(
        self, memory: NDArray[np.uint8], bindings: Mapping[str, Region], name: str, dtype: np.dtype[Any]
    ) -> Array:
        sizes = self._operator.tensors[name].sizes if self._way.shapes == "row" else self._bound(name)
        return np.ndarray(sizes, dtype, memory, bindings[name].offset)

    @staticmethod
    def _bind(bind: Any, name: str, array: Array) -> None:
        bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

    def close(self) -> None:
        """Release the model; calling it again does nothing."""
        self._session = None
        self._closed = True
