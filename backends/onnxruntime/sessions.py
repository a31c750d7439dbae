"""Models loaded into ONNX Runtime, and those that a device keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.backends.contract import ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.specs import OperatorDesc

OPTIMISATIONS = {"off": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "all": "ORT_ENABLE_ALL"}
_FALLBACK = ("disable_cpu_ep_fallback", "fallback to CPU EP has been explicitly disabled")  # in the runtime's messages
_MOST_KEPT = 512  # sessions of small models, some tens of kilobytes each


def loaded(runtime: Any, options: Mapping[str, str], model: bytes) -> Any:
    """A session of a model.

    Args:
        runtime: the package ``onnxruntime``.
        options: of the device.
        model: as ONNX writes it.

    Raises:
        NotSupported: the runtime has no kernel for it.
        InvalidArgument: it refuses the model, as Clip-6 does where min is above max.
        ExecutionFailed: it loads it on another provider.
    """
    chosen = runtime.SessionOptions()
    chosen.log_severity_level = 4  # what goes wrong is raised; the log would repeat it
    chosen.intra_op_num_threads = int(options["threads"])
    chosen.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, OPTIMISATIONS[options["optimize"]])
    provider = options["provider"]
    if provider != "CPUExecutionProvider":
        chosen.enable_mem_pattern = False  # DirectML's provider asks for it
        chosen.add_session_config_entry("session.disable_cpu_ep_fallback", "1")  # never judge the wrong one
    try:
        made = runtime.InferenceSession(model, chosen, providers=[provider])
    except Exception as error:  # its errors have names of their own, one of them the contract's
        message = " ".join(str(error).split())
        if any(words in message for words in _FALLBACK):
            raise NotSupported(f"{provider} does not take the model, and the CPU is not judged for it") from error
        if type(error).__name__ in ("NotImplemented", "InvalidGraph"):
            raise NotSupported(f"onnxruntime: {message}") from error
        raise InvalidArgument(f"onnxruntime does not load the model: {message}") from error
    if made.get_providers()[0] != provider:
        raise ExecutionFailed(f"onnxruntime fell back from {provider} to {made.get_providers()[0]}")
    return made


class KeptSessions:
    """Sessions by description, of which the longest unused is released first.

    A session holds nothing of one run in the next, and to load a model takes ten times what a run of it takes.
    """

    def __init__(self) -> None:
        self._kept: dict[OperatorDesc, Any] = {}  # the one asked for last stands last

    def of(self, operator: OperatorDesc, load: Callable[[], Any]) -> Any:
        """The session of a description.

        Args:
            operator: the description; its attributes are compared by their bits.
            load: makes the session where none is kept; what it raises is kept nowhere.
        """
        session = self._kept.pop(operator, None)
        if session is None:
            session = load()
            if len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        self._kept[operator] = session
        return session

    def __len__(self) -> int:
        return len(self._kept)

    def close(self) -> None:
        """Release all of them."""
        self._kept.clear()
