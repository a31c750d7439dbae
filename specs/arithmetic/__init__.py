"""What both oracles and the functions of the formulas compute with.

Exactly in ``real_number``, ``binary_format``, ``integer_range`` and ``value_sets``; in numpy in ``vector_arithmetic``
and ``vector_integers``. Neither half imports the other, and nothing here knows a table.
``integer_arithmetic`` names the arithmetic that gave integer results.
"""
