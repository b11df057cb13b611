"""Random programs as kernels: equal to the interpreter bit for bit, or refused in a sentence.

Blocks are run one after the other, but the threads of a block at once, so that a barrier that is
missing is a race.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from riselang.compiler.compilation import Compilation
from riselang.native import cuda
from riselang.runtime.artifact import Artifact
from riselang.support.config import Options
from riselang.support.errors import LimitationError, UserError
from support.checking import call_of, inputs_of, interpreted, module_of
from support.emulated_gpu import EmulatedGpu
from support.fuzzing import Ran, seeds
from support.gpu_programs import on_gpu
from support.programs import Program, seeded_program
from support.shrinking import all_hold
from support.values import same


@pytest.mark.rotating(3)
@pytest.mark.sampled(1)
@seeds(40, nightly=160, fuzzed=10_000, batch=20)
def test_kernels_agree_with_the_interpreter(
    seeds: range, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs: list[Program] = []
    for seed in seeds:
        program = seeded_program(seed, compiled=True)
        programs.append(Program(on_gpu(program.term, random.Random(seed)), program.results))
    counts = {"programs: interpreter = kernels": 0, "programs that no GPU can run": 0}

    def agree(batch: Sequence[Program]) -> None:
        for program in batch:
            counts[agreed(program, seeds.start, monkeypatch)] += 1

    all_hold(agree, programs)
    for what, count in counts.items():
        ran(what, count)


def agreed(program: Program, seed: int, monkeypatch: pytest.MonkeyPatch) -> str:
    compilation = Compilation(module_of([program]), Options("gpu"))
    try:
        artifact = compilation.artifact
    except (LimitationError, UserError):
        return "programs that no GPU can run"
    gpu = EmulatedGpu(compilation.gpu)
    monkeypatch.setattr(cuda, "driver", lambda: gpu)
    function = Artifact.from_bytes(artifact.to_bytes()).load_executables(lambda _: [program.term])[
        "f0"
    ]
    values = inputs_of(program, seed)
    call = call_of(0, program, values)
    function(*call.outputs, *call.inputs)
    expected = interpreted(program, values)
    assert same(list(call.outputs), expected), (program.term, values, call.outputs, expected)
    assert not gpu.held
    return "programs: interpreter = kernels"
