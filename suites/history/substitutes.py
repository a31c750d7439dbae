"""Substitutes for the CUDA libraries that a build of PyTorch for CUDA needs to be imported, though its CPU is judged.

PyTorch's wheels for Linux on PyPI are builds for CUDA, whose objects are linked to gigabytes of libraries of NVIDIA's
packages. On the CPU nothing of them is called but the registration of kernels while an object is loaded. A substitute
has a library's name, and those of its functions that the objects name, under their symbol versions. Registering does
nothing, asking for devices says that there are none, and any other function ends the process with its name: nothing
is computed by a substitute. A library that is not of CUDA's is never substituted.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlcts.backends.compiling import run_compiler
from dmlcts.backends.contract import BackendUnavailable

_LIBRARY = re.compile(
    r"lib(cublas|cublasLt|cuda|cudart|cudnn|cufft|cufile|cupti|curand|cusolver|cusparse|cusparseLt"
    r"|nccl|nvJitLink|nvToolsExt|nvrtc|nvshmem_host)\.so(\.\d+)*"
)
_FUNCTION = re.compile(r"(__)?(cu|nccl|nv)\w+")
_SILENT = re.compile(r"__cuda(Register|Unregister)\w+|__cudaInitModule")
_NO_DEVICE = ("cudaGetDeviceCount", "cudaGetLastError", "cudaPeekAtLastError")
_PROLOGUE = """\
#include <stdio.h>
#include <stdlib.h>

static int handle;

static void called(const char *name)
{
    fprintf(stderr, "%s was called: the CUDA libraries are substitutes, for the CPU alone is judged\\n", name);
    abort();
}
"""
_CUDA_ERROR_NO_DEVICE = 100


@dataclass(frozen=True)
class _Object:
    """What an ELF object is linked to.

    Args:
        needed: the libraries that it needs, by SONAME.
        defined: the symbols that it defines.
        versioned: the symbols that it wants of one library in one version, by library and version.
        plain: the symbols that it wants of whichever library has them.
    """

    needed: Sequence[str]
    defined: frozenset[str]
    versioned: Mapping[tuple[str, str], frozenset[str]]
    plain: frozenset[str]


def place_substitutes(folder: Path, roots: Iterable[Path]) -> list[str]:
    """Put substitutes beside objects, for the CUDA libraries that those need which are loaded with them.

    Args:
        folder: where the objects look for each other; the substitutes are put there. What lies there is never replaced.
        roots: the objects that are loaded first.

    Returns:
        the SONAMEs of the substitutes; none for a build without CUDA.

    Raises:
        BackendUnavailable: an object cannot be read, or there is no C compiler.
    """
    objects = _loaded(folder, roots)
    missing = sorted(
        {
            name
            for elf_object in objects
            for name in elf_object.needed
            if _LIBRARY.fullmatch(name) and not (folder / name).exists()
        }
    )
    defined = frozenset[str]().union(*(elf_object.defined for elf_object in objects))
    for name in missing:
        needing = [elf_object for elf_object in objects if name in elf_object.needed]
        versions: dict[str, set[str]] = {}
        for elf_object in objects:
            for (library, version), symbols in elf_object.versioned.items():
                if library == name:
                    versions.setdefault(version, set()).update(symbols)
        wanted = frozenset[str]().union(*(elf_object.plain for elf_object in needing)) - defined
        _compile(folder / name, {symbol for symbol in wanted if _FUNCTION.fullmatch(symbol)}, versions)
    return missing


def _loaded(folder: Path, roots: Iterable[Path]) -> list[_Object]:
    """The objects that are loaded with ``roots``, as far as they lie in ``folder``."""
    waiting, seen, objects = list(roots), set[str](), list[_Object]()
    while waiting:
        path = waiting.pop()
        if path.name not in seen:
            seen.add(path.name)
            objects.append(_read(path))
            waiting += [folder / name for name in objects[-1].needed if (folder / name).is_file()]
    return objects


def _read(path: Path) -> _Object:
    """What an ELF object is linked to.

    Raises:
        BackendUnavailable: it is no ELF object that is loaded dynamically, or pyelftools is not installed.
    """
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError as error:
        raise BackendUnavailable(
            "a build of torch for CUDA needs substitutes, and pyelftools is not installed",
            "pip install pyelftools, or choose an index of builds for the CPU with --index-url",
        ) from error
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            dynamic, symbols = elf.get_section_by_name(".dynamic"), elf.get_section_by_name(".dynsym")
            if dynamic is None or symbols is None:
                raise ELFError("it has no dynamic symbols")
            indices, needs = elf.get_section_by_name(".gnu.version"), elf.get_section_by_name(".gnu.version_r")
            return _linked(dynamic, symbols, indices, needs)
    except ELFError as error:
        raise BackendUnavailable(
            f"{path.name} cannot be read: {error or 'it is no ELF object'}",
            f"choose another release, or remove {path.parent}, should it be damaged",
        ) from error


def _linked(dynamic: Any, symbols: Any, indices: Any, needs: Any) -> _Object:
    sources = {
        version["vna_other"]: (library.name, version.name)
        for library, versions in (needs.iter_versions() if needs is not None else ())
        for version in versions
    }
    defined, plain, versioned = set[str](), set[str](), dict[tuple[str, str], set[str]]()
    for place, symbol in enumerate(symbols.iter_symbols()):
        if symbol["st_shndx"] != "SHN_UNDEF":
            defined.add(symbol.name)
        elif symbol.name and symbol["st_info"]["bind"] != "STB_WEAK":
            source = sources.get(indices.get_symbol(place)["ndx"]) if indices is not None else None
            (plain if source is None else versioned.setdefault(source, set())).add(symbol.name)
    needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]
    by_source = {source: frozenset(names) for source, names in versioned.items()}
    return _Object(needed, frozenset(defined), by_source, frozenset(plain))


def _compile(path: Path, plain: Iterable[str], versions: Mapping[str, Iterable[str]]) -> None:
    """Compile a substitute with these symbols.

    Raises:
        BackendUnavailable: there is no C compiler, or it failed.
    """
    of_versions = set[str]().union(*versions.values())
    with tempfile.TemporaryDirectory() as work:
        code, script = Path(work, "standin.c"), Path(work, "versions")
        code.write_text("\n".join([_PROLOGUE, *map(_function, sorted(of_versions | set(plain)))]), "utf-8")
        named = {version: " ".join(f"{name};" for name in sorted(names)) for version, names in versions.items()}
        nodes = "".join(f"{version} {{ global: {names} }};\n" for version, names in named.items())
        script.write_text(nodes or "{ global: *; };\n", "utf-8")
        run_compiler(
            [
                "-shared",
                "-fPIC",
                "-fno-builtin",
                "-w",
                "-O1",
                f"-Wl,-soname,{path.name}",
                f"-Wl,--version-script={script}",
                "-o",
                str(path),
                str(code),
            ]
        )


def _function(name: str) -> str:
    if _SILENT.fullmatch(name):
        return f"void *{name}(void) {{ return &handle; }}"
    if name in _NO_DEVICE:
        count = "int *count" if name == "cudaGetDeviceCount" else "void"
        nothing = "*count = 0; " if name == "cudaGetDeviceCount" else ""
        return f"int {name}({count}) {{ {nothing}return {_CUDA_ERROR_NO_DEVICE}; }}"
    return f'void {name}(void) {{ called("{name}"); }}'
