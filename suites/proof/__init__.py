"""The proof of the suite: every mutant caught under its clause, no permitted implementation accused.

The implementations themselves live in ``mutants``; the tests of the proof in ``selftest/proof``. No wheel holds it.
"""
