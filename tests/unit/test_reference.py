"""The laws of the reference hold, and its examples compute what they say."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import riselang as rl
from making.pattern_reference import REFERENCE, Example, Law
from riselang.dialects.module import module_text
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.type_binding import substitute
from riselang.dialects.rise.types import FunType, RiseType, uncurry
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.lowering.imperative import compiled_patterns
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.term.nodes import Pattern, Term
from riselang.term.size_substitution import substitute_sizes
from support.checking import call_of, module_of
from support.programs import Program
from support.values import random_values, same

LAWS = [(name, law) for name, entry in REFERENCE.items() for law in entry.laws]
EXAMPLES = {name: entry.example for name, entry in REFERENCE.items()}
SIZES = ("g", "h", "k", "l", "m", "n", "p", "q", "r", "sz", "tm", "tn", "wr")
"""The sizes that laws speak of."""
LARGEST_SIZE = 4
ROUNDS = 12


def closed(parameters: str, expression: str) -> Term:
    return parse_term(f"fun(({parameters}), {expression})")


def random_value(type: RiseType, source: np.random.Generator) -> Any:
    """A value as the interpreter holds it; a function gives any result for each argument."""
    if not isinstance(type, FunType):
        return from_buffers(type, random_values(type, source))
    seed, known = int(source.integers(2**32)), dict[str, Any]()

    def apply(argument: Any) -> Any:
        if repr(argument) not in known:
            own = np.random.default_rng([seed, len(known)])
            known[repr(argument)] = random_value(type.output, own)
        return known[repr(argument)]

    return apply


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_has_laws_and_an_example(name: str) -> None:
    assert name in REFERENCE, f"docs/making/pattern_reference.py has no entry for {name}"
    entry = REFERENCE[name]
    assert name in patterns_of(closed(entry.example.parameters, entry.example.expression))
    for law in entry.laws:
        sides = [closed(law.parameters, side) for side in (law.left, law.right)]
        assert name in patterns_of(sides[0]) | patterns_of(sides[1])


def test_the_reference_is_only_of_patterns() -> None:
    assert REFERENCE.keys() <= PATTERNS.keys()


@pytest.mark.sampled(23)
@pytest.mark.parametrize(("name", "law"), LAWS, ids=[f"{name}: {law.left}" for name, law in LAWS])
def test_laws_hold(name: str, law: Law) -> None:
    left, right = (closed(law.parameters, side) for side in (law.left, law.right))
    assert left.type == right.type
    source = np.random.default_rng(1)
    for _ in range(ROUNDS):
        sizes = {size: Nat.const(int(source.integers(1, LARGEST_SIZE + 1))) for size in SIZES}
        inputs, result = uncurry(substitute(left.type, sizes, {}))
        values = [random_value(type, source) for type in inputs]
        found = [
            to_buffers(result, run_term(substitute_sizes(t, sizes), values)) for t in (left, right)
        ]
        assert same(*found), sizes


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_true(name: str) -> None:
    example = EXAMPLES[name]
    inputs = [ast.literal_eval(text) for text in example.inputs]
    found = run_term(closed(example.parameters, example.expression), inputs)
    assert found == ast.literal_eval(example.result)
    assert repr(found) == example.result


@pytest.mark.sampled(1)
@pytest.mark.rotating(4)
@pytest.mark.parametrize("loops", ["affine", "scf"])
def test_examples_are_true_compiled(loops: str) -> None:
    """All examples of patterns that compile, as functions of one module."""
    terms = {name: closed(e.parameters, e.expression) for name, e in EXAMPLES.items()}
    names = [name for name, term in terms.items() if patterns_of(term) <= compiled_patterns()]
    programs = [Program(terms[name], 1) for name in names]
    module = rl.loads(module_text(module_of(programs)), loops=loops)
    for position, (name, program) in enumerate(zip(names, programs, strict=True)):
        inputs, expected = buffers(EXAMPLES[name], program)
        call = call_of(position, program, inputs)
        getattr(module, call.name)(*call.outputs, *call.inputs)
        assert same(call.outputs, expected), name


def buffers(example: Example, program: Program) -> tuple[list[Any], list[Any]]:
    """The inputs and the result of an example as arrays, one for each scalar leaf."""
    texts = zip(program.input_types, example.inputs, strict=True)
    inputs = [to_buffers(type, ast.literal_eval(text)) for type, text in texts]
    (result,) = program.result_types
    return inputs, to_buffers(result, ast.literal_eval(example.result))


def patterns_of(term: Term) -> set[str]:
    found = {term.spec.name} if isinstance(term, Pattern) else set[str]()
    return found.union(*[patterns_of(child) for child in term.children])
