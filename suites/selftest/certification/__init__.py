"""Selftests of certification: submissions that pass, and tampered ones that must not.

Each tampered one names the reason for its refusal.
"""
