"""What may be wrong with a table that fits its model: names that must exist, levels in order, what cannot be run.

The shape itself is the models' business; reading the files is ``reading``'s.
"""
