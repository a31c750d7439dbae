"""The ``cpu`` backend: its values, its layouts, and the regions that tensors share."""
