"""Proofs that two terms are the same function, for all sizes, data types and inputs.

    terms --evaluation--> symbolic values --comparison--> questions about indices --solver--> z3

A term evaluates to a value whose elements are functions of symbolic indices. Both sides of a law
are applied to the same unknown inputs, read at the same unknown index, and compared as expressions;
the remaining questions, whether indices are equal, go to z3. If z3 has no answer, the reference
interpreter runs both sides on symbols at all sizes up to a limit. A law is refuted only by a
counterexample: concrete inputs for which the results differ.

Read `symbolic_values.py` first, then `view_meanings.py` (what patterns mean),
`value_comparison.py`, `query_simplification.py` (how divisions are eliminated), and `prover.py`,
which combines them.
"""

from riselang.rewrite.proving.prover import prove
from riselang.rewrite.proving.size_conditions import Condition
from riselang.rewrite.proving.verdict import Status, Verdict

__all__ = ["Condition", "Status", "Verdict", "prove"]
