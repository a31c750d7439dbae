"""DirectML: the structures, numbers and interfaces of DirectML.h (target version 0x6400), as on 64-bit machines."""

from __future__ import annotations

import ctypes
from enum import IntEnum, IntFlag
from typing import ClassVar

from dmlcts.backends.directml.abi.com import HRESULT, PTR, U32, U64, Interface, IUnknown, Method

I32 = ctypes.c_int32
U8 = ctypes.c_uint8

# Numbers.


class DML_TENSOR_DATA_TYPE(IntEnum):
    """The type of a tensor's elements."""

    DML_TENSOR_DATA_TYPE_UNKNOWN = 0
    DML_TENSOR_DATA_TYPE_FLOAT32 = 1
    DML_TENSOR_DATA_TYPE_FLOAT16 = 2
    DML_TENSOR_DATA_TYPE_UINT32 = 3
    DML_TENSOR_DATA_TYPE_UINT16 = 4
    DML_TENSOR_DATA_TYPE_UINT8 = 5
    DML_TENSOR_DATA_TYPE_INT32 = 6
    DML_TENSOR_DATA_TYPE_INT16 = 7
    DML_TENSOR_DATA_TYPE_INT8 = 8
    DML_TENSOR_DATA_TYPE_FLOAT64 = 9
    DML_TENSOR_DATA_TYPE_UINT64 = 10
    DML_TENSOR_DATA_TYPE_INT64 = 11


class DML_TENSOR_TYPE(IntEnum):
    """What kind of tensor a description is of."""

    DML_TENSOR_TYPE_INVALID = 0
    DML_TENSOR_TYPE_BUFFER = 1


class DML_TENSOR_FLAGS(IntFlag):
    """Who owns a tensor's memory."""

    DML_TENSOR_FLAG_NONE = 0
    DML_TENSOR_FLAG_OWNED_BY_DML = 1


class DML_ROUNDING_MODE(IntEnum):
    """How ROUND rounds."""

    DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN = 0
    DML_ROUNDING_MODE_TOWARD_ZERO = 1
    DML_ROUNDING_MODE_TOWARD_INFINITY = 2


class DML_IS_INFINITY_MODE(IntEnum):
    """Which infinities IS_INFINITY looks for."""

    DML_IS_INFINITY_MODE_EITHER = 0
    DML_IS_INFINITY_MODE_POSITIVE = 1
    DML_IS_INFINITY_MODE_NEGATIVE = 2


class DML_FEATURE_LEVEL(IntEnum):
    """What a version of DirectML can do."""

    DML_FEATURE_LEVEL_1_0 = 0x1000
    DML_FEATURE_LEVEL_2_0 = 0x2000
    DML_FEATURE_LEVEL_2_1 = 0x2100
    DML_FEATURE_LEVEL_3_0 = 0x3000
    DML_FEATURE_LEVEL_3_1 = 0x3100
    DML_FEATURE_LEVEL_4_0 = 0x4000
    DML_FEATURE_LEVEL_4_1 = 0x4100
    DML_FEATURE_LEVEL_5_0 = 0x5000
    DML_FEATURE_LEVEL_5_1 = 0x5100
    DML_FEATURE_LEVEL_5_2 = 0x5200
    DML_FEATURE_LEVEL_6_0 = 0x6000
    DML_FEATURE_LEVEL_6_1 = 0x6100
    DML_FEATURE_LEVEL_6_2 = 0x6200
    DML_FEATURE_LEVEL_6_3 = 0x6300
    DML_FEATURE_LEVEL_6_4 = 0x6400


class DML_FEATURE(IntEnum):
    """What ``IDMLDevice::CheckFeatureSupport`` is asked."""

    DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT = 0
    DML_FEATURE_FEATURE_LEVELS = 1


class DML_EXECUTION_FLAGS(IntFlag):
    """How a compiled operator may be executed."""

    DML_EXECUTION_FLAG_NONE = 0
    DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION = 1
    DML_EXECUTION_FLAG_DISABLE_META_COMMANDS = 2
    DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE = 4


class DML_CREATE_DEVICE_FLAGS(IntFlag):
    """How a device is created."""

    DML_CREATE_DEVICE_FLAG_NONE = 0
    DML_CREATE_DEVICE_FLAG_DEBUG = 1


class DML_BINDING_TYPE(IntEnum):
    """What a binding is to."""

    DML_BINDING_TYPE_NONE = 0
    DML_BINDING_TYPE_BUFFER = 1
    DML_BINDING_TYPE_BUFFER_ARRAY = 2


class DML_GRAPH_EDGE_TYPE(IntEnum):
    """What an edge of a graph connects."""

    DML_GRAPH_EDGE_TYPE_INVALID = 0
    DML_GRAPH_EDGE_TYPE_INPUT = 1
    DML_GRAPH_EDGE_TYPE_OUTPUT = 2
    DML_GRAPH_EDGE_TYPE_INTERMEDIATE = 3


class DML_GRAPH_NODE_TYPE(IntEnum):
    """What a node of a graph is."""

    DML_GRAPH_NODE_TYPE_INVALID = 0
    DML_GRAPH_NODE_TYPE_OPERATOR = 1
    DML_GRAPH_NODE_TYPE_CONSTANT = 2


NUMBERS = (
    DML_TENSOR_DATA_TYPE,
    DML_TENSOR_TYPE,
    DML_TENSOR_FLAGS,
    DML_ROUNDING_MODE,
    DML_IS_INFINITY_MODE,
    DML_FEATURE_LEVEL,
    DML_FEATURE,
    DML_EXECUTION_FLAGS,
    DML_CREATE_DEVICE_FLAGS,
    DML_BINDING_TYPE,
    DML_GRAPH_EDGE_TYPE,
    DML_GRAPH_NODE_TYPE,
)


# Structures.


class DML_BUFFER_TENSOR_DESC(ctypes.Structure):
    """A tensor in a buffer."""

    _fields_: ClassVar = [
        ("DataType", I32),
        ("Flags", I32),
        ("DimensionCount", U32),
        ("Sizes", PTR),
        ("Strides", PTR),
        ("TotalTensorSizeInBytes", U64),
        ("GuaranteedBaseOffsetAlignment", U32),
    ]


class DML_TENSOR_DESC(ctypes.Structure):
    """A tensor of any kind."""

    _fields_: ClassVar = [("Type", I32), ("Desc", PTR)]


class DML_SCALE_BIAS(ctypes.Structure):
    """g(x) = x * Scale + Bias."""

    _fields_: ClassVar = [("Scale", ctypes.c_float), ("Bias", ctypes.c_float)]


class DML_SCALAR_UNION(ctypes.Union):
    """A number of any tensor data type but FLOAT16."""

    _fields_: ClassVar = [
        ("Bytes", U8 * 8),
        ("Int8", ctypes.c_int8),
        ("UInt8", U8),
        ("Int16", ctypes.c_int16),
        ("UInt16", ctypes.c_uint16),
        ("Int32", I32),
        ("UInt32", U32),
        ("Int64", ctypes.c_int64),
        ("UInt64", U64),
        ("Float32", ctypes.c_float),
        ("Float64", ctypes.c_double),
    ]


class DML_OPERATOR_DESC(ctypes.Structure):
    """An operator."""

    _fields_: ClassVar = [("Type", I32), ("Desc", PTR)]


class DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(ctypes.Structure):
    """Asks whether a tensor data type is supported."""

    _fields_: ClassVar = [("DataType", I32)]


class DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(ctypes.Structure):
    """Whether it is."""

    _fields_: ClassVar = [("IsSupported", I32)]


class DML_FEATURE_QUERY_FEATURE_LEVELS(ctypes.Structure):
    """Asks which of these levels is the highest that is supported."""

    _fields_: ClassVar = [("RequestedFeatureLevelCount", U32), ("RequestedFeatureLevels", PTR)]


class DML_FEATURE_DATA_FEATURE_LEVELS(ctypes.Structure):
    """The highest one."""

    _fields_: ClassVar = [("MaxSupportedFeatureLevel", I32)]


class DML_BINDING_TABLE_DESC(ctypes.Structure):
    """A binding table: what it is for, and its range of descriptors."""

    _fields_: ClassVar = [
        ("Dispatchable", PTR),
        ("CPUDescriptorHandle", U64),
        ("GPUDescriptorHandle", U64),
        ("SizeInDescriptors", U32),
    ]


class DML_BINDING_PROPERTIES(ctypes.Structure):
    """What must be bound for an operator to run."""

    _fields_: ClassVar = [
        ("RequiredDescriptorCount", U32),
        ("TemporaryResourceSize", U64),
        ("PersistentResourceSize", U64),
    ]


class DML_BINDING_DESC(ctypes.Structure):
    """A binding of any kind."""

    _fields_: ClassVar = [("Type", I32), ("Desc", PTR)]


class DML_BUFFER_BINDING(ctypes.Structure):
    """A binding to a part of a buffer."""

    _fields_: ClassVar = [("Buffer", PTR), ("Offset", U64), ("SizeInBytes", U64)]


class DML_BUFFER_ARRAY_BINDING(ctypes.Structure):
    """A binding to several buffers."""

    _fields_: ClassVar = [("BindingCount", U32), ("Bindings", PTR)]


class DML_GRAPH_EDGE_DESC(ctypes.Structure):
    """An edge of any kind."""

    _fields_: ClassVar = [("Type", I32), ("Desc", PTR)]


class DML_INPUT_GRAPH_EDGE_DESC(ctypes.Structure):
    """From an input of the graph to one of a node."""

    _fields_: ClassVar = [
        ("GraphInputIndex", U32),
        ("ToNodeIndex", U32),
        ("ToNodeInputIndex", U32),
        ("Name", ctypes.c_char_p),
    ]


class DML_OUTPUT_GRAPH_EDGE_DESC(ctypes.Structure):
    """From an output of a node to one of the graph."""

    _fields_: ClassVar = [
        ("FromNodeIndex", U32),
        ("FromNodeOutputIndex", U32),
        ("GraphOutputIndex", U32),
        ("Name", ctypes.c_char_p),
    ]


class DML_GRAPH_NODE_DESC(ctypes.Structure):
    """A node of any kind."""

    _fields_: ClassVar = [("Type", I32), ("Desc", PTR)]


class DML_OPERATOR_GRAPH_NODE_DESC(ctypes.Structure):
    """A node that is an operator."""

    _fields_: ClassVar = [("Operator", PTR), ("Name", ctypes.c_char_p)]


class DML_GRAPH_DESC(ctypes.Structure):
    """A graph."""

    _fields_: ClassVar = [
        ("InputCount", U32),
        ("OutputCount", U32),
        ("NodeCount", U32),
        ("Nodes", PTR),
        ("InputEdgeCount", U32),
        ("InputEdges", PTR),
        ("OutputEdgeCount", U32),
        ("OutputEdges", PTR),
        ("IntermediateEdgeCount", U32),
        ("IntermediateEdges", PTR),
    ]


STRUCTURES = (
    DML_BUFFER_TENSOR_DESC,
    DML_TENSOR_DESC,
    DML_SCALE_BIAS,
    DML_SCALAR_UNION,
    DML_OPERATOR_DESC,
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT,
    DML_FEATURE_QUERY_FEATURE_LEVELS,
    DML_FEATURE_DATA_FEATURE_LEVELS,
    DML_BINDING_TABLE_DESC,
    DML_BINDING_PROPERTIES,
    DML_BINDING_DESC,
    DML_BUFFER_BINDING,
    DML_BUFFER_ARRAY_BINDING,
    DML_GRAPH_EDGE_DESC,
    DML_INPUT_GRAPH_EDGE_DESC,
    DML_OUTPUT_GRAPH_EDGE_DESC,
    DML_GRAPH_NODE_DESC,
    DML_OPERATOR_GRAPH_NODE_DESC,
    DML_GRAPH_DESC,
)


# Interfaces.

IDMLObject = Interface(
    "IDMLObject",
    "c8263aac-9e0c-4a2d-9b8e-007521a3317c",
    IUnknown,
    [
        Method("GetPrivateData", HRESULT, PTR, PTR, PTR),
        Method("SetPrivateData", HRESULT, PTR, U32, PTR),
        Method("SetPrivateDataInterface", HRESULT, PTR, PTR),
        Method("SetName", HRESULT, PTR),
    ],
)

IDMLDevice = Interface(
    "IDMLDevice",
    "6dbd6437-96fd-423f-a98c-ae5e7c2a573f",
    IDMLObject,
    [
        Method("CheckFeatureSupport", HRESULT, I32, U32, PTR, U32, PTR),
        Method("CreateOperator", HRESULT, PTR, PTR, PTR),
        Method("CompileOperator", HRESULT, PTR, I32, PTR, PTR),
        Method("CreateOperatorInitializer", HRESULT, U32, PTR, PTR, PTR),
        Method("CreateCommandRecorder", HRESULT, PTR, PTR),
        Method("CreateBindingTable", HRESULT, PTR, PTR, PTR),
        Method("Evict", HRESULT, U32, PTR),
        Method("MakeResident", HRESULT, U32, PTR),
        Method("GetDeviceRemovedReason", HRESULT),
        Method("GetParentDevice", HRESULT, PTR, PTR),
    ],
)

IDMLDevice1 = Interface(
    "IDMLDevice1",
    "a0884f9a-d2be-4355-aa5d-5901281ad1d2",
    IDMLDevice,
    [Method("CompileGraph", HRESULT, PTR, I32, PTR, PTR)],
)

IDMLDeviceChild = Interface(
    "IDMLDeviceChild",
    "27e83142-8165-49e3-974e-2fd66e4cb69d",
    IDMLObject,
    [Method("GetDevice", HRESULT, PTR, PTR)],
)

IDMLPageable = Interface("IDMLPageable", "b1ab0825-4542-4a4b-8617-6dde6e8f6201", IDMLDeviceChild)

IDMLOperator = Interface("IDMLOperator", "26caae7a-3081-4633-9581-226fbe57695d", IDMLDeviceChild)

IDMLDispatchable = Interface(
    "IDMLDispatchable",
    "dcb821a8-1039-441e-9f1c-b1759c2f3cec",
    IDMLPageable,
    [Method("GetBindingProperties", DML_BINDING_PROPERTIES)],
)

IDMLCompiledOperator = Interface("IDMLCompiledOperator", "6b15e56a-bf5c-4902-92d8-da3a650afea4", IDMLDispatchable)

IDMLOperatorInitializer = Interface(
    "IDMLOperatorInitializer",
    "427c1113-435c-469c-8676-4d5dd072f813",
    IDMLDispatchable,
    [Method("Reset", HRESULT, U32, PTR)],
)

IDMLBindingTable = Interface(
    "IDMLBindingTable",
    "29c687dc-de74-4e3b-ab00-1168f2fc3cfc",
    IDMLDeviceChild,
    [
        Method("BindInputs", None, U32, PTR),
        Method("BindOutputs", None, U32, PTR),
        Method("BindTemporaryResource", None, PTR),
        Method("BindPersistentResource", None, PTR),
        Method("Reset", HRESULT, PTR),
    ],
)

IDMLCommandRecorder = Interface(
    "IDMLCommandRecorder",
    "e6857a76-2e3e-4fdd-bff4-5d2ba10fb453",
    IDMLDeviceChild,
    [Method("RecordDispatch", None, PTR, PTR, PTR)],
)

INTERFACES = (
    IDMLObject,
    IDMLDevice,
    IDMLDevice1,
    IDMLDeviceChild,
    IDMLPageable,
    IDMLOperator,
    IDMLDispatchable,
    IDMLCompiledOperator,
    IDMLOperatorInitializer,
    IDMLBindingTable,
    IDMLCommandRecorder,
)
