"""The version of riselang."""

__version__ = "0.1.0"
