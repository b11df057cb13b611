"""Passes that know no dialect: what they do rests on traits and interfaces alone.

Comes in: a module of any dialects. Goes out: the same module, changed in place. They stand beside
xDSL's `canonicalize`, `cse` and `dce`. Read `interfaces.py` first.
"""
