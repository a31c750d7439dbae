"""A DirectML device with the objects that serve one operator after the other: recorder, initializer, binding table."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from dmlcts.backends.directml.abi.com import PTR, Pointer, check, taken
from dmlcts.backends.directml.abi.dml import (
    DML_BINDING_DESC,
    DML_BINDING_PROPERTIES,
    DML_BINDING_TABLE_DESC,
    DML_BINDING_TYPE,
    DML_BUFFER_BINDING,
    DML_FEATURE,
    DML_FEATURE_DATA_FEATURE_LEVELS,
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT,
    DML_FEATURE_LEVEL,
    DML_FEATURE_QUERY_FEATURE_LEVELS,
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
    DML_GRAPH_DESC,
    DML_GRAPH_EDGE_DESC,
    DML_GRAPH_EDGE_TYPE,
    DML_GRAPH_NODE_DESC,
    DML_GRAPH_NODE_TYPE,
    DML_INPUT_GRAPH_EDGE_DESC,
    DML_OPERATOR_GRAPH_NODE_DESC,
    DML_OUTPUT_GRAPH_EDGE_DESC,
    DML_TENSOR_DATA_TYPE,
    IDMLBindingTable,
    IDMLCommandRecorder,
    IDMLCompiledOperator,
    IDMLOperator,
    IDMLOperatorInitializer,
)
from dmlcts.backends.directml.abi.host import Host, Scratch
from dmlcts.backends.directml.abi.hresults import unsigned

NO_BINDING = DML_BINDING_DESC(DML_BINDING_TYPE.DML_BINDING_TYPE_NONE, None)
_BUFFER = DML_BINDING_TYPE.DML_BINDING_TYPE_BUFFER.value


class Bindings:
    """Bindings to parts of buffers, as an array for a binding table; made once and filled for every dispatch.

    Args:
        count: how many.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.buffers = (DML_BUFFER_BINDING * max(1, count))()
        self.array = (DML_BINDING_DESC * max(1, count))()
        step = ctypes.sizeof(DML_BUFFER_BINDING)
        first = ctypes.addressof(self.buffers)
        for index in range(count):
            self.array[index] = DML_BINDING_DESC(_BUFFER, first + index * step)

    def put(self, index: int, resource: int, offset: int, size: int) -> None:
        """Let binding number ``index`` be ``size`` bytes of ``resource`` from ``offset`` on."""
        buffer = self.buffers[index]
        buffer.Buffer = resource
        buffer.Offset = offset
        buffer.SizeInBytes = size


class Session:
    """A DirectML device on a host.

    Args:
        device: an ``IDMLDevice1``, taken over.
        host: the D3D12 beneath it.

    Raises:
        ComError: the library refuses one of the objects.
    """

    def __init__(self, device: Pointer, host: Host) -> None:
        self.device = device
        self.host = host
        self._recorder = device.make("CreateCommandRecorder", IDMLCommandRecorder)
        self._initializer = device.make("CreateOperatorInitializer", IDMLOperatorInitializer, 0, None)
        self._table: Pointer | None = None
        self._table_desc = DML_BINDING_TABLE_DESC()
        self._compiled = PTR()

    def close(self) -> None:
        """Release everything; calling it again does nothing."""
        for held in (self._table, self._initializer, self._recorder, self.device):
            if held is not None:
                held.release()

    def removed_reason(self) -> int:
        """Why the device is lost, as an unsigned HRESULT; 0 while it is not."""
        return unsigned(self.device.call("GetDeviceRemovedReason"))

    # What it can do.

    def feature_level(self) -> DML_FEATURE_LEVEL:
        """The highest feature level, by ``CheckFeatureSupport``."""
        levels = (ctypes.c_int32 * len(DML_FEATURE_LEVEL))(*DML_FEATURE_LEVEL)
        query = DML_FEATURE_QUERY_FEATURE_LEVELS(len(levels), ctypes.addressof(levels))
        answer = DML_FEATURE_DATA_FEATURE_LEVELS()
        self._ask(DML_FEATURE.DML_FEATURE_FEATURE_LEVELS, query, answer)
        return DML_FEATURE_LEVEL(answer.MaxSupportedFeatureLevel)

    def supports(self, data_type: DML_TENSOR_DATA_TYPE) -> bool:
        """Whether the device has tensors of ``data_type``, by ``CheckFeatureSupport``."""
        query = DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(data_type)
        answer = DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT()
        self._ask(DML_FEATURE.DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, query, answer)
        return bool(answer.IsSupported)

    def _ask(self, feature: DML_FEATURE, query: Any, answer: Any) -> None:
        sizes = ctypes.sizeof(query), ctypes.sizeof(answer)
        places = ctypes.byref(query), ctypes.byref(answer)
        self.device.check("CheckFeatureSupport", feature, sizes[0], places[0], sizes[1], places[1])

    # Making operators.

    def create(self, desc: ctypes.Structure) -> Pointer:
        """An ``IDMLOperator`` of a ``DML_OPERATOR_DESC``."""
        return self.device.make("CreateOperator", IDMLOperator, ctypes.byref(desc))

    def compile(self, operator: Pointer, flags: int) -> Pointer:
        """An ``IDMLCompiledOperator`` of one operator."""
        return self.device.make("CompileOperator", IDMLCompiledOperator, operator.address, flags)

    def compile_graph(self, operator: Pointer, inputs: Sequence[int], outputs: int, flags: int) -> Pointer:
        """An ``IDMLCompiledOperator`` of a graph with one operator.

        Args:
            operator: the only node.
            inputs: for each input of the graph, the index of the operator's input that it goes to.
            outputs: how many outputs the operator and the graph have.
            flags: of ``DML_EXECUTION_FLAGS``.
        """
        inner = DML_OPERATOR_GRAPH_NODE_DESC(operator.address, None)
        node = DML_GRAPH_NODE_DESC(DML_GRAPH_NODE_TYPE.DML_GRAPH_NODE_TYPE_OPERATOR, ctypes.addressof(inner))
        entering = [DML_INPUT_GRAPH_EDGE_DESC(number, 0, target, None) for number, target in enumerate(inputs)]
        leaving = [DML_OUTPUT_GRAPH_EDGE_DESC(0, number, number, None) for number in range(outputs)]
        into = _edges(DML_GRAPH_EDGE_TYPE.DML_GRAPH_EDGE_TYPE_INPUT, entering)
        out = _edges(DML_GRAPH_EDGE_TYPE.DML_GRAPH_EDGE_TYPE_OUTPUT, leaving)
        graph = DML_GRAPH_DESC(
            InputCount=len(inputs),
            OutputCount=outputs,
            NodeCount=1,
            Nodes=ctypes.addressof(node),
            InputEdgeCount=len(inputs),
            InputEdges=ctypes.addressof(into),
            OutputEdgeCount=outputs,
            OutputEdges=ctypes.addressof(out),
        )
        made = PTR()
        address = ctypes.byref(made)
        # CompileGraph takes the flags before the IID, as CompileOperator does.
        hresult = self.device.call("CompileGraph", ctypes.byref(graph), flags, IDMLCompiledOperator.iid, address)
        check("IDMLDevice1::CompileGraph", hresult)
        return taken("IDMLDevice1::CompileGraph", IDMLCompiledOperator, made, self.device.convention)

    # Running them.

    def initialize(self, compiled: Pointer) -> Scratch | None:
        """Initialize a compiled operator.

        Returns:
            Its persistent resource, or ``None`` where it has none.
        """
        initializer = self._initializer
        self._compiled.value = compiled.address
        initializer.check("Reset", 1, ctypes.byref(self._compiled))
        size = properties(compiled).PersistentResourceSize
        persistent = self.host.scratch(size) if size else None
        try:
            table = self._bound(initializer, properties(initializer))
            temporary = self._temporary(table, properties(initializer))
            if persistent is not None:
                _bind_whole(table, "BindOutputs", persistent, 1)
            self._run(initializer, table, temporary)
        except BaseException:
            if persistent is not None:
                persistent.close()
            raise
        return persistent

    def dispatch(
        self,
        compiled: Pointer,
        wanted: DML_BINDING_PROPERTIES,
        inputs: Bindings,
        outputs: Bindings,
        persistent: Scratch | None,
    ) -> None:
        """Run a compiled operator once, and wait for its end.

        Raises:
            ComError: a call failed; methods that return nothing remove the device instead.
        """
        table = self._bound(compiled, wanted)
        table.call("BindInputs", inputs.count, inputs.array)
        table.call("BindOutputs", outputs.count, outputs.array)
        temporary = self._temporary(table, wanted)
        if persistent is not None:
            _bind_whole(table, "BindPersistentResource", persistent)
        self._run(compiled, table, temporary)

    def _bound(self, dispatchable: Pointer, wanted: DML_BINDING_PROPERTIES) -> Pointer:
        """The binding table, made ready for ``dispatchable``."""
        desc = self._table_desc
        count = wanted.RequiredDescriptorCount
        desc.Dispatchable = dispatchable.address
        desc.CPUDescriptorHandle, desc.GPUDescriptorHandle = self.host.descriptors(count)
        desc.SizeInDescriptors = count
        if self._table is None:
            self._table = self.device.make("CreateBindingTable", IDMLBindingTable, ctypes.byref(desc))
        else:
            self._table.check("Reset", ctypes.byref(desc))
        return self._table

    def _temporary(self, table: Pointer, wanted: DML_BINDING_PROPERTIES) -> Scratch | None:
        if not wanted.TemporaryResourceSize:
            return None
        made = self.host.scratch(wanted.TemporaryResourceSize)
        _bind_whole(table, "BindTemporaryResource", made)
        return made

    def _run(self, dispatchable: Pointer, table: Pointer, temporary: Scratch | None) -> None:
        try:
            self.host.prepare_list()
            self._recorder.call("RecordDispatch", self.host.command_list, dispatchable.address, table.address)
            self.host.execute()
        finally:
            if temporary is not None:
                temporary.close()


def properties(dispatchable: Pointer) -> DML_BINDING_PROPERTIES:
    """What must be bound for ``dispatchable`` to run."""
    binding_properties: DML_BINDING_PROPERTIES = dispatchable.call("GetBindingProperties")
    return binding_properties


def _bind_whole(table: Pointer, method: str, scratch: Scratch, *count: int) -> None:
    """Bind all of ``scratch``; the library copies what it is given."""
    bindings = Bindings(1)
    bindings.put(0, scratch.address, 0, scratch.size)
    table.call(method, *count, bindings.array)


def _edges(kind: DML_GRAPH_EDGE_TYPE, edges: Sequence[ctypes.Structure]) -> Any:
    array = (DML_GRAPH_EDGE_DESC * max(1, len(edges)))()
    for index, edge in enumerate(edges):
        array[index] = DML_GRAPH_EDGE_DESC(kind, ctypes.addressof(edge))
    return array
