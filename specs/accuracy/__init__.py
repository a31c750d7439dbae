"""How far an output is from the real number that the formula stands for, and how far the law lets it be.

No acceptance is decided here: that is the oracles' work.
"""
