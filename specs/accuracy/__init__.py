"""How far an output is from the real number that the formula stands for, and how far the law lets it be.

No acceptance is decided here: that is the oracles' work.

What a tolerance in units in the last place permits is computed in :mod:`dmlcts.specs.approximation`.
"""
