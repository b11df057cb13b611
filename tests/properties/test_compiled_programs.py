"""Random programs, compiled: equal to the interpreter bit for bit, and inside their buffers.

One module holds many programs, since a compilation costs more than a program. All of it runs in
another process, with a protected page at each end of every buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riselang.api.compile import Compilation
from riselang.dialects.module import module_text
from riselang.native import mlir
from support.checking import call_of, inputs_of, interpreted, module_of
from support.fuzzing import fuzz
from support.guarded import SIDES, Request, Runner
from support.programs import Program, batches
from support.shrinking import holds
from support.values import same

SEEDS = st.integers(0, 1000)
BATCHES = batches(12)


@cache
def runner(threads: int) -> Runner:
    return Runner({"RISE_NUM_THREADS": str(threads)})


def all_hold(property: Callable[[Sequence[Program]], None], batch: Sequence[Program]) -> None:
    """Check the property of all programs at once; where it fails, find one that fails alone."""
    try:
        property(batch)
    except Exception:
        for program in batch:
            holds(lambda other: property([other]), program)
        raise


@pytest.mark.parametrize(
    ("loops", "threads", "memory"),
    [
        ("affine", 1, "stack"),
        ("affine", 3, "heap"),
        ("scf", 1, "heap"),
        ("scf", 3, "stack"),
    ],
)
@fuzz(5)
@given(BATCHES, SEEDS)
def test_compiled_programs_agree_with_the_interpreter(
    loops: str, threads: int, memory: str, batch: list[Program], seed: int
) -> None:
    def agree(batch: Sequence[Program]) -> None:
        inputs = [inputs_of(program, seed) for program in batch]
        calls = [
            call_of(position, program, values)
            for position, (program, values) in enumerate(zip(batch, inputs, strict=True))
        ]
        request = Request(module_text(module_of(batch)), loops, calls, memory)
        answers = runner(threads).run(request)
        for program, values, results in zip(batch, inputs, answers, strict=True):
            expected = interpreted(program, values)
            for side, found in zip(SIDES, results, strict=True):
                assert same(found, expected), (side, values, found, expected)

    all_hold(agree, batch)


@pytest.mark.parametrize("loops", ["affine", "scf"])
@fuzz(3)
@given(BATCHES)
def test_unmodified_mlir_verifies_the_loops(loops: str, batch: list[Program]) -> None:
    def verify(batch: Sequence[Program]) -> None:
        mlir.verify(Compilation(module_of(batch), loops=loops).native_text)

    all_hold(verify, batch)
