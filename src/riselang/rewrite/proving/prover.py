"""The verdict on a law: runs it at small sizes, tries to prove it, or runs it at more sizes."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import uncurry
from riselang.nat import Facts, NatError, is_nonnegative
from riselang.rewrite.proving.equations import Equation
from riselang.rewrite.proving.evaluation import Evaluator
from riselang.rewrite.proving.size_conditions import Condition, required_conditions
from riselang.rewrite.proving.solver import Outcome, Solver, load_z3
from riselang.rewrite.proving.symbolic_values import Opaque, apply
from riselang.rewrite.proving.symbols import Symbols
from riselang.rewrite.proving.trials import Trial
from riselang.rewrite.proving.value_comparison import Comparison, Unequal
from riselang.rewrite.proving.verdict import Status, Verdict
from riselang.support.errors import LimitationError, UserError
from riselang.support.recursion import with_deep_stack
from riselang.term.nodes import DepLambda, Term
from riselang.term.size_substitution import open_term_binder, term_names

TIMEOUT_MS = 2_000
"""The time limit for one question to z3."""


@with_deep_stack
def prove(
    left: Term,
    right: Term,
    assumptions: Sequence[Condition] = (),
    timeout_ms: int = TIMEOUT_MS,
) -> Verdict:
    """Decide whether two terms are the same function at all sizes, data types and inputs.

    The sizes are those for which the patterns of both sides are defined and the assumptions hold.
    `timeout_ms` limits one question to z3.
    """
    load_z3()
    left, right = strip_type_parameters(left, right)
    if left.type != right.type:
        raise UserError(
            "both sides of a law must have the same type, but the left-hand side has the type "
            f"{format_type(left.type)} and the right-hand side has the type "
            f"{format_type(right.type)}"
        )
    return Proof(left, right, assumptions, timeout_ms).verdict()


def strip_type_parameters(left: Term, right: Term) -> tuple[Term, Term]:
    """Return both sides without the functions of sizes and data types around them."""
    while isinstance(left, DepLambda) and isinstance(right, DepLambda):
        used_names = term_names(left) | term_names(right)
        name, left = open_term_binder(left, used_names)
        _, right = open_term_binder(
            DepLambda(right.kind, name, right.body, right.binder), used_names
        )
    return left, right


class Proof:
    """The proof of one law."""

    def __init__(self, left: Term, right: Term, assumptions: Sequence[Condition], timeout_ms: int):
        self._sides = (left, right)
        self._conditions = (*assumptions, *required_conditions(self._sides))
        self._law = Equation(left, right, self._conditions)
        self._timeout_ms = timeout_ms

    def verdict(self) -> Verdict:
        trial = Trial(self._law)
        return trial.run_small() or self._try_to_prove(trial)

    def _try_to_prove(self, trial: Trial) -> Verdict:
        try:
            self.compare()
        except Unequal as unequal:
            return trial.run_at_sizes(unequal.sizes) or trial.run_large(unequal.reason)
        except LimitationError as error:
            return trial.run_large(error.message)
        except NatError as error:
            return trial.run_large(str(error))
        return Verdict(Status.PROVED, f"for all sizes{self._format_conditions()}")

    def compare(self) -> None:
        """Raise Unequal unless the sides are the same at all sizes."""
        symbols = Symbols()
        solver = Solver(symbols, self._law.sizes, self._conditions, self._timeout_ms)
        if solver.satisfy(()).outcome is Outcome.IMPOSSIBLE:
            raise Unequal("no sizes satisfy the conditions of the law", {})
        left, right = (Evaluator(symbols).evaluate(side) for side in self._sides)
        inputs, result = uncurry(self._sides[0].type)
        for name, type in zip(self._law.inputs, inputs, strict=True):
            argument = Opaque(type, name)
            left, right = apply(left, argument), apply(right, argument)
        Comparison(symbols, solver).check_equal(result, left, right, ())

    def _format_conditions(self) -> str:
        """Format the conditions, except those that lengths are not negative."""
        conditions = [c for c in self._conditions if not is_nonnegative(c.left - c.right, Facts())]
        return f" with {', '.join(map(str, conditions))}" if conditions else ""
