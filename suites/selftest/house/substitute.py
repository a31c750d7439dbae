"""One module loaded from other code than its file's: in this process, or in every Python program below it.

Imports nothing of the suite: a program that is to load other code in a module's place must not have loaded it before.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import marshal
import os
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

NAME = "DMLCTS_CHANGED_MODULE"
CODE = "DMLCTS_CHANGED_CODE"


class Substitute(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, and loads it from the given code.

    Attributes:
        name: the module's, as it is imported.
        path: its file, or the name of one in the same folder.
        code: what is run in its place.
        loaded: whether it has been imported.
    """

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name = name
        self.path = path
        self.code = code
        self.loaded = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """The specification of the one module; ``None`` for every other."""
        if name != self.name:
            return None
        package = self.path.name == "__init__.py"
        spec = importlib.machinery.ModuleSpec(name, self, origin=str(self.path), is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [str(self.path.parent)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Run the code as the module's."""
        self.loaded = True
        exec(self.code, module.__dict__)  # noqa: S102  # the module itself, changed


def install() -> None:
    """Load the module that the environment names from the code that it names; does nothing where it names none."""
    name, file = os.environ.get(NAME), os.environ.get(CODE)
    if name and file:
        code = marshal.loads(Path(file).read_bytes())  # noqa: S302  # written by the process that started this one
        sys.meta_path.insert(0, Substitute(name, Path(code.co_filename), code))
