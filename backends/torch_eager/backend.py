"""The ``torch`` backend: each operator as one function of PyTorch, eager or compiled, on any device.

Results are written through ``out=`` or in place.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from dmlcts.backends.arrays import ArrayDevice
from dmlcts.backends.contract import BackendUnavailable, DeviceInfo, ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.descriptions import repeats_elements
from dmlcts.backends.runtimes import (
    CLIP,
    DESCRIPTIONS,
    LEVEL,
    NO_SCALE_BIAS,
    ROUND,
    THRESHOLD,
    Counterpart,
    Mapped,
    bound,
    cast_bound,
    check_description,
    choice,
    load,
    mapping_rows,
    part_of,
    parts,
    sample,
    types_text,
)
from dmlcts.backends.torch_eager.compiled import CompiledTorch, compiling
from dmlcts.backends.torch_eager.functions import COUNTERPARTS, function_of
from dmlcts.backends.torch_eager.kernel import Program, Tensor, TorchKernel, message_of
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScalarUnion, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables

_INSTALL = "pip install torch"
_DEVICES: Mapping[str, str] = {
    "cpu": _INSTALL,
    "cuda": "install a build of torch for CUDA or ROCm, and the GPU's driver",
    "mps": "run on macOS 13 or later with Apple silicon",
    "directml": "on Windows: pip install torch-directml",
}
_OF_THEIR_OWN = (CLIP, ROUND, THRESHOLD)  # the rows of the mapping that say more than which function it is


class TorchBackend:
    """Runs the operators with PyTorch."""

    name = "torch"

    def open(
        self,
        *,
        device: str = "cpu",
        clamp: str = "clamp",
        bounds: str = "",
        compile: str = "no",
        layouts: str = "",
    ) -> TorchDevice | ArrayDevice:
        """Open one of PyTorch's devices.

        Args:
            device: cpu, cuda, mps or directml.
            clamp: "clamp" makes CLIP torch.clamp, "minmax" torch.maximum of torch.minimum.
            bounds: "scalar" passes Min and Max as Python numbers, "tensor" as tensors of no dimension;
                by default, clamp gets scalars, and tensors where it is compiled; minmax takes tensors only.
            compile: "yes" runs everything through torch.compile, which takes seconds a program.
            layouts: "own" passes tensors of the description's sizes and strides, each of which is a program where
                they are compiled: select narrowly. "flat" passes compiled functions packed arrays of one dimension,
                bounds as tensors. It is "flat" by default where compile is "yes" and neither clamp nor bounds is
                named, else "own".

        Raises:
            UsageError: an option has a value that means nothing.
            BackendUnavailable: the package, the device or the compiler is not there.
        """
        choice("device", device, _DEVICES)
        choice("clamp", clamp, ("clamp", "minmax"))
        choice("compile", compile, ("no", "yes"))
        kept = compile == "no" or clamp != "clamp" or bounds
        layouts = choice("layouts", layouts or ("own" if kept else "flat"), ("own", "flat"))
        if layouts == "flat" and kept:
            raise UsageError("layouts=flat is for compile=yes without clamp and bounds", "leave layouts away")
        usual = "scalar" if clamp == "clamp" and compile == "no" else "tensor"
        bounds = choice("bounds", bounds or usual, ("scalar", "tensor"))
        if clamp == "minmax" and bounds == "scalar":
            raise UsageError("torch.minimum and torch.maximum take no scalars", "choose bounds=tensor or clamp=clamp")
        torch = load("torch", _INSTALL)
        torch_device = _device(torch, device)
        options = {"device": device, "clamp": clamp, "bounds": bounds, "compile": compile}
        if layouts == "flat":
            try_compiler(torch, torch_device)
            adapter = f"{adapter_of(torch, torch_device, device)}, compiled"
            return ArrayDevice(CompiledTorch(torch, torch_device, adapter, {**options, "layouts": layouts}))
        return TorchDevice(torch, torch_device, options)


def _device(torch: Any, name: str) -> Any:
    mend = _DEVICES[name]
    if name == "directml":
        return load("torch_directml", mend).device()
    if name == "cuda" and not torch.cuda.is_available():
        raise BackendUnavailable(f"torch {torch.__version__} finds no CUDA device", mend)
    if name == "mps" and not torch.backends.mps.is_available():
        raise BackendUnavailable(f"torch {torch.__version__} finds no Metal device", mend)
    return torch.device(name)


def adapter_of(torch: Any, device: Any, name: str) -> str:
    """What PyTorch computes on.

    Args:
        torch: the package.
        device: its device.
        name: what the option ``device`` calls it.
    """
    if name == "cuda":
        return str(torch.cuda.get_device_name(device))
    if name == "cpu":
        cpu = getattr(torch.backends, "cpu", None)  # since 2.1
        return "CPU" if cpu is None else f"CPU ({cpu.get_cpu_capability()})"
    return name


def try_compiler(torch: Any, device: Any) -> None:
    """Compile a function and run it.

    Raises:
        BackendUnavailable: that does not work here.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the compiler's own making, while it is looked at
            x = torch.ones(4, device=device)
            torch.compile(torch.trunc, dynamic=True, fullgraph=True)(x)
    except Exception as error:  # whatever stands in its way, it cannot be used
        message = " ".join(str(error).split())[:300]
        mend = "install a C++ compiler (g++ or clang; MSVC on Windows), or leave compile=yes away"
        raise BackendUnavailable(f"torch.compile does not work here: {message}", mend) from error


_LACKING = ("not implemented for", "Promotion for ", "can't be cast to the desired output type")
"""What PyTorch says where it has no function on types, of a combination of types, or with an output of another kind."""


class TorchDevice:
    """One of PyTorch's devices; a context manager.

    Args:
        torch: the package.
        device: what tensors are made on.
        options: those of :meth:`TorchBackend.open`, checked.
        tables: the spec tables; the built-in ones unless given.
    """

    def __init__(self, torch: Any, device: Any, options: Mapping[str, str], tables: Tables | None = None) -> None:
        self.torch = torch
        self.device = device
        self.options = options
        self._tables = tables or load_tables()
        self._closed = False
        self._compiled: dict[str, Any] = {}
        self._compiles = options["compile"] == "yes"
        if self._compiles:
            try_compiler(torch, device)
        self._taken_parts = {
            part: self._taken(table, part) for table in self._tables.operators.values() for part in parts(table)
        }
        self._claimed = {
            name: frozenset[DataType]().union(*(self._taken_parts[part] for part in parts(table)))
            for name, table in self._tables.operators.items()
        }
        self.info = DeviceInfo(
            name="torch",
            feature_level=LEVEL,
            adapter=adapter_of(torch, device, options["device"]),
            library="torch",
            version=str(torch.__version__),
            data_types=self._claimed,
            details={"options": dict(options), "mapping": mapping_rows(self._mapping())},
        )

    def _taken(self, table: OperatorTable, part: str) -> frozenset[DataType]:
        """The element types on which PyTorch runs a part of an operator here, found by trying each."""
        taken = set()
        for data_type in table.data_types:
            operator = sample(table, part, data_type)
            try:
                self.trial(operator, table, self.program(operator, table))
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
            *(row for part in self._taken_parts for row in self._mapped_part(part, way)),
            Mapped(
                "the cast of Min and Max on integer tensors",
                "truncation as CLIP's page says",
                "backend",
                "a fraction would make torch compute in FLOAT32: clauses on integer casts say nothing of torch; "
                "what the pages leave open is not supported",
            ),
        ]
        if scalar:
            rows.append(
                Mapped(
                    "the cast of Min and Max on FLOAT16 tensors", "none: torch is given the FLOAT's value", "runtime"
                )
            )
        else:
            rows.append(
                Mapped(
                    "the cast of Min and Max on FLOAT16 tensors",
                    "rounding as CLIP's page says",
                    "backend",
                    "what the pages leave open is not supported",
                )
            )
        in_place = "torch.clamp_" if self.options["clamp"] == "clamp" and way == "eager" else "out= the input"
        own = "" if self.options["device"] == "cpu" else "over a copy of all of the memory, which is copied back"
        rows += [
            Mapped("strides", "torch.as_strided", "runtime", own),
            Mapped("output strides of zero", "", "nobody", "torch writes no tensor whose elements share a place"),
            Mapped("in place", f"{in_place}, round_, trunc_, add_ and the like, or out= an input", "runtime"),
            DESCRIPTIONS,
        ]
        return rows

    def _mapped_part(self, part: str, way: str) -> list[Mapped]:
        counterpart = COUNTERPARTS.get(part)
        if f"ELEMENT_WISE_{part.split(' ')[0]}" in _OF_THEIR_OWN:
            return []
        if counterpart is None or not counterpart.name:
            return [Mapped(part, "", "nobody", counterpart.lacking if counterpart else "mapped to nothing")]
        rows = []
        for kinds, variant in ((" of integers", COUNTERPARTS.get(f"{part} of integers")), ("", counterpart)):
            if variant is not None:
                attributes = "".join(f", {key}={value!r}" for key, value in variant.attributes.items())
                notes = [f"takes {types_text(self._taken_parts[part])}", *filter(None, [variant.note])]
                rows.append(
                    Mapped(part + kinds, f"torch.{variant.name}{attributes}, {way}", "runtime", "; ".join(notes))
                )
        return rows

    def counterpart(self, operator: OperatorDesc, table: OperatorTable) -> Counterpart:
        """What PyTorch has for ``operator``.

        Raises:
            NotSupported: nothing.
        """
        part = part_of(operator, table)
        equivalent = COUNTERPARTS.get(part)
        if not operator.tensors[table.inputs[0]].data_type.is_floating:
            equivalent = COUNTERPARTS.get(f"{part} of integers", equivalent)
        if equivalent is None or not equivalent.name:
            raise NotSupported(f"{part}: {equivalent.lacking if equivalent else 'mapped to nothing'}")
        if equivalent.truth and operator.tensors[table.output].data_type is not DataType.UINT8:
            raise NotSupported(f"{part}: the result of torch.{equivalent.name} is of one byte")
        return equivalent

    def dtype(self, data_type: DataType, counterpart: Counterpart, *, result: bool = False) -> Any:
        """PyTorch's name of the type that a tensor is viewed as.

        Raises:
            NotSupported: it has none, as before 2.3 for unsigned types wider than a byte.
        """
        if result and counterpart.truth:
            return self.torch.bool
        name = f"int{8 * data_type.itemsize}" if counterpart.patterns else data_type.name.lower()
        if not hasattr(self.torch, name):
            raise NotSupported(f"torch {self.torch.__version__} has no type {name}")
        return getattr(self.torch, name)

    def _operand(self, operator: OperatorDesc, name: str, counterpart: Counterpart) -> Any:
        """A bound as torch is given it: a Python number, or a tensor of no dimension."""
        kind = operator.input.data_type
        if self.options["bounds"] == "scalar" and kind.is_floating:
            attribute = operator.attributes[name]
            return float(attribute.value if isinstance(attribute, ScalarUnion) else bound(operator, name))
        value = cast_bound(operator, name, operator.name != THRESHOLD)
        if self.options["bounds"] == "scalar":
            return int(value)
        buffer = bytearray(np.asarray(value).tobytes())
        return self.torch.frombuffer(buffer, dtype=self.dtype(kind, counterpart)).reshape(()).to(self.device)

    def program(self, operator: OperatorDesc, table: OperatorTable) -> Program:
        """What ``operator`` is mapped to: writes the output tensor, which may be one of the input tensors itself.

        Raises:
            NotSupported: nothing.
        """
        torch, counterpart = self.torch, self.counterpart(operator, table)
        operands = dict(counterpart.attributes)
        if "Min" in operator.attributes:
            operands["min"] = self._operand(operator, "Min", counterpart)
        if "Max" in operator.attributes:
            operands["max"] = self._operand(operator, "Max", counterpart)
        function = function_of(torch, counterpart)
        if counterpart.name == "clamp" and self.options["clamp"] == "minmax":
            if "max" not in operands:
                return lambda inputs, y: self._run(torch.maximum, inputs, y, {"other": operands["min"]})
            function = _minmax(torch)
        return lambda inputs, y: self._run(function, inputs, y, operands)

    def _run(
        self, function: Any, inputs: Sequence[Tensor], y: Tensor, operands: Mapping[str, Any] | None = None
    ) -> None:
        """Write function(*inputs, operands) to ``y``, by the in-place variant where the first is ``y``."""
        operands = operands or {}
        first, *others = inputs
        if self._compiles:
            self._compiled_run(function, inputs, y, operands)
        elif first is y and hasattr(first, f"{function.__name__}_"):
            getattr(first, f"{function.__name__}_")(*others, **operands)
        else:
            function(*inputs, **operands, out=y)

    def _compiled_run(self, function: Any, inputs: Sequence[Tensor], y: Tensor, operands: Mapping[str, Any]) -> None:
        place = next((index for index, tensor in enumerate(inputs) if tensor is y), None)
        name = f"{function.__name__} {sorted(operands)} {place}"
        if name not in self._compiled:

            def program(inputs: Sequence[Tensor], y: Tensor, operands: Mapping[str, Any]) -> None:
                target = y if place is None else inputs[place]
                target.copy_(function(*inputs, **operands))

            self._compiled[name] = self.torch.compile(program, dynamic=True, fullgraph=True)
        with compiling(self.torch):
            self._compiled[name](list(inputs), y if place is None else None, dict(operands))

    def trial(self, operator: OperatorDesc, table: OperatorTable, program: Program) -> None:
        """Run ``program`` on one element of each type, eagerly, as PyTorch says only then what it does not do.

        Raises:
            NotSupported: it has no such function on the type.
            InvalidArgument: it refuses the operands.
        """
        counterpart = self.counterpart(operator, table)
        kinds = [self.dtype(operator.tensors[name].data_type, counterpart) for name in table.inputs]
        kind = self.dtype(operator.tensors[table.output].data_type, counterpart, result=True)
        compiles, self._compiles = self._compiles, False
        try:
            inputs = [self.torch.ones(1, dtype=kind, device=self.device) for kind in kinds]
            program(inputs, self.torch.ones(1, dtype=kind, device=self.device))
        except NotImplementedError as error:
            raise NotSupported(f"torch: {message_of(error)}") from error
        except Exception as error:  # RuntimeError for nearly everything, distinguished by its text
            if any(phrase in str(error) for phrase in _LACKING):
                raise NotSupported(f"torch: {message_of(error)}") from error
            raise InvalidArgument(f"torch: {message_of(error)}") from error
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
        table = check_description(operator, FeatureLevel(LEVEL), self._tables)
        if repeats_elements(operator.tensors[table.output]):
            raise NotSupported("torch writes no tensor whose elements share a place")
        program, counterpart = self.program(operator, table), self.counterpart(operator, table)
        self.trial(operator, table, program)
        dtypes = {
            name: self.dtype(tensor.data_type, counterpart, result=name == table.output)
            for name, tensor in operator.tensors.items()
        }
        own = None if self.options["device"] == "cpu" else self.device
        return TorchKernel(self.torch, own, operator, table, dtypes, program)

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


def _minmax(torch: Any) -> Any:
    def minmax(x: Tensor, min: Tensor, max: Tensor, **out: Tensor) -> Tensor:
        return torch.maximum(torch.minimum(x, max), min, **out)

    return minmax
