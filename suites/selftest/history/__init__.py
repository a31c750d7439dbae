"""Selftests of judging the releases of a package, and of telling since when a departure exists."""
