"""The three operators as C kernels behind a backend: what a compiler and a processor make of plain source.

The library is compiled by :func:`compiled` and given to the backend as an option, with how MXCSR is to be set while a
kernel runs: ``dmlcts run --backend native_kernels.py:NativeKernels -o library=FILE -o flush=results``.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dmlcts.backends import DeviceInfo, InvalidArgument
from dmlcts.backends.bindings import check_bindings, check_memory
from dmlcts.specs import FeatureLevel, OperatorDesc, Region, ScaleBias
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import violations

SOURCE = Path(__file__).with_suffix(".c")
CONTROL = {"nothing": 0, "results": 0x8000, "operands": 0x40, "both": 0x8040}
"""What may be flushed, as the bits of MXCSR: FTZ is about results, DAZ about operands."""

MODES = ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")
LEVEL = FeatureLevel("5.0")


def missing() -> str:
    """Why the kernels cannot be built here, or ""."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return f"MXCSR is x86's, and this is {platform.machine()}"
    return "" if shutil.which("cc") else "there is no C compiler, cc"


def compiled(folder: Path, *flags: str) -> Path:
    """The kernels as a shared library in ``folder``, built by cc with these flags.

    Raises:
        RuntimeError: the compiler says no; the message is the compiler's.
    """
    library = folder / f"kernels{''.join(flags)}.so"
    command = ["cc", "-shared", "-fPIC", "-Wall", "-Werror", *flags, str(SOURCE), "-o", str(library), "-lm"]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if completed.returncode:
        raise RuntimeError(completed.stderr)
    return library


class Description(ctypes.Structure):
    """``struct description`` of the C source."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("operator", "data_type", "mode", "rank", "packed", "scaled")),
        *((name, ctypes.c_float) for name in ("scale", "bias", "low", "high")),
        *((name, ctypes.c_uint32 * 8) for name in ("sizes", "input_strides", "output_strides")),
        ("control", ctypes.c_uint32),
    )


def description(operator: OperatorDesc, code: int, control: int) -> Description:
    """An operator as the C source wants it; ``code`` is DML_OPERATOR_TYPE's number."""
    value, rank = operator.attributes, operator.input.rank
    scale_bias = value.get("ScaleBias")
    strides = [tensor.element_strides for tensor in (operator.input, operator.output)]
    made = Description(operator=code, data_type=operator.input.data_type.dml_value, rank=rank, control=control)
    made.mode = MODES.index(str(value["RoundingMode"])) if "RoundingMode" in value else 0
    made.packed = all(tensor.strides is None for tensor in operator.tensors.values())
    if isinstance(scale_bias, ScaleBias):
        made.scaled, made.scale, made.bias = True, scale_bias.scale, scale_bias.bias
    made.low, made.high = (float(value.get(name, 0)) for name in ("Min", "Max"))  # type: ignore[arg-type]  # FLOATs
    made.sizes[:rank], made.input_strides[:rank], made.output_strides[:rank] = operator.input.sizes, *strides
    return made


class Kernel:
    """One operator, ready to run in the library."""

    def __init__(self, library: ctypes.CDLL, operator: OperatorDesc, control: int) -> None:
        self.library = library
        self.operator = operator
        self.description = description(operator, load_tables().operator(operator.name).code, control)

    def dispatch(self, memory: np.ndarray, bindings: Mapping[str, Region]) -> None:
        """Run once; in place with other strides from a copy of the input."""
        check_memory(memory)
        names = ("InputTensor", "OutputTensor")
        check_bindings(memory, bindings, self.operator.tensors, 16, output=names[1], may_alias=names[:1])
        source, target = (bindings[name] for name in names)
        data = memory
        if source == target and self.operator.input.element_strides != self.operator.output.element_strides:
            data = memory.copy()
        where = data.ctypes.data + source.offset, memory.ctypes.data + target.offset
        self.library.run(ctypes.byref(self.description), *map(ctypes.c_void_p, where))

    def close(self) -> None:
        """Nothing is held."""


class Device:
    """The library, and how MXCSR is set while its kernels run."""

    def __init__(self, library: Path, flush: str) -> None:
        self.library = ctypes.CDLL(str(library))
        self.control = CONTROL[flush]
        self.info = DeviceInfo(name="native-kernels", feature_level=LEVEL, library=library.name, version=flush)

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel, or InvalidArgument where the tables permit a refusal."""
        broken = [violation.text for violation in violations(operator, LEVEL, load_tables())]
        if operator.attributes.get("RoundingMode", MODES[0]) not in MODES:
            broken.append("the rounding mode is none of the three")
        if broken:
            raise InvalidArgument(broken[0])
        return Kernel(self.library, operator, self.control)

    def close(self) -> None:
        """The library stays loaded."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class NativeKernels:
    """The backend."""

    name = "native-kernels"

    def open(self, library: str, flush: str = "nothing") -> Device:
        """``library`` is a file that :func:`compiled` made, ``flush`` a key of :data:`CONTROL`."""
        if flush not in CONTROL:
            raise ValueError(f"flush={flush}: choose one of {', '.join(CONTROL)}")
        return Device(Path(library), flush)
