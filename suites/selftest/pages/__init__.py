"""Selftests of reading the operator pages and comparing them with the tables.

The pages here are made up.
"""
