"""Selftests of the tables: loading, lint, schema, formulas.

What formulas mean is tested in ``exact_oracle`` and ``oracles``.
"""
