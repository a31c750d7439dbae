"""Combinations: the factors of a case, covering arrays over their levels, and what was covered by what was dispatched.

``factors`` reads the levels from the table, ``constraints`` what cannot be combined, ``covering`` makes the arrays,
``building`` makes a case of a row, ``classifying`` finds the levels of any case, ``coverage`` counts combinations.
"""
