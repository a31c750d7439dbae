"""Results beside results: difference, baseline, comparison, findings.

A single run is shown by ``views``.
"""
