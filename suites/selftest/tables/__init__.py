"""Selftests of the tables: loading, lint, schemas, what is kept.

The language of their formulas is tested in ``formula``; what formulas mean in ``exact_oracle`` and ``oracles``.
"""
