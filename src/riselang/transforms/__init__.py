"""Dialect-independent passes, which rely only on traits and interfaces.

They transform a module of any dialects in place, and complement xDSL's `canonicalize`, `cse` and
`dce`. Read `interfaces.py` first.
"""
