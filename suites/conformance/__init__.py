"""What is asked of an implementation: the conformance tests, each of which names the clauses that it checks.

No engine lives here: a test draws cases and hands them to the shared judge.
"""
