"""Rewriting of typed terms into terms that compute the same values, with a record of each step.

A *rule* is a law that is applied from left to right at one subterm. A *strategy* says which rules
are applied where; strategies are values that combinators and traversals compose from rules. The
record of a rewrite is a *derivation*: it can be printed, saved, replayed, compared, and checked
step by step.

Read `core.py` first (what a strategy is), then `rule.py` and `law_matching.py` (laws as rules),
`combinators.py` and `traversals.py`, and `derivation.py`. `rules/` has the laws, in the order of
the README there; `strategies/` composes them into schedules such as `tile`. `saturation/` searches
for rewrites to a sketched result. `proving/` proves laws for all sizes, and `derivation_checks.py`
runs derivations step by step.
"""
