"""The suite's own tests: is the oracle right, are mutants caught, do reports verify.

They are never run against a vendor's backend, and no wheel holds them.
"""
