"""Starting Python so that the code of the current folder does not run in what is started.

``python -c`` and ``python -m`` begin with the current folder on ``sys.path``, before the standard library: a
``threading.py`` that lies there runs in place of the real one. Python leaves that out with ``-P``, and where
``PYTHONSAFEPATH`` is set, which whatever is started further on inherits (pytest-xdist's processes, multiprocessing's,
pip's). What ``PYTHONPATH`` names is the user's own decision and stays.

They also begin without the threads of numpy's OpenBLAS, one for each processor: those wait busily, so that importing
numpy takes twice the processor time on two processors, and more on many; an element-wise operator never needs them.

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
_THREADS = "OPENBLAS_NUM_THREADS"
_ONE = "01"  # OpenBLAS reads 1; so written it shows the same
_CHOSEN = {_NAME: _OURS, _THREADS: _ONE}


def own_python(*words: str) -> list[str]:
    """The command line that starts this Python with words for it, without the current folder on its path."""
    return [sys.executable, "-P", *words]


def safe_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a process of the suite: this one's, in which further processes of Python are safe as well.

    Args:
        more: further variables.
    """
    environment = {**os.environ, **(more or {})}
    return environment | {name: environment.get(name) or value for name, value in _CHOSEN.items()}


def users_environment() -> dict[str, str]:
    """The environment for a process of the implementation: as the user has it."""
    return {name: value for name, value in os.environ.items() if _CHOSEN.get(name) != value}


def workers_environment() -> dict[str, str]:
    """The environment for a process of the suite that becomes the implementation's: :func:`leave_children_alone`."""
    return {_THREADS: _ONE} | users_environment()


def keep_children_safe() -> bool:
    """See to it that processes of Python which libraries start from here on are safe; whether that was a change."""
    os.environ[_THREADS] = os.environ.get(_THREADS) or _ONE
    if os.environ.get(_NAME):
        return False
    os.environ[_NAME] = _OURS
    return True


def leave_children_alone() -> None:
    """Undo :func:`keep_children_safe`: what is started from here on has the user's environment."""
    for name, value in _CHOSEN.items():
        if os.environ.get(name) == value:
            del os.environ[name]


def spawn_context() -> SpawnContext:
    """Multiprocessing's way to start new processes, which are safe."""
    import multiprocessing  # most processes of the suite do without

    keep_children_safe()
    return multiprocessing.get_context("spawn")
