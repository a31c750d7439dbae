"""Where in a backend an exception came from: its own lines, without those of the suite that called it."""

from __future__ import annotations

import traceback
from pathlib import Path

MOST_FRAMES = 8
_MOST_LINE = 160
_HERE = Path(__file__).resolve().parent
_OURS = (_HERE.parent / "suites", _HERE.parent / "specs", _HERE.parent / "reports")
_CALLERS = (_HERE / "registry.py", _HERE / "contract.py")
# Planted faults: they are judged as anybody's backend.
_BACKENDS_THERE = (_HERE.parent / "suites" / "selftest", _HERE.parent / "suites" / "mutants")


def _is_ours(file: Path) -> bool:
    if any(file.is_relative_to(folder) for folder in _BACKENDS_THERE):
        return False
    return file in _CALLERS or any(file.is_relative_to(folder) for folder in _OURS)


def _shown(file: Path) -> str:
    """The file as a person knows it: from the current folder, or from the folder that packages stand in."""
    if file.is_relative_to(Path.cwd()):
        return file.relative_to(Path.cwd()).as_posix()
    _, separator, inside = file.as_posix().rpartition("/site-packages/")
    return inside if separator else file.as_posix()


def backend_frames(error: BaseException) -> list[str]:
    """The calls in the backend that led to an exception, the innermost last.

    Args:
        error: an exception that a backend raised.

    Returns:
        Lines such as ``mine.py:12 in dispatch: x = 1 / 0``, at most :data:`MOST_FRAMES`; none where it did not come
        out of the backend's Python code.
    """
    calls = []
    for frame in traceback.extract_tb(error.__traceback__):
        file = Path(frame.filename).resolve()
        if not _is_ours(file):
            line = " ".join((frame.line or "").split())[:_MOST_LINE]
            calls.append(f"{_shown(file)}:{frame.lineno} in {frame.name}{': ' + line if line else ''}")
    return calls[-MOST_FRAMES:]


def with_frames(message: str, error: BaseException) -> str:
    """What an exception said, and below it the lines of the backend that it came from."""
    return "\n".join([message, *(f"at {frame}" for frame in backend_frames(error))])
