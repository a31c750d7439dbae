"""What must be true: the vocabulary of DirectML, the spec tables, and the oracle that gives them meaning.

The vocabulary (:class:`DataType`, :class:`FeatureLevel`, :class:`TensorDesc`, :class:`ScaleBias`,
:class:`ScalarUnion`, :class:`OperatorDesc`, :class:`Region`) needs nothing but numpy, so that a backend can import it
cheaply; the tables are loaded by :mod:`dmlcts.specs.loading`.
"""

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, Region, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.specs.errors import DmlctsError, Fault, FormulaError, TableError, UsageError
from dmlcts.specs.levels import FeatureLevel

__all__ = [
    "DataType",
    "DmlctsError",
    "Fault",
    "FeatureLevel",
    "FormulaError",
    "OperatorDesc",
    "Region",
    "ScalarUnion",
    "ScaleBias",
    "TableError",
    "TensorDesc",
    "UsageError",
]
