"""Random programs that repeat themselves compute the same with functions for what they repeat.

The limit on what is worth a function is as low as can be, so that small repeats become one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pytest
from xdsl.context import Context

from riselang.compiler import rewritten_program
from riselang.compiler.pipeline import rewrite
from riselang.dialects.module import module_text
from riselang.lowering.callees import FUNCTION_PREFIX, SMALL_FUNCTION_PREFIX
from riselang.lowering.passes.convert_rise_to_imperative import ConvertRiseToImperativePass
from riselang.notation.program import parse_term
from riselang.rewrite.default import DEFAULT
from riselang.support.config import Options
from riselang.term import outline_repeats
from riselang.term.contraction import contract
from riselang.term.outline_repeats import outline
from support.checking import call_of, inputs_of, interpreted, module_of
from support.fuzzing import Ran, seeds
from support.guarded import SIDES, Request, runner
from support.programs import Program
from support.repeating import repeating_program
from support.round_trips import through_notation, through_the_dialect
from support.shrinking import all_hold, holds
from support.values import same

pytestmark = pytest.mark.rotating(2)

MIN_FRACTION = 0.5
"""The share of many programs that must have something to outline."""


@dataclass(frozen=True)
class Configuration:
    """How programs are compiled: as they are, or rewritten like those of a person."""

    loops: str
    permission: str
    threads: int
    memory: str
    is_rewritten: bool

    def outlined(self, program: Program) -> Program:
        if not self.is_rewritten:
            return Program(outline(program.term), program.results)
        whole = rewritten_program.Program("main", program.term, program.results)
        rewritten = rewrite(whole, DEFAULT, Options(self.loops, self.permission))
        return Program(rewritten.program.term, program.results)


CONFIGURATIONS = (
    Configuration("affine", "strict", 1, "stack", is_rewritten=True),
    Configuration("scf", "contract", 2, "heap", is_rewritten=False),
    Configuration("affine", "strict", 2, "heap", is_rewritten=False),
    Configuration("scf", "strict", 1, "heap", is_rewritten=True),
    Configuration("polyhedral", "strict", 1, "stack", is_rewritten=False),
)
"""They take turns."""


@pytest.fixture(autouse=True)
def without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline_repeats, "MIN_SAVING", 1)


@pytest.mark.rotating(4)
@seeds(50, nightly=100, fuzzed=10_000, batch=50)
def test_outlined_programs_compute_the_same(seeds: range, ran: Ran) -> None:
    outlined = 0
    for seed in seeds:
        with naming(seed):
            program = repeating_program(seed)
            holds(partial(means_the_same, seed), program)
            outlined += outline(program.term) is not program.term
    ran("programs: outlined = as they were", outlined)
    assert outlined >= MIN_FRACTION * len(seeds), (outlined, seeds)


def means_the_same(seed: int, program: Program) -> None:
    """The type, the results, and what is read back of an outlined program."""
    outlined = Program(outline(program.term), program.results)
    if outlined.term is program.term:
        return
    assert outlined.term.type == program.term.type
    inputs = inputs_of(program, seed)
    assert same(interpreted(outlined, inputs), interpreted(program, inputs))
    through_notation(outlined)
    through_the_dialect(outlined)


@seeds(40, nightly=40, fuzzed=3_000, batch=8)
def test_outlined_programs_are_compiled(seeds: range, ran: Ran) -> None:
    turn = seeds.start // len(seeds) % len(CONFIGURATIONS)
    programs = [repeating_program(seed, compiled=True) for seed in seeds]
    batch = [program for program in programs if outline(program.term) is not program.term]
    assert batch, seeds
    with naming(seeds):
        all_hold(partial(compiled_agree, CONFIGURATIONS[turn], seeds.start), batch)
    ran("programs: interpreter = compiled, outlined", len(batch))


def compiled_agree(configuration: Configuration, seed: int, batch: Sequence[Program]) -> None:
    """What is computed after outlining is what the programs as they were mean."""
    loops, permission = configuration.loops, configuration.permission
    inputs = [inputs_of(program, seed) for program in batch]
    outlined = [configuration.outlined(program) for program in batch]
    calls = [
        call_of(position, program, given)
        for position, (program, given) in enumerate(zip(outlined, inputs, strict=True))
    ]
    text = module_text(module_of(outlined))
    request = Request(text, loops, calls, configuration.memory, permission)
    answers = runner(configuration.threads).run(request)
    for program, given, results in zip(batch, inputs, answers, strict=True):
        term = contract(program.term) if permission == "contract" else program.term
        expected = interpreted(Program(term, program.results), given)
        for side, found in zip(SIDES, results, strict=True):
            assert same(found, expected), (configuration, side, given, found, expected)


@seeds(12, nightly=12, fuzzed=300, batch=12)
def test_outlined_programs_have_functions(seeds: range, ran: Ran) -> None:
    """What is outlined is called, and not written again wherever it is used."""
    programs = [repeating_program(seed, compiled=True) for seed in seeds]
    terms = [outline(program.term) for program in programs]
    modules = [
        module_of([Program(term, program.results)])
        for term, program in zip(terms, programs, strict=True)
    ]
    for module in modules:
        ConvertRiseToImperativePass("affine").apply(Context(), module)
    calls = [f"call @{prefix}_0(" for prefix in (FUNCTION_PREFIX, SMALL_FUNCTION_PREFIX)]
    called = sum(any(call in module_text(module) for call in calls) for module in modules)
    ran("programs: outlined and called", called)
    assert called, seeds


def test_a_value_that_is_a_result_by_its_name() -> None:
    """`b` and `d` are used by no other value, but they are results."""
    term = parse_term("""fun((x : 4.f32, y : 4.f32),
      let a = x |> map(fun(v, v + 1.0)); let b = a |> map(fun(v, v * 2.0));
      let c = y |> map(fun(v, v + 1.0)); let d = c |> map(fun(v, v * 2.0));
      (zip(a, c), (b, d)))""")
    means_the_same(0, Program(term, 3))


@contextmanager
def naming(seeds: int | range) -> Generator[None]:
    """Say in a failure which seeds it is of."""
    try:
        yield
    except Exception as error:
        error.add_note(f"seeds: {seeds}")
        raise
