"""The way to a real D3D12 device, driven with the real library on a substitute for one; adapters found and chosen."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dmlcts.backends.contract import BackendUnavailable, DeviceLost
from dmlcts.backends.directml.abi import dxcore, dxgi
from dmlcts.backends.directml.abi.com import PTR, Interface, Pointer
from dmlcts.backends.directml.abi.com_object import ComObject, Faults, live_objects
from dmlcts.backends.directml.abi.d3d12 import LUID
from dmlcts.backends.directml.abi.host import AdapterInfo
from dmlcts.backends.directml.abi.hresults import DXGI_ERROR_NOT_FOUND, E_NOINTERFACE
from dmlcts.backends.directml.hosting import adapters
from dmlcts.backends.directml.loading.options import Options
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc, UsageError
from dmlcts.specs.cache import cache_folder
from dmlcts.suites.selftest.directml.directml_here import library, needs_directml

OPTIONS = {"library": "", "fetch": "no", "path": "operator", "flags": "", "adapter": ""}
PACKED = TensorDesc(DataType.FLOAT32, (6,))
ROUND = OperatorDesc(
    "ELEMENT_WISE_ROUND", {"InputTensor": PACKED, "OutputTensor": PACKED}, {"RoundingMode": "HALVES_TO_NEAREST_EVEN"}
)
X = np.array([-2.5, -0.5, 0.4, 1.5, 2.5, 3e30], np.float32)


class SubstituteDevice:
    """A backend's device on a substitute for a real D3D12 device, which can be taken away and comes back."""

    def __init__(self, **options: str) -> None:
        from dmlcts.backends.directml.backend import DirectMLDevice
        from dmlcts.backends.directml.d3d12_software.codegen.shader import ShaderCompiler
        from dmlcts.backends.directml.d3d12_software.objects.host import _entry_points
        from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality
        from dmlcts.backends.directml.hosting.native import NativeHost
        from dmlcts.suites.selftest.directml.full_d3d12 import FullDevice

        self.faults = Faults()
        _entry_points.load(cache_folder())
        _entry_points.faults = self.faults
        compiler = ShaderCompiler(Personality(), cache_folder() / "shaders")
        self.devices: list[Any] = []

        def make_host() -> NativeHost:
            made = FullDevice(self.faults, compiler)
            self.devices.append(made)
            return NativeHost(Pointer(FullDevice.interface, made.address), AdapterInfo("a substitute", "1.2.3.4"))

        self.device = DirectMLDevice(library(), make_host, Options.parse({**OPTIONS, **options}, {}))

    def rounded(self, memory: np.ndarray[Any, Any] | None = None, **regions: int) -> np.ndarray[Any, Any]:
        memory = np.full(256, 0xEE, np.uint8) if memory is None else memory
        memory[: X.nbytes] = X.view(np.uint8)
        kernel = self.device.create(ROUND)
        output = Region(regions.get("offset", 128), X.nbytes)
        try:
            kernel.dispatch(memory, {"InputTensor": Region(0, X.nbytes), "OutputTensor": output})
        finally:
            kernel.close()
        return memory


@pytest.fixture
def substitute_device() -> Iterator[Callable[..., SubstituteDevice]]:
    before = live_objects()
    made: list[SubstituteDevice] = []

    def make(**options: str) -> SubstituteDevice:
        made.append(SubstituteDevice(**options))
        return made[-1]

    yield make
    for each in made:
        each.device.close()
        assert each.faults.take() is None
    assert live_objects() == before


@needs_directml
@pytest.mark.parametrize("path", ["operator", "graph"])
def test_memory_goes_to_the_device_and_comes_back_whole(
    substitute_device: Callable[..., SubstituteDevice], path: str
) -> None:
    under_test = substitute_device(path=path)
    memory = under_test.rounded()
    np.testing.assert_array_equal(memory[128 : 128 + X.nbytes].view(np.float32), np.rint(X))
    assert set(memory[X.nbytes : 128]) == set(memory[128 + X.nbytes :]) == {0xEE}
    (device,) = under_test.devices
    assert device.calls[:5] == ["queue", "allocator", "list", "fence", "heap of 64"]
    assert device.calls[5:] == ["DEFAULT buffer of 256", "UPLOAD buffer of 256", "READBACK buffer of 256"]
    assert under_test.device.info.adapter == "a substitute"
    assert under_test.device.info.driver == "1.2.3.4"


@needs_directml
def test_a_temporary_resource_is_given_where_the_library_wants_one(
    substitute_device: Callable[..., SubstituteDevice],
) -> None:
    """A graph with permuted strides is transposed by way of temporary memory."""
    under_test = substitute_device(path="graph")
    tensor = TensorDesc(DataType.FLOAT32, (3, 2), (1, 3))
    attributes = {"RoundingMode": "HALVES_TO_NEAREST_EVEN"}
    kernel = under_test.device.create(
        OperatorDesc("ELEMENT_WISE_ROUND", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    )
    memory = np.full(256, 0xEE, np.uint8)
    memory[: X.nbytes] = X.view(np.uint8)
    kernel.dispatch(memory, {"InputTensor": Region(0, X.nbytes), "OutputTensor": Region(128, X.nbytes)})
    kernel.close()
    np.testing.assert_array_equal(memory[128 : 128 + X.nbytes].view(np.float32), np.rint(X))
    assert sum("DEFAULT" in call for call in under_test.devices[0].calls) > 1


@needs_directml
def test_buffers_are_kept_for_memory_of_the_same_size(substitute_device: Callable[..., SubstituteDevice]) -> None:
    under_test = substitute_device()
    for size in (256, 256, 512, 512):
        memory = under_test.rounded(np.full(size, 0xEE, np.uint8))
        np.testing.assert_array_equal(memory[128 : 128 + X.nbytes].view(np.float32), np.rint(X))
    (device,) = under_test.devices
    assert [call for call in device.calls if "DEFAULT" in call] == ["DEFAULT buffer of 256", "DEFAULT buffer of 512"]


@needs_directml
def test_more_descriptors_than_the_heap_has_make_a_larger_one(
    substitute_device: Callable[..., SubstituteDevice],
) -> None:
    under_test = substitute_device()
    under_test.device.host.descriptors(64)
    under_test.device.host.descriptors(65)
    (device,) = under_test.devices
    assert [call for call in device.calls if "heap" in call] == ["heap of 64", "heap of 65"]
    np.testing.assert_array_equal(under_test.rounded()[128 : 128 + X.nbytes].view(np.float32), np.rint(X))


@needs_directml
def test_a_lost_device_is_reported_and_replaced(substitute_device: Callable[..., SubstituteDevice]) -> None:
    under_test = substitute_device()
    under_test.rounded()
    under_test.devices[0].lost = True
    with pytest.raises(DeviceLost, match="DXGI_ERROR_DEVICE_REMOVED"):
        under_test.rounded()
    np.testing.assert_array_equal(under_test.rounded()[128 : 128 + X.nbytes].view(np.float32), np.rint(X))
    assert len(under_test.devices) == 2


@needs_directml
def test_bindings_against_the_rules_lose_the_device_for_that_call_only(
    substitute_device: Callable[..., SubstituteDevice],
) -> None:
    under_test = substitute_device()
    with pytest.raises(DeviceLost):
        under_test.rounded(offset=132)
    np.testing.assert_array_equal(under_test.rounded()[128 : 128 + X.nbytes].view(np.float32), np.rint(X))
    assert len(under_test.devices) == 1  # only DirectML's device was lost


# Adapters.


class Listed(ComObject):
    """An adapter with a name; every second one does not know its driver."""

    interface = dxgi.IDXGIAdapter1

    def __init__(self, faults: Faults, name: str, *, knows: bool = True) -> None:
        super().__init__(faults)
        self.name, self.knows = name, knows

    def GetDesc1(self, out: int) -> int:
        desc = dxgi.DXGI_ADAPTER_DESC1.from_address(out)
        text = np.frombuffer(self.name.encode("utf-16-le"), np.uint16)
        desc.Description[: len(text)] = text.tolist()
        desc.AdapterLuid = LUID(1, 2)
        return 0

    def CheckInterfaceSupport(self, iid: int, out: int) -> int:
        if not self.knows:
            return E_NOINTERFACE
        ctypes.c_int64.from_address(out).value = 31 << 48 | 101 << 16 | 4502
        return 0


class Factory(ComObject):
    """Lists two adapters, and WARP on request."""

    interface = dxgi.IDXGIFactory4
    NAMES = ("Fast Graphics 9000", "Slow Graphics 1 ü")

    def EnumAdapters1(self, index: int, out: int) -> int:
        if index >= len(self.NAMES):
            return DXGI_ERROR_NOT_FOUND
        PTR.from_address(out).value = Listed(self.faults, self.NAMES[index], knows=index == 0).address
        return 0

    def EnumWarpAdapter(self, iid: int, out: int) -> int:
        PTR.from_address(out).value = Listed(self.faults, "Microsoft Basic Render Driver").address
        return 0


class CoreAdapter(ComObject):
    """An adapter as DXCore shows it."""

    interface = dxcore.IDXCoreAdapter
    NAME = b"A GPU of the host\0"

    def GetPropertySize(self, number: int, out: int) -> int:
        ctypes.c_size_t.from_address(out).value = len(self.NAME)
        return 0

    def GetProperty(self, number: int, size: int, out: int) -> int:
        content = (
            self.NAME if number == dxcore.DXCoreAdapterProperty.DriverDescription else bytes((4, 0, 3, 0, 2, 0, 1, 0))
        )
        assert size == len(content)
        ctypes.memmove(out, content, size)
        return 0


class CoreList(ComObject):
    interface = dxcore.IDXCoreAdapterList

    def GetAdapterCount(self) -> int:
        return 1

    def GetAdapter(self, index: int, iid: int, out: int) -> int:
        PTR.from_address(out).value = CoreAdapter(self.faults).address
        return 0


class CoreFactory(ComObject):
    interface = dxcore.IDXCoreAdapterFactory

    def CreateAdapterList(self, count: int, attributes: int, iid: int, out: int) -> int:
        assert count == 1
        PTR.from_address(out).value = CoreList(self.faults).address
        return 0


def _listed(factory: ComObject, interface: Interface, read: Callable[[Pointer], list[Any]]) -> list[tuple[str, str]]:
    with Pointer(interface, factory.address) as pointer:
        result = read(pointer)
    for each in result:
        each.pointer.release()
    return [(each.name, each.driver) for each in result]


def test_the_adapters_of_windows_are_listed_with_their_drivers() -> None:
    before, faults = live_objects(), Faults()
    read = lambda pointer: adapters.dxgi_adapters(pointer, warp=False)  # noqa: E731
    assert _listed(Factory(faults), dxgi.IDXGIFactory1, read) == [
        ("Fast Graphics 9000", "31.0.101.4502"),
        ("Slow Graphics 1 ü", "unknown"),
    ]
    read = lambda pointer: adapters.dxgi_adapters(pointer, warp=True)  # noqa: E731
    assert [name for name, _ in _listed(Factory(faults), dxgi.IDXGIFactory1, read)] == ["Microsoft Basic Render Driver"]
    assert not faults
    assert live_objects() == before


def test_the_adapters_of_wsl_are_listed_with_their_drivers() -> None:
    before, faults = live_objects(), Faults()
    listed = _listed(CoreFactory(faults), dxcore.IDXCoreAdapterFactory, adapters.dxcore_adapters)
    assert listed == [("A GPU of the host", "1.2.3.4")]
    assert not faults
    assert live_objects() == before


@pytest.mark.parametrize(
    "wanted, name",
    [("", "Fast Graphics"), ("1", "Slow Graphics"), ("slow", "Slow Graphics"), ("WARP", "Fast Graphics")],
)
def test_an_adapter_is_chosen_by_index_or_name(wanted: str, name: str) -> None:
    assert adapters.choose(_two(), wanted).name == name


@pytest.mark.parametrize("wanted, words", [("2", "no such index"), ("graphics", "2 adapters"), ("none", "0 adapters")])
def test_an_adapter_that_is_not_meant_by_it_is_refused_with_a_list(wanted: str, words: str) -> None:
    with pytest.raises(UsageError, match=f"{words}.*0 Fast Graphics; 1 Slow Graphics"):
        adapters.choose(_two(), wanted)


def test_a_machine_without_adapters_is_unavailable() -> None:
    with pytest.raises(BackendUnavailable, match="no D3D12 adapter"):
        adapters.choose([], "")


def _two() -> list[adapters.Adapter]:
    nothing: Any = None
    return [adapters.Adapter(nothing, name, "") for name in ("Fast Graphics", "Slow Graphics")]
