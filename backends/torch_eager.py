"""The ``torch`` backend: clamp, minimum and maximum, round and trunc of PyTorch, eager or compiled, on any device.

Tensors are views with the description's own strides over the suite's memory (over a copy of all of it on a
device with memory of its own), and results are written through ``out=`` or in place, so a stray write shows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.bindings import check_bindings, check_memory
from dmlcts.backends.contract import BackendUnavailable, DeviceInfo, ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.runtimes import (
    ALIGNMENT,
    CLIP,
    DESCRIPTIONS,
    LEVEL,
    NAMES,
    NO_SCALE_BIAS,
    ROUND,
    THRESHOLD,
    Mapped,
    bound,
    cast_bound,
    check_description,
    choice,
    element_count,
    load,
    mapping_rows,
    repeats_elements,
    sample,
    types_text,
)
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, TensorDesc, UsageError
from dmlcts.specs.loading import load_tables

_INSTALL = "pip install torch"
_DEVICES: Mapping[str, str] = {
    "cpu": _INSTALL,
    "cuda": "install a build of torch for CUDA or ROCm, and the GPU's driver",
    "mps": "run on macOS 13 or later with Apple silicon",
    "directml": "on Windows: pip install torch-directml",
}
# Distinct bounds are distinct programs to the compiler, and it must not fall back to eager execution unseen.
_MOST_COMPILED = 1 << 16
_ROUNDINGS = {"HALVES_TO_NEAREST_EVEN": "round", "TOWARD_ZERO": "trunc"}

Tensor = Any
Program = Callable[[Tensor, Tensor], None]


class TorchBackend:
    """Runs the operators with PyTorch."""

    name = "torch"

    def open(self, *, device: str = "cpu", clamp: str = "clamp", bounds: str = "", compile: str = "no") -> TorchDevice:
        """Open one of PyTorch's devices.

        Args:
            device: cpu, cuda, mps or directml.
            clamp: "clamp" makes CLIP torch.clamp, "minmax" torch.maximum of torch.minimum.
            bounds: "scalar" passes Min and Max as Python numbers, "tensor" as tensors of no dimension;
                unless told, clamp is given scalars, and tensors where it is compiled; minmax takes tensors only.
            compile: "yes" runs everything through torch.compile. Every type, rank and layout, and with
                bounds=scalar every pair of bounds, is a program that takes seconds to compile: select narrowly.

        Raises:
            UsageError: an option has a value that means nothing.
            BackendUnavailable: the package, the device or the compiler is not there.
        """
        choice("device", device, _DEVICES)
        choice("clamp", clamp, ("clamp", "minmax"))
        choice("compile", compile, ("no", "yes"))
        usual = "scalar" if clamp == "clamp" and compile == "no" else "tensor"
        bounds = choice("bounds", bounds or usual, ("scalar", "tensor"))
        if clamp == "minmax" and bounds == "scalar":
            raise UsageError("torch.minimum and torch.maximum take no scalars", "choose bounds=tensor or clamp=clamp")
        torch = load("torch", _INSTALL)
        found = _device(torch, device)
        options = {"device": device, "clamp": clamp, "bounds": bounds, "compile": compile}
        return TorchDevice(torch, found, options)


def _device(torch: Any, name: str) -> Any:
    mend = _DEVICES[name]
    if name == "directml":
        return load("torch_directml", mend).device()
    if name == "cuda" and not torch.cuda.is_available():
        raise BackendUnavailable(f"torch {torch.__version__} finds no CUDA device", mend)
    if name == "mps" and not torch.backends.mps.is_available():
        raise BackendUnavailable(f"torch {torch.__version__} finds no Metal device", mend)
    return torch.device(name)


class TorchDevice:
    """One of PyTorch's devices; a context manager.

    Args:
        torch: the package.
        device: what tensors are made on.
        options: those of :meth:`TorchBackend.open`, checked.
    """

    def __init__(self, torch: Any, device: Any, options: Mapping[str, str]) -> None:
        self.torch = torch
        self.device = device
        self.options = options
        self._tables = load_tables()
        self._closed = False
        self._compiled: dict[str, Any] = {}
        self._compiles = options["compile"] == "yes"
        if self._compiles:
            self._try_compiler()
        self._claimed = {name: self._taken(name) for name in (CLIP, ROUND, THRESHOLD)}
        nothing = {name: frozenset[DataType]() for name in self._tables.operators if name not in self._claimed}
        self.info = DeviceInfo(
            name="torch",
            feature_level=LEVEL,
            adapter=self._adapter(),
            library="torch",
            version=str(torch.__version__),
            data_types={**self._claimed, **nothing},
            details={"options": dict(options), "mapping": mapping_rows(self._mapping())},
        )

    def _adapter(self) -> str:
        if self.options["device"] == "cuda":
            return str(self.torch.cuda.get_device_name(self.device))
        if self.options["device"] == "cpu":
            return f"CPU ({self.torch.backends.cpu.get_cpu_capability()})"
        return self.options["device"]

    def _try_compiler(self) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the compiler's own making, while it is looked at
                x = self.torch.ones(4, device=self.device)
                self._run(self.torch.trunc, x, x)
        except Exception as error:  # whatever stands in its way, it cannot be used
            said = " ".join(str(error).split())[:300]
            mend = "install a C++ compiler (g++ or clang; MSVC on Windows), or leave compile=yes away"
            raise BackendUnavailable(f"torch.compile does not work here: {said}", mend) from error

    def _taken(self, operator: str) -> frozenset[DataType]:
        """The element types on which PyTorch runs ``operator`` here, found by trying each."""
        taken = set()
        for data_type in self._tables.operator(operator).data_types:
            one = sample(operator, data_type)
            try:
                self.trial(one, self.program(one))
            except (NotSupported, InvalidArgument):
                continue
            taken.add(data_type)
        return frozenset(taken)

    def _mapping(self) -> list[Mapped]:
        scalar = self.options["bounds"] == "scalar"
        operands = "Min and Max as Python numbers" if scalar else "Min and Max as tensors of no dimension"
        types = {name: types_text(kinds) for name, kinds in self._claimed.items()}
        minmax = self.options["clamp"] == "minmax"
        clip = "torch.maximum(torch.minimum(x, Max), Min)" if minmax else "torch.clamp(x, Min, Max)"
        threshold = "torch.maximum(x, Min)" if minmax else "torch.clamp(x, min=Min)"
        way = "compiled" if self.options["compile"] == "yes" else "eager"
        rows = [
            Mapped("CLIP", f"{clip}, {operands}, {way}", "runtime", f"takes {types[CLIP]}"),
            Mapped("THRESHOLD", f"{threshold}, {way}", "runtime", f"takes {types[THRESHOLD]}"),
            Mapped("ROUND HALVES_TO_NEAREST_EVEN", f"torch.round, {way}", "runtime", f"takes {types[ROUND]}"),
            Mapped("ROUND TOWARD_ZERO", f"torch.trunc, {way}", "runtime", f"takes {types[ROUND]}"),
            Mapped("ROUND TOWARD_INFINITY", "", "nobody", "torch does not round halves away from zero"),
            NO_SCALE_BIAS,
            Mapped("the cast of Min and Max on integer tensors", "truncation as CLIP's page says", "backend",
                   "a fraction would make torch compute in FLOAT32: clauses on integer casts say nothing of torch; "
                   "what the pages leave open is not supported"),
        ]  # fmt: skip
        if scalar:
            rows.append(Mapped("the cast of Min and Max on FLOAT16 tensors", "none: torch is given the FLOAT's value",
                               "runtime"))  # fmt: skip
        else:
            rows.append(Mapped("the cast of Min and Max on FLOAT16 tensors", "rounding as CLIP's page says", "backend",
                               "what the pages leave open is not supported"))  # fmt: skip
        in_place = "torch.clamp_" if self.options["clamp"] == "clamp" and way == "eager" else "out= the input"
        own = "" if self.options["device"] == "cpu" else "over a copy of all of the memory, which is copied back"
        rows += [
            Mapped("strides", "torch.as_strided", "runtime", own),
            Mapped("output strides of zero", "", "nobody", "torch writes no tensor whose elements share a place"),
            Mapped("in place", f"{in_place}, round_, trunc_", "runtime"),
            DESCRIPTIONS,
        ]
        return rows

    def dtype(self, data_type: DataType) -> Any:
        """PyTorch's name of the element type."""
        return getattr(self.torch, data_type.name.lower())

    def _operand(self, operator: OperatorDesc, name: str) -> Any:
        """A bound as torch is given it: a Python number, or a tensor of no dimension."""
        kind = operator.input.data_type
        if self.options["bounds"] == "scalar" and kind.is_floating:
            return float(bound(operator, name))
        value = cast_bound(operator, name, operator.name == CLIP)
        if self.options["bounds"] == "scalar":
            return int(value)
        return self.torch.from_numpy(np.array(value)).to(self.device)

    def program(self, operator: OperatorDesc) -> Program:
        """What ``operator`` is mapped to: writes the output tensor, which may be the input tensor itself.

        Raises:
            NotSupported: nothing.
        """
        torch = self.torch
        if operator.name == ROUND:
            mode = str(operator.attributes["RoundingMode"])
            if mode not in _ROUNDINGS:
                raise NotSupported(f"torch has no function for RoundingMode {mode}")
            rounding = getattr(torch, _ROUNDINGS[mode])
            return lambda x, y: self._run(rounding, x, y)
        operands = {"min": self._operand(operator, "Min")}
        if operator.name == CLIP:
            operands["max"] = self._operand(operator, "Max")
        if self.options["clamp"] == "clamp":
            return lambda x, y: self._run(torch.clamp, x, y, operands)
        if operator.name == THRESHOLD:
            return lambda x, y: self._run(torch.maximum, x, y, {"other": operands["min"]})
        return lambda x, y: self._run(_minmax(torch), x, y, operands)

    def _run(self, function: Any, x: Tensor, y: Tensor, operands: Mapping[str, Any] | None = None) -> None:
        """Write function(x, operands) to ``y``, by the in-place variant where that is ``x`` and there is one."""
        operands = operands or {}
        if self._compiles:
            self._compiled_run(function, x, y, operands)
        elif x is y and hasattr(x, f"{function.__name__}_"):
            getattr(x, f"{function.__name__}_")(**operands)
        else:
            function(x, **operands, out=y)

    def _compiled_run(self, function: Any, x: Tensor, y: Tensor, operands: Mapping[str, Any]) -> None:
        name = f"{function.__name__} {sorted(operands)} {x is y}"
        if name not in self._compiled:
            if x is y:

                def program(x: Tensor, y: Tensor, operands: Mapping[str, Any]) -> None:
                    x.copy_(function(x, **operands))
            else:

                def program(x: Tensor, y: Tensor, operands: Mapping[str, Any]) -> None:
                    y.copy_(function(x, **operands))

            self._compiled[name] = self.torch.compile(program, dynamic=True, fullgraph=True)
        with self._compiling():
            self._compiled[name](x, None if x is y else y, dict(operands))

    def _compiling(self) -> Any:
        """Settings under which what cannot be compiled is an error and never runs eagerly."""
        config = self.torch._dynamo.config
        names = [name for name in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit",
                                   "accumulated_cache_size_limit") if hasattr(config, name)]  # fmt: skip
        return config.patch(dict.fromkeys(names, _MOST_COMPILED))

    def trial(self, operator: OperatorDesc, program: Program) -> None:
        """Run ``program`` on one element of the type, eagerly, as PyTorch says only then what it does not do.

        Raises:
            NotSupported: it has no such function on the type.
            InvalidArgument: it refuses the operands.
        """
        x = self.torch.zeros(1, dtype=self.dtype(operator.input.data_type), device=self.device)
        compiles, self._compiles = self._compiles, False
        try:
            program(x, self.torch.empty_like(x))
        except NotImplementedError as error:
            raise NotSupported(f"torch: {_said(error)}") from error
        except Exception as error:  # RuntimeError for nearly everything, told apart by its text
            if "not implemented for" in str(error):
                raise NotSupported(f"torch: {_said(error)}") from error
            raise InvalidArgument(f"torch: {_said(error)}") from error
        finally:
            self._compiles = compiles

    def create(self, operator: OperatorDesc) -> TorchKernel:
        """Check ``operator`` and find the function for it.

        Raises:
            InvalidArgument: the description breaks the rules of the tables, or PyTorch refuses the bounds.
            NotSupported: PyTorch cannot express it.
            ExecutionFailed: the device is closed.
        """
        if self._closed:
            raise ExecutionFailed("the device is closed")
        check_description(operator, FeatureLevel(LEVEL), self._tables)
        if repeats_elements(operator.output):
            raise NotSupported("torch writes no tensor whose elements share a place")
        if operator.input.data_type not in self._claimed[operator.name]:
            raise NotSupported(f"torch does not take {operator.input.data_type.name} here")
        program = self.program(operator)
        self.trial(operator, program)
        return TorchKernel(self, operator, program)

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True
        self._compiled.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _said(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _minmax(torch: Any) -> Any:
    def minmax(x: Tensor, min: Tensor, max: Tensor, **out: Tensor) -> Tensor:
        return torch.maximum(torch.minimum(x, max), min, **out)

    return minmax


class TorchKernel:
    """A function of PyTorch with its operands; ``create`` of :class:`TorchDevice` makes it."""

    def __init__(self, device: TorchDevice, operator: OperatorDesc, program: Program) -> None:
        self._device = device
        self._operator = operator
        self._program = program
        self._closed = False

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run once, on the memory itself or on a copy of all of it.

        Raises:
            ExecutionFailed: the kernel is closed, memory or bindings cannot be used, or PyTorch failed.
        """
        if self._closed:
            raise ExecutionFailed("the kernel is closed")
        check_memory(memory)
        check_bindings(memory, bindings, self._operator.tensors, ALIGNMENT, output=NAMES[1], may_alias=NAMES[:1])
        read, written = (bindings[name] for name in NAMES)
        torch, on = self._device.torch, self._device.device
        host = self._device.options["device"] == "cpu"
        try:
            whole = torch.from_numpy(memory)
            if not host:
                whole = whole.to(on)
            x = self._view(whole, read, self._operator.tensors[NAMES[0]])
            y = self._view(whole, written, self._operator.tensors[NAMES[1]])
            if read == written:
                # In place where both are one tensor; other strides over the same bytes need the input elsewhere.
                same = self._operator.input.element_strides == self._operator.output.element_strides
                x = y if same else x.clone()
            self._program(x, y)
            if not host:
                np.copyto(memory, whole.cpu().numpy())
        except Exception as error:  # RuntimeError for nearly everything
            raise ExecutionFailed(f"torch: {_said(error)}") from error

    def _view(self, whole: Tensor, region: Region, tensor: TensorDesc) -> Tensor:
        count = element_count(tensor) * tensor.data_type.itemsize
        flat = whole[region.offset : region.offset + count].view(self._device.dtype(tensor.data_type))
        return flat.as_strided(tensor.sizes, tensor.element_strides)

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True
