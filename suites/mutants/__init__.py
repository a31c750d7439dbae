"""Broken implementations that the suite must catch, and permitted ones that it must not accuse.

What is run on them lives in ``proof``. No wheel holds them.
"""
