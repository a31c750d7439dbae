"""Selftests of runs: records, results, journals, resuming, interruption.

The commands are tested in ``commands``.
"""
