"""Selftests of the vectorised oracle, and of both oracles against each other and against outside ones.

The exact one alone is tested in ``exact_oracle``.
"""
