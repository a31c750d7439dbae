"""The picture at the top of the README: a run that fails, and ``dmlcts replay`` of the file that it leaves.

``python -m dmlcts.suites.selftest.commands.recording reports/examples/recording.svg`` makes it anew, in half a minute.
A shell in a pseudo-terminal runs the commands; the picture shows its screens. Waits are shortened, words are not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dmlcts.suites.selftest.commands.moving_picture import svg
from dmlcts.suites.selftest.commands.screens import frames_of, lasting

SECONDS = 20.0
TITLE = "A run of a wrong backend fails; dmlcts replay shows its smallest failing case"
BACKEND = "half_up.py"
PROGRAM = """\
import numpy as np
from dmlcts.suites.mutants.reference import Reference

class HalfUp(Reference):
    def half_away(self, x):  # wrong for -0.5, -1.5, ...
        return np.floor(x + np.asarray(0.5, x.dtype))
"""
SELECTED = "--operator ROUND --data-type FLOAT32"


def recorded(selected: str = SELECTED) -> str:
    """The picture of the run of a selection and of the replay after it.

    Raises:
        NoPromptError: a command did not end.
    """
    commands = (
        f"cat {BACKEND}",
        f"dmlcts run --backend {BACKEND}:HalfUp {selected} -q -n 1",
        f"dmlcts replay results/failures/round.toward-infinity-*.yaml --backend {BACKEND}:HalfUp",
    )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / BACKEND).write_text(PROGRAM, encoding="utf-8")
        return svg(lasting(frames_of(commands, Path(folder)), SECONDS), TITLE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="where to write the SVG")
    parser.parse_args(arguments).file.write_text(recorded(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
