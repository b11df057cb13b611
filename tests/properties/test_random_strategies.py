"""Random strategies on the examples: what they make of a program computes the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from riselang.dialects.module import module_text
from riselang.nat import Nat
from riselang.notation.program import parse_program, parse_term
from riselang.rewrite.core import Failure, Setting, Success
from riselang.rewrite.derivation import Derivation, replay
from riselang.rewrite.normal_forms import data_flow_normal_form
from riselang.rewrite.strategy_text import parse_strategy
from riselang.term.contraction import contract
from riselang.term.nodes import Pattern, Term, subterms
from riselang.term.size_substitution import check_sizes, free_sizes, substitute_sizes
from support.checking import Inputs, call_of, inputs_of, interpreted, module_of
from support.choices import Choices
from support.compiled_patterns import COMPILED_PATTERNS
from support.fuzzing import Ran, seeds
from support.guarded import SIDES, Request, runner
from support.numpy_scalars import Array
from support.programs import Program
from support.random_strategies import RandomStrategies
from support.rule_checking import replayed
from support.shrinking import all_hold
from support.values import same

PROGRAMS = Path(__file__).parents[2] / "examples" / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.rise"))
SIZES = (4, 2, 4, 6, 3)
PERMISSIONS = ("strict", "contract", "relaxed")
TOLERANCE = 1e-3
"""Of floats that were added in another order: relative to the largest of the result."""
MIN_FRACTION = 0.25
"""Of the strategies, the share that has to apply and change something."""


@cache
def example(name: str) -> Term:
    path = PROGRAMS / f"{name}.rise"
    return parse_program(path.read_text(), str(path))[name]


def known_sizes(name: str, choices: Choices) -> Nat:
    return Nat.const(choices.of(SIZES))


@dataclass(frozen=True)
class Case:
    """A program, what it permits, and a strategy for it."""

    seed: int
    float: str
    term: Term

    @staticmethod
    def of(seed: int, size: Callable[[str, Choices], Nat] = known_sizes) -> Case:
        choices = Choices(seed)
        whole = example(NAMES[seed % len(NAMES)])
        sizes = {name: size(name, choices) for name in sorted(free_sizes(whole))}
        float, term = choices.of(PERMISSIONS), substitute_sizes(whole, sizes)
        normal = data_flow_normal_form.run(term if float == "strict" else contract(term), Setting())
        assert isinstance(normal, Success)
        return Case(seed, float, normal.term)

    def derivation(self) -> Derivation | None:
        """What a random strategy makes of it, if it applies."""
        strategy = RandomStrategies(Choices(self.seed)).whole()
        text = str(strategy)
        assert parse_strategy(text) == strategy
        assert str(parse_strategy(text)) == text
        result = strategy.run(self.term, Setting(self.float))
        if isinstance(result, Failure):
            return None
        assert replayed(result, self.term) == result.term
        assert result.term.type == self.term.type
        return Derivation(self.term, result.steps, result.term, text, self.float)

    def inputs(self) -> Inputs:
        """Any values; moderate ones where sums may be rounded in another way."""
        program = Program(self.term, 1)
        if self.float != "relaxed" and self.seed % 2:
            return inputs_of(program, self.seed)
        source = np.random.default_rng(self.seed)

        def moderate(values: Array) -> Array:
            if values.dtype.kind != "f":
                return values
            return np.asarray(source.uniform(0.5, 2.0, values.shape)).astype(values.dtype)

        return [[moderate(values) for values in arrays] for arrays in inputs_of(program, self.seed)]


@pytest.mark.sampled(1)
@seeds(22, nightly=66, fuzzed=1232, batch=11)
def test_the_program_computes_the_same(seeds: range, ran: Ran) -> None:
    changed = 0
    for seed in seeds:
        case = Case.of(seed)
        made = case.derivation()
        if made is None or made.end == case.term:
            continue
        changed += 1
        check_values(case, made)
        check_texts(made, seed)
    assert changed >= MIN_FRACTION * len(seeds)
    ran("random strategies: they change a program, and it computes the same", changed)


def check_values(case: Case, made: Derivation) -> None:
    inputs = case.inputs()
    expected = interpreted(Program(case.term, 1), inputs)
    found = interpreted(Program(made.end, 1), inputs)
    compare = close_to if case.float == "relaxed" else same
    assert compare(found, expected), f"seed {case.seed}: {made.strategy}\n{made.end}"


def close_to(found: Sequence[Array], expected: Sequence[Array]) -> bool:
    """The same integers, and floats that are near."""
    for one, other in zip(found, expected, strict=True):
        if one.dtype.kind != "f":
            if not np.array_equal(one, other):
                return False
        elif not np.allclose(one, other, 0, TOLERANCE * np.abs(other).max(initial=1e-3)):
            return False
    return True


def check_texts(made: Derivation, seed: int) -> None:
    """A derivation is kept and replayed; the terms on the way are printed and read back."""
    again = replay(made.to_json())
    assert again.end == made.end
    assert [str(step.rule) for step in again.steps] == [str(step.rule) for step in made.steps]
    terms = list(made.terms())
    for term in (made.end, Choices(seed).of(terms)):
        assert parse_term(str(term)) == term


@pytest.mark.rotating(3)
@seeds(22, nightly=44, fuzzed=880, batch=22)
def test_a_program_of_open_sizes_computes_the_same(seeds: range, ran: Ran) -> None:
    """Rewritten before its sizes are known, and run with several."""
    changed = 0
    for seed in seeds:
        case = Case.of(seed, open_sizes)
        made = case.derivation()
        if made is None or made.end == case.term:
            continue
        changed += 1
        for number in (1, 2):
            sizes = {name: Nat.const(number) for name in free_sizes(case.term)}
            check_sizes(made.end, sizes)
            at = replace(case, term=substitute_sizes(case.term, sizes))
            check_values(at, replace(made, end=substitute_sizes(made.end, sizes)))
    assert changed >= MIN_FRACTION * len(seeds)
    ran("random strategies: on programs of open sizes", changed)


def open_sizes(name: str, choices: Choices) -> Nat:
    """A size that is not known, but of which 2 and 4 are divisors."""
    return Nat.var(name) * choices.of((4, 2, 4))


@pytest.mark.sampled(1)
@seeds(24, nightly=48, fuzzed=960, batch=12)
def test_compiled_programs_agree_with_the_interpreter(seeds: range, ran: Ran) -> None:
    turn = seeds.start // len(seeds)
    batch = [program for seed in seeds if (program := compilable(seed)) is not None]
    assert len(batch) >= len(seeds) / 3
    all_hold(partial(agree, ("affine", "scf")[turn % 2], seeds.start), batch)
    ran("random strategies: interpreter = compiled", len(batch))


def compilable(seed: int) -> Program | None:
    """What a strategy makes of an example, if it has only patterns that compile."""
    made = Case.of(seed).derivation()
    if made is None:
        return None
    names = {each.spec.name for each in subterms(made.end) if isinstance(each, Pattern)}
    return Program(made.end, 1) if names <= COMPILED_PATTERNS else None


def agree(loops: str, seed: int, batch: Sequence[Program]) -> None:
    """Compiled with nothing contracted any more: that was decided before rewriting."""
    inputs = [inputs_of(program, seed) for program in batch]
    calls = [
        call_of(position, program, values)
        for position, (program, values) in enumerate(zip(batch, inputs, strict=True))
    ]
    answers = runner(1).run(Request(module_text(module_of(batch)), loops, calls))
    for program, values, results in zip(batch, inputs, answers, strict=True):
        expected = interpreted(program, values)
        for side, found in zip(SIDES, results, strict=True):
            assert same(found, expected), (loops, side, values, found, expected)
