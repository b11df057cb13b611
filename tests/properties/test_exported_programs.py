"""Random programs as StableHLO: read back by riselang, and run by XLA."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.export.evaluation import export_graph
from riselang.frontends.export.onnx_model import onnx_model
from riselang.frontends.export.stablehlo_text import print_function
from support.checking import inputs_of, interpreted
from support.fuzzing import Ran, seeds
from support.model_examples import as_list
from support.programs import Program, seeded_program

pytestmark = pytest.mark.rotating(6)
TOLERANCE = {1: 0.25, 2: 1e-2, 4: 1e-3, 8: 1e-3}
"""The relative error of floats of this size; sums are computed in other orders."""


def exported(program: Program) -> str | None:
    """Return the module of a program, or None if it has operations that StableHLO does not."""
    with suppress(rl.LimitationError):
        return print_function(export_graph("main", program.term))
    return None


def check(seed: int, found: Sequence[Any], wanted: Sequence[Any]) -> None:
    for result, other in zip(found, wanted, strict=True):
        result, other = np.asarray(result), np.asarray(other)
        assert result.shape == other.shape, seed
        if other.dtype.kind in "iub":
            np.testing.assert_array_equal(result.astype(other.dtype), other, str(seed))
            continue
        error = TOLERANCE[other.dtype.itemsize]
        result, other = result.astype(np.float64), other.astype(np.float64)
        size = float(np.nan_to_num(np.abs(other), posinf=0).max(initial=1))
        np.testing.assert_allclose(result, other, error, error * size, err_msg=str(seed))


def comparable(array: Any) -> np.ndarray[Any, Any]:
    """Floats that NumPy does not have as f32, since it does not take their NaN for equal."""
    found = np.asarray(array)
    return found if found.dtype.isbuiltin == 1 else found.astype(np.float32)


@seeds(60, nightly=300, fuzzed=10_000, batch=30)
def test_exported_programs_are_read_back(seeds: range, ran: Ran) -> None:
    count = 0
    for seed in seeds:
        program = seeded_program(seed)
        text = exported(program)
        if text is None:
            continue
        inputs = inputs_of(program, seed)
        model = rl.from_stablehlo(text, backend="interpret")
        check(seed, as_list(model(*inputs)), interpreted(program, inputs))
        count += 1
    ran("programs exported to StableHLO and read back", count)


@seeds(10, nightly=300, fuzzed=10_000, batch=10)
def test_exported_programs_run_in_xla(seeds: range, ran: Ran) -> None:
    pytest.importorskip("jax")
    from support.xla import run_stablehlo

    count = 0
    for seed in seeds:
        program = seeded_program(seed)
        text = exported(program)
        if text is None:
            continue
        inputs = inputs_of(program, seed)
        check(seed, run_stablehlo(text, inputs), interpreted(program, inputs))
        count += 1
    ran("programs exported to StableHLO and run in XLA", count)


@seeds(6, nightly=100, fuzzed=10_000, batch=6)
def test_exported_programs_are_compiled(seeds: range, ran: Ran) -> None:
    """To the results of the interpreter, and within the tolerance of those of the source."""
    count = 0
    for seed in seeds:
        program = seeded_program(seed)
        text = exported(program)
        if text is None:
            continue
        inputs = inputs_of(program, seed)
        found, wanted = (
            as_list(rl.from_stablehlo(text, backend=backend, float="strict")(*inputs))
            for backend in ("compile", "interpret")
        )
        for result, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(comparable(result), comparable(other), str(seed))
        check(seed, found, interpreted(program, inputs))
        count += 1
    ran("programs exported to StableHLO and compiled", count)


@seeds(20, nightly=300, fuzzed=10_000, batch=20)
def test_programs_exported_to_onnx_are_read_back(seeds: range, ran: Ran) -> None:
    pytest.importorskip("onnx")
    count = 0
    for seed in seeds:
        program = seeded_program(seed)
        with suppress(rl.LimitationError):
            proto = onnx_model(export_graph("main", program.term))
            inputs = inputs_of(program, seed)
            model = rl.from_onnx(proto, backend="interpret")
            found = as_list(model(*flattened(inputs)))
            check(seed, found, interpreted(program, inputs))
            count += 1
    ran("programs exported to ONNX and read back", count)


def flattened(values: Any) -> list[Any]:
    """The arrays of nested pairs."""
    if not isinstance(values, list | tuple):
        return [np.asarray(values)]
    parts: list[Any] = list(values)
    return [leaf for part in parts for leaf in flattened(part)]
