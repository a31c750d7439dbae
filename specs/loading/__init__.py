"""Loading the spec tables: read the files, fit them to the models, check them together; schemas and upgrades.

The checks themselves live in ``checking``.
"""

from dmlcts.specs.loading.load import fit, lint, load_tables, tables_of_files

__all__ = ["fit", "lint", "load_tables", "tables_of_files"]
