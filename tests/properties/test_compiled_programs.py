"""Random programs, compiled: equal to the interpreter bit for bit, and inside their buffers.

One module holds many programs, since a compilation costs more than a program. All of it runs in
another process, with a protected page at each end of every buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from riselang.compiler.compilation import Compilation
from riselang.dialects.module import module_text
from riselang.native.mlir import bindings as mlir
from riselang.support.config import Options
from riselang.term.contraction import contract
from support.checking import call_of, inputs_of, interpreted, module_of
from support.fuzzing import Ran, seeds
from support.guarded import SIDES, Request, runner
from support.programs import Program, seeded_program
from support.shrinking import all_hold
from support.values import same

CONFIGURATIONS = (
    ("affine", "strict", 1, "stack"),
    ("scf", "contract", 2, "heap"),
    ("scf", "strict", 1, "heap"),
    ("affine", "contract", 2, "stack"),
    ("scf", "strict", 2, "stack"),
    ("affine", "contract", 1, "heap"),
    ("scf", "contract", 1, "stack"),
    ("affine", "strict", 2, "heap"),
    ("polyhedral", "strict", 1, "stack"),
    ("polyhedral", "contract", 2, "heap"),
)
"""Loops, float permission, threads, and where small temporaries live; they take turns."""


@seeds(160, nightly=1008, fuzzed=20_000, batch=16)
def test_compiled_programs_agree_with_the_interpreter(seeds: range, ran: Ran) -> None:
    turn = seeds.start // len(seeds) % len(CONFIGURATIONS)
    batch = [seeded_program(seed, compiled=True) for seed in seeds]
    all_hold(partial(agree, CONFIGURATIONS[turn], seeds.start), batch)
    ran("programs: interpreter = compiled", len(seeds))


def agree(configuration: tuple[str, str, int, str], seed: int, batch: Sequence[Program]) -> None:
    loops, permission, threads, memory = configuration
    inputs = [inputs_of(program, seed) for program in batch]
    calls = [
        call_of(position, program, values)
        for position, (program, values) in enumerate(zip(batch, inputs, strict=True))
    ]
    request = Request(module_text(module_of(batch)), loops, calls, memory, permission)
    answers = runner(threads).run(request)
    for program, values, results in zip(batch, inputs, answers, strict=True):
        term = contract(program.term) if permission == "contract" else program.term
        expected = interpreted(Program(term, program.results), values)
        for side, found in zip(SIDES, results, strict=True):
            assert same(found, expected), (configuration, side, values, found, expected)


@pytest.mark.parametrize("loops", ["affine", "scf"])
@seeds(24, nightly=36, fuzzed=600, batch=12)
def test_unmodified_mlir_verifies_the_loops(seeds: range, loops: str, ran: Ran) -> None:
    def verify(batch: Sequence[Program]) -> None:
        mlir.verify(Compilation(module_of(batch), Options(loops)).native_text)

    all_hold(verify, [seeded_program(seed, compiled=True) for seed in seeds])
    ran("programs: loops verified by unmodified MLIR", len(seeds))
