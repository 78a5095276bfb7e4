"""Gaussian establishment differential privacy (gedp)."""

from gedp._version import __version__

__all__ = ["__version__"]
