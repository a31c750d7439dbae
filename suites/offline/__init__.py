"""Devices that nothing can be connected to: cases written as files, and what came back in files judged.

The files are conversations of the runners' protocol, recorded beforehand; a runner of the C kit executes a folder of
them.
"""
