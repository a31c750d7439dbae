"""The ``jax`` backend: each operator as one function of JAX, compiled by XLA for the CPU or a GPU."""

from dmlcts.backends.jax.backend import JaxBackend

__all__ = ["JaxBackend"]
