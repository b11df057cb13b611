"""Linear algebra."""

__all__: list[str] = []
