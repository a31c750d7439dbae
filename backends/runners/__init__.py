"""Implementations that are reached through a *runner*, a small program in any language: protocol, transports, backend.

The protocol is ``protocol.json``; ``backends/RUNNERS.md`` tells it to a person; ``c/`` is a kit that speaks it.
"""
