"""Programs as text for the tests of rewriting, and what strategies make of them."""

from __future__ import annotations

from riselang.notation.program import parse_term
from riselang.rewrite.core import Failure, Result, Setting, Strategy, Success
from riselang.rewrite.derivation import Derivation, derive
from riselang.rewrite.strategy_text import parse_strategy
from riselang.term.nodes import Lambda, Term
from support.checking import inputs_of, interpreted
from support.programs import Program
from support.values import same


def inner(program: str) -> Term:
    """The body of a program, open in its inputs."""
    term = parse_term(program)
    while isinstance(term, Lambda):
        term = term.body
    return term


def run(strategy: str | Strategy, program: str, float: str = "strict") -> Result:
    """What becomes of the body of a program."""
    chosen = parse_strategy(strategy) if isinstance(strategy, str) else strategy
    return chosen.run(inner(program), Setting(float))


def rewritten(strategy: str | Strategy, program: str, float: str = "strict") -> Term:
    """What becomes of the body of a program, if the strategy applies."""
    result = run(strategy, program, float)
    assert isinstance(result, Success), result.reason
    return result.term


def refused(strategy: str | Strategy, program: str, float: str = "strict") -> Failure:
    """Why a strategy does not apply to the body of a program."""
    result = run(strategy, program, float)
    assert isinstance(result, Failure), result.term
    return result


def derived(program: str, strategy: str) -> Derivation:
    """A derivation from a program, which computes the same at its end."""
    made = derive(parse_term(program), parse_strategy(strategy), "strict")
    before, after = Program(made.start, 1), Program(made.end, 1)
    for seed in range(3):
        inputs = inputs_of(before, seed)
        assert same(interpreted(after, inputs), interpreted(before, inputs))
    return made
