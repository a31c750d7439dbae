"""What a backend is: three small protocols, the errors they may raise, and the device's description.

Nothing here has to be imported by a backend. :func:`error_kind` recognises errors by class name and
:func:`describe` reads any object with the right attributes, so duck typing is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, DmlctsError, FeatureLevel, OperatorDesc, Region, UsageError
from dmlcts.specs.spelling import likely

ErrorKind = Literal["invalid_argument", "not_supported", "device_lost", "execution_failed", "unavailable"]


class InvalidArgument(Exception):  # noqa: N818 - the contract's name
    """Raise it in ``Device.create`` for a description that must be, or may be, refused (E_INVALIDARG)."""


class NotSupported(Exception):  # noqa: N818 - the contract's name
    """Raise it in ``Device.create`` where the implementation has no way to express a valid description.

    It is for backends that map the operators onto a runtime with operators of its own: nothing runs, the case
    counts as ``not_supported`` and the run as INCOMPLETE. An implementation of DirectML refuses with
    :class:`InvalidArgument`, which is judged.
    """


class DeviceLost(Exception):  # noqa: N818 - the contract's name
    """Raise it where the device is gone and only a new one can go on (DXGI_ERROR_DEVICE_REMOVED)."""


class ExecutionFailed(Exception):  # noqa: N818 - the contract's name
    """Raise it where a call failed while the device is still usable: bad bindings, out of memory."""


class ProcessLost(Exception):  # noqa: N818 - it says what happened; the suite is not at fault
    """Raise it where the implementation runs in a further process, and that one is gone or answers what cannot be.

    The suite then starts over with a fresh process of the backend itself, as it does where that one is lost.

    Args:
        outcome: ``crash``, ``timeout`` or ``resource_error``.
        title: one short line, the same in every run that finds the same.
        text: what is known of the end, and the last lines of the process's standard error.
    """

    def __init__(self, outcome: Literal["crash", "timeout", "resource_error"], title: str, text: str) -> None:
        super().__init__(text)
        self.outcome = outcome
        self.title = title
        self.text = text


class BackendUnavailable(DmlctsError):  # noqa: N818 - the contract's name
    """Raise it in ``Backend.open`` where the backend cannot run here: no library, no adapter.

    Args:
        cause: why, in one line.
        mend: what would make it available; may be empty.
    """

    def __init__(self, cause: str, mend: str = "") -> None:
        super().__init__(" ".join((f"{cause}; {mend}" if mend else cause).split()))
        self.cause = cause
        self.mend = mend


class ContractError(DmlctsError):
    """A backend breaks the contract itself, in a way that leaves nothing to judge.

    Args:
        cause: what the backend does.
        mend: what it should do.
    """

    def __init__(self, cause: str, mend: str) -> None:
        super().__init__(f"{cause}; {mend}")
        self.cause = cause
        self.mend = mend


_MOST_WORDS = 20_000
_PREFIX = "ELEMENT_WISE_"
_KINDS: Mapping[str, ErrorKind] = {
    "InvalidArgument": "invalid_argument",
    "NotSupported": "not_supported",
    "DeviceLost": "device_lost",
    "ExecutionFailed": "execution_failed",
    "BackendUnavailable": "unavailable",
}


def error_kind(exception: BaseException) -> ErrorKind | None:
    """Which of the contract's errors ``exception`` is, by the name of its class or of one of its bases.

    Returns:
        The kind of the most derived class that has one of the contract's names; ``None`` for any other error.
    """
    for ancestor in type(exception).__mro__:
        if ancestor.__name__ in _KINDS:
            return _KINDS[ancestor.__name__]
    return None


def words_of(error: BaseException) -> str:
    """The text of an implementation's exception; "" where it has none, or gives none without failing itself."""
    try:
        text = str(error)
    except Exception:  # whatever an implementation's __str__ does
        return ""
    return text if len(text) <= _MOST_WORDS else f"{text[:_MOST_WORDS]}… ({len(text):,} characters)"


@dataclass(frozen=True, init=False)
class DeviceInfo:
    """What a device says of itself.

    Args:
        name: the backend's name.
        feature_level: the level it claims, as "5.0", 5.0 or a :class:`FeatureLevel`.
        adapter: the hardware, as its vendor calls it.
        driver: the driver and its version.
        library: the library that executes the operators.
        version: that library's version.
        data_types: operator name to the element types it takes, for operators where these are fewer than
            the level obliges; ``None`` or a missing operator claims all that the level obliges. The
            operators may be written without ``ELEMENT_WISE_``, the types as :class:`DataType` or by name.
        details: anything else worth recording, by name.
        only: the operators that it has, where these are not all; every other operator is claimed on no type.
            ``None`` claims all that the level obliges.

    Raises:
        ContractError: the level, an operator or a type cannot be understood.
    """

    name: str
    feature_level: FeatureLevel
    adapter: str
    driver: str
    library: str
    version: str
    data_types: Mapping[str, frozenset[DataType]] | None
    details: Mapping[str, Any]
    only: frozenset[str] | None

    def __init__(
        self,
        name: str,
        feature_level: str | float | FeatureLevel,
        adapter: str = "",
        driver: str = "",
        library: str = "",
        version: str = "",
        data_types: Mapping[str, Iterable[DataType | str]] | None = None,
        details: Mapping[str, Any] | None = None,
        only: Iterable[str] | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "name", _text("name", name))
        put(self, "feature_level", _feature_level(feature_level))
        put(self, "adapter", _text("adapter", adapter))
        put(self, "driver", _text("driver", driver))
        put(self, "library", _text("library", library))
        put(self, "version", _text("version", version))
        put(self, "data_types", _data_types(data_types))
        put(self, "details", _details(details))
        put(self, "only", _only(only, self.data_types))

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled, and a description travels between worker processes.
        claimed = None if self.data_types is None else dict(self.data_types)
        texts = (self.adapter, self.driver, self.library, self.version)
        return DeviceInfo, (self.name, self.feature_level, *texts, claimed, dict(self.details), self.only)

    def among(self, operators: Iterable[str]) -> DeviceInfo:
        """The same description with ``only`` written out: of the operators that it leaves out no type is claimed.

        Args:
            operators: every operator that there is, by its full name.

        Raises:
            ContractError: ``only`` holds a name that is none of them.
        """
        if self.only is None:
            return self
        known = sorted(operators)
        for name in sorted(self.only.difference(known)):
            short = [operator.removeprefix(_PREFIX) for operator in known]
            meant = likely(name.removeprefix(_PREFIX), short)
            mend = f"did you mean {meant}?" if meant else "`dmlcts spec show` lists the operators"
            raise ContractError(f"the device's only names {name.removeprefix(_PREFIX)}, which is no operator", mend)
        claimed: dict[str, Iterable[DataType | str]] = dict(self.data_types or {})
        claimed |= {name: () for name in known if name not in self.only}
        texts = (self.adapter, self.driver, self.library, self.version)
        return DeviceInfo(self.name, self.feature_level, *texts, claimed, self.details, self.only)


class Kernel(Protocol):
    """An operator that is ready to run on its device."""

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run once, and return when ``memory`` holds the outcome.

        Args:
            memory: writable, one dimension, ``uint8``: the whole resource. After the call it holds what
                the device left in all of it.
            bindings: the names of the description's tensors to their regions of ``memory``; offsets are
                multiples of 16. The output in the region of an input is in-place execution; inputs may share one.

        Raises:
            DeviceLost: the device is gone.
            ExecutionFailed: the bindings cannot be used, or the run failed.
        """

    def close(self) -> None:
        """Release what the kernel holds; calling it again does nothing."""


class Stream(Protocol):
    """Overlapping dispatches of one kernel, on a memory that stays on the device; ``StreamingKernel.stream`` makes it.

    What is asked of it happens in the order in which it is asked. One thread asks at a time, another one perhaps waits.
    """

    def fill(self, first: int) -> None:
        """Write consecutive bit patterns into the elements of the input, from ``first`` on, wrapping at their width."""

    def submit(self, slot: int, window: Region, *, step: int = 0, poison: int | None = None, run: bool = True) -> None:
        """Prepare the memory, run the kernel on it, and begin to bring a part of it back; does not wait for the end.

        Args:
            slot: which way back is taken, from 0 on; nothing else is on its way there.
            window: the bytes of the memory to bring back; offset and size are multiples of 16.
            step: is added to every element of the input as it stands, wrapping at its width. So what an earlier
                dispatch did to the input does not go unseen.
            poison: the 32 bits that every word of the output is made to hold before the dispatch; ``None`` leaves it.
            run: whether the kernel runs; else the memory is only prepared, and comes back as it was.

        Raises:
            DeviceLost: the device is gone.
            ExecutionFailed: it could not be done.
        """

    def wait(self, slot: int) -> NDArray[np.uint8]:
        """The bytes of the window that was asked for there, 1-D; nobody changes them until the slot is released.

        Raises:
            DeviceLost: the device is gone.
            ExecutionFailed: the run failed.
        """

    def release(self, slot: int) -> None:
        """Look no more at what :meth:`wait` gave; the slot is free again."""

    def close(self) -> None:
        """Release what the stream holds; calling it again does nothing."""


class StreamingKernel(Kernel, Protocol):
    """A kernel that can also be kept busy: with inputs made on the device and several dispatches on their way.

    A device with such kernels says ``{"streams": True}`` in ``info.details``. It is for sweeps, whose inputs are
    consecutive patterns; whatever looks wrong in a stream is found out again by :meth:`Kernel.dispatch`.
    """

    def stream(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region], slots: int) -> Stream:
        """Open a stream.

        ``memory`` is 1-D ``uint8``; offsets and sizes of regions are bytes.

        Args:
            memory: what the device's memory holds at first, as for :meth:`Kernel.dispatch`; it is left as it is.
            bindings: likewise; no two regions overlap.
            slots: how many submissions may be on their way back.

        Raises:
            NotSupported: for this description, or a memory of this size, there are none.
            DeviceLost: the device is gone.
            ExecutionFailed: it could not be opened.
        """


class Device(Protocol):
    """An opened device; a context manager that closes itself."""

    @property
    def info(self) -> DeviceInfo:
        """What the device says of itself; any object that :func:`describe` can read will do."""

    def create(self, operator: OperatorDesc) -> Kernel:
        """Make ``operator`` ready to run.

        Raises:
            InvalidArgument: the description is refused, where DirectML would return E_INVALIDARG.
            NotSupported: the description is valid, and the runtime behind the backend cannot express it.
            DeviceLost: the device is gone.
            ExecutionFailed: it could not be made ready for another reason.
        """

    def close(self) -> None:
        """Release the device; calling it again does nothing."""

    def __enter__(self) -> Self:
        """Return the device itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the device."""


@dataclass(frozen=True, eq=False)
class BatchStep:
    """One step of a batch.

    Attributes:
        act: "create" makes the kernel, "dispatch" runs it once, "close" releases it.
        kernel: the kernel's number; each number is created once in a batch.
        operator: what is created; ``None`` in other steps.
        memory: what the kernel is dispatched on, as for :meth:`Kernel.dispatch`; it shares no byte with that of
            another step. ``None`` in other steps.
        bindings: likewise; empty in other steps.
    """

    act: Literal["create", "dispatch", "close"]
    kernel: int
    operator: OperatorDesc | None = None
    memory: NDArray[np.uint8] | None = None
    bindings: Mapping[str, Region] = field(default_factory=dict)


class BatchingDevice(Device, Protocol):
    """A device that can take many steps with one call; it says ``{"batches": True}`` in ``info.details``.

    It is for devices on which each call takes long, whatever it does. What is wrong in a batch counts as it does alone.
    """

    def batch(self, steps: Sequence[BatchStep]) -> Sequence[Exception | None]:
        """Do what the steps say, in their order, and return when each memory holds its outcome.

        Each step has the effect that it has alone. One whose kernel was not made is left out.

        Returns:
            For each step what it would have raised alone; ``None`` where it succeeded or was left out.

        Raises:
            DeviceLost: the device is gone.
            Exception: the batch could not be done; the memories may hold anything, and each step is taken alone.
        """


class Backend(Protocol):
    """A way to reach an implementation; its class is called without arguments."""

    @property
    def name(self) -> str:
        """A short name for reports."""

    def open(self, *_: Any, **options: Any) -> Device:
        """Open a device.

        Args:
            options: what ``-o key=value`` gave, as strings; always passed by keyword.

        Raises:
            BackendUnavailable: it cannot run here.
            ValueError: an option's value makes no sense.
        """


_MISSING = object()


def describe(info: object) -> DeviceInfo:
    """Read a device's description from a :class:`DeviceInfo`, a mapping, or any object with its attributes.

    Args:
        info: has ``name`` and ``feature_level``; the other fields of :class:`DeviceInfo` are optional,
            and ``None`` counts as absent. What else a mapping holds is recorded among its ``details``.

    Raises:
        ContractError: a field is missing or makes no sense; the message says which, and the mend.
    """
    if isinstance(info, DeviceInfo):
        return info

    def read(field: str) -> Any:
        return info.get(field, _MISSING) if isinstance(info, Mapping) else getattr(info, field, _MISSING)

    values = {field: read(field) for field in DeviceInfo.__dataclass_fields__}
    arguments = {field: value for field, value in values.items() if value is not _MISSING and value is not None}
    details = arguments.get("details", {})
    if isinstance(info, Mapping) and isinstance(details, Mapping):
        further = {key: value for key, value in info.items() if key not in values}
        arguments["details"] = {**further, **details}
    for key, example in (("name", "'my-device'"), ("feature_level", "'5.0'")):
        if key not in arguments:
            raise ContractError(f"the device's info has no {key}", f"give one, for example {example}")
    return DeviceInfo(**arguments)


def _text(field: str, value: object) -> str:
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ContractError(f"the device's {field} is of type {type(value).__name__}", "give a string")


def _feature_level(value: object) -> FeatureLevel:
    try:
        return FeatureLevel.parse(value)
    except UsageError as error:
        raise ContractError(f"the device's feature_level is wrong: {error.cause}", error.mend) from None


def _details(value: object) -> Mapping[str, Any]:
    if value is None:
        return MappingProxyType({})
    if isinstance(value, Mapping):
        return MappingProxyType({str(key): item for key, item in value.items()})
    raise ContractError(f"the device's details are of type {type(value).__name__}", "give a dictionary")


def _operator(written: object) -> str:
    """An operator's full name, however it is written."""
    return _PREFIX + str(written).upper().removeprefix("DML_OPERATOR_").removeprefix("DML_").removeprefix(_PREFIX)


def _only(value: object, claimed: Mapping[str, frozenset[DataType]] | None) -> frozenset[str] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ContractError(
            f"the device's only is {value!r}", "give a list of operators, for example ['CLIP', 'ROUND']"
        )
    names = frozenset(_operator(item) for item in value)
    for operator, types in (claimed or {}).items():
        if types and operator not in names:
            cause = f"the device's data_types claim {operator.removeprefix(_PREFIX)}, and its only leaves it out"
            raise ContractError(cause, "write it in both")
    return names


def _data_types(value: object) -> Mapping[str, frozenset[DataType]] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        cause = f"the device's data_types are of type {type(value).__name__}"
        raise ContractError(cause, "give a dictionary of operator name to data types")
    claimed: dict[str, frozenset[DataType]] = {}
    for key, types in value.items():
        operator = _operator(key)
        if operator in claimed:
            raise ContractError(f"the device's data_types name {operator} twice", "name it once")
        if isinstance(types, str) or not isinstance(types, Iterable):
            cause = f"the device's data_types of {key} are {types!r}"
            raise ContractError(cause, "give a set of data types, for example {'FLOAT32', 'FLOAT16'}")
        claimed[operator] = frozenset(_data_type(item, str(key)) for item in types)
    return MappingProxyType(claimed)


def _data_type(value: object, operator: str) -> DataType:
    # A third party may have an enumeration of its own, whose members say their name as ours do.
    written = value if isinstance(value, str) else getattr(value, "name", None)
    name = str(written).upper().removeprefix("DML_TENSOR_DATA_TYPE_")
    if name not in DataType.__members__:
        cause = f"the device's data_types of {operator} hold {value!r}, which is no data type"
        raise ContractError(cause, f"choose from {', '.join(DataType.__members__)}")
    return DataType[name]
