"""The plain C kernels, as compilers and processors make them, are CONFORMANT: real witnesses of what is permitted.

Subnormal results and operands flushed by the processor, and operations contracted and vectorised by the compiler, are
not imitated here but done. Each build is judged by ``dmlcts run``, as any backend is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc
from dmlcts.suites.selftest.backends import native_kernels
from dmlcts.suites.selftest.backends.native_kernels import CONTROL, Device, compiled
from dmlcts.suites.selftest.first_three import SELECTED

pytestmark = pytest.mark.skipif(bool(native_kernels.missing()), reason=native_kernels.missing())

BUILDS = {"plain": ("-O0",), "optimised": ("-O3", "-march=native")}
BACKEND = f"{Path(native_kernels.__file__)}:NativeKernels"

FLUSHING = ("--clause", "*.subnormal*", "--clause", "*.scale-bias", "--data-type", "FLOAT32")
"""Where it shows that subnormals are flushed."""

SELECTIONS = {
    "results": (*FLUSHING, "--operator", "CLIP"),
    "operands": (*FLUSHING, "--operator", "CLIP"),
    "both": (*FLUSHING, "--data-type", "FLOAT16"),
}
COMBINATIONS = ("--clause", "tensor.strides.permuted", "--clause", "round.nearest-even", "--clause", "round.toward-*")
"""Attributes, sizes, strides, values and ScaleBias together, which is where optimised loops differ from plain ones."""

TYPES = {
    "plain": ("FLOAT32", "INT16"),
    "optimised": tuple(data_type.name for data_type in DataType if data_type is not DataType.FLOAT64),
}

each_build = pytest.mark.parametrize("build", BUILDS)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each build by its name."""
    folder = tmp_path_factory.mktemp("kernels")
    return {name: compiled(folder, *flags) for name, flags in BUILDS.items()}


def judge(dmlcts: Callable[..., Any], library: Path, flush: str, *selection: str) -> Any:
    """A run of ``dmlcts run`` on the kernels of a library, in one process: they do no more than compute."""
    return dmlcts(
        "run",
        "--backend",
        BACKEND,
        "-o",
        f"library={library}",
        "-o",
        f"flush={flush}",
        "--isolation",
        "none",
        "--operator",
        SELECTED,
        *selection,
    )


@pytest.mark.sampled(3)
@each_build
@pytest.mark.parametrize("flush", SELECTIONS)
@pytest.mark.size("all", thorough=1)
def test_a_processor_that_flushes_is_conformant(
    build: str, flush: str, libraries: dict[str, Path], dmlcts: Callable[..., Any]
) -> None:
    ran = judge(dmlcts, libraries[build], flush, *SELECTIONS[flush])
    assert ran.code == 0, ran.out + ran.err
    assert ran.results["verdict"] == "CONFORMANT"


@pytest.mark.sampled(2)
@each_build
@pytest.mark.size("thorough")
def test_the_kernels_are_conformant_in_every_combination(
    build: str, libraries: dict[str, Path], dmlcts: Callable[..., Any]
) -> None:
    types = (option for name in TYPES[build] for option in ("--data-type", name))
    ran = judge(dmlcts, libraries[build], "nothing", *COMBINATIONS, *types)
    assert ran.code == 0, ran.out + ran.err
    assert {row["data_type"] for row in ran.results["clauses"]} >= set(TYPES[build])


@pytest.mark.size("thorough")
def test_a_planted_reciprocal_is_caught(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    library = compiled(tmp_path, "-O3", "-march=native", "-DFAULT_RECIPROCAL")
    ran = judge(dmlcts, library, "nothing", "--clause", "clip.scale-bias", "--data-type", "FLOAT32")
    assert ran.code == 1
    assert {row["id"] for row in ran.results["clauses"] if row["outcome"] == "fail"} == {"clip.scale-bias"}


# What MXCSR does ------------------------------------------------------------------------------------------


def computed(library: Path, flush: str, operator: str, x: float, **attributes: Any) -> int:
    """The pattern of one FLOAT32 element."""
    tensor = TensorDesc(DataType.FLOAT32, (1,))
    described = OperatorDesc(operator, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    memory = np.zeros(32, np.uint8)
    memory[:4] = np.array([x], np.float32).view(np.uint8)
    regions = {"InputTensor": Region(0, 4), "OutputTensor": Region(16, 4)}
    Device(library, flush).create(described).dispatch(memory, regions)
    return int(memory[16:20].view(np.uint32)[0])


@each_build
def test_each_way_to_flush_shows(build: str, libraries: dict[str, Path]) -> None:
    def product(flush: str) -> int:
        scale_bias = ScaleBias(2.0**-70, 0.0)
        return computed(libraries[build], flush, "ELEMENT_WISE_THRESHOLD", 2.0**-70, ScaleBias=scale_bias, Min=0.0)

    def smallest(flush: str) -> int:
        # (1 - 2^-24) * 2^-126, which 24 bits hold and FLOAT32 does not: to nearest the smallest normal number.
        scale_bias = ScaleBias((1 + 2.0**-12) * 2.0**-126, 0.0)
        return computed(libraries[build], flush, "ELEMENT_WISE_THRESHOLD", 1 - 2.0**-12, ScaleBias=scale_bias, Min=0.0)

    def compared(flush: str) -> int:
        return computed(libraries[build], flush, "ELEMENT_WISE_THRESHOLD", 1e-45, ScaleBias=None, Min=-1e-45)

    assert [product(flush) for flush in CONTROL] == [0x200, 0, 0, 0], "as a result, or as an operand of the sum"
    assert [smallest(flush) for flush in CONTROL] == [0x800000, 0, 0x800000, 0], "tiny, and rounded up to what is not"
    assert compared("nothing") == compared("results") == 1
    # Two that compare equal: Min comes back, as it is after a comparison, flushed from an instruction for the maximum.
    assert compared("operands") == compared("both")
    assert compared("both") in (0x80000000, 0x80000001)


def test_the_control_word_is_given_back(libraries: dict[str, Path], tmp_path: Path) -> None:
    for library, kept in ((libraries["optimised"], True), (compiled(tmp_path, "-DFAULT_CONTROL_LEFT"), False)):
        control = ctypes.CDLL(str(library))
        before = control.control_word()
        try:
            computed(library, "both", "ELEMENT_WISE_THRESHOLD", 1.0, ScaleBias=None, Min=0.0)
            after = control.control_word()
        finally:
            control.set_control_word(before)
        flushing = CONTROL["both"]
        assert before & flushing == 0
        assert (after & flushing == 0) is kept
