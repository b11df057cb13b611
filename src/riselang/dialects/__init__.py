"""MLIR dialects of this project: `rise`, read `rise/__init__.py` first."""
