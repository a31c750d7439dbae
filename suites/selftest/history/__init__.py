"""Selftests of judging the releases of a package, and of finding since when a departure exists."""
