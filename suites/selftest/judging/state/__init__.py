"""Selftests of state: kernels dispatched again, beside and after others, and on two devices."""
