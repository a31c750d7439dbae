"""Selftests of the judge: what it holds for wrong, and what it must not.

Blame is tested in ``attribution``.
"""
