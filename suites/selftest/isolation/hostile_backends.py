"""Implementations that mean harm, or are written as if: each a few lines, and what must be said of it.

``HOSTILE`` maps a class's name to the endings that are right: "pass" where the harm leaves the outputs right and the
suite whole, "refused" where the device cannot be opened and one clear line says so, else an outcome of the case.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.backends import DeviceInfo
from dmlcts.backends.cpu import CpuBackend

EVIL = "x\x1b[2J\x1b[HPASS\r\n::error::planted\n##[error]planted\u202e\u2028\x9b2J\x07"
HOSTILE: dict[str, tuple[str, ...]] = {}


def expected(*endings: str) -> Callable[[type], type]:
    def add(made: type) -> type:
        HOSTILE[made.__name__] = endings
        return made

    return add


class Kernel:
    """A right kernel, with a hook before and after."""

    def __init__(self, device: Any, operator: Any) -> None:
        self.device, self.operator = device, operator
        self.right = device.right.create(operator)

    def dispatch(self, memory: Any, bindings: Any) -> None:
        self.device.backend.before(memory, bindings)
        self.device.backend.compute(self, memory, bindings)
        self.device.backend.after(memory, bindings)

    def close(self) -> None:
        self.device.backend.closing()


class Device:
    """A right device, as its backend describes it."""

    def __init__(self, backend: Any) -> None:
        self.backend, self.right = backend, CpuBackend().open()

    @property
    def info(self) -> Any:
        return self.backend.device_info()

    def create(self, operator: Any) -> Any:
        return self.backend.creating(self, operator)

    def close(self) -> None:
        self.right.close()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Obedient:
    """The control: right, and harmless; the others change one of its methods."""

    name = "obedient"

    def open(self) -> Any:
        return Device(self)

    def device_info(self) -> Any:
        return DeviceInfo("obedient", "5.0", adapter="x")

    def creating(self, device: Any, operator: Any) -> Any:
        return Kernel(device, operator)

    def before(self, memory: Any, bindings: Any) -> None: ...

    def after(self, memory: Any, bindings: Any) -> None: ...

    def closing(self) -> None: ...

    def compute(self, kernel: Any, memory: Any, bindings: Any) -> None:
        kernel.right.dispatch(memory, bindings)


HOSTILE["Obedient"] = ("pass",)


def describing(name: str, info: Callable[[], Any], *endings: str) -> None:
    """A backend that says this of itself."""
    made = type(name, (Obedient,), {"device_info": lambda self: info()})
    globals()[name] = made
    HOSTILE[name] = endings


def raising(name: str, where: str, error: Callable[[], BaseException], *endings: str) -> None:
    """A backend that raises this in one of its methods."""

    def raises(self: Any, *arguments: Any) -> Any:
        raise error()

    globals()[name] = type(name, (Obedient,), {where: raises})
    HOSTILE[name] = endings


# What it says of itself.


class Loop(dict[str, Any]):
    """Holds itself."""


def recursive() -> Any:
    loop = Loop()
    loop["loop"] = loop
    return DeviceInfo("x", "5.0", details=loop)


class Mute:
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Liar(str):
    """A text that calls itself another."""

    __slots__ = ()

    def __str__(self) -> str:
        return "CONFORMANT"


def raises_info() -> Any:
    raise RuntimeError(EVIL)


def exits_info() -> Any:
    sys.exit(0)


def deep() -> Any:
    nested_list: Any = []
    for _ in range(500):
        nested_list = [nested_list]
    return DeviceInfo("x", "5.0", details={"deep": nested_list})


describing("PaintsItsName", lambda: DeviceInfo(EVIL, "5.0", adapter=EVIL, driver=EVIL, library=EVIL), "pass")
describing("PaintsItsDetails", lambda: DeviceInfo("x", "5.0", details={EVIL: [EVIL, {EVIL: EVIL}]}), "pass")
describing("NamesItselfAtLength", lambda: DeviceInfo("x" * 20_000_000, "5.0"), "pass", "refused")
describing("HasManyDetails", lambda: DeviceInfo("x", "5.0", details={str(n): n for n in range(50_000)}), "pass")
describing("HoldsItself", recursive, "pass")
describing("NestsItsDetails", deep, "pass", "refused")
describing("DetailsWithoutText", lambda: DeviceInfo("x", "5.0", details={"a": Mute()}), "pass", "refused")
describing(
    "DetailsOfBytes", lambda: DeviceInfo("x", "5.0", details={"a": b"\xff", "b": object(), "c": {1, "x"}}), "pass"
)
describing(
    "DetailsOfNumbers",
    lambda: DeviceInfo("x", "5.0", details={"a": float("nan"), "b": 10**400, "c": 1j}),
    "pass",
    "refused",
)
describing(
    "DetailsOfArrays", lambda: DeviceInfo("x", "5.0", details={"a": np.zeros(1 << 20), "b": np.float32(1)}), "pass"
)
describing("MappingOfNothing", lambda: DeviceInfo("x", "5.0", details={"mapping": 3}), "pass")
describing("HalfAPair", lambda: DeviceInfo("\ud800", "5.0", details={"\ud800": "\ud800"}), "pass", "refused")
describing("RaisesItsInfo", raises_info, "refused")
describing("ExitsInItsInfo", exits_info, "refused")
describing("NoInfo", lambda: None, "refused")
describing("InfoOfNumbers", lambda: 7, "refused")
describing("LevelBeyondAll", lambda: {"name": "x", "feature_level": "99.9"}, "refused")
describing("LevelOfWords", lambda: {"name": "x", "feature_level": EVIL}, "refused")
describing("NameOfAList", lambda: {"name": ["x"], "feature_level": "5.0"}, "refused")
describing("DetailsOfAList", lambda: {"name": "x", "feature_level": "5.0", "details": [1]}, "refused")
describing("TypesOfWords", lambda: {"name": "x", "feature_level": "5.0", "data_types": {"CLIP": EVIL}}, "refused")
describing("TypesThatAreNone", lambda: {"name": "x", "feature_level": "5.0", "data_types": {"CLIP": [EVIL]}}, "refused")
describing("CallsItselfConformant", lambda: DeviceInfo(Liar(EVIL), "5.0", adapter=Liar(EVIL)), "pass", "refused")


# What it raises, and where.


class SilentError(Exception):
    """An error whose text cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class EndlessError(Exception):
    """An error of endless text."""

    def __str__(self) -> str:
        return EVIL * 500_000


class Beyond(BaseException):
    """No Exception."""


class InvalidArgument(Exception):  # noqa: N818  # the contract's name
    """The contract's, by name; with words that paint."""


def skipped() -> BaseException:
    import pytest

    return pytest.skip.Exception("nothing to see here")


def stopped() -> BaseException:
    import pytest

    return pytest.exit.Exception("all is well", 0)


for _where, _ending in (("creating", "crash"), ("before", "crash"), ("closing", "crash"), ("open", "refused")):
    _name = _where.capitalize()
    raising(f"{_name}Paints", _where, lambda: ValueError(EVIL), _ending)
    raising(f"{_name}WithoutText", _where, SilentError, _ending)
    raising(f"{_name}AtLength", _where, EndlessError, _ending)
    raising(f"{_name}Exits", _where, lambda: SystemExit(0), _ending)
    raising(f"{_name}Beyond", _where, lambda: Beyond(EVIL), _ending)
    raising(f"{_name}Skips", _where, skipped, _ending)
    raising(f"{_name}Stops", _where, stopped, _ending)
    raising(f"{_name}Recurses", _where, lambda: RecursionError(EVIL), _ending)
    raising(f"{_name}Generates", _where, lambda: GeneratorExit(EVIL), _ending)
raising("RefusesInColour", "creating", lambda: InvalidArgument(EVIL), "fail")
raising("RunsOutOfMemory", "before", lambda: MemoryError(EVIL), "resource_error")


# What it does to what it is given.


@expected("fail")
class AnswersWithPoison(Obedient):
    def compute(self, kernel: Any, memory: Any, bindings: Any) -> None:
        return None


@expected("fail")
class AnswersWithFives(Obedient):
    def after(self, memory: Any, bindings: Any) -> None:
        region = bindings["OutputTensor"]
        memory[region.offset : region.end] = 0x55


@expected("fail")
class WritesEverywhere(Obedient):
    def after(self, memory: Any, bindings: Any) -> None:
        memory[:] = 0x55


@expected("fail")
class WritesItsInput(Obedient):
    def after(self, memory: Any, bindings: Any) -> None:
        region = bindings["InputTensor"]
        memory[region.offset : region.end] = memory[bindings["OutputTensor"].offset :][: region.size]


@expected("fail", "crash")
class ReplacesTheMemory(Obedient):
    """Right outputs, in a memory of its own."""

    def compute(self, kernel: Any, memory: Any, bindings: Any) -> None:
        kernel.right.dispatch(memory.copy(), bindings)


@expected("pass", "crash")
class EmptiesTheBindings(Obedient):
    def after(self, memory: Any, bindings: Any) -> None:
        bindings.clear()


@expected("fail", "crash")
class MovesTheBindings(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        bindings["OutputTensor"] = bindings["InputTensor"]


@expected("pass", "crash")
class FreezesTheMemory(Obedient):
    def after(self, memory: Any, bindings: Any) -> None:
        memory.setflags(write=False)


@expected("pass", "crash", "fail")
class ResizesTheMemory(Obedient):
    def after(self, memory: Any, bindings: Any) -> None:
        memory.resize(memory.size * 2, refcheck=False)


@expected("pass")
class ChangesItsDescription(Obedient):
    def creating(self, device: Any, operator: Any) -> Any:
        kernel = Kernel(device, operator)
        with_no_right = object.__setattr__
        with_no_right(operator, "name", "ELEMENT_WISE_ROUND")
        return kernel


@expected("crash")
class GivesNoKernel(Obedient):
    def creating(self, device: Any, operator: Any) -> Any:
        return None


@expected("crash")
class GivesAText(Obedient):
    def creating(self, device: Any, operator: Any) -> Any:
        return EVIL


@expected("refused")
class OpensNothing(Obedient):
    def open(self) -> Any:
        return None


@expected("refused")
class OpensItself(Obedient):
    def open(self) -> Any:
        return self


@expected("pass", "crash", "refused")
class NamedByNumbers(Obedient):
    name = 7  # type: ignore[assignment]


# What it does to its process; each runs only in one of its own.


@expected("crash")
class LeavesWith0(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        os._exit(0)


@expected("crash")
class LeavesWith1(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        os._exit(1)


@expected("crash", "resource_error")
class KillsItself(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)


@expected("crash")
class ReadsNowhere(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        ctypes.string_at(8)


@expected("refused")
class LeavesWhileOpening(Obedient):
    def open(self) -> Any:
        os._exit(0)


@expected("crash")
class ClosesEverything(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        os.closerange(0, 64)


@expected("crash", "pass")
class SpeaksForTheWorker(Obedient):
    """Writes what looks like a reply into every pipe that it finds."""

    def before(self, memory: Any, bindings: Any) -> None:
        for descriptor in range(3, 32):
            try:
                os.write(descriptor, b'{"id": 1, "answer": {}}')
            except OSError:
                continue


@expected("pass")
class PaintsOnItsOutput(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        os.write(1, EVIL.encode("utf-8", "replace"))
        os.write(2, EVIL.encode("utf-8", "replace") * 1000)
        print(EVIL.encode("ascii", "replace"))  # noqa: T201  # this is what is tried


@expected("crash")
class PaintsAndLeaves(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        os.write(2, EVIL.encode("utf-8", "replace") * 1000)
        os._exit(3)


@expected("timeout")
class Sleeps(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        time.sleep(60)


@expected("timeout")
class SleepsThroughSignals(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1)


@expected("pass")
class LeavesAThread(Obedient):
    def after(self, memory: Any, bindings: Any) -> None:
        threading.Thread(target=time.sleep, args=(30,)).start()


@expected("pass", "fail", "crash")
class WritesLater(Obedient):
    """A thread goes on to write into what it was given."""

    def after(self, memory: Any, bindings: Any) -> None:
        def write() -> None:
            for _ in range(20):
                memory[bindings["OutputTensor"].offset] = 0x55
                time.sleep(0.01)

        threading.Thread(target=write, daemon=True).start()


@expected("pass")
class TakesTheJudgeApart(Obedient):
    """Replaces, in its own process, what judges."""

    def before(self, memory: Any, bindings: Any) -> None:
        from dmlcts.specs.oracle import vectorised

        vectorised.VectorOracle.judge = lambda self, x, output: np.zeros(0, np.int64)  # type: ignore[method-assign]


@expected("fail")
class TakesTheJudgeApartAndLies(TakesTheJudgeApart):
    def after(self, memory: Any, bindings: Any) -> None:
        region = bindings["OutputTensor"]
        memory[region.offset : region.end] = 0x55


@expected("fail")
class TakesNumpyApartAndLies(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        for name in ("array_equal", "flatnonzero", "isnan"):
            setattr(np, name, lambda *arguments, **more: True)

    def compute(self, kernel: Any, memory: Any, bindings: Any) -> None:
        region = bindings["OutputTensor"]
        memory[region.offset : region.end] = 0x55


@expected("pass")
class TurnsCollectionOff(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        gc.disable()
        sys.setrecursionlimit(50)


@expected("pass", "crash")
class ChangesTheFolder(Obedient):
    def before(self, memory: Any, bindings: Any) -> None:
        os.chdir("/")
        os.environ.clear()


IN_A_PROCESS_ONLY = {
    "LeavesWith0",
    "LeavesWith1",
    "KillsItself",
    "ReadsNowhere",
    "LeavesWhileOpening",
    "ClosesEverything",
    "SpeaksForTheWorker",
    "PaintsOnItsOutput",
    "PaintsAndLeaves",
    "Sleeps",
    "SleepsThroughSignals",
    "LeavesAThread",
    "WritesLater",
    "TakesTheJudgeApart",
    "TakesTheJudgeApartAndLies",
    "TakesNumpyApartAndLies",
    "TurnsCollectionOff",
    "ChangesTheFolder",
    "ResizesTheMemory",
    "FreezesTheMemory",
    "ChangesItsDescription",
}
"""What no suite survives in its own process: there it runs for debugging only."""
