"""Tests of ``dmlcts publish``: the table, what is judged again, and the pages."""
