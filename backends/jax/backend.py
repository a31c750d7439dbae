"""The ``jax`` backend: JAX's functions, compiled by XLA, as a device of the contract.

XLA compiles a program for every shape, which takes some 60 ms. Arrays are therefore flat, and of a few lengths only.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dmlcts.backends.arrays import Array, ArrayDevice, Call, Program, first_line, padded, padded_count
from dmlcts.backends.contract import BackendUnavailable, NotSupported
from dmlcts.backends.jax.functions import COUNTERPARTS, function_of
from dmlcts.backends.runtimes import Counterpart, Mapped, choice, load

_INSTALL = "pip install jax"
_PLATFORMS: Mapping[str, str] = {
    "cpu": _INSTALL,
    "cuda": "pip install 'jax[cuda13]', and the GPU's driver",
    "rocm": "install JAX's plugin for ROCm",
    "tpu": "pip install 'jax[tpu]' on a machine with a TPU",
}
_SHAPES = ("flat", "own")
_CLAMPS = ("clip", "clamp")


class JaxBackend:
    """Runs the operators with JAX."""

    name = "jax"

    def open(self, *, platform: str = "cpu", clamp: str = "clip", shapes: str = "flat", cache: str = "") -> ArrayDevice:
        """Open one of XLA's platforms.

        Args:
            platform: cpu, cuda, rocm or tpu.
            clamp: "clip" makes CLIP jax.numpy.clip, "clamp" jax.lax.clamp, XLA's own operation.
            shapes: "flat" passes arrays of one dimension and of a few lengths; "own" passes the sizes of the
                description, each of which XLA compiles for some 60 ms.
            cache: a folder in which JAX keeps compiled programs, for other processes and later runs on this machine;
                none unless named.

        Raises:
            UsageError: an option has a value that means nothing.
            BackendUnavailable: the package or the platform is not there.
        """
        choice("platform", platform, _PLATFORMS)
        choice("clamp", clamp, _CLAMPS)
        choice("shapes", shapes, _SHAPES)
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes share a GPU
        jax = load("jax", _INSTALL)
        for module in ("jax.numpy", "jax.scipy.special"):
            load(module, _INSTALL)
        # JAX warns of every fork; those that other packages make here run another program at once.
        warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called", category=RuntimeWarning)
        jax.config.update("jax_enable_x64", True)
        if cache:
            _keep_programs(jax, cache)
        try:
            (device, *_) = jax.devices(platform)
        except Exception as error:  # RuntimeError, or whatever a plugin raises
            raise BackendUnavailable(
                f"jax {jax.__version__} finds no {platform} device: {first_line(error)}", _PLATFORMS[platform]
            ) from error
        return ArrayDevice(JaxRuntime(jax, device, {"platform": platform, "clamp": clamp, "shapes": shapes}))


def _keep_programs(jax: Any, folder: str) -> None:
    jax.config.update("jax_compilation_cache_dir", os.path.abspath(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)  # by default only what takes a second
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


class JaxRuntime:
    """JAX on one device.

    Args:
        jax: the package.
        device: one of its devices.
        options: those of :meth:`JaxBackend.open`, checked.
    """

    name = "jax"
    prefix = "jax."
    ranked = False

    def __init__(self, jax: Any, device: Any, options: Mapping[str, str]) -> None:
        self._jax = jax
        self._device = device
        self.options = options
        self.version = str(jax.__version__)
        self.adapter = f"{device.platform} ({device.device_kind})"
        self.counterparts = _counterparts(options["clamp"])
        flat = "arrays of one dimension, at their end behind ones, of a few lengths"
        self.rows: Sequence[Mapped] = [
            Mapped("sizes", flat, "backend", "clauses on shapes say nothing of the runtime")
            if options["shapes"] == "flat"
            else Mapped("sizes", "the shapes of the arrays", "runtime"),
            Mapped("Min, Max and Exponent", "arrays of no dimension", "runtime", "arguments of the compiled function"),
        ]

    def takes(self, call: Call, counterpart: Counterpart) -> None:
        """Trace the function on the types, without compiling it.

        Raises:
            NotSupported: JAX refuses the types, or gives a result of another.
        """
        shape = self._jax.ShapeDtypeStruct
        arguments = [shape((1,), kind) for kind in call.kinds]
        kinds = [np.dtype(np.float32) if name == "Exponent" else call.kinds[0] for name in call.scalars]
        arguments += [shape((), kind) for kind in kinds]
        try:
            traced = self._jax.eval_shape(function_of(self._jax, counterpart), *arguments)
        except Exception as error:  # TypeError for most, ValueError for some
            raise NotSupported(f"jax: {first_line(error)}") from error
        if traced.dtype != call.result:
            raise NotSupported(f"jax: jax.{counterpart.name} gives {traced.dtype}, not {call.result}")

    def program(self, call: Call, counterpart: Counterpart) -> Program:
        """The function, compiled at its first call on each shape."""
        compiled: Callable[..., Any] = self._jax.jit(function_of(self._jax, counterpart))
        put, device, flat = self._jax.device_put, self._device, self.options["shapes"] == "flat"

        def run(arrays: Sequence[Array], scalars: Sequence[Any]) -> Array:
            count = arrays[0].size
            laid_out = [padded(array, padded_count(count)) for array in arrays] if flat else arrays
            operands = [put(value, device) for value in (*laid_out, *map(np.asarray, scalars))]
            return np.asarray(compiled(*operands)).reshape(-1)[-count:]

        return run

    def close(self) -> None:
        """Nothing is held that the collector does not release."""


def _counterparts(clamp: str) -> Mapping[str, Counterpart]:
    if clamp == "clip":
        return COUNTERPARTS
    clamped = Counterpart("lax.clamp")
    return {**COUNTERPARTS, "CLIP": clamped, "CLIP1": clamped}
