"""The ``directml`` backend: every description and binding goes to Microsoft's library as it is."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import (
    BackendUnavailable,
    DeviceInfo,
    DeviceLost,
    ExecutionFailed,
    InvalidArgument,
)
from dmlcts.backends.directml.abi.com import ComError, Pointer
from dmlcts.backends.directml.abi.dml import DML_TENSOR_DATA_TYPE, IDMLDevice1
from dmlcts.backends.directml.abi.host import Host, Scratch
from dmlcts.backends.directml.abi.hresults import DEVICE_LOST, E_INVALIDARG, E_OUTOFMEMORY, failed, name_of
from dmlcts.backends.directml.descriptions import Description
from dmlcts.backends.directml.hosting import choosing
from dmlcts.backends.directml.loading import fetching
from dmlcts.backends.directml.loading.library import LINUX, Found, Library, bridge_for, find
from dmlcts.backends.directml.loading.options import Options, flag_names
from dmlcts.backends.directml.loading.signals import HeldSignals
from dmlcts.backends.directml.session import Bindings, Session, properties
from dmlcts.backends.directml.windows.bridge import Bridge
from dmlcts.specs import OperatorDesc, Region
from dmlcts.specs.cache import cache_folder

# The calls that judge a description; E_INVALIDARG from any other is a mistake of this backend or of its host.
_JUDGING = tuple(f"{IDMLDevice1.name}::{method}" for method in ("CreateOperator", "CompileOperator", "CompileGraph"))


def _shown(path: Path) -> str:
    """The path as a report may show it: without the name of the user whose home it lies in."""
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)


class DirectMLBackend:
    """Runs the operators on Microsoft's DirectML: over the software D3D12 adapter, or over a real one."""

    name = "directml"

    def open(
        self,
        *,
        library: str = "",
        fetch: str = "no",
        path: str = "operator",
        flags: str = "",
        adapter: str = "",
        denormals: str = "",
        nan: str = "",
        mad: str = "",
        half: str = "",
        zeros: str = "",
    ) -> DirectMLDevice:
        """Load the library and open a device.

        Args:
            library: the path of the library or of its folder; "windows" or "linux"; the version of a library for
                Windows that was fetched; "" takes the fetched one for this system, one in an installed package, or
                the system's.
            fetch: "yes" downloads the library first where it is not there.
            path: "operator" compiles single operators, "graph" graphs of one operator.
            flags: names of execution flags, separated by commas.
            adapter: "software"; on WSL2 and Windows also an adapter's index or a part of its name.
            denormals: of the software adapter; see ``Personality``.
            nan: of the software adapter.
            mad: of the software adapter.
            half: of the software adapter.
            zeros: of the software adapter.

        Raises:
            UsageError: an option's value makes no sense.
            BackendUnavailable: the library, its adapter or what these need is not here; the message says what
                to do.
        """
        arithmetic = {"denormals": denormals, "nan": nan, "mad": mad, "half": half, "zeros": zeros}
        options = Options.parse(
            {"library": library, "fetch": fetch, "path": path, "flags": flags, "adapter": adapter},
            {name: value for name, value in arithmetic.items() if value},
        )
        cache = cache_folder()
        choosing.chosen(options, cache)  # what contradicts itself is said before anything is fetched
        if options.fetch and options.library in ("", LINUX):
            fetching.fetch(cache, lambda line: sys.stderr.write(f"{line}\n"))
        library_file = find(options.library, cache)
        bridge = bridge_for(library_file, cache)
        return DirectMLDevice(library_file, choosing.chosen(options, cache, bridge), options, bridge)


class DirectMLDevice:
    """DirectML on a D3D12 device; a context manager.

    A device that the library has given up is replaced, so that the failure stays with the call that caused it.

    Args:
        library_file: the library to load.
        make_host: opens the D3D12 device; called again when that is lost.
        options: how to compile.
        bridge: what connects a library of Windows' on Linux; None for one of this system's.

    Raises:
        BackendUnavailable: the library cannot be loaded, or does not take the device.
    """

    def __init__(
        self, library_file: Found, make_host: Callable[[], Host], options: Options, bridge: Bridge | None = None
    ) -> None:
        self._make_host = make_host
        self.options = options
        self._closed = False
        self._kernels: WeakSet[DirectMLKernel] = WeakSet()
        # Before the library, which looks for D3D12 while it is loaded.
        self.host = make_host()
        try:
            with HeldSignals():
                self._library = Library(library_file, bridge)
                self.session = self._new_session()
                self.info = self._describe()
        except BaseException as error:
            fault = self.host.faults.take()
            self.host.close()
            if not isinstance(error, ComError):
                raise
            cause = f"{library_file.path} does not work on the {self.host.info.name}: {error}"
            raise BackendUnavailable(cause if fault is None else f"{cause} ({fault})") from (fault or error)

    def _new_session(self) -> Session:
        return Session(self._library.create_device(self.host.device, 0), self.host)

    def _describe(self) -> DeviceInfo:
        level = self.session.feature_level().name.removeprefix("DML_FEATURE_LEVEL_").replace("_", ".")
        digest = fetching.digest_of(self._library.path)
        types = [kind for kind in DML_TENSOR_DATA_TYPE if kind.value and self.session.supports(kind)]
        adapter = self.host.info
        return DeviceInfo(
            name="directml",
            feature_level=level,
            adapter=adapter.name,
            driver=adapter.driver,
            library=self._library.path.name,
            version=self._library.version(digest),
            details={
                "library path": _shown(self._library.path),
                "library origin": self._library.origin,
                "library sha256": digest,
                "path": self.options.path,
                "flags": ",".join(flag_names(self.options.flags)) or "NONE",
                "data types": ", ".join(kind.name.removeprefix("DML_TENSOR_DATA_TYPE_") for kind in types),
                **adapter.details,
            },
        )

    def create(self, operator: OperatorDesc) -> DirectMLKernel:
        """Create, compile and initialize ``operator``.

        Raises:
            InvalidArgument: the library returned E_INVALIDARG, or DirectML.h cannot say the description.
            DeviceLost: the library gave up the device; the next call has a new one.
            ExecutionFailed: any other failure, and the device is closed.
        """
        if self._closed:
            raise ExecutionFailed("the device is closed")
        description = Description(operator)
        kernel = DirectMLKernel(self, operator, description)
        try:
            self.run(kernel.build, creating=True)
        except BaseException:
            kernel.close()
            raise
        self._kernels.add(kernel)
        return kernel

    def run(self, work: Callable[[], None], *, creating: bool = False) -> None:
        """Do ``work``, which calls into the library, and turn what goes wrong into the contract's errors."""
        with HeldSignals():
            try:
                work()
            except ComError as error:
                self._fail(error, creating=creating)
            if self.host.faults:
                self._fail(None, creating=creating)

    def check_not_removed(self) -> None:
        """Raise :class:`DeviceLost` where a method that returns nothing has removed the device."""
        if self.session.removed_reason():
            self._fail(None, creating=False)

    def _fail(self, error: ComError | None, *, creating: bool) -> NoReturn:
        fault = self.host.faults.take()
        with contextlib.suppress(ComError):  # a list that cannot be reset goes with its lost device, just below
            self.host.abandon()
        reason, below = self.session.removed_reason(), self.host.removed_reason()
        if failed(reason) or failed(below):
            self._replace(below)
        message = str(error) if error else "the call returned"
        if fault is not None:
            if not isinstance(fault, Exception):
                raise fault
            raise ExecutionFailed(f"{message}; in the software adapter: {type(fault).__name__}: {fault}") from fault
        if failed(reason) or failed(below) or (error and error.hresult in DEVICE_LOST):
            text = f"{message}; GetDeviceRemovedReason: DirectML {name_of(reason)}, D3D12 {name_of(below)}"
            raise DeviceLost(text) from error
        if error and creating and error.hresult == E_INVALIDARG and error.call in _JUDGING:
            raise InvalidArgument(message) from None
        if error and error.hresult == E_OUTOFMEMORY:
            raise MemoryError(message) from error
        raise ExecutionFailed(message) from error

    def _replace(self, below: int) -> None:
        """A new DirectML device, on a new D3D12 device if that is lost too."""
        self.session.close()
        if failed(below):
            self.host.close()
            self.host = self._make_host()
        try:
            self.session = self._new_session()
        except ComError as error:
            raise DeviceLost(f"the device was lost, and there is no other: {error}") from error

    def close(self) -> None:
        """Release the device and what its kernels hold; calling it again does nothing."""
        if not self._closed:
            self._closed = True
            for kernel in tuple(self._kernels):
                kernel.close()
            self.session.close()
            self.host.close()

    @property
    def closed(self) -> bool:
        """Whether the device is closed."""
        return self._closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class DirectMLKernel:
    """An initialized operator. On a device that has been replaced since, it is made anew.

    Args:
        device: the device.
        operator: what it computes.
        description: the same for the library.
    """

    def __init__(self, device: DirectMLDevice, operator: OperatorDesc, description: Description) -> None:
        self._compiled: Pointer | None = None
        self._persistent: Scratch | None = None
        self._session: Session | None = None
        self._closed = False
        self._device = device
        self._description = description
        layout = description.layout
        self._inputs = tuple(name for name in layout.inputs if name in operator.tensors)
        self._outputs = tuple(name for name in layout.outputs if name in operator.tensors)
        self._input_places = tuple(layout.inputs.index(name) for name in self._inputs)
        graph = device.options.path == "graph"
        self._input_bindings = Bindings(len(self._inputs) if graph else len(layout.inputs))
        self._output_bindings = Bindings(len(self._outputs))
        self._slots = tuple(range(len(self._inputs))) if graph else self._input_places

    def build(self) -> None:
        """Create, compile and initialize the operator on the device's present session."""
        session, options = self._device.session, self._device.options
        self._release()
        with session.create(self._description.desc) as operator:
            if options.path == "graph":
                places, outputs = self._input_places, len(self._outputs)
                compiled = session.compile_graph(operator, places, outputs, options.flags.value)
            else:
                compiled = session.compile(operator, options.flags.value)
        self._compiled = compiled
        self._session = session
        self._persistent = session.initialize(compiled)
        self._wanted = properties(compiled)

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Bind regions of ``memory`` and run once.

        Raises:
            DeviceLost: the library gave up the device, as it does for bindings that break its rules.
            ExecutionFailed: the kernel or the device is closed, ``memory`` or ``bindings`` are not what the
                contract says, or a call failed.
        """
        device = self._device
        if self._closed or device.closed:
            raise ExecutionFailed("the device is closed" if device.closed else "the kernel is closed")
        _check_memory(memory)
        regions = self._regions(bindings)

        def work() -> None:
            if self._session is not device.session:
                self.build()
            session, compiled = device.session, self._compiled
            assert compiled is not None  # noqa: S101 - build sets it, or raises
            resource = device.host.bind(memory)
            for index, region in zip(self._slots, regions, strict=False):
                self._input_bindings.put(index, resource, region.offset, region.size)
            for index, region in enumerate(regions[len(self._slots) :]):
                self._output_bindings.put(index, resource, region.offset, region.size)
            arguments: Any = (self._wanted, self._input_bindings, self._output_bindings, self._persistent)
            session.dispatch(compiled, *arguments)
            device.host.read_back(memory)
            device.check_not_removed()

        device.run(work)

    def _regions(self, bindings: Mapping[str, Region]) -> list[Region]:
        names = (*self._inputs, *self._outputs)
        if sorted(bindings) != sorted(names):
            raise ExecutionFailed(f"the bindings are {sorted(bindings)}, not {sorted(names)}")
        regions = [bindings[name] for name in names]
        for name, region in zip(names, regions, strict=True):
            if region.offset < 0 or region.size < 0:
                raise ExecutionFailed(f"{name} is bound at byte {region.offset}, {region.size} bytes long")
        return regions

    def close(self) -> None:
        """Release the operator; calling it again does nothing."""
        self._closed = True
        self._release()

    def __del__(self) -> None:
        # An interrupt may come between the creation of a kernel and the statement that would close it. While the
        # interpreter ends, the callbacks that a release leads to may be gone already.
        if not sys.is_finalizing():
            self._release()

    def _release(self) -> None:
        compiled, self._compiled = self._compiled, None
        persistent, self._persistent = self._persistent, None
        self._session = None
        if compiled is not None:
            compiled.release()
        if persistent is not None:
            persistent.close()


def _check_memory(memory: NDArray[np.uint8]) -> None:
    if not isinstance(memory, np.ndarray) or memory.dtype != np.uint8 or memory.ndim != 1 or not memory.size:
        raise ExecutionFailed("the memory is not a numpy array of uint8 with one dimension and at least one byte")
    if not memory.flags.c_contiguous or not memory.flags.writeable:
        raise ExecutionFailed("the memory is not contiguous and writable")
