"""Planted faults that take a process with them: a right implementation that does as its Min attribute says.

A bound of ABORT, HANG and so on is an order; every other bound is a bound. So one worker can be asked for one fault
after another, and each has its control beside it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dmlcts.backends import BackendUnavailable, DeviceInfo, DeviceLost, InvalidArgument
from dmlcts.backends.contract import BatchStep
from dmlcts.specs import OperatorDesc, Region
from dmlcts.suites.mutants.reference import Array, Kernel, Reference

ABORT, HANG, EXIT, KILL, GARBLE, STRAY, SLACK, GROW, LOSE, POISON, SHOUT, RAISE = range(1001, 1013)
TRUNCATE, EXTEND, DAEMON, QUIT, NEXT, UNLOCK, OVERRUN, PEEK = range(1013, 1021)


def pipes() -> list[int]:
    """The pipes of this process beside its standard streams."""
    descriptors = []
    for descriptor in range(3, 64):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                descriptors.append(descriptor)
        except OSError:
            continue
    return descriptors


def garble() -> None:
    """Write garbage into every pipe that can be written."""
    for descriptor in pipes():
        try:
            os.write(descriptor, b"\x07" * 64)
        except OSError:
            continue


def resize(change: Callable[[int], int]) -> None:
    """Give every file that this process has open, and may write, another size."""
    for descriptor in range(3, 64):
        try:
            os.ftruncate(descriptor, change(os.fstat(descriptor).st_size))
        except OSError:
            continue


def leave_behind(seconds: float) -> None:
    """Start a daemon that holds every descriptor of this process open for so many seconds."""
    if os.fork():
        return
    os.setsid()
    if not os.fork():
        time.sleep(seconds)
    os._exit(0)


class Obeys(Reference):
    """Right, but for the orders that Min gives."""

    poisoned = False

    def open(self, **options: str) -> Obeys:
        self.options = options
        return self

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        if Obeys.poisoned:
            os.abort()
        super().dispatch(operator, memory, bindings)
        self.obey(int(np.nan_to_num(operator.attributes.get("Min", 0.0))), memory)  # type: ignore[arg-type]

    def obey(self, order: int, memory: Array) -> None:
        match order:
            case 1001:
                sys.stderr.write("about to abort\n")
                os.abort()
            case 1002:
                while True:
                    time.sleep(60)
            case 1003:
                os._exit(3)
            case 1004:
                os.kill(os.getpid(), signal.SIGKILL)
            case 1005:
                garble()
            case 1006:
                ctypes.memset(memory.ctypes.data + memory.size + (1 << 16), 1, 1)
            case 1007:
                ctypes.memset(memory.ctypes.data + memory.size + 5, 1, 3)
            case 1008:
                self.kept = np.ones(192 << 20, np.uint8)
            case 1009:
                raise DeviceLost("device removed")
            case 1010:
                Obeys.poisoned = True
            case 1011:
                for _ in range(2000):
                    sys.stdout.write("x" * 200)
                    sys.stderr.write("y" * 200)
            case 1012:
                raise FloatingPointError("invalid value encountered")
            case 1013:
                resize(lambda size: 0)
            case 1014:
                resize(lambda size: size + (1 << 30))
            case 1015:
                leave_behind(40)
                sys.stderr.write("about to end\n")
                sys.stderr.flush()
                os._exit(3)
            case 1016:
                sys.exit(3)
            case 1017:
                ctypes.memset(self.behind(memory), 1, 1)
            case 1018:
                ctypes.memset(self.unlocked(memory) + mmap.PAGESIZE - 8, 1, 1)
            case 1019:
                ctypes.memset(self.unlocked(memory), 1, mmap.PAGESIZE)
                os.abort()
            case 1020:
                ctypes.string_at(self.behind(memory), 1)

    @staticmethod
    def behind(memory: Array) -> int:
        """The address of the page behind the memory's last."""
        return memory.ctypes.data + -(-memory.size // mmap.PAGESIZE) * mmap.PAGESIZE

    def unlocked(self, memory: Array) -> int:
        """The same, with access to that page."""
        page = self.behind(memory)
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), 3)
        return page

    def create(self, operator: OperatorDesc) -> Kernel:
        if operator.attributes.get("Max") == np.float32(ABORT):
            os.abort()
        return super().create(operator)


class AbortsOn7HangsOn6(Reference):
    """The two faults that the isolation was built for."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        if x.ndim == 7:
            os.abort()
        while x.ndim == 6:
            time.sleep(60)
        return super().compute(operator, x)


class AbortsOnInt8(Reference):
    """One element type ends the process."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        if x.dtype == np.int8:
            os.abort()
        return super().compute(operator, x)


class LostAt(Reference):
    """The device is lost at the dispatch whose number the option gives, once in all."""

    def open(self, at: str = "5", count: str = "") -> LostAt:
        self.at = int(at)
        self.count = Path(count)
        return self

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        number = 1 + (int(self.count.read_text(encoding="utf-8")) if self.count.exists() else 0)
        self.count.write_text(str(number), encoding="utf-8")
        if number == self.at:
            raise DeviceLost("device removed")
        return super().compute(operator, x)


class LostOnce(Reference):
    """The device is lost when a kernel of Max 1009 is made, once in all."""

    def open(self, count: str = "") -> LostOnce:
        self.count = Path(count)
        return self

    def create(self, operator: OperatorDesc) -> Kernel:
        if operator.attributes.get("Max") == np.float32(LOSE) and not self.count.exists():
            self.count.touch()
            raise DeviceLost("device removed")
        return super().create(operator)


class _ActsAtItsEnd(Kernel):
    device: ActsAt

    def close(self) -> None:
        self.device.act("close")


class ActsAt(Reference):
    """Right, but for what one of a kernel's three steps does: at creation, at the dispatch, or where it is closed."""

    def open(self, step: str = "", act: str = "") -> ActsAt:
        self.step, self.does = step, act
        return self

    def act(self, step: str) -> None:
        if self.step not in (step, "each"):
            return
        match self.does:
            case "abort":
                os.abort()
            case "hang":
                time.sleep(60)
            case "wait":
                time.sleep(0.7)
            case "refuse":
                raise InvalidArgument("not today")
            case "lose":
                raise DeviceLost("device removed")
            case "raise":
                raise ValueError("what")

    def create(self, operator: OperatorDesc) -> Kernel:
        self.act("create")
        return _ActsAtItsEnd(self, super().create(operator).operator)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        self.act("dispatch")
        return super().compute(operator, x)


class ShowsItsEnvironment(Reference):
    """A device that cannot be opened, and says what one of the variables of its environment is."""

    def open(self, variable: str = "") -> Any:
        raise BackendUnavailable(f"{variable} is {os.environ.get(variable)}", "ask for another variable")


class CrashesAtOpen(Reference):
    """The process ends while the device is opened."""

    def open(self) -> Any:
        os.abort()


class Slow(Reference):
    """Right, and slow enough to be stopped half-way."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        time.sleep(0.01)
        return super().compute(operator, x)


class InBatches(Reference):
    """Takes many steps with one call, and does one after another."""

    @property
    def info(self) -> DeviceInfo:
        return replace(super().info, details={"batches": True})

    def batch(self, steps: Sequence[BatchStep]) -> list[Exception | None]:
        kernels: dict[int, Kernel] = {}
        outcomes: list[Exception | None] = []
        for step in steps:
            outcomes.append(None)
            try:
                if step.operator is not None:
                    kernels[step.kernel] = self.create(step.operator)
                elif step.memory is not None and step.kernel in kernels:
                    kernels[step.kernel].dispatch(step.memory, step.bindings)
                elif step.kernel in kernels:
                    kernels.pop(step.kernel).close()
            except DeviceLost:
                raise
            except Exception as error:
                outcomes[-1] = error
        return outcomes


class ObeysInBatches(InBatches, Obeys):
    """As Obeys; ``log`` names a file for the number of steps of each call, ``act`` what a call does besides."""

    def batch(self, steps: Sequence[BatchStep]) -> list[Exception | None]:
        with Path(self.options.get("log", os.devnull)).open("a", encoding="utf-8") as log:
            log.write(f"{len(steps)}\n")
        outcomes = super().batch(steps)
        match self.options.get("act"):
            case "raise":
                for step in steps:
                    if step.memory is not None:
                        step.memory[:] = 0
                raise RuntimeError("not today")
            case "forget":
                outcomes.pop()
            case "lose":
                raise DeviceLost("device removed")
            case "wait":
                time.sleep(0.6)
        return outcomes
