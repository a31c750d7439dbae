"""The ``directml`` backend: Microsoft's own library, driven through its API with nothing in between."""
