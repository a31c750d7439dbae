"""Windows' own DirectML.dll, where it was fetched: it computes, refuses by exceptions, in threads, leaving nothing."""

from __future__ import annotations

import gc
import resource
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from dmlcts.backends.contract import InvalidArgument
from dmlcts.backends.directml.backend import DirectMLBackend, DirectMLDevice
from dmlcts.backends.directml.loading import windows_releases
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.specs.cache import cache_folder
from dmlcts.suites.selftest.descriptions import clip
from dmlcts.suites.selftest.directml.directml_here import why_not

FETCHED = windows_releases.fetched(cache_folder())
pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "nothing"),
    pytest.mark.skipif(FETCHED is None, reason="dmlcts directml fetch --windows was not run"),
]
CLIP = {"Min": np.float32(-1), "Max": np.float32(2), "ScaleBias": None}


@pytest.fixture(scope="module")
def device() -> Iterator[DirectMLDevice]:
    with DirectMLBackend().open(library="windows") as opened:
        yield opened


def clip_on(kind: DataType, sizes: tuple[int, ...] = (1, 1, 1, 8)) -> OperatorDesc:
    return clip(TensorDesc(kind, sizes), **CLIP)


def clipped(device: DirectMLDevice, kind: DataType) -> list[float]:
    values = np.array([0, 1, 2, 3, 4, 0, 100, 5]).astype(kind.numpy)
    memory = np.zeros(512, np.uint8)
    memory[: values.nbytes] = values.view(np.uint8)
    kernel = device.create(clip_on(kind))
    kernel.dispatch(memory, {"InputTensor": Region(0, values.nbytes), "OutputTensor": Region(256, values.nbytes)})
    kernel.close()
    return [float(value) for value in memory[256 : 256 + values.nbytes].view(kind.numpy)]


def test_it_states_which_version_it_is(device: DirectMLDevice) -> None:
    assert FETCHED is not None
    assert device.info.version == f"{FETCHED.version}.0"
    assert device.info.library == "DirectML.dll"
    if FETCHED.version == "1.15.4":
        assert str(device.info.feature_level) == "6.4"


@pytest.mark.parametrize(
    "kind",
    [data_type for data_type in DataType if data_type is not DataType.FLOAT64],
    ids=lambda data_type: data_type.name,
)
def test_it_computes_in_every_type(kind: DataType, device: DirectMLDevice) -> None:
    assert clipped(device, kind) == [0, 1, 2, 2, 2, 0, 2, 2]


def test_a_graph_is_compiled_as_well() -> None:
    with DirectMLBackend().open(library="windows", path="graph") as device:
        assert clipped(device, DataType.FLOAT32) == [0, 1, 2, 2, 2, 0, 2, 2]


def test_a_thousand_refusals_leave_nothing_behind(device: DirectMLDevice) -> None:
    """Each is thrown and caught inside the library."""
    wrong = clip_on(DataType.FLOAT32, (1, 1, 1, 0))

    def refuse(count: int) -> None:
        for _ in range(count):
            with pytest.raises(InvalidArgument, match="E_INVALIDARG"):
                device.create(wrong)

    refuse(200)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refuse(1000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KiB
    assert clipped(device, DataType.FLOAT32)[3] == 2


def test_threads_with_devices_of_their_own_do_not_disturb_each_other() -> None:
    results: list[list[float]] = []

    def work() -> None:
        with DirectMLBackend().open(library="windows") as device:
            for _ in range(20):
                with pytest.raises(InvalidArgument):
                    device.create(clip_on(DataType.FLOAT32, (1, 1, 1, 0)))
            results.append(clipped(device, DataType.INT32))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[0, 1, 2, 2, 2, 0, 2, 2]] * 4


def test_both_libraries_live_in_one_process(device: DirectMLDevice) -> None:
    with DirectMLBackend().open(library="linux") as other:
        for current_device in (other, device, other, device):
            assert clipped(current_device, DataType.FLOAT32) == [0, 1, 2, 2, 2, 0, 2, 2]
        assert (other.info.library, device.info.library) == ("libdirectml.so", "DirectML.dll")


def test_two_releases_live_in_one_process(device: DirectMLDevice) -> None:
    older = next(
        (release for release in windows_releases.RELEASES[:-1] if release.library(cache_folder()).is_file()), None
    )
    if older is None:
        pytest.skip("only one release was fetched")
    with DirectMLBackend().open(library=older.version) as other:
        for current_device in (other, device):
            assert clipped(current_device, DataType.INT64) == [0, 1, 2, 2, 2, 0, 2, 2]
            with pytest.raises(InvalidArgument):
                current_device.create(clip_on(DataType.FLOAT32, (1, 1, 1, 0)))
