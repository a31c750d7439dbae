"""The worker: opens the backend and does what the suite asks, until the suite goes away.

Run as ``python -m dmlcts.suites.isolation.worker FILE NAME [BYTES]``; it speaks frames on what were its standard input
and output when it started. The implementation's own output goes to standard error.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.backends.contract import BackendUnavailable, ContractError, ProcessLost, error_kind, words_of
from dmlcts.backends.frames import with_frames
from dmlcts.backends.interpreter import leave_children_alone
from dmlcts.backends.memory_increase import (
    MemoryIncrease,
    Trimmer,
    most_memory_increase,
    overgrown,
    resident_bytes,
    trim,
)
from dmlcts.backends.registry import open_device, resolve
from dmlcts.specs import DmlctsError, Region
from dmlcts.specs.description_data import read_operator
from dmlcts.suites.isolation import framing
from dmlcts.suites.isolation.descriptions import write_info
from dmlcts.suites.isolation.lives import STEPS
from dmlcts.suites.isolation.memory import WorkerMemory
from dmlcts.suites.isolation.streams import WorkerStreams
from dmlcts.suites.isolation.worker_lives import WorkerLives, close, whole_life

_CHUNK = 1 << 16
_MOST_TEXT = 4000
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


class _Worker:
    def __init__(self, memory: WorkerMemory, allowed: int) -> None:
        self._memory = memory
        self._backend: Any = None
        self._devices: dict[int, Any] = {}
        self._batching: set[int] = set()  # of these, those that take batches
        self._kernels: dict[int, Any] = {}
        self.step = ""  # of a kernel's whole life, which one message asks for: what is done of it now
        self.streams = WorkerStreams(memory)
        self._memory_increase = MemoryIncrease(allowed, self._shared)
        self._memory_increase.begin(resident_bytes())
        self._allowed = allowed
        self._trimmer = Trimmer()
        self._lives = WorkerLives(memory, _described, self.grown)

    def _shared(self) -> tuple[int, list[int]]:
        """What the suite shares with this process, and this process with a runner: not the implementation's memory."""
        runners = sys.modules.get("dmlcts.backends.runners.sharing")
        with_runners, files = (0, []) if runners is None else runners.all_shared()
        with_suite, own = self._memory.shared()
        return with_suite + with_runners, [*own, *files]

    def open(self, device: int, backend: str, options: dict[str, str], path: list[str]) -> dict[str, Any]:
        """Open a device, of a new backend object where one can be made."""
        sys.path += [entry for entry in path if entry not in sys.path]
        if self._backend is None:
            name, self._backend = resolve(backend)
        else:
            name = backend
            with contextlib.suppress(TypeError):  # a class that wants arguments: the object at hand has to do
                self._backend = type(self._backend)()
        opened = self._devices[device] = open_device(self._backend, options)
        info = write_info(opened.info)
        if info["details"].get("batches") is True:
            self._batching.add(device)
        answer = {"device": device, "name": name, "info": info}
        self._memory_increase.begin(resident_bytes())
        return answer

    def close(self, device: int) -> dict[str, Any]:
        """Close a device."""
        self._devices.pop(device).close()
        return {}

    def create(self, device: int, kernel: int, operator: dict[str, Any]) -> dict[str, Any]:
        """Make an operator ready."""
        self._kernels[kernel] = self._devices[device].create(read_operator(operator))
        return {"kernel": kernel}

    def dispatch(self, kernel: int, **on: Any) -> dict[str, Any]:
        """Run a kernel once on a shared memory."""
        return self._dispatched(self._kernels[kernel], **on)

    def _dispatched(
        self, kernel: Any, token: int, pages: int, size: int, bindings: dict[str, list[int]], drop: list[int]
    ) -> dict[str, Any]:
        self._memory.drop(drop)
        memory = self._memory.memory(token, pages, size)
        regions = {name: Region(*region) for name, region in bindings.items()}
        with np.errstate(all="ignore"):
            kernel.dispatch(memory, regions)
        return {"size": size}

    def live(self, device: int, operator: dict[str, Any], steps: list[int], **on: Any) -> dict[str, Any]:
        """Make an operator ready, run it once on a shared memory, and close it.

        ``steps`` names the segment whose first byte says how many steps were begun.
        """
        token, pages = steps
        begun = self._memory.memory(token, pages, 1)

        def at(step: str) -> None:
            begun[0], self.step = 1 + STEPS.index(step), step

        answer: dict[str, Any] = {}

        def dispatch(kernel: Any) -> None:
            answer.update(self._dispatched(kernel, **on))

        whole_life(self._devices[device], read_operator(operator), at, dispatch)
        return answer

    def lives(self, device: int, **fields: Any) -> dict[str, Any]:
        """Go through many lives of kernels."""
        return self._lives.run(self._devices[device], batching=device in self._batching, **fields)

    def stream(self, kernel: int, **fields: Any) -> dict[str, Any]:
        """Open a stream of a kernel."""
        return self.streams.open(self._kernels[kernel], **fields)

    def release(self, kernel: int) -> dict[str, Any]:
        """Close a kernel, where it can be closed."""
        close(self._kernels.pop(kernel))
        return {}

    def grown(self) -> str:
        """What is wrong with the memory that this process holds, "" for nothing."""
        grown_bytes = self._memory_increase.grown(self._trimmer.look())
        if grown_bytes > self._allowed:
            trim()  # what is freed and kept for later is no leak
            grown_bytes = self._memory_increase.grown(resident_bytes())
        return overgrown(grown_bytes, self._allowed)


def _described(error: BaseException) -> dict[str, Any]:
    """An exception of the backend, for the suite to raise again."""
    words = words_of(error)
    message = f"{type(error).__name__}: {words}" if words else type(error).__name__
    kind: str | None = error_kind(error)
    if isinstance(error, MemoryError):
        kind = "memory"
    elif isinstance(error, DmlctsError) and kind is None:
        kind = "contract" if isinstance(error, ContractError) else "usage"
    fields = {"kind": kind or "other", "text": words[:_MOST_TEXT], "said": message[:_MOST_TEXT]}
    if fields["kind"] in ("other", "memory"):
        fields["said"] = with_frames(fields["said"], error)
    if isinstance(error, ProcessLost):
        fields = {"kind": "lost", "outcome": error.outcome, "said": error.title, "text": error.text[:_MOST_TEXT]}
    if isinstance(error, (BackendUnavailable, DmlctsError)):
        fields["cause"] = str(getattr(error, "cause", words))[:_MOST_TEXT]
        fields["mend"] = str(getattr(error, "mend", ""))[:_MOST_TEXT]
    return {key: value.encode("utf-8", "backslashreplace").decode() for key, value in fields.items()}


def _serve(source: int, target: int, worker: _Worker) -> None:
    pending = b""

    def read(count: int) -> bytes:
        nonlocal pending
        while len(pending) < count:
            chunk = os.read(source, _CHUNK)  # a message comes whole: one call of the system for head and payload
            if not chunk:
                raise EOFError
            pending += chunk
        taken, pending = pending[:count], pending[count:]
        return taken

    asked = ("open", "close", "create", "dispatch", "stream", "release", "live", "lives")
    doing: dict[str, Callable[..., dict[str, Any]]] = {name: getattr(worker, name) for name in asked}
    doing |= {name: getattr(worker.streams, name) for name in ("fill", "submit", "collect", "end")}
    while True:
        try:
            message = framing.decode(read, trusted=True)
        except EOFError:
            return  # the suite is done, or gone
        number = message.pop("id")
        do = message.pop("do")
        try:
            reply = {"id": number, "answer": doing[do](**message)}
        except BaseException as error:  # the implementation's exceptions are findings, not the worker's
            reply = {"id": number, "error": _described(error) | ({"step": worker.step} if do == "live" else {})}
        grown = worker.grown()
        if grown:
            reply = {"id": number, "error": {"kind": "grown", "text": grown, "said": grown}}
        frame = framing.encode(reply)
        while frame:
            frame = frame[os.write(target, frame) :]


def _end_with(parent: int) -> None:
    """See to it that this process does not outlive the suite, even where it hangs in the implementation."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, 9)
    if sys.platform == "win32":
        return  # there the pipe's end has to do

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _prepare() -> None:
    faulthandler.enable(all_threads=False)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # hundreds of crashes must not fill the disk
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as stream:
            stream.write("900")  # when memory runs out it is this process that has to go, not the suite


def main() -> None:
    """Serve until the suite closes the pipe."""
    parent = os.getppid()
    leave_children_alone()  # what the implementation sees, and starts, has the user's environment
    source, target = os.dup(0), os.dup(1)
    silence = os.open(os.devnull, os.O_RDONLY)
    os.dup2(silence, 0)
    os.dup2(2, 1)
    _end_with(parent)
    _prepare()
    file, name, *limits = sys.argv[1:]
    allowed = int(limits[0]) if limits else most_memory_increase()
    _serve(source, target, _Worker(WorkerMemory(int(file), name), allowed))
    os._exit(0)  # a driver that hangs while the interpreter ends is nobody's business


if __name__ == "__main__":
    main()
