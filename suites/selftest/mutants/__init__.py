"""Broken implementations that the suite must catch, and permitted ones that it must not."""
