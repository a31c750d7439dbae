"""Windows' DirectML.dll in a process of Linux: its file read and laid out, its imports provided, its calls bridged.

The adapter that serves it is in ``d3d12_software``, as for the library for Linux; finding and fetching it are in
``loading``.
"""
