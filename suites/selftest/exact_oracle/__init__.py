"""Selftests of the exact oracle and the binary formats under it.

Both oracles together are tested in ``oracles``.
"""
