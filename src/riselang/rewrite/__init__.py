"""Rewriting: typed terms in, terms that compute the same out, and how they were derived.

A *rule* is a law, read from left to right, at one place of a term. A *strategy* says which rules
are applied where; it is a value that is put together from rules by combinators and traversals. What
was done is a *derivation*: it can be printed, kept, replayed, compared, and checked step by step.

Read `core.py` first (what a strategy is), then `rule.py` and `matching.py` (laws as rules),
`combinators.py` and `traversals.py`, and `derivation.py`. `rules/` has the laws, in the order of
the README there; `strategies/` puts them together to schedules that people name. `proving/` proves
laws for all sizes, and `checking.py` runs derivations step by step.
"""
