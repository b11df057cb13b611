"""How each StableHLO op becomes patterns."""
