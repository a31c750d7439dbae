"""Implementations that are reached through a *runner*, a small program in any language: protocol, transports, backend.

The protocol is ``protocol.json``; ``backends/RUNNERS.md`` explains it; ``c/`` is a kit that speaks it.
"""
