"""Where single cases come from: values at edges, hypothesis strategies, subjects, seeds.

Cases made to cover combinations come from ``combinations``.
"""
