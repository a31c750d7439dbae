"""What a run asks, and in which pieces: a family of conformance tests on an operator is one pytest item.

A family is a module of tests. A probe is a single test on a single subject, with its own judge; an item runs the
probes of its operator one after the other, and joins what they found into one record.
"""
