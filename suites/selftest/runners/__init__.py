"""Runners in any language: the protocol, the kit in C, what bad runners and bad suites do, the guide's examples."""
