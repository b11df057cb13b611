"""What the tests of random programs have in common: values, the interpreter, and modules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from riselang.dialects.module import module_text
from riselang.dialects.rise.types import uncurry
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.term.contraction import contract
from riselang.term.from_dialect import read_units
from riselang.term.nodes import Term
from riselang.term.to_dialect import program_module
from support.guarded import SIDES, Call, Request, runner
from support.numpy_scalars import Array
from support.programs import Program
from support.values import garbage, random_values, same

Inputs = list[list[Array]]


def inputs_of(program: Program, seed: int) -> Inputs:
    """Values for each input of the program, one array for each scalar leaf."""
    source = np.random.default_rng(seed)
    return [random_values(type, source) for type in program.input_types]


def interpreted(program: Program, inputs: Inputs) -> list[Array]:
    """The results as the interpreter gives them, one array for each scalar leaf."""
    values = [
        from_buffers(type, arrays) for type, arrays in zip(program.input_types, inputs, strict=True)
    ]
    return to_buffers(uncurry(program.term.type)[1], run_term(program.term, values))


def module_of(programs: Sequence[Program]) -> ModuleOp:
    """One module with a function for each program: f0, f1, ..."""
    functions: list[FuncOp] = []
    for position, program in enumerate(programs):
        module = program_module(program.term, f"f{position}", program.results)
        (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
        function.detach()
        functions.append(function)
    return ModuleOp(functions)


def call_of(position: int, program: Program, inputs: Inputs) -> Call:
    outputs = [buffer for type in program.result_types for buffer in garbage(type)]
    return Call(f"f{position}", outputs, [array for arrays in inputs for array in arrays])


def check_compiled(
    configuration: tuple[str, str, int, str], batch: Sequence[Program], inputs: Sequence[Inputs]
) -> None:
    """Compile and run programs as one module; the results are those of the interpreter.

    A configuration consists of loops, float permission, number of threads, and where small
    temporaries are stored.
    """
    loops, permission, threads, memory = configuration
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


def term_in(module: ModuleOp) -> Term:
    """The term of the only lowering unit of the only function."""
    (function,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    ((_, unit),) = read_units(function)
    return unit.term
