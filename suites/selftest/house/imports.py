"""The import statements of a module, read once a process: nine tests ask for those of all modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def imports_in(source: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The import statements of a module, anywhere in its text: in functions and for types as well.

    Args:
        source: Python source.

    Yields:
        Where a statement imports from, a dot before it for each level of a relative one, and what: ``import a.b`` is
        ("a.b", ()), and ``from .a import b, c`` is (".a", ("b", "c")).
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), tuple(alias.name for alias in node.names)


@cache
def imports_of(path: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The import statements of a module by its path, as ``imports_in`` reads them."""
    return tuple(imports_in(path.read_text(encoding="utf-8")))
