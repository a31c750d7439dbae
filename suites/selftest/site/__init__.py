"""Selftests of the static site: its pages and links, its folder, and how it reads in a real browser.

The pages of a single run are tested in ``reports``, what compares runs in ``departures``.
"""
