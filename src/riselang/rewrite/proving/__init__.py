"""Proofs that two terms are the same function, for all sizes, data types and inputs.

    terms --evaluation--> symbolic values --comparison--> questions about indices --solver--> z3

A term becomes a value whose elements are told by symbolic indices; both sides of a law are applied
to the same unknown inputs, read at the same unknown index, and compared as expressions; what is
left are questions whether indices are equal, which z3 answers. Where it cannot, the reference
interpreter runs both sides on symbols at all sizes up to a limit. A law is refuted only by
a run with numbers whose results differ.

Read `values.py` first, then `views.py` (what patterns mean), `comparison.py`, `arithmetic.py` (how
divisions are made easy), and `prover.py`, where it comes together.
"""

from riselang.rewrite.proving.conditions import Condition
from riselang.rewrite.proving.prover import prove
from riselang.rewrite.proving.verdict import Status, Verdict

__all__ = ["Condition", "Status", "Verdict", "prove"]
