"""The random programs have every pattern: a test names the one that the generator forgot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from riselang.dialects.rise.pattern_registry import KEYWORD_PARAMETERS, PATTERNS
from riselang.dialects.rise.types import ArrayType, VectorType
from riselang.term.nodes import Apply, Pattern, Scalar, Term, spine, subterms
from riselang.term.scalar_ops import SCALAR_OPS
from support.compiled_patterns import COMPILED_PATTERNS
from support.generation.loops import REDUCTIONS
from support.numpy_patterns import PATTERNS as NUMPY_MEANINGS
from support.programs import seeded_program
from support.random_scalars import COMMON

pytestmark = pytest.mark.rotating(3)

SEEDS = range(400)
MANY_SEEDS = range(1000)
"""For what is rare, such as every operation that there is, on vectors."""


TOO_LARGE = {"tensorMMA", "tensorAttention"}
"""A fragment has at least 128 elements; tests/unit/gpu/test_tensor_cores.py makes such programs."""


def patterns_of(term: Term) -> Iterator[Pattern]:
    stack = [term]
    while stack:
        part = stack.pop()
        stack.extend(part.children)
        if isinstance(part, Pattern):
            yield part


def test_every_pattern_and_memory_space_occurs() -> None:
    programs = [seeded_program(seed) for seed in SEEDS]
    uses = [use for program in programs for use in patterns_of(program.term)]
    forgotten = PATTERNS.keys() - TOO_LARGE - {use.spec.name for use in uses}
    assert not forgotten, (
        f"no random program has {', '.join(sorted(forgotten))}: add a function that makes it to "
        "tests/support/generation (views.py, loops.py, arrays.py, ...)"
    )
    spaces = {use.argument("space") for use in uses if use.spec.name == "toMem"}
    assert spaces == set(KEYWORD_PARAMETERS["space"])


def test_programs_to_compile_have_exactly_the_patterns_that_compile() -> None:
    programs = [seeded_program(seed, compiled=True) for seed in SEEDS]
    found = {use.spec.name for program in programs for use in patterns_of(program.term)}
    wanted = COMPILED_PATTERNS & PATTERNS.keys() - TOO_LARGE
    assert not wanted - found, (
        f"no random program to compile has {', '.join(sorted(wanted - found))}: make it also for "
        "programs to compile, in tests/support/generation"
    )
    assert not found - wanted, (
        f"random programs to compile have {', '.join(sorted(found - wanted))}, which do not "
        "compile: leave them out there, in tests/support/generation"
    )


@pytest.mark.rotating(8)
def test_operations_work_on_vectors() -> None:
    programs = [seeded_program(seed, compiled=True) for seed in MANY_SEEDS]
    parts = [part for program in programs for part in subterms(program.term)]
    on_vectors = {
        part.op for part in parts if isinstance(part, Scalar) and isinstance(part.type, VectorType)
    }
    binary = {op for ops in COMMON.values() for op in ops}
    assert on_vectors >= {*binary, "arith.select", "arith.cmpf", "arith.cmpi"}
    assert any(SCALAR_OPS[op].arity == 1 for op in on_vectors)


def test_the_second_evaluation_knows_every_pattern() -> None:
    missing = ", ".join(sorted(PATTERNS.keys() - NUMPY_MEANINGS.keys()))
    assert not missing, f"add the meaning of {missing} to tests/support/numpy_patterns.py"
    unknown = ", ".join(sorted(NUMPY_MEANINGS.keys() - PATTERNS.keys()))
    assert not unknown, f"tests/support/numpy_patterns.py has {unknown}, which are not patterns"


def test_reductions_of_small_arrays_are_read_at_run_time_indices() -> None:
    """Inside of others: the compiler crashed on such programs, which no seed had."""
    programs = [seeded_program(seed, compiled=True) for seed in MANY_SEEDS]
    terms = [part for program in programs for part in subterms(program.term)]
    steps = [spine(term)[1][0] for term in terms if is_array_reduction(term)]
    inside = [part for step in steps for part in subterms(step)]
    reads = [spine(part) for part in inside if isinstance(part, Apply)]
    found = {
        head.spec.name
        for head, arguments in reads
        if isinstance(head, Pattern)
        and head.spec.name in ("gather", "scatter")
        and len(arguments) == head.spec.arity
        and is_array_reduction(arguments[-1])
    }
    assert found == {"gather", "scatter"}


def is_array_reduction(term: Term) -> bool:
    head, arguments = spine(term)
    is_reduction = isinstance(head, Pattern) and head.spec.name in REDUCTIONS
    return is_reduction and len(arguments) == 3 and isinstance(term.type, ArrayType)
