"""Tests of the proof, and of mutants before the suite meets them.

The proof itself is in ``suites/proof``, the implementations in ``suites/mutants``.
"""
