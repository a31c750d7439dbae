"""The tables as they were loaded: all together, the law of one operator, and its signatures.

Reading them is ``loading``'s business, what they mean for an element the oracles'.
"""

from dmlcts.specs.tables.together import Tables

__all__ = ["Tables"]
