"""Mutants that compute wrong values: clamping, rounding, casting, scaling, special values.

Wrong layouts, memory and state live beside this room.
"""
