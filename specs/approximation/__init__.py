"""Approximate results: what is acceptable where accuracy rules bound the functions of a formula.

A formula is evaluated step by step over intervals of real numbers. Each function widens its result by what its rule
permits and narrows it to numbers of the type that computes. ``in_arrays`` does it for arrays in FLOAT64 (with
``intervals`` and ``rounding``), the stated error of the functions folded into the bound; ``exactly`` for one element
in fractions (with ``exact_bounds``). The two read the same parsed ``rules`` and formulas and take ScaleBias
from ``scaling``; all else is written twice. No run uses ``exactly``: it is the second opinion that the selftests ask.
"""
