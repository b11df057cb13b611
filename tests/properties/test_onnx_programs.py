"""Random ONNX models: compiled, interpreted, and by ONNX's reference implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import riselang as rl
from support.fuzzing import Ran, seeds
from support.model_examples import as_list
from support.random_onnx import MAKERS, Case, random_model

pytestmark = pytest.mark.rotating(6)
RELATIVE, ABSOLUTE = 1e-3, 1e-4
"""The tolerance to the reference; the absolute one is relative to the largest element."""


def results(case: Case, backend: str, **options: Any) -> list[Any]:
    model = rl.from_onnx(case.proto, backend=backend, **options)
    return [np.asarray(each) for each in as_list(model(*case.arguments))]


def check(case: Case, found: list[Any], seed: int) -> None:
    for result, wanted in zip(found, case.results, strict=True):
        context = f"{seed}\n{case.text}"
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype), context
        if wanted.dtype.kind != "f":
            np.testing.assert_array_equal(result, wanted, context)
            continue
        scale = max(1.0, float(np.abs(wanted).max(initial=0)))
        np.testing.assert_allclose(result, wanted, RELATIVE, ABSOLUTE * scale, err_msg=context)


def model_of(seed: int) -> Case:
    names = sorted(MAKERS)
    return random_model(seed, names[seed % len(names)])


@seeds(60, nightly=1000, fuzzed=20_000, batch=30)
def test_interpreted_models_agree_with_the_reference(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        case = model_of(seed)
        check(case, results(case, "interpret"), seed)
    ran("random ONNX models, interpreted", len(seeds))


@seeds(12, nightly=300, fuzzed=20_000, batch=6)
def test_compiled_models_agree_with_the_interpreter(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        case = model_of(seed)
        check(case, results(case, "compile"), seed)
        wanted = results(case, "interpret", float="strict")
        for result, other in zip(results(case, "compile", float="strict"), wanted, strict=True):
            assert result.tobytes() == other.tobytes(), f"{seed}\n{case.text}"
    ran("random ONNX models, compiled", len(seeds))
