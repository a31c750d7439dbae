"""A block of a sweep: the target that it is of, the device that computes it, its judgement, its totals.

Which blocks there are, and what became of them all, lives in the room above.
"""
