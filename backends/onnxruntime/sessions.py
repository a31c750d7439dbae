"""Models loaded into ONNX Runtime, and those that a device keeps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from dmlcts.backends.contract import ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.onnxruntime.providers import CPU, Provider

OPTIMISATIONS = {"off": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "all": "ORT_ENABLE_ALL"}
_FALLBACK = ("disable_cpu_ep_fallback", "fallback to CPU EP has been explicitly disabled")  # in the runtime's messages
_MOST_KEPT = 512  # sessions of small models, some tens of kilobytes each
_Refusal = NotSupported | InvalidArgument


def loaded(runtime: Any, options: Mapping[str, str], provider: Provider, model: bytes) -> Any:
    """A session of a model.

    Args:
        runtime: the package ``onnxruntime``.
        options: of the device.
        provider: what has to load it.
        model: as ONNX writes it.

    Raises:
        NotSupported: the runtime has no kernel for it, or leaves it to another provider.
        InvalidArgument: it refuses the model, as Clip-6 does where min is above max.
        ExecutionFailed: it loads it on another provider.
    """
    chosen = runtime.SessionOptions()
    chosen.log_severity_level = 4  # what goes wrong is raised; the log would repeat it
    chosen.intra_op_num_threads = int(options["threads"])
    chosen.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, OPTIMISATIONS[options["optimize"]])
    if provider.name != CPU:
        chosen.enable_mem_pattern = False  # DirectML's provider asks for it
        chosen.add_session_config_entry("session.disable_cpu_ep_fallback", "1")  # never judge the wrong one
    try:
        made = provider.load(runtime, chosen, model)
    except Exception as error:  # its errors have names of their own, one of them the contract's
        message = " ".join(str(error).split())
        if any(words in message for words in _FALLBACK):
            raise NotSupported(f"{provider.name} does not take the model, and the CPU is not judged for it") from error
        if type(error).__name__ in ("NotImplemented", "InvalidGraph") or "Type Error:" in message:
            raise NotSupported(f"onnxruntime: {message}") from error
        raise InvalidArgument(f"onnxruntime does not load the model: {message}") from error
    if made.get_providers()[0] != provider.name:
        raise ExecutionFailed(f"onnxruntime fell back from {provider.name} to {made.get_providers()[0]}")
    return made


class KeptSessions:
    """Sessions by what their models have in common, of which the longest unused is released first.

    A session holds nothing of one run in the next, and to load a model takes ten times what a run of it takes, with
    some providers a thousand times. That a model is refused is kept as well.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}  # the one asked for last stands last

    def of(self, key: Hashable, load: Callable[[], Any]) -> Any:
        """The session of a model.

        Args:
            key: of the model.
            load: makes the session where none is kept.

        Raises:
            NotSupported, InvalidArgument: it was refused, now or before. Other errors of ``load`` are kept nowhere.
        """
        kept = self._kept.pop(key, None)
        if kept is None:
            try:
                kept = load()
            except (NotSupported, InvalidArgument) as error:
                kept = error
            if len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        self._kept[key] = kept
        if isinstance(kept, _Refusal):
            raise type(kept)(str(kept))
        return kept

    def __len__(self) -> int:
        return len(self._kept)

    def close(self) -> None:
        """Release all of them."""
        self._kept.clear()
