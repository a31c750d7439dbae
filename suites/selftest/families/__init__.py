"""Selftests of the items that a run is made of: what each runs, and how its record is joined."""
