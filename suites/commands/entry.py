"""What the script ``dmlcts`` starts: nothing is imported before Ctrl-C is understood and the current folder is left."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def _leave_current_folder() -> None:
    """Take the current folder off ``sys.path``, where ``python -m`` puts it before the standard library."""
    if not sys.flags.safe_path and sys.path and os.path.abspath(sys.path[0]) == os.getcwd():
        del sys.path[0]


def main() -> NoReturn:
    """Run the command line."""
    _leave_current_folder()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "01")  # before numpy is imported; as backends/interpreter.py says
    try:
        from dmlcts.suites.cases.allocation import collect_rarely

        collect_rarely()  # modules stay: looking for garbage among them takes a tenth of a small command
        from dmlcts.suites.commands.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("dmlcts: interrupted: no verdict\n")
        sys.exit(130)
    run()
    sys.exit(0)  # never reached: the command line ends with an exit code of its own


if __name__ == "__main__":
    main()
