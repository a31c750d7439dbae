"""Starting Python so that the code of the current folder does not run in what is started.

``python -c`` and ``python -m`` begin with the current folder on ``sys.path``, before the standard library: a
``threading.py`` that lies there runs in place of the real one. Python leaves that out with ``-P``, and where
``PYTHONSAFEPATH`` is set, which whatever is started further on inherits (pytest-xdist's processes, multiprocessing's,
pip's). What ``PYTHONPATH`` names is the user's own decision and stays.

An implementation's own processes get the environment that the user has: ``python runner.py`` may need the folder of
its script.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

_NAME = "PYTHONSAFEPATH"
_OURS = "dmlcts"  # Python takes any text; this one shows that the user has set none


def own_python(*words: str) -> list[str]:
    """The command line that starts this Python with words for it, without the current folder on its path."""
    return [sys.executable, "-P", *words]


def safe_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a process of the suite: this one's, in which further processes of Python are safe as well.

    Args:
        more: further variables.
    """
    environment = {**os.environ, **(more or {})}
    environment[_NAME] = environment.get(_NAME) or _OURS
    return environment


def users_environment() -> dict[str, str]:
    """The environment for a process of the implementation: as the user has it."""
    return {name: value for name, value in os.environ.items() if (name, value) != (_NAME, _OURS)}


def keep_children_safe() -> bool:
    """See to it that processes of Python which libraries start from here on are safe; whether that was a change."""
    if os.environ.get(_NAME):
        return False
    os.environ[_NAME] = _OURS
    return True


def leave_children_alone() -> None:
    """Undo :func:`keep_children_safe`."""
    if os.environ.get(_NAME) == _OURS:
        del os.environ[_NAME]


def spawn_context() -> SpawnContext:
    """Multiprocessing's way to start new processes, which are safe."""
    import multiprocessing  # most processes of the suite do without

    keep_children_safe()
    return multiprocessing.get_context("spawn")
