"""Broken ONNX models are refused in a sentence, or are models after all."""

from __future__ import annotations

from contextlib import suppress

import pytest

pytest.importorskip("onnx")

import riselang as rl
from support.broken_onnx import arguments_for, broken_model
from support.fuzzing import Ran, seeds
from support.random_onnx import onnx
from support.tool_runs import SECONDS, limited

pytestmark = pytest.mark.rotating(6)


@seeds(200, nightly=2000, fuzzed=50_000, batch=100)
def test_broken_models_have_a_message(seeds: range, ran: Ran) -> None:
    refused = 0
    for seed in seeds:
        data = broken_model(seed)
        try:
            with limited(SECONDS):
                model = rl.from_onnx(data, backend="interpret")
                arguments = arguments_for(onnx().load_model_from_string(data))
                if arguments is not None:
                    # A result may be larger than the memory.
                    with suppress(MemoryError):
                        model(*arguments)
        except (rl.UserError, rl.LimitationError):
            refused += 1
    ran("broken ONNX models", len(seeds))
    ran("broken ONNX models that are refused", refused)
