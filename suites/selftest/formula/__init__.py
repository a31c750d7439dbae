"""The formula language and the functions that it may name."""
