"""What the help of commands says of exit codes, and the codes by name.

The options of the commands stand in :mod:`dmlcts.suites.options.table`.
"""

from __future__ import annotations

from dmlcts.suites.console import exit_codes

USAGE, UNAVAILABLE, NOT_CONFORMANT, INCOMPLETE = 2, 3, 1, 4
EXIT_CODES = (
    "Exit codes: 0 conformant, 1 not conformant, 2 usage or table error, 3 backend unavailable, 4 incomplete. "
    + exit_codes.NO_VERDICT
)
