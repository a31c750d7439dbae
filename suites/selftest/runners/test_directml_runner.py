"""The runner over DirectML: its table of members is the protocol's, and a compiler for Windows takes it.

It has not run on Windows here. ``DirectML.h`` is made from Microsoft's metadata, ``d3d12.h`` is the compiler's own.
"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
from pathlib import Path

import pytest

from dmlcts.backends.runners.definition import definition
from dmlcts.suites.selftest.directml.windows_metadata import DISTRIBUTION, installed
from dmlcts.suites.selftest.runners import kit

SOURCE = kit.KIT / "directml_runner.cpp"
COMPILER = "x86_64-w64-mingw32-g++"
KINDS = {
    "tensor": "T",
    "scale_bias": "S",
    "float": "F",
    "rounding_mode": "E",
    "infinity_mode": "E",
    "data_type": "E",
    "scalar": "N",
    "operator": "O",
}

compiling = pytest.mark.skipif(
    bool(kit.missing(COMPILER)) or not installed(), reason=kit.missing(COMPILER) or "Windows' metadata is not installed"
)


def test_its_members_are_the_protocols() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    kinds_by_code = {int(code): kinds for code, kinds in re.findall(r'\{(\d+), "([TSFENO]+)"\}', text)}
    assert kinds_by_code == {
        operator.code: "".join(KINDS[kind] for kind in operator.members.values())
        for operator in definition().operators.values()
    }
    for operator in definition().operators.values():
        tensors = [name for name, kind in operator.members.items() if kind == "tensor"]
        assert tensors[-1].startswith("Output"), "the last tensor is the output"


def compiled(folder: Path, source: str) -> str:
    """What the compiler says."""
    (folder / "DirectML.h").write_text(header(), encoding="utf-8")
    (folder / "runner.cpp").write_text(source, encoding="utf-8")
    words = [
        COMPILER,
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        f"-I{folder}",
        f"-I{kit.KIT}",
        "-c",
        str(folder / "runner.cpp"),
        "-o",
        str(folder / "runner.o"),
    ]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False).stderr


@compiling
def test_a_compiler_for_windows_takes_it(tmp_path: Path) -> None:
    assert compiled(tmp_path, SOURCE.read_text(encoding="utf-8")) == ""
    assert (tmp_path / "runner.o").stat().st_size > 10_000


@compiling
@pytest.mark.parametrize(
    "right, wrong",
    [
        ("library->CreateOperator(&description.desc, IID", "library->CreateOperator(IID"),
        ("sizeof(DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC) == 48", "sizeof(DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC) == 40"),
    ],
)
def test_what_directml_does_not_have_would_be_seen(tmp_path: Path, right: str, wrong: str) -> None:
    source = SOURCE.read_text(encoding="utf-8")
    assert right in source
    assert "error" in compiled(tmp_path, source.replace(right, wrong, 1))


# Microsoft's header, for compilers that come without the Windows SDK.

_HERE = "win32more.Windows.Win32.AI.MachineLearning.DirectML"
_NAMES = {
    "Byte": "BYTE",
    "SByte": "INT8",
    "Int16": "INT16",
    "UInt16": "UINT16",
    "Int32": "INT32",
    "UInt32": "UINT",
    "Int64": "INT64",
    "UInt64": "UINT64",
    "Single": "FLOAT",
    "Double": "double",
    "Boolean": "BOOL",
    "Void": "void",
    "PWSTR": "LPCWSTR",
    "PSTR": "const char *",
    "Guid": "GUID",
    "IUnknown": "IUnknown *",
    "VoidPtr": "const void *",
}


def header() -> str:
    """A ``DirectML.h``: what the metadata declares. Annotations, and what is ``const``, are guessed.

    Raises:
        importlib.metadata.PackageNotFoundError: the package with the metadata is not installed.
    """
    place = _HERE.replace(".", "/") + "/__init__.py"
    path = Path(str(importlib.metadata.distribution(DISTRIBUTION).locate_file(place)))
    body = ast.parse(path.read_text(encoding="utf-8")).body
    classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
    interfaces = {name for name, node in classes.items() if "ComPtr" in map(ast.unparse, node.bases)}
    structures = {name: node for name, node in classes.items() if name not in interfaces}
    made = _Made(interfaces)
    lines = ["#pragma once", "#include <d3d12.h>", "#include <unknwn.h>"]
    lines += [f"struct {name};" for name in sorted(interfaces)]
    lines += _constants(body)
    done: set[str] = set()
    for name in structures:
        lines += made.structure(name, structures, done)
    done = set()
    for name in sorted(interfaces):
        lines += made.interface(name, classes, done)
    for node in body:
        if isinstance(node, ast.FunctionDef):
            arguments = ", ".join(f"{made.type(argument.annotation)} {argument.arg}" for argument in node.args.args)
            lines.append(f'extern "C" HRESULT WINAPI {node.name}({arguments});')
    return "\n".join(lines) + "\n"


def _constants(body: list[ast.stmt]) -> list[str]:
    """The enumerations, each with its members, and the numbers that belong to none."""
    enumerations = {
        node.targets[0].id: []
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and ast.unparse(node.value) == "Int32"
    }
    lines = []
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            kind = ast.unparse(node.annotation).rpartition(".")[2]
            declaration = f"{node.target.id} = {ast.unparse(node.value)}"
            if kind in enumerations:
                enumerations[kind].append(declaration)
            else:
                lines.append(f"static const UINT {declaration};")
    for name, members in enumerations.items():
        lines.append(f"enum {name} : int {{ {', '.join(members)} }};")
        if name.endswith("_FLAGS"):
            lines.append(f"DEFINE_ENUM_FLAG_OPERATORS({name})")
    return lines


class _Made:
    def __init__(self, interfaces: set[str]) -> None:
        self._interfaces = interfaces

    def type(self, node: ast.expr | None) -> str:
        assert node is not None
        if isinstance(node, ast.Call):  # POINTER(...)
            inner = ast.unparse(node.args[0]).rpartition(".")[2]
            if inner == "VoidPtr":
                return "void **"
            if inner == "Guid":
                return "REFIID"
            if inner in self._interfaces:
                return f"{inner} *const *"
            return f"const {_NAMES.get(inner, inner)} *"
        name = ast.unparse(node).rpartition(".")[2]
        if name in self._interfaces or name.startswith("ID3D12"):
            return f"{name} *"
        return _NAMES.get(name, name)

    def structure(self, name: str, known: dict[str, ast.ClassDef], done: set[str]) -> list[str]:
        """A structure, after those that it holds."""
        if name in done or name not in known:
            return []
        done.add(name)
        before, members = [], []
        for item in known[name].body:
            if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
                continue
            if isinstance(item.annotation, ast.BinOp):  # an array: element * count
                count = ast.unparse(item.annotation.right)
                members.append(f"{self.type(item.annotation.left)} {item.target.id}[{count}];")
                continue
            inner = ast.unparse(item.annotation).rpartition(".")[2].rstrip(")")
            before += self.structure(inner, known, done)
            members.append(f"{self.type(item.annotation)} {item.target.id};")
        kind = "union" if "Union" in map(ast.unparse, known[name].bases) else "struct"
        return [*before, f"{kind} {name} {{ {' '.join(members)} }};"]

    def interface(self, name: str, classes: dict[str, ast.ClassDef], done: set[str]) -> list[str]:
        """An interface, after the one that it extends."""
        if name in done or name not in self._interfaces:
            return []
        done.add(name)
        base, iid, methods = "IUnknown", "", []
        for item in classes[name].body:
            if isinstance(item, ast.AnnAssign) and ast.unparse(item.target) == "extends":
                base = ast.unparse(item.annotation).rpartition(".")[2]
            elif isinstance(item, ast.Assign):
                iid = str(ast.literal_eval(item.value.args[0])).strip("{}")  # type: ignore[attr-defined]
            elif isinstance(item, ast.FunctionDef):
                arguments = ", ".join(
                    f"{self.type(argument.annotation)} {argument.arg}" for argument in item.args.args[1:]
                )
                returned = self.type(item.returns)
                methods.append(f"    virtual {returned} STDMETHODCALLTYPE {item.name}({arguments}) = 0;")
        first, second, third, fourth, last = iid.split("-")
        rest = [fourth[:2], fourth[2:], *(last[at : at + 2] for at in range(0, 12, 2))]
        numbers = ", ".join(f"0x{part}" for part in (first, second, third, *rest))
        return [
            *self.interface(base, classes, done),
            f'struct DECLSPEC_UUID("{iid}") DECLSPEC_NOVTABLE {name} : public {base} {{',
            *methods,
            "};",
            f"__CRT_UUID_DECL({name}, {numbers})",
        ]
