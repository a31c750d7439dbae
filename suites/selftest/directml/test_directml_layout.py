"""Structures, numbers, IIDs and slots of the ctypes layer are those of Microsoft's headers, and of its metadata."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from dmlcts.backends.directml.abi import com, d3d12, dml, dxcore, dxgi
from dmlcts.backends.directml.elementwise import ACTIVATIONS, LAYOUTS
from dmlcts.suites.selftest.directml import windows_metadata
from dmlcts.suites.selftest.looped_cases import looped

HERE = Path(__file__).parent
FILES = {"directml_layout.yaml": (dml,), "d3d12_layout.yaml": (d3d12, dxcore, dxgi)}
OPERATORS = [layout.structure for layout in LAYOUTS.values()]
METADATA = {
    dml: "Windows.Win32.AI.MachineLearning.DirectML",
    d3d12: "Windows.Win32.Graphics.Direct3D12",
    dxcore: "Windows.Win32.Graphics.DXCore",
    dxgi: "Windows.Win32.Graphics.Dxgi",
}


@cache
def headers_of(module: ModuleType) -> dict[str, Any]:
    """What Microsoft's headers say, of the file that holds a module's."""
    (name,) = [name for name, modules in FILES.items() if module in modules]
    return _read(name)


@cache
def _read(name: str) -> dict[str, Any]:
    result: dict[str, Any] = yaml.safe_load((HERE / name).read_text(encoding="utf-8"))
    return result


def structures_of(module: ModuleType) -> list[Any]:
    return [*module.STRUCTURES, *(OPERATORS if module is dml else [])]


def numbers_of(module: ModuleType) -> list[Any]:
    return list(module.NUMBERS)


def interfaces_of(module: ModuleType) -> list[com.Interface]:
    return list(module.INTERFACES)


def _named(item: object) -> str:
    return str(getattr(item, "__name__", None) or getattr(item, "name", ""))


def every(kind: Callable[[ModuleType], list[Any]]) -> list[Any]:
    """The modules that have some of a kind."""
    return [pytest.param(module, id=_named(module).split(".")[-1]) for module in METADATA if kind(module)]


def _members(structure: Any) -> dict[str, list[int]]:
    """Name to offset and size, the members of an unnamed union among the structure's own."""
    result = {}
    for name, kind in structure._fields_:
        if name in getattr(structure, "_anonymous_", ()):
            offset = getattr(structure, name).offset
            result |= {inner: [offset + place, size] for inner, (place, size) in _members(kind).items()}
        else:
            field = getattr(structure, name)
            result[name] = [field.offset, field.size]
    return result


@pytest.mark.parametrize("module", every(structures_of))
@looped("structure", structures_of, ids=_named)
def test_structures_lie_as_the_headers_have_them(module: ModuleType, structure: Any) -> None:
    lies_as_the_headers_have_it(module, structure)


def lies_as_the_headers_have_it(module: ModuleType, structure: Any) -> None:
    expected = headers_of(module)["structures"][structure.__name__]
    assert ctypes.sizeof(structure) == expected["size"]
    assert _members(structure) == expected["members"]


@pytest.mark.parametrize("module", every(numbers_of))
@looped("numbers", numbers_of, ids=_named)
def test_numbers_are_those_of_the_headers(module: ModuleType, numbers: Any) -> None:
    expected = {} if module is dxgi else headers_of(module)["enumerations"][numbers.__name__]
    assert numbers.__members__
    assert {name: value.value for name, value in numbers.__members__.items()}.items() <= expected.items()


@pytest.mark.parametrize("module", every(interfaces_of))
@looped("interface", interfaces_of, ids=_named)
def test_interfaces_have_the_iids_and_slots_of_the_headers(module: ModuleType, interface: com.Interface) -> None:
    has_the_iid_and_slots_of_the_headers(module, interface)


def has_the_iid_and_slots_of_the_headers(module: ModuleType, interface: com.Interface) -> None:
    expected = headers_of(module)["interfaces"][interface.name]
    assert interface.iid_text == expected["iid"]
    assert [method.name for method in interface.methods] == expected["methods"]


def test_the_whole_element_wise_family_is_described() -> None:
    codes = headers_of(dml)["enumerations"]["DML_OPERATOR_TYPE"]
    assert {f"DML_OPERATOR_{name}": layout.code for name, layout in LAYOUTS.items()} == codes
    assert len(codes) == 65


def test_the_activations_have_the_numbers_of_the_header() -> None:
    result = {f"DML_OPERATOR_{name}": layout.code for name, layout in ACTIVATIONS.items()}
    assert result == headers_of(dml)["activations"]
    assert len(result) == 17


def test_inputs_and_outputs_are_distinguished() -> None:
    assert LAYOUTS["ELEMENT_WISE_CLIP"].inputs == ("InputTensor",)
    assert LAYOUTS["ELEMENT_WISE_CLIP"].outputs == ("OutputTensor",)
    assert LAYOUTS["ELEMENT_WISE_IF"].inputs == ("ConditionTensor", "ATensor", "BTensor")
    assert LAYOUTS["ELEMENT_WISE_CLIP_GRAD"].outputs == ("OutputGradientTensor",)
    assert len(LAYOUTS["ELEMENT_WISE_QUANTIZED_LINEAR_ADD"].inputs) == 8


@pytest.mark.parametrize(
    "member, kind",
    [("TotalTensorSizeInBytes", ctypes.c_uint32), ("DimensionCount", ctypes.c_uint64)],
)
def test_a_member_of_the_wrong_width_is_seen(member: str, kind: Any) -> None:
    fields = [(name, kind if name == member else right) for name, right in dml.DML_BUFFER_TENSOR_DESC._fields_]
    wrong = type("DML_BUFFER_TENSOR_DESC", (ctypes.Structure,), {"_fields_": fields})
    with pytest.raises(AssertionError):
        lies_as_the_headers_have_it(dml, wrong)


def test_swapped_slots_are_seen() -> None:
    methods = list(dml.IDMLDevice1.methods)
    methods[8], methods[9] = methods[9], methods[8]
    wrong = com.Interface(dml.IDMLDevice1.name, dml.IDMLDevice1.iid_text, None, methods)
    with pytest.raises(AssertionError):
        has_the_iid_and_slots_of_the_headers(dml, wrong)


# Against declarations that are generated from Microsoft's own metadata. What is missing there is skipped by name.

metadata = pytest.mark.skipif(
    not windows_metadata.installed(),
    reason=f"{windows_metadata.DISTRIBUTION} is not installed",
)
# The metadata merges this alias, which d3dcommon.h defines as ID3D10Blob, into another module.
_ELSEWHERE = {"ID3DBlob": "Windows.Win32.Graphics.Direct3D"}
_STRUCTURES_ELSEWHERE = {
    "LUID": "Windows.Win32.Foundation",
    "DXGI_SAMPLE_DESC": "Windows.Win32.Graphics.Dxgi.Common",
}
# Its union has a larger member in the newest headers, which nobody passes to us; the members before stay in place.
_GROWN = ("D3D12_UNORDERED_ACCESS_VIEW_DESC",)
_NUMBERS_ELSEWHERE = {
    "D3D_FEATURE_LEVEL": "Windows.Win32.Graphics.Direct3D",
    "DXGI_FORMAT": "Windows.Win32.Graphics.Dxgi.Common",
}


@metadata
@pytest.mark.parametrize("module", every(structures_of))
@looped("structure", structures_of, ids=_named)
def test_structures_lie_as_the_metadata_have_them(module: ModuleType, structure: Any) -> None:
    home = windows_metadata.module(_STRUCTURES_ELSEWHERE.get(structure.__name__, METADATA[module]))
    expected = home.layout(structure.__name__)
    if structure.__name__ not in _GROWN:
        assert ctypes.sizeof(structure) == expected.size
    assert {name: tuple(place) for name, place in _members(structure).items()}.items() <= expected.members.items()


@metadata
@pytest.mark.parametrize("module", every(numbers_of))
@looped("numbers", numbers_of, ids=_named)
def test_numbers_are_those_of_the_metadata(module: ModuleType, numbers: Any) -> None:
    home = windows_metadata.module(_NUMBERS_ELSEWHERE.get(numbers.__name__, METADATA[module]))
    prefix = f"{numbers.__name__}." if module is dxcore else ""
    ours = {prefix + name: value.value for name, value in numbers.__members__.items()}
    shared = ours.keys() & home.constants.keys()
    assert shared
    assert {name: ours[name] for name in shared} == {name: home.constants[name] for name in shared}


@metadata
@pytest.mark.parametrize("module", every(interfaces_of))
@looped("interface", interfaces_of, ids=_named)
def test_interfaces_are_those_of_the_metadata(module: ModuleType, interface: com.Interface) -> None:
    home = windows_metadata.module(_ELSEWHERE.get(interface.name, METADATA[module]))
    assert interface.iid_text == home.iid(interface.name)
    inherited = len(interface.base.methods) if interface.base else 0
    expected = home.methods(interface.name)
    own = interface.methods[inherited:]
    assert {method.name: inherited + place for place, method in enumerate(own)} == {
        name: slot for name, (slot, _, _) in expected.items()
    }
    for method in own:
        if method.declared:
            _, arguments, returned = expected[method.name]
            assert len(method.arguments) == arguments, method.name
            assert (method.result is None) == (returned == "Void"), method.name
            if method.returns_structure:
                assert method.result.__name__ == returned
