"""The runner over DirectML: its table of members is the protocol's, and a compiler for Windows takes it.

It has not run on Windows here. ``DirectML.h`` is made from Microsoft's metadata, ``d3d12.h`` is the compiler's own.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from dmlcts.backends.runners.definition import definition
from dmlcts.suites.selftest.directml.windows_metadata import installed
from dmlcts.suites.selftest.runners import kit
from dmlcts.suites.selftest.runners.directml_header import header

SOURCE = kit.KIT / "directml_runner.cpp"
COMPILER = "x86_64-w64-mingw32-g++"
KINDS = {"tensor": "T", "scale_bias": "S", "float": "F", "rounding_mode": "E", "infinity_mode": "E", "data_type": "E",
         "scalar": "N", "operator": "O"}  # fmt: skip

compiling = pytest.mark.skipif(
    bool(kit.missing(COMPILER)) or not installed(), reason=kit.missing(COMPILER) or "Windows' metadata is not installed"
)


def test_its_members_are_the_protocols() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    found = {int(code): kinds for code, kinds in re.findall(r'\{(\d+), "([TSFENO]+)"\}', text)}
    assert found == {
        one.code: "".join(KINDS[kind] for kind in one.members.values()) for one in definition().operators.values()
    }
    for one in definition().operators.values():
        tensors = [name for name, kind in one.members.items() if kind == "tensor"]
        assert tensors[-1].startswith("Output"), "the last tensor is the output"


def compiled(folder: Path, source: str) -> str:
    """What the compiler says."""
    (folder / "DirectML.h").write_text(header(), encoding="utf-8")
    (folder / "runner.cpp").write_text(source, encoding="utf-8")
    words = [COMPILER, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{folder}", f"-I{kit.KIT}", "-c",
             str(folder / "runner.cpp"), "-o", str(folder / "runner.o")]  # fmt: skip
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False).stderr


@compiling
def test_a_compiler_for_windows_takes_it(tmp_path: Path) -> None:
    assert compiled(tmp_path, SOURCE.read_text(encoding="utf-8")) == ""
    assert (tmp_path / "runner.o").stat().st_size > 10_000


@compiling
@pytest.mark.parametrize("right, wrong", [
    ("library->CreateOperator(&description.desc, IID", "library->CreateOperator(IID"),
    ("DML_FEATURE_LEVEL_6_4", "DML_FEATURE_LEVEL_6_9"),
    ("buffers[i].TotalTensorSizeInBytes", "buffers[i].TotalSize"),
    ("sizeof(DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC) == 48", "sizeof(DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC) == 40"),
])  # fmt: skip
def test_what_directml_does_not_have_would_be_seen(tmp_path: Path, right: str, wrong: str) -> None:
    source = SOURCE.read_text(encoding="utf-8")
    assert right in source
    assert "error" in compiled(tmp_path, source.replace(right, wrong, 1))
