"""What the script ``dmlcts`` starts: nothing is imported before Ctrl-C is understood."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line."""
    try:
        from dmlcts.suites.commands.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("dmlcts: interrupted: no verdict\n")
        sys.exit(130)
    run()
    sys.exit(0)  # never reached: the command line ends with an exit code of its own


if __name__ == "__main__":
    main()
