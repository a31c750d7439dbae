"""The two small native libraries that Microsoft's library for Linux needs beside it.

``libdirectml.so`` links ``libd3d12.so``, of which it uses one function, and opens ``libdxcore.so``. Under WSL2 the
system has both. Elsewhere two libraries of these names are compiled once: each forwards its one function to
a pointer that is set from Python. They are plain C, for another C++ runtime in the process would break the
exceptions of the one inside DirectML.
"""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dmlcts.backends.compiling import compiler, run_compiler
from dmlcts.backends.contract import BackendUnavailable

_SOURCE = r"""
#include <stdint.h>

typedef int32_t (*forward)(const void *, void **, void **);
static forward target;

__attribute__((visibility("default"))) void dmlcts_set_target(forward function) { target = function; }

__attribute__((visibility("default")))
int32_t FUNCTION(const void *first, void **second, void **third)
{
    return target ? target(first, second, third) : (int32_t)0x8000ffff;
}
"""
_LIBRARIES = {
    "libd3d12.so": "D3D12SerializeVersionedRootSignature",
    "libdxcore.so": "DXCoreCreateAdapterFactory",
}
_VERSIONS = "VER_1 { global: *; };\n"
_FLAGS = ("-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-nostartfiles")

Forward = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def compiled(cache: Path, *options: str) -> Path:
    """The folder with the two libraries, compiled now if they are not there yet.

    Args:
        cache: where it is kept.
        options: for the compiler, after those that it is always given.

    Raises:
        BackendUnavailable: there is no C compiler, or it failed.
    """
    text = "\0".join((_SOURCE, _VERSIONS, *_FLAGS, *options, *_LIBRARIES))
    folder = cache / f"shim-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if folder.is_dir():
        return folder
    compiler()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="shim-", dir=cache) as work:
        place = Path(work) / "made"
        place.mkdir()
        (Path(work) / "shim.c").write_text(_SOURCE)
        (Path(work) / "versions").write_text(_VERSIONS)
        for name, function in _LIBRARIES.items():
            _compile(Path(work), place / name, function, options)
        try:
            place.rename(folder)
        except OSError:
            # Another process was faster; its libraries are as good.
            if not folder.is_dir():
                raise
    return folder


def _compile(work: Path, target: Path, function: str, options: Sequence[str]) -> None:
    run_compiler(
        [
            *_FLAGS,
            *options,
            f"-DFUNCTION={function}",
            f"-Wl,-soname,{target.name}",
            f"-Wl,--version-script={work / 'versions'}",
            "-o",
            str(target),
            str(work / "shim.c"),
        ]
    )


def load(path: Path) -> ctypes.CDLL:
    """Load one of the two, so that DirectML finds its function, which it does by the library's name.

    Raises:
        BackendUnavailable: it cannot be loaded.
    """
    try:
        return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise BackendUnavailable(f"{path} cannot be loaded: {error}", f"remove {path.parent} and try again") from error
