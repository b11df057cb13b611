"""Random programs in two stages, where some arguments are known first, compute the same."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from riselang.dialects.rise.types import FunType, uncurry
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.rewrite.core import Path, Setting, Success
from riselang.rewrite.rules.functions import name_stored
from riselang.rewrite.rules.lowering import store_on_heap
from riselang.rewrite.staging import Stages, split_by_known_parameters
from riselang.rewrite.traversals import everywhere, run_at
from riselang.term.nodes import Lambda, Term
from support.checking import inputs_of, interpreted
from support.fuzzing import Ran, seeds
from support.programs import Program, seeded_program
from support.values import same


@seeds(50, nightly=150, fuzzed=5_000, batch=50)
def test_two_stages_compute_what_one_does(seeds: range, ran: Ran) -> None:
    count = 0
    for seed in seeds:
        program, random = seeded_program(seed), Random(seed)
        parameters = len(program.input_types)
        known = {at for at in range(parameters) if random.random() < 0.6}
        stored = with_memory(program.term, random)
        stages = split_by_known_parameters(stored, parameters, known)
        if stages is not None:
            count += 1
            check(program, stages, sorted(known), seed)
    ran("random programs in two stages", count)
    assert count


def with_memory(term: Term, random: Random) -> Term:
    """The program with some of its parts stored under a name."""
    for _ in range(random.randrange(1, 4)):
        path, part = random.choice(list(data_parts(term)))
        result = run_at(store_on_heap, term, path, part, Setting())
        term = result.term if isinstance(result, Success) else term
    named = everywhere(name_stored).run(term, Setting())
    return named.term if isinstance(named, Success) else term


def data_parts(term: Term, path: Path = ()) -> Iterator[tuple[Path, Term]]:
    """The parts of a program that are data."""
    if not isinstance(term.type, FunType):
        yield path, term
    for index, child in enumerate(term.children):
        if path or isinstance(term, Lambda):
            yield from data_parts(child, (*path, index))


def check(program: Program, stages: Stages, known: list[int], seed: int) -> None:
    inputs = inputs_of(program, seed)
    arguments: list[Any] = [
        from_buffers(type, arrays) for type, arrays in zip(program.input_types, inputs, strict=True)
    ]
    value: Any = run_term(stages.first, [arguments[at] for at in known])
    values: list[Any] = []
    for _ in range(stages.values - 1):
        first, value = value
        values.append(first)
    result = run_term(stages.second, [*arguments, *values, value])
    found = to_buffers(uncurry(program.term.type)[1], result)
    assert same(found, interpreted(program, inputs)), seed
