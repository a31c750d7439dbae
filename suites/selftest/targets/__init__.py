"""Selftests of the targets: their table, their environments, and what the commands show."""
