"""Selftests of what strangers hand in: fuzzing, bombs, control characters.

Tampered submissions live in ``certification``.
"""
