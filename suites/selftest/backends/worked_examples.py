"""Worked examples of each exact element-wise operator, the results written down by hand from the pages' formulas.

They need no table and no oracle: what computes these is able to compute the operator at all. Every value is one about
which the pages leave nothing open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, Region, ScalarUnion, TensorDesc

INF, NAN = np.inf, np.nan
MIN64, MAX64 = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class Example:
    """An operator with values: each tensor's type and elements, the outputs' the expected ones."""

    operator: str
    tensors: Mapping[str, tuple[str, list[Any]]]
    attributes: Mapping[str, Any]

    @property
    def outputs(self) -> list[str]:
        """The names of the output tensors."""
        return [name for name in self.tensors if name.startswith("Output") and "Scale" not in name]

    @property
    def slug(self) -> str:
        """What distinguishes it from the others, for test names."""
        return "-".join([self.operator, *(data_type for data_type, _ in self.tensors.values())])

    def values(self, name: str) -> NDArray[Any]:
        """The elements of one tensor."""
        data_type, elements = self.tensors[name]
        return np.array(elements, DataType[data_type].numpy)

    def description(self) -> OperatorDesc:
        """The operator on packed tensors of one dimension."""
        tensors = {
            name: TensorDesc(DataType[data_type], (len(elements),))
            for name, (data_type, elements) in self.tensors.items()
        }
        return OperatorDesc(f"ELEMENT_WISE_{self.operator}", tensors, self.attributes)


def placed(tensors: Mapping[str, TensorDesc]) -> tuple[NDArray[np.uint8], dict[str, Region]]:
    """A memory of 0xEE bytes with room between the tensors, and their regions in it."""
    regions, end = {}, 32
    for name, tensor in tensors.items():
        regions[name] = Region(end, tensor.total_size_in_bytes)
        end += (tensor.total_size_in_bytes + 15) // 16 * 16 + 32
    return np.full(end, 0xEE, np.uint8), regions


def check(device: Any, example: Example) -> None:
    """Run ``example`` on ``device`` and compare all of the memory; zeros of either sign and all NaNs are alike."""
    operator = example.description()
    memory, regions = placed(operator.tensors)
    for name in operator.tensors:
        if name not in example.outputs:
            values = example.values(name)
            memory[regions[name].offset :][: values.nbytes] = values.view(np.uint8)
    before = memory.copy()
    kernel = device.create(operator)
    try:
        kernel.dispatch(memory, regions)
    finally:
        kernel.close()
    for name in example.outputs:
        expected = example.values(name)
        place = slice(regions[name].offset, regions[name].offset + expected.nbytes)
        np.testing.assert_array_equal(memory[place].copy().view(expected.dtype), expected, err_msg=example.slug)
        memory[place] = before[place]
    np.testing.assert_array_equal(memory, before, err_msg=f"{example.slug}: a stray write")


def _unary(operator: str, data_type: str, pairs: Mapping[Any, Any], result: str = "", **attributes: Any) -> Example:
    tensors = {"InputTensor": (data_type, list(pairs)), "OutputTensor": (result or data_type, list(pairs.values()))}
    return Example(operator, tensors, attributes)


def _binary(operator: str, data_type: str, rows: list[tuple[Any, Any, Any]], result: str = "") -> Example:
    a, b, out = (list(column) for column in zip(*rows, strict=True))
    tensors = {"ATensor": (data_type, a), "BTensor": (data_type, b), "OutputTensor": (result or data_type, out)}
    return Example(operator, tensors, {})


def _gradient(operator: str, data_type: str, rows: list[tuple[Any, Any, Any]], **attributes: Any) -> Example:
    x, gradient, out = (list(column) for column in zip(*rows, strict=True))
    names = ("InputTensor", "InputGradientTensor", "OutputGradientTensor")
    tensors = {name: (data_type, column) for name, column in zip(names, (x, gradient, out), strict=True)}
    return Example(operator, tensors, attributes)


def _select(data_type: str, rows: list[tuple[Any, Any, Any, Any]]) -> Example:
    condition, a, b, out = (list(column) for column in zip(*rows, strict=True))
    tensors = {"ConditionTensor": ("UINT8", condition)}
    tensors |= {
        name: (data_type, x) for name, x in zip(("ATensor", "BTensor", "OutputTensor"), (a, b, out), strict=True)
    }
    return Example("IF", tensors, {})


def _bounds(data_type: str, low: Any, high: Any) -> dict[str, Any]:
    kind = DataType[data_type]
    return {"MinMaxDataType": data_type, "Min": ScalarUnion.of(kind, low), "Max": ScalarUnion.of(kind, high)}


def _examples() -> list[Example]:
    plain: dict[str, Any] = {"ScaleBias": None}
    examples = [
        _unary("IDENTITY", "FLOAT64", {1.5: 1.5, 5e-324: 5e-324, -INF: -INF}, **plain),
        _unary("IDENTITY", "FLOAT16", {1.5: 1.5, -65504: -65504, 2.0**-24: 2.0**-24}, **plain),
        _unary("IDENTITY", "UINT64", {(1 << 64) - 1: (1 << 64) - 1, 1 << 32: 1 << 32}, **plain),
        _unary("IDENTITY", "INT8", {-128: -128, 127: 127, 5: 5}, **plain),
        _unary("ABS", "FLOAT32", {-1.5: 1.5, 2: 2, -INF: INF}, **plain),
        _unary("ABS", "FLOAT16", {-1.5: 1.5, 2: 2, -INF: INF}, **plain),
        _unary("ABS", "INT64", {MIN64 + 1: MAX64, -(1 << 32): 1 << 32, 7: 7, -1: 1}, **plain),
        _unary("ABS", "INT16", {-32767: 32767, -1: 1, 7: 7}, **plain),
        _unary("NEGATE", "FLOAT32", {-1.5: 1.5, 2: -2, -INF: INF}),
        _unary("NEGATE", "FLOAT16", {-1.5: 1.5, 2: -2, -INF: INF}),
        _unary("NEGATE", "INT64", {MIN64 + 1: MAX64, 1 << 32: -(1 << 32), 0: 0, 1: -1}),
        _unary("NEGATE", "INT8", {-127: 127, 1: -1, 0: 0}),
        _unary("SIGN", "FLOAT32", {-1.5: -1, 1e-30: 1, 0.0: 0, INF: 1, -INF: -1}),
        _unary("SIGN", "FLOAT16", {-1.5: -1, 0.25: 1, 0.0: 0, INF: 1}),
        _unary("SIGN", "INT64", {MIN64: -1, MAX64: 1, 0: 0, 1 << 32: 1, 1 << 31: 1, -(1 << 32): -1}),
        _unary("SIGN", "UINT64", {(1 << 64) - 1: 1, 0: 0, 1 << 63: 1, 1 << 32: 1}),
        _unary("SIGN", "INT16", {-32768: -1, 32767: 1, 0: 0}),
        _unary("SIGN", "UINT8", {255: 1, 0: 0, 128: 1}),
        _unary("CEIL", "FLOAT32", {-1.5: -1, 1.25: 2, 3: 3, 8388607.5: 8388608, INF: INF}, **plain),
        _unary("CEIL", "FLOAT16", {-1.5: -1, 1.25: 2, 3: 3, 1023.5: 1024}, **plain),
        _unary("FLOOR", "FLOAT32", {-1.5: -2, 1.25: 1, 3: 3, 8388607.5: 8388607, -INF: -INF}, **plain),
        _unary("FLOOR", "FLOAT16", {-1.5: -2, 1.25: 1, 3: 3, 1023.5: 1023}, **plain),
        _unary("CLIP1", "FLOAT32", {-5: -1.5, 0.25: 0.25, 7: 2.5}, **plain, **_bounds("FLOAT32", -1.5, 2.5)),
        _unary("CLIP1", "FLOAT16", {-5: -1.5, 0.25: 0.25, 7: 2.5}, **plain, **_bounds("FLOAT16", -1.5, 2.5)),
        _unary("CLIP1", "INT8", {-128: -7, 0: 0, 127: 9}, **plain, **_bounds("INT8", -7, 9)),
        _unary(
            "CLIP1",
            "INT64",
            {MIN64: -(1 << 53) - 1, 5: 5, MAX64: (1 << 53) + 1},
            **plain,
            **_bounds("INT64", -(1 << 53) - 1, (1 << 53) + 1),
        ),
        _unary(
            "CLIP1",
            "UINT64",
            {0: 1 << 32, (1 << 63) + 3: (1 << 63) + 3, (1 << 64) - 1: (1 << 63) + 5},
            **plain,
            **_bounds("UINT64", 1 << 32, (1 << 63) + 5),
        ),
        _unary("IS_NAN", "FLOAT32", {1.0: 0, INF: 0, NAN: 1}, "UINT8"),
        _unary("IS_NAN", "FLOAT16", {1.0: 0, -INF: 0, NAN: 1}, "UINT8"),
        _unary("LOGICAL_NOT", "UINT8", {0: 1, 1: 0, 255: 0}),
        _unary("LOGICAL_NOT", "UINT32", {0: 1, 1: 0, 1 << 31: 0}),
        _unary("BIT_NOT", "UINT8", {0: 255, 0xA5: 0x5A}),
        _unary("BIT_NOT", "INT64", {0: -1, 1 << 40: ~(1 << 40)}),
        _unary("BIT_NOT", "UINT32", {0xFFFF0000: 0xFFFF}),
        _unary("BIT_COUNT", "UINT8", {0: 0, 0xA5: 4, 255: 8}, "UINT8"),
        _unary("BIT_COUNT", "INT16", {-1: 16, 256: 1}, "UINT32"),
        _unary("BIT_COUNT", "INT64", {-1: 64, 1 << 40: 1, (1 << 40) + 3: 3}, "UINT8"),
        _unary("BIT_COUNT", "FLOAT32", {1.0: 7, -2.0: 2}, "UINT32"),
    ]
    for mode, expected in {"EITHER": [1, 1, 0, 0], "POSITIVE": [1, 0, 0, 0], "NEGATIVE": [0, 1, 0, 0]}.items():
        for kind in ("FLOAT32", "FLOAT16"):
            values = dict(zip([INF, -INF, 65504.0, NAN], expected, strict=True))
            examples.append(_unary("IS_INFINITY", kind, values, "UINT8", InfinityMode=mode))
    for kind in ("FLOAT32", "FLOAT16", "INT32", "INT16", "INT8", "INT64"):
        rows = [(-2, 3, 3), (3, -2, 3), (-7, -9, -7), (5, 5, 5)]
        examples.append(_binary("MAX", kind, rows))
        examples.append(_binary("MIN", kind, [(a, b, a + b - out) for a, b, out in rows]))
        examples.append(
            _binary("MODULUS_TRUNCATE", kind, [(7, 3, 1), (-7, 3, -1), (7, -3, 1), (-7, -3, -1), (6, 3, 0)])
        )
        examples.append(_binary("MODULUS_FLOOR", kind, [(7, 3, 1), (-7, 3, 2), (7, -3, -2), (-7, -3, -1), (-6, 3, 0)]))
        rows = [(-2, 3, 0), (3, 3, 1), (5, -9, 0), (100, 100, 1), (0, 1, 0)]
        examples += [
            _binary("LOGICAL_EQUALS", kind, rows, "UINT8"),
            _binary("LOGICAL_GREATER_THAN", kind, [(a, b, a > b) for a, b, _ in rows], "UINT8"),
            _binary("LOGICAL_LESS_THAN", kind, [(a, b, a < b) for a, b, _ in rows], "UINT32"),
            _binary("LOGICAL_GREATER_THAN_OR_EQUAL", kind, [(a, b, a >= b) for a, b, _ in rows], "UINT32"),
            _binary("LOGICAL_LESS_THAN_OR_EQUAL", kind, [(a, b, a <= b) for a, b, _ in rows], "UINT8"),
        ]
    for kind in ("FLOAT32", "FLOAT16", "INT32", "INT16", "INT8", "INT64", "UINT64", "UINT32", "UINT16", "UINT8"):
        examples += [
            _binary("ADD", kind, [(7, 3, 10), (100, 20, 120), (0, 9, 9)]),
            _binary("SUBTRACT", kind, [(7, 3, 4), (100, 20, 80), (9, 9, 0)]),
            _binary("MULTIPLY", kind, [(7, 3, 21), (10, 12, 120), (0, 9, 0)]),
            _binary("DIVIDE", kind, [(6, 3, 2), (120, 8, 15), (0, 9, 0)]),
        ]
    for kind in ("FLOAT32", "FLOAT16", "INT32", "UINT32"):
        examples.append(_binary("MEAN", kind, [(7, 3, 5), (100, 20, 60), (9, 9, 9)]))
        examples.append(_binary("DIFFERENCE_SQUARE", kind, [(7, 3, 16), (20, 10, 100), (9, 9, 0)]))
    wide = 1 << 32
    examples += [
        _binary("ADD", "INT64", [(wide - 1, 1, wide), (-1, 1, 0), (-wide, 5, 5 - wide)]),
        _binary("SUBTRACT", "INT64", [(wide, 1, wide - 1), (0, 1, -1), (-wide, 5, -5 - wide)]),
        _binary("MULTIPLY", "INT64", [(wide, 3, 3 * wide), (-7, wide, -7 * wide), (1 << 31, 1 << 31, 1 << 62)]),
        _binary("MULTIPLY", "UINT64", [(wide - 1, wide + 1, (1 << 64) - 1), (1 << 63, 1, 1 << 63)]),
        _binary("DIVIDE", "INT64", [(-7, 2, -3), (7, -2, -3), (MIN64, 2, -(1 << 62)), (MAX64, wide, (1 << 31) - 1)]),
        _binary("DIVIDE", "UINT64", [((1 << 64) - 1, 2, MAX64), (1 << 63, (1 << 63) + 1, 0), (10, 3, 3)]),
        _binary("DIVIDE", "INT32", [(-7, 2, -3), (7, -2, -3), (-(1 << 31), 2, -(1 << 30))]),
        _binary("DIVIDE", "INT8", [(-7, 2, -3), (7, -2, -3), (-128, 2, -64)]),
        _binary("MODULUS_TRUNCATE", "UINT64", [((1 << 64) - 1, 10, 5), (1 << 40, wide, 0)]),
        _binary("MODULUS_FLOOR", "INT64", [(-1, wide, wide - 1), (MIN64, 10, 2), (1, -wide, 1 - wide)]),
        _binary("MAX", "UINT64", [(1 << 63, 1, 1 << 63), (wide, wide - 1, wide)]),
        _binary("MIN", "UINT8", [(255, 1, 1), (128, 127, 127)]),
        _binary("LOGICAL_GREATER_THAN", "UINT64", [(1 << 63, 1, 1), (wide, wide - 1, 1), (wide, wide, 0)], "UINT8"),
        _binary("LOGICAL_EQUALS", "INT64", [(wide, 0, 0), (wide + 1, 1, 0), (wide, wide, 1)], "UINT32"),
        _binary("LOGICAL_AND", "UINT8", [(0, 0, 0), (0, 2, 0), (128, 1, 1), (1, 255, 1)]),
        _binary("LOGICAL_OR", "UINT8", [(0, 0, 0), (0, 2, 1), (128, 1, 1), (1, 0, 1)]),
        _binary("LOGICAL_XOR", "UINT8", [(0, 0, 0), (0, 2, 1), (128, 1, 0), (1, 0, 1)]),
        _binary("LOGICAL_AND", "UINT32", [(0, 5, 0), (1, 1 << 31, 1), (2, 4, 1)]),
        _binary("LOGICAL_OR", "UINT32", [(0, 5, 1), (0, 0, 0), (2, 4, 1)]),
        _binary("LOGICAL_XOR", "UINT32", [(0, 5, 1), (0, 0, 0), (2, 4, 0)]),
        _binary("BIT_AND", "UINT16", [(0xFF00, 0x0FF0, 0x0F00), (0xFFFF, 0x1234, 0x1234)]),
        _binary("BIT_OR", "UINT8", [(0xF0, 0x0F, 0xFF), (0x80, 0x01, 0x81)]),
        _binary("BIT_XOR", "INT64", [(-1, wide, ~wide), (5, 5, 0)]),
        _binary("BIT_AND", "FLOAT32", [(-1.5, 1.5, 1.5), (3.0, 2.0, 2.0)]),
        _binary("BIT_OR", "FLOAT16", [(-0.0, 1.5, -1.5), (2.0, 3.0, 3.0)]),
        _binary("BIT_XOR", "FLOAT64", [(1.5, -1.5, -0.0)]),
        _binary("BIT_SHIFT_LEFT", "UINT8", [(1, 7, 128), (0xFF, 4, 0xF0), (3, 0, 3)]),
        _binary("BIT_SHIFT_LEFT", "UINT16", [(1, 15, 1 << 15), (0xFFFF, 4, 0xFFF0)]),
        _binary("BIT_SHIFT_LEFT", "UINT32", [(1, 31, 1 << 31), (0xF, 4, 0xF0)]),
        _binary("BIT_SHIFT_LEFT", "UINT64", [(1, 63, 1 << 63), (0xFF, 28, 0xFF << 28), (7, 32, 7 << 32), (5, 0, 5)]),
        _binary("BIT_SHIFT_RIGHT", "UINT8", [(0x80, 7, 1), (0xFF, 4, 0xF), (3, 0, 3)]),
        _binary("BIT_SHIFT_RIGHT", "UINT16", [(0x8000, 15, 1), (0xFFFF, 4, 0xFFF)]),
        _binary("BIT_SHIFT_RIGHT", "UINT32", [(1 << 31, 31, 1), (0xF0, 4, 0xF)]),
        _binary("BIT_SHIFT_RIGHT", "UINT64", [(1 << 63, 63, 1), (0xFF << 28, 28, 0xFF), (7 << 32, 32, 7), (5, 0, 5)]),
        _select("FLOAT32", [(1, 1.5, NAN, 1.5), (0, NAN, 2.5, 2.5), (255, INF, NAN, INF), (2, 7, 8, 7)]),
        _select("FLOAT16", [(1, 1.5, NAN, 1.5), (0, NAN, 2.5, 2.5)]),
        _select("FLOAT64", [(1, 1.5, 2.5, 1.5), (0, 1.5, 2.5, 2.5), (128, 5e-324, 1, 5e-324)]),
        _select("INT64", [(1, wide, 1, wide), (0, wide, -wide, -wide)]),
        _select("UINT8", [(1, 255, 1, 255), (0, 255, 7, 7), (4, 3, 2, 3)]),
        _gradient(
            "CLIP_GRAD", "FLOAT32", [(-3, 8, 0), (1, 9, 9), (2.5, NAN, 0)], Min=np.float32(-1), Max=np.float32(2.5)
        ),
        _gradient(
            "CLIP_GRAD", "FLOAT16", [(-3, 8, 0), (1, 9, 9), (2.5, INF, 0)], Min=np.float32(-1), Max=np.float32(2.5)
        ),
        _gradient("CLIP_GRAD", "INT16", [(-3, 8, 0), (1, 9, 9), (2, 7, 0)], Min=np.float32(-1.9), Max=np.float32(2.5)),
        _gradient(
            "CLIP_GRAD", "UINT64", [(1 << 33, 8, 0), (1 << 31, 9, 9)], Min=np.float32(2), Max=np.float32(1 << 32)
        ),
        _gradient("CLIP_GRAD1", "FLOAT32", [(-3, 8, 0), (1, 9, 9), (2.5, NAN, 0)], **_bounds("FLOAT32", -1, 2.5)),
        _gradient("CLIP_GRAD1", "FLOAT16", [(-3, 8, 0), (1, 9, 9), (2.5, INF, 0)], **_bounds("FLOAT16", -1, 2.5)),
        _gradient("CLIP_GRAD1", "INT8", [(-3, 8, 0), (1, 9, 9), (2, 7, 0)], **_bounds("INT8", -1, 2)),
        _gradient("CLIP_GRAD1", "INT64", [(wide, 8, 0), (wide - 1, 9, 9), (-2, 7, 0)], **_bounds("INT64", -1, wide)),
    ]
    return examples


EXAMPLES = _examples()
