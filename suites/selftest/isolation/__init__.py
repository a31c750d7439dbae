"""Selftests of isolation: crashes, hangs, stray writes, hostile implementations.

Each plants the fault and sees it blamed on its case.
"""
