"""The lowering of each StableHLO op to patterns."""
