"""The C kit, built for tests: once a folder and set of flags."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[3]
KIT = HOUSE / "backends" / "runners" / "c"
STRICT = ("-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-O1")
COMPILERS = {
    "gcc": ("gcc", "-std=c11"),
    "clang": ("clang", "-std=c11"),
    "g++": ("g++", "-std=c++11", "-x", "c++"),
    "clang++": ("clang++", "-std=c++11", "-x", "c++"),
    "mingw gcc": ("x86_64-w64-mingw32-gcc", "-std=c11"),
    "mingw g++": ("x86_64-w64-mingw32-g++", "-std=c++11", "-x", "c++"),
}


def missing(compiler: str = "cc") -> str:
    """Why nothing can be built here, or ""."""
    return "" if shutil.which(compiler) else f"there is no {compiler} here"


def built(
    folder: Path, *flags: str, command: tuple[str, ...] = ("cc", "-std=c11"), program: str = "plain_runner.c"
) -> Path:
    """The plain runner in ``folder``, built by this compiler with these flags; built once.

    Raises:
        RuntimeError: the compiler says no; the message is the compiler's.
    """
    target = folder / f"{Path(program).stem}-{command[0]}{''.join(flags).replace('/', '_')}"
    if not target.exists():
        sources = [str(KIT / program), str(KIT / "dmlcts_runner.c")]
        libraries = ["-lm", "-lws2_32"] if "mingw" in command[0] else ["-lm"]
        no_longer = ["-x", "none"] if "-x" in command else []  # what follows is no C++
        words = [*command, *flags, f"-I{KIT}", "-o", str(target), *sources, *no_longer, *libraries]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
    return target
