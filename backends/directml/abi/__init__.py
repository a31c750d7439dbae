"""DirectML's and Direct3D's own interfaces in Python: COM, structures, enumerations, result codes.

Nothing here knows an operator of the suite.
"""
