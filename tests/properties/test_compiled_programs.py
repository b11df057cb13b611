"""Compiled random programs compute the same bits as the interpreter, and stay within their buffers.

Each module contains many programs, since a compilation has a high fixed cost. Modules are compiled
and run in another process: once with a protected page directly after each buffer, and once with one
directly before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from riselang.compiler.compilation import Compilation
from riselang.native.mlir import bindings as mlir
from riselang.support.config import Options
from support.checking import check_compiled, inputs_of, module_of
from support.fuzzing import Ran, seeds
from support.programs import Program, seeded_program
from support.shrinking import all_hold

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
"""Loops, float permission, number of threads, and where small temporaries are stored.

Each batch of programs uses the next configuration.
"""


@pytest.mark.sampled(4)
@seeds(160, nightly=1008, fuzzed=20_000, batch=16)
def test_compiled_programs_agree_with_the_interpreter(seeds: range, ran: Ran) -> None:
    configuration = CONFIGURATIONS[seeds.start // len(seeds) % len(CONFIGURATIONS)]
    batch = [seeded_program(seed, compiled=True) for seed in seeds]
    all_hold(partial(check_agreement, configuration, seeds.start), batch)
    ran("programs: interpreter = compiled", len(seeds))


def check_agreement(
    configuration: tuple[str, str, int, str], seed: int, batch: Sequence[Program]
) -> None:
    check_compiled(configuration, batch, [inputs_of(program, seed) for program in batch])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loops", ["affine", "scf"])
@seeds(24, nightly=36, fuzzed=600, batch=12)
def test_unmodified_mlir_verifies_the_loops(seeds: range, loops: str, ran: Ran) -> None:
    """The verifier of upstream MLIR accepts the output of riselang's passes."""

    def verify(batch: Sequence[Program]) -> None:
        mlir.verify(Compilation(module_of(batch), Options(loops)).native_text)

    all_hold(verify, [seeded_program(seed, compiled=True) for seed in seeds])
    ran("programs: loops verified by unmodified MLIR", len(seeds))
