"""Programs to benchmark: compiled, with arrays to call them with."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from riselang.api.kernel import Kernel
from riselang.runtime.arrays import Array
from riselang.runtime.executable import Executable
from riselang.support.comparison import are_close, flatten_results
from riselang.tools.calls import function_arguments, kernel_inputs, select_function
from riselang.tools.options import compiler_choices
from riselang.tools.source_files import KernelFile, read_source


@dataclass(frozen=True)
class Work:
    """The minimal work of a call."""

    bytes: int
    """The bytes of the inputs and results, each read or written once."""
    operations: int | None = None
    """The number of float operations; None if it is unknown."""


@dataclass(frozen=True)
class BenchProgram:
    """A call to measure and its results; `label` has the file and `name` the input shapes."""

    label: str
    name: str
    call: Callable[[], Any]
    results: tuple[Array, ...]
    work: Work


def prepare_program(file: str, function: str | None, options: argparse.Namespace) -> BenchProgram:
    """Compile the program of a file, and call it once."""
    source = read_source(file, compiler_choices(options))
    if isinstance(source, KernelFile):
        return _kernel_program(file, source.kernel(function), options)
    functions = source.compilation(None, {}).functions
    return _function_program(file, select_function(file, function, functions), options)


def _kernel_program(file: str, kernel: Kernel, options: argparse.Namespace) -> BenchProgram:
    arrays, sizes = kernel_inputs(kernel, options.inputs, options.size)
    results = flatten_results(kernel.call(arrays, sizes))
    # The fast call needs all sizes to be determined by the shapes of the arrays.
    all_sizes = kernel.sizes_of(dict(zip(kernel.names, arrays, strict=True)))
    is_known = sizes.keys() <= all_sizes.keys()
    call = (lambda: kernel(*arrays)) if is_known else (lambda: kernel.call(arrays, sizes))
    flops = kernel.trace(*arrays).cost_analysis().flops if is_known else None
    operations = flops if isinstance(flops, int) and flops > 0 else None
    return _make_program(file, kernel.__name__, call, arrays, results, operations)


def _function_program(
    file: str, executable: Executable, options: argparse.Namespace
) -> BenchProgram:
    arguments = function_arguments(executable, options.inputs, options.size)
    executable(*arguments)
    inputs: list[Array] = []
    results: list[Array] = []
    for parameter, argument in zip(executable.parameters, arguments, strict=True):
        (results if parameter.is_written else inputs).append(np.asarray(argument))
    return _make_program(file, executable.name, lambda: executable(*arguments), inputs, results)


def _make_program(
    file: str,
    function: str,
    call: Callable[[], Any],
    inputs: Sequence[Array],
    results: Sequence[Array],
    operations: int | None = None,
) -> BenchProgram:
    shapes = ", ".join("x".join(map(str, array.shape)) or "scalar" for array in inputs)
    work = Work(sum(array.nbytes for array in (*inputs, *results)), operations)
    # Later calls write to the same buffers.
    expected = tuple(result.copy() for result in results)
    return BenchProgram(
        f"{Path(file).name}:{function}", f"{function}({shapes})", call, expected, work
    )


def have_equal_results(first: BenchProgram, second: BenchProgram) -> bool:
    """Return whether the results of two programs are equal up to rounding."""
    return are_close(first.results, second.results)
