"""Whether an answer is right: values against the oracle, memory against what was there, one answer against another.

What is to blame for a wrong one is found in ``attribution``.
"""
