"""The functions of the tables' formulas: signature, domain, and two meanings that are written apart.

``table`` is the one list of them. Its exact meanings stand in ``exactly`` (Python integers and fractions, one element
at a time), its vectorised ones in ``in_arrays`` (numpy); neither of the two imports the other.
"""

from dmlcts.specs.functions.table import FUNCTIONS, SYMBOLS, Function

__all__ = ["FUNCTIONS", "SYMBOLS", "Function"]
