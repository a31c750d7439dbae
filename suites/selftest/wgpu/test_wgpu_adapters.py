"""Which adapter is judged, what wgpu's errors become, and what the shaders say, without any adapter."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import BackendUnavailable, DeviceLost, ExecutionFailed
from dmlcts.backends.wgpu import adapters as adapters_module
from dmlcts.backends.wgpu.adapters import Adapter, choose, find_adapters
from dmlcts.backends.wgpu.device import WgpuBackend
from dmlcts.backends.wgpu.elements import elements
from dmlcts.backends.wgpu.faults import DeviceMemoryError, faults_translated
from dmlcts.backends.wgpu.formulas import called
from dmlcts.backends.wgpu.layout import Axis
from dmlcts.backends.wgpu.programs import program_of
from dmlcts.backends.wgpu.shaders import Shader
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc, UsageError
from dmlcts.suites.selftest.backends.worked_examples import EXAMPLES


def _adapters(*described: tuple[str, str, str]) -> list[Adapter]:
    keys = "device", "backend_type", "adapter_type"
    return [
        Adapter(None, index, dict(zip(keys, description, strict=True))) for index, description in enumerate(described)
    ]


MANY = _adapters(
    ("llvmpipe", "Vulkan", "CPU"),
    ("Arc 140V", "Vulkan", "IntegratedGPU"),
    ("GeForce RTX 4090", "OpenGL", "DiscreteGPU"),
    ("GeForce RTX 4090", "D3D12", "DiscreteGPU"),
    ("GeForce RTX 4090", "Vulkan", "DiscreteGPU"),
)


@pytest.mark.parametrize(
    "options, index",
    [
        ({}, 4),
        ({"power": "high"}, 4),
        ({"power": "low"}, 1),
        ({"wanted": "geforce"}, 4),
        ({"wanted": "llvm"}, 0),
        ({"wanted": "2"}, 2),
        ({"wanted": "4090"}, 4),
        ({"wanted": "140"}, 1),
        ({"wanted": "3", "power": "low"}, 3),
    ],
)
def test_the_adapter_that_is_chosen(options: dict[str, str], index: int) -> None:
    assert choose(MANY, **options).index == index


def test_opengl_is_taken_only_where_it_is_asked_for() -> None:
    fallback = _adapters(("llvmpipe", "OpenGL", "CPU"))
    with pytest.raises(BackendUnavailable, match=r"only 0: llvmpipe \(OpenGL, software\).*mesa-vulkan-drivers"):
        choose(fallback)
    assert choose(fallback, "0").backend == "OpenGL"
    assert choose(fallback, "pipe").backend == "OpenGL"


def test_no_adapter_names_what_to_install() -> None:
    with pytest.raises(BackendUnavailable, match="mesa-vulkan-drivers") as caught:
        choose([])
    assert "install" in caught.value.mend


def test_wgpu_that_is_not_installed_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(adapters_module.importlib, "import_module", missing)
    with pytest.raises(BackendUnavailable, match=r"pip install 'dmlcts\[wgpu\]'"):
        WgpuBackend().open()


def test_a_search_that_fails_is_no_adapter() -> None:
    with pytest.raises(BackendUnavailable, match="wgpu finds no adapter"):
        find_adapters(object())


def test_an_adapter_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="4: GeForce"):
        choose(MANY, "5")


class GPUError(Exception): ...


class GPUValidationError(GPUError): ...


class GPUOutOfMemoryError(GPUError): ...


@pytest.mark.parametrize(
    "raised, expected",
    [
        (GPUValidationError("Validation Error: Parent device is lost"), DeviceLost),
        (GPUValidationError("Buffer size is wrong"), ExecutionFailed),
        (GPUOutOfMemoryError("Not enough memory left"), DeviceMemoryError),
        (GPUError("Not enough memory left."), DeviceMemoryError),
        (RuntimeError("Could not map buffer (2 : the device was Lost)"), DeviceLost),
        (RuntimeError("Could not map buffer"), ExecutionFailed),
        (TypeError("our own mistake"), TypeError),
        (MemoryError("host"), MemoryError),
    ],
)
def test_errors_become_the_contract_s(raised: Exception, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught, faults_translated("running"):
        raise raised
    assert type(caught.value) is expected
    assert str(raised) in str(caught.value)


# Shaders.

ATTRIBUTES: dict[str, list[dict[str, Any]]] = {
    "ELEMENT_WISE_CLIP": [
        {"Min": np.float32(0), "Max": np.float32(1), "ScaleBias": factors}
        for factors in (None, ScaleBias(2, 1), ScaleBias(0.5, 0))
    ],
    "ELEMENT_WISE_THRESHOLD": [{"Min": np.float32(0), "ScaleBias": None}],
    "ELEMENT_WISE_ROUND": [
        {"RoundingMode": mode} for mode in ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")
    ],
}
LAYOUTS = [
    [(8, 1, 1)],
    [(2, 1, 4), (4, 2, 1)],
    [(4, 1, 2)],
]  # size, stride of the sources, of the target


def _first_three() -> Iterator[OperatorDesc]:
    for data_type in set(DataType) - {DataType.FLOAT64}:
        tensor = TensorDesc(data_type, [8])
        for name, choices in ATTRIBUTES.items():
            if name != "ELEMENT_WISE_ROUND" or data_type.is_floating:
                for attributes in choices:
                    yield OperatorDesc(name, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)


def _shaders(operators: Iterable[OperatorDesc] | None = None) -> set[Shader]:
    """The shaders of the operators, on every path and layout; of the first three where none are given."""
    shaders = set()
    for native, builtin, axes in itertools.product((True, False), (True, False), LAYOUTS):
        known = elements(native_float16=native, native_int64=native)
        for operator in operators or _first_three():
            output = next(name for name in operator.tensors if name.startswith("Output"))
            inputs = [name for name in operator.tensors if name != output]
            program = program_of(operator, inputs, output, known)
            laid = tuple(Axis(size, (source,) * len(inputs), target) for size, source, target in axes)
            shaders.add(Shader.of(program, laid, builtin))
    return shaders


FAMILY = [example.description() for example in EXAMPLES]


@pytest.mark.parametrize("operators", [None, FAMILY], ids=["the first three", "the family"])
def test_every_shader_has_a_name_of_its_own(operators: list[OperatorDesc] | None) -> None:
    shaders = _shaders(operators)
    assert len(shaders) > 300
    assert len({shader.slug for shader in shaders}) == len(shaders)


def test_clamp_round_and_trunc_are_used_where_they_are_asked_for_only() -> None:
    for shader in _shaders():
        text = shader.source()
        uses = any(f" {name}(" in text for name in ("clamp", "round", "trunc"))
        floating_round = bool(shader.rounding)
        clamps = shader.upper and not shader.element.pairs
        assert uses == (shader.builtin and (floating_round or clamps)), shader.title


def test_shaders_ask_for_features_only_where_they_use_them() -> None:
    for shader in _shaders():
        text = shader.source()
        assert ("enable f16" in text) == ("array<f16>" in text) == (shader.element.feature == "shader-f16")
        assert ("i64" in text or "u64" in text) == (shader.element.feature == "shader-int64"), shader.title
        assert ("atomic" in text) == shader.atomic
        assert "\n\n\n" not in text


def test_formulas_ask_for_features_only_where_they_use_them() -> None:
    asked = dict.fromkeys(("shader-f16", "shader-int64"), 0)
    for shader in _shaders(FAMILY):
        text = shader.source()
        features = {tensor.element.feature for tensor in shader.tensors}
        assert ("enable f16" in text) == (" f16(" in text) == ("shader-f16" in features), shader.title
        assert ("i64" in text or "u64" in text) == ("shader-int64" in features), shader.title
        assert ("atomic" in text) == shader.atomic
        assert "\n\n\n" not in text
        for feature in features & asked.keys():
            asked[feature] += 1
    assert all(asked.values())


def test_a_formula_takes_no_more_of_a_library_than_it_calls() -> None:
    library = "// Title.\n\nfn one() { two(); }\n\nfn two() { }\n\nalias Three = u32;\n\n// Calls one.\nfn four() { }\n"
    assert called(library, "return one();") == "// Title.\n\nfn one() { two(); }\n\nfn two() { }"
    assert called(library, "four(Three(1))") == "// Title.\n\nalias Three = u32;\n\n// Calls one.\nfn four() { }"
    assert called(library, "let x = 1;") == ""


def test_every_data_type_has_an_element_on_every_path() -> None:
    for native in (True, False):
        known_elements = elements(native_float16=native, native_int64=native)
        assert set(known_elements) == set(DataType)
        assert {
            element.data_type.itemsize * element.elements_per_word
            for element in known_elements.values()
            if element.elements_per_word > 1
        } == {4}
