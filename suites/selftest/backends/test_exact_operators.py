"""Backends against the oracles on every exact operator, type and enumerator: crossed edge values, layouts, aliases.

``cpu`` has to be right everywhere, under ``--strict`` too. The runtimes have to be right where they are mapped, but for
what is their own fault, which :data:`OWN_FAULTS` lists: a mapping that put its operands the wrong way round would show.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import itertools
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.cpu import CpuDevice
from dmlcts.specs import FeatureLevel, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.selftest.backends.bound_tensors import Array, dispatched
from dmlcts.suites.selftest.family.acceptance import accepted
from dmlcts.suites.selftest.family.family_tables import (
    descriptions_of,
    exact_description,
    exact_descriptions,
    exact_operators,
    family,
    label,
    values,
    with_bounds,
)
from dmlcts.suites.selftest.looped_cases import check_all

LEVEL = FeatureLevel("6.4")
MOST = 4000


def of_sizes(operator: OperatorDesc, sizes: tuple[int, ...], seed: int, packed: bool) -> OperatorDesc:
    """The description with other sizes, each tensor with strides of its own: padded, permuted, or both."""
    generator = np.random.default_rng(seed)
    tensors = {name: TensorDesc(tensor.data_type, sizes) for name, tensor in operator.tensors.items()}
    for name, tensor in () if packed else operator.tensors.items():
        order = generator.permutation(len(sizes))
        strides, step = [0] * len(sizes), int(generator.integers(1, 3))
        for axis in order:
            strides[axis] = step
            step = step * sizes[axis] + int(generator.integers(0, 3))
        tensors[name] = TensorDesc(tensor.data_type, sizes, tuple(strides))
    return OperatorDesc(operator.name, tensors, operator.attributes)


def judged(
    device: Any,
    table: OperatorTable,
    operator: OperatorDesc,
    strict: bool,
    same: Mapping[str, str],
    *,
    packed: bool = False,
    divides: bool = True,
) -> None:
    """Dispatch on edge values and assert that every element is acceptable.

    Args:
        device: the device.
        table: the operator's.
        operator: the description; other sizes and strides are put into it.
        strict: whether ``--strict`` is on.
        same: tensors to the tensor whose region they share.
        packed: whether tensors are packed; otherwise each has strides of its own.
        divides: whether integers may be divided by 0, and the least by -1.
    """
    value = values(table, operator, MOST)
    if not divides and table.short_name in ("DIVIDE", "MODULUS_TRUNCATE", "MODULUS_FLOOR"):
        value = {name: array[np.abs(value["b"]) > 1] for name, array in value.items()}
    members = table.formula_names
    for name, owner in same.items():
        if name != table.output:  # two inputs in one region hold the same
            value |= {text: value[other] for text, other in ((_named(table, name), _named(table, owner)),)}
    count = len(next(iter(value.values())))
    sizes = (2, 1, (count + 1) // 2)
    padded = {name: np.resize(array, 2 * sizes[2]) for name, array in value.items()}
    laid = of_sizes(operator, sizes, zlib.crc32(label(operator).encode()), packed)
    if same:  # a region is shared by tensors that lie alike
        owner = laid.tensors[next(iter(same.values()))]
        alike = {name: TensorDesc(laid.tensors[name].data_type, sizes, owner.strides) for name in same}
        laid = OperatorDesc(laid.name, {**laid.tensors, **alike}, laid.attributes)
    kernel = device.create(laid)
    inputs = {members[name]: array.reshape(sizes) for name, array in padded.items() if members[name] not in same}
    output = dispatched(kernel, laid, inputs, table.output, same).reshape(-1)
    right = accepted(table, laid, padded, output, strict)
    wrong = np.flatnonzero(~right)
    if wrong.size:
        first = wrong[0]
        shown = {name: array[first] for name, array in padded.items()}
        pytest.fail(f"{wrong.size} of {right.size} wrong, first {shown} gives {output[first]!r}")


def _named(table: OperatorTable, member: str) -> str:
    return next(name for name, formula_name in table.formula_names.items() if formula_name == member)


@pytest.fixture(scope="module")
def cpu() -> CpuDevice:
    return CpuDevice(LEVEL, family())


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("operator", exact_operators())
def test_cpu_is_right_on_every_type(cpu: CpuDevice, operator: str, strict: bool) -> None:
    def check(name: str) -> None:
        table, described = exact_description(name)
        for with_other_attribute in with_other_attributes(table, described):
            judged(cpu, table, with_other_attribute, strict, {})

    check_all(exact_descriptions(operator), check)


def with_other_attributes(table: OperatorTable, operator: OperatorDesc) -> Iterator[OperatorDesc]:
    """The description as it is, with bounds that are equal, inverted, or wide apart, and with a ScaleBias."""
    yield operator
    if "Min" in operator.attributes:
        for low, high in ((1, 1), (3, -2), (0, 100)):
            yield with_bounds(table, operator, low, max(high, 0) if low > high else high)
    if table.has_scale_bias:
        for scale, bias in ((1, 0), (2, 0), (-1, 1), (0.5, 0.25)):
            yield OperatorDesc(
                operator.name, operator.tensors, {**operator.attributes, "ScaleBias": ScaleBias(scale, bias)}
            )


@pytest.mark.parametrize("operator", exact_operators())
def test_cpu_is_right_in_shared_regions(cpu: CpuDevice, operator: str) -> None:
    check_all(exact_descriptions(operator), lambda name: _right_in_shared_regions(cpu, *exact_description(name)))


def _right_in_shared_regions(cpu: CpuDevice, table: OperatorTable, operator: OperatorDesc) -> None:
    output = table.output
    ways = [{output: member} for member in table.tensors[output].may_alias]
    text, *others = [name for name in table.inputs if operator.tensors[name] == operator.tensors[table.inputs[-1]]]
    if others:  # both inputs in one region, and the output with them where it may
        ways.append(dict.fromkeys(others, text))
        ways += [{**dict.fromkeys(others, text), output: text}] * (
            {text, *others} <= set(table.tensors[output].may_alias)
        )
    for same in ways:
        judged(cpu, table, operator, True, same)


# The runtimes' own faults in these releases, by patterns of labels: onnxruntime 1.31.1, torch 2.13.0, jax 0.10.2,
# openvino 2026.4.1 and ai-edge-litert 2.3.0, on x86-64.
OWN_FAULTS: Mapping[str, Mapping[str, str]] = {
    "onnxruntime": {
        **dict.fromkeys(("CLIP1-INT64", "MAX-INT64", "MIN-INT64"), "takes some greater INT64 for the smaller"),
        "SIGN-INT64": "gives -1 for 2^31",
        **dict.fromkeys(("IF-UINT8-FLOAT64", "IF-UINT8-FLOAT32", "IF-UINT8-FLOAT16"), "gives 0.0 for -0.0"),
        **dict.fromkeys(("MODULUS_TRUNCATE-INT64", "MODULUS_TRUNCATE-UINT64"), "computes in FLOAT64"),
    },
    "torch": {},
    "jax": dict.fromkeys(
        (f"{name}-{kind}" for name in ("CLIP_GRAD", "CLIP_GRAD1") for kind in ("FLOAT32", "FLOAT16")),
        "passes half of the gradient on at a bound",
    ),
    "openvino": {
        "*64*": "computes elements of 64 bits in 32 bits",
        **dict.fromkeys(
            [f"{name}-UINT32" for name in ("BIT_SHIFT_RIGHT", "CLIP1", "MAX", "MIN", "SIGN")], "takes UINT32 for INT32"
        ),
        **dict.fromkeys(
            ("DIVIDE-*INT*", "MODULUS_*INT32", "POW-*INT32", "LOGICAL_*INT32*"), "computes integers in FLOAT32"
        ),
        "MULTIPLY-UINT8": "does not wrap",
    },
    "litert": {"POW-INT32": "refuses negative exponents"},
}
PACKED = ("onnxruntime", "jax", "openvino", "litert")  # have no strides


@pytest.fixture(scope="module")
def runtimes() -> dict[str, Any]:
    """The devices of the runtimes that are installed."""
    result: dict[str, Any] = {}
    if importlib.util.find_spec("onnxruntime") and importlib.util.find_spec("onnx"):
        import onnx
        import onnxruntime

        from dmlcts.backends.onnxruntime.backend import OnnxRuntimeDevice

        options = {
            "provider": "CPUExecutionProvider",
            "opset": "20",
            "bounds": "constant",
            "shapes": "exact",
            "optimize": "all",
            "threshold": "max",
            "fold": "no",
            "threads": "1",
        }
        result["onnxruntime"] = OnnxRuntimeDevice(onnxruntime, onnx, options, family())
    if importlib.util.find_spec("torch"):
        import torch

        from dmlcts.backends.torch_eager import TorchDevice

        options = {"device": "cpu", "clamp": "clamp", "bounds": "scalar", "compile": "no"}
        result["torch"] = TorchDevice(torch, torch.device("cpu"), options, family())
    if importlib.util.find_spec("jax"):
        from dmlcts.backends.jax import JaxBackend

        result["jax"] = JaxBackend().open()
    if importlib.util.find_spec("openvino"):
        from dmlcts.backends.openvino import OpenVinoBackend

        result["openvino"] = OpenVinoBackend().open()
    if importlib.util.find_spec("ai_edge_litert"):
        from dmlcts.backends.litert import LiteRtBackend

        result["litert"] = LiteRtBackend().open()
    return result


@pytest.mark.parametrize("name", OWN_FAULTS)
@pytest.mark.parametrize("operator", exact_operators())
def test_what_a_runtime_is_mapped_to_is_meant(runtimes: dict[str, Any], name: str, operator: str) -> None:
    if name not in runtimes:
        pytest.skip(f"not installed: {name}")
    check_all(exact_descriptions(operator), lambda text: _meant(runtimes, name, *exact_description(text)))


def _meant(runtimes: dict[str, Any], name: str, table: OperatorTable, operator: OperatorDesc) -> None:
    for pattern, fault in OWN_FAULTS[name].items():
        if fnmatch.fnmatchcase(label(operator), pattern):
            pytest.skip(fault)
    for same in ({}, *({table.output: member} for member in table.tensors[table.output].may_alias)):
        try:
            judged(runtimes[name], table, operator, False, same, packed=name in PACKED, divides=False)
        except NotSupported as lacking:
            pytest.skip(str(lacking))


@pytest.mark.parametrize(
    ("name", "expressed"),
    [
        (
            "onnxruntime",
            [
                "ADD-FLOAT32",
                "DIVIDE-INT8",
                "LOGICAL_LESS_THAN-UINT64-UINT8",
                "BIT_XOR-FLOAT16",
                "IS_INFINITY-FLOAT16-UINT8-NEGATIVE",
                "MODULUS_FLOOR-INT64",
                "BIT_SHIFT_LEFT-UINT32",
            ],
        ),
        (
            "torch",
            [
                "ADD-FLOAT32",
                "DIVIDE-INT8",
                "LOGICAL_LESS_THAN-INT64-UINT8",
                "BIT_XOR-FLOAT16",
                "IF-UINT8-FLOAT64",
                "IS_INFINITY-FLOAT16-UINT8-NEGATIVE",
                "MODULUS_FLOOR-FLOAT16",
                "CLIP_GRAD-FLOAT32",
            ],
        ),
    ],
)
def test_runtimes_express_what_they_have(runtimes: dict[str, Any], name: str, expressed: list[str]) -> None:
    if name not in runtimes:
        pytest.skip(f"not installed: {name}")
    known = dict(itertools.chain.from_iterable(map(descriptions_of, family().operators.values())))
    for text in expressed:
        runtimes[name].create(known[text]).close()


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        (
            "onnxruntime",
            [
                "BIT_COUNT-UINT8",
                "MODULUS_FLOOR-FLOAT32",
                "DIFFERENCE_SQUARE-FLOAT32",
                "CLIP_GRAD-FLOAT32",
                "MEAN-INT32",
            ],
        ),
        ("torch", ["IS_NAN-FLOAT32-UINT32", "ADD-UINT32", "BIT_COUNT-UINT8", "MEAN-FLOAT32", "CLIP_GRAD-INT8"]),
    ],
)
def test_runtimes_state_what_they_cannot_express(runtimes: dict[str, Any], name: str, lacking: list[str]) -> None:
    if name not in runtimes:
        pytest.skip(f"not installed: {name}")
    known = dict(itertools.chain.from_iterable(map(descriptions_of, family().operators.values())))
    for text in lacking:
        with pytest.raises(NotSupported):
            runtimes[name].create(known[text])


def test_a_runtime_that_divides_by_zero_fails_and_goes_on(runtimes: dict[str, Any]) -> None:
    table, operator = exact_description("DIVIDE-INT32")
    for device in (runtimes[name] for name in ("onnxruntime", "torch", "litert") if name in runtimes):
        with pytest.raises(ExecutionFailed):
            judged(device, table, operator, False, {}, packed=True)
        judged(device, table, operator, False, {}, packed=True, divides=False)


# The test itself.


class _Broken:
    """A device whose kernels put one wrong element into what another's computed."""

    def __init__(self, device: CpuDevice, table: OperatorTable) -> None:
        self.device = device
        self.table = table

    def create(self, operator: OperatorDesc) -> Any:
        kernel = self.device.create(operator)
        dispatch, output = kernel.dispatch, self.table.output

        def spoiled(memory: Array, bindings: Any) -> None:
            dispatch(memory, bindings)
            memory[bindings[output].offset] ^= 0x40

        kernel.dispatch = spoiled  # type: ignore[method-assign]
        return kernel


@pytest.mark.parametrize(
    "wanted", ["ADD-INT16", "LOGICAL_EQUALS-FLOAT32-UINT8", "BIT_COUNT-UINT64-UINT32", "IDENTITY-FLOAT64"]
)
def test_a_wrong_element_is_seen(cpu: CpuDevice, wanted: str) -> None:
    table, operator = exact_description(wanted)
    with pytest.raises(pytest.fail.Exception, match=r"1 of .* wrong"):
        judged(_Broken(cpu, table), table, operator, False, {})


def test_the_order_of_operands_is_seen(cpu: CpuDevice) -> None:
    table, operator = exact_description("SUBTRACT-INT32")
    value = values(table, operator, MOST)
    swapped = value["b"] - value["a"]
    assert not accepted(table, operator, value, swapped, True).all()
    assert accepted(table, operator, value, value["a"] - value["b"], True).all()


def test_refusals_are_those_of_the_tables(cpu: CpuDevice) -> None:
    table, operator = exact_description("IS_INFINITY-FLOAT32-UINT8-EITHER")
    other = OperatorDesc(operator.name, operator.tensors, {"InfinityMode": np.uint32(3)})
    with pytest.raises(InvalidArgument, match="InfinityMode"):
        cpu.create(other)
    with pytest.raises(InvalidArgument, match="the tensors are"):
        cpu.create(OperatorDesc(operator.name, {table.output: operator.tensors[table.output]}, operator.attributes))
    cpu.create(operator).close()
