"""The lowering rules of the patterns."""
